"""
Would the sites stand elsewhere?
================================

Noise moves sites. ``stability`` searches anew for demand drawn from the release, and says how sure
it is that the exact demand would have a site near each of these: free, as post-processing.
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
plan = mdp.k_median(metric, demand, k=10, epsilon="1/4", ledger=mdp.Ledger(epsilon=1))
firm = plan.stability()
print(firm.sentence("m"))

# %%
# The wider the halo, the less sure the site. On a page they are drawn by
# ``plan.save("map.html", stability=True)``.

place = metric.coordinates
at = place[metric.positions(plan.centers)]
figure, axes = plt.subplots(figsize=(5.5, 6), layout="constrained")
axes.scatter(*place.T, c="#CCCCCC", s=0.5)
axes.scatter(*at.T, s=60 + 1_500 * firm.doubt, c="#E69F00", alpha=0.5)
axes.scatter(*at.T, marker="*", s=110, c="black", zorder=3)
for i, (x, y) in enumerate(at):
    axes.annotate(firm.of_site(i), (x, y), xytext=(8, 6), textcoords="offset points")
axes.set_aspect(1 / np.cos(np.radians(place[:, 1].mean())))
axes.set_axis_off()
plt.show()
