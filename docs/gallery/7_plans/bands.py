"""
Service bands
=============

Areas and streets within 500 m of the nearest site, from there to 1 km, and to 2 km. Streets are cut
where a limit is reached, and each band has its noisy demand with an interval.
"""

import matplotlib.pyplot as plt
import numpy as np

import metricdp as mdp
from metricdp.universe import sample_path

metric = mdp.read_graph(
    sample_path("coquimbo.csv.gz"),
    nodes=sample_path("coquimbo_nodes.csv.gz"),
    symmetrize=True,
    largest_component=True,
)
demand = mdp.PrivateDemand.from_frame(metric, sample_path("coquimbo_demand.csv.gz"))
plan = mdp.k_median(metric, demand, k=20, epsilon=1, ledger=mdp.Ledger(epsilon=1))
bands = plan.bands([500, 1_000, 2_000])
for low, high, share in zip([0, *bands.limits], [*bands.limits, np.inf], bands.share):
    print(f"{low:5.0f} to {high:5.0f} m: {share:.0%} of the demand")

# %%
# ``bands.save("bands.gpkg")`` has them as areas and as streets, ``.html`` as a page.

place = metric.coordinates
colors = np.array(["#98279A", "#D5573A", "#D9A033", "#C9CED6"])
figure, axes = plt.subplots(figsize=(5.5, 6), layout="constrained")
axes.scatter(*place.T, c=colors[bands.label], s=0.8)
axes.scatter(*place[metric.positions(plan.centers)].T, marker="*", s=90, c="black", zorder=3)
axes.set_aspect(1 / np.cos(np.radians(place[:, 1].mean())))
axes.set_axis_off()
plt.show()
