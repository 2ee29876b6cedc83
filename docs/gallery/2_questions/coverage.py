"""
Maximum coverage and what it leaves out
=======================================

Ten sites, so that as many homes as possible have one within 1 km. The homes are private, but their
released noisy weights are not: a second question costs nothing.
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
release = mdp.release(metric, demand, epsilon=1, ledger=mdp.Ledger(epsilon=1))

# %%
# The sites of maximum coverage, compared with those of the k-median.

limit = 1_000
covering = mdp.solve(release, mdp.objectives.MaxCoverage(k=10, limit=limit), time_limit=1)
median = release.k_median(k=10)
share = release.interval(covering.centers, within=limit)
print(f"within 1 km: {share.estimate:.0%} of the demand, 95 % from {share.low:.0%}")
print(f"k-median's sites: {release.interval(median.centers, within=limit).estimate:.0%}")

# %%

place = metric.coordinates
figure, panels = plt.subplots(1, 2, figsize=(9, 5.4), layout="constrained")
sites = {"max coverage": covering.centers, "k-median": median.centers}
for axes, (name, centers) in zip(panels, sites.items()):
    inside = metric.nearest(centers)[1] <= limit
    axes.scatter(*place.T, c=np.where(inside, "#0072B2", "#DDDDDD"), s=0.5)
    axes.scatter(*place[metric.positions(centers)].T, marker="*", s=90, c="#D55E00", zorder=3)
    axes.set_aspect(1 / np.cos(np.radians(place[:, 1].mean())))
    axes.set_axis_off()
    axes.set_title(f"{name}: streets within 1 km")
plt.show()
