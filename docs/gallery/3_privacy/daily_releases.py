"""
A release every day
===================

A stream has one budget for all its days. After each day it releases the current demand, here that
of the last four days (:doc:`/docs/streams`).
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import metricdp as mdp

metric = mdp.GraphMetric(nx.cycle_graph(64), weight=None)
stream = mdp.Stream(metric, epsilon=1, horizon=30, window=4, records_hint=400)

# %%
# The crowd moves around a circle, two places a day.

coins = np.random.default_rng(9)
truth, seen, center = [], [], []
for day in range(30):
    visits = (2 * day + coins.normal(0, 3, 400).round().astype(int)) % 64
    release = stream.step(mdp.PrivateDemand(metric, visits.tolist()))
    truth.append(np.bincount(visits, minlength=64))
    seen.append(release.weights)
    center.append(release.k_median(k=1).centers[0])

# %%
# Left: the visits of each day, which nobody may see. Right: the released demand of the last four
# days, with its center. All thirty releases together are 1-differentially private for each visit.

figure, panels = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
for axes, image, name, scale in zip(panels, (truth, seen), ("private", "released"), (60, 200)):
    axes.imshow(np.maximum(image, 0), aspect="auto", origin="lower", cmap="Blues", vmax=scale)
    axes.set(title=name, xlabel="place", ylabel="day")
panels[1].plot(center, range(30), ".", color="#D55E00")
plt.show()
