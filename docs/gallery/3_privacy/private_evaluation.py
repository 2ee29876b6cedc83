"""
Judging centers privately
=========================

Are the ten sites of a consultant better than those that we have? :func:`metricdp.evaluate` answers
from private demand, for a price, with intervals that hold whatever the demand is.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import metricdp as mdp

metric = mdp.GraphMetric(nx.grid_2d_graph(25, 25), weight=None)
coins = np.random.default_rng(7)
homes = np.clip(coins.normal([6, 17], 4, (6_000, 2)).round(), 0, 24).astype(int)
demand = mdp.PrivateDemand(metric, [tuple(at) for at in homes.tolist()])
old = [(4, 4), (20, 4), (4, 20), (20, 20), (12, 12)]
new = [(3, 14), (9, 20), (8, 13), (4, 20), (14, 16)]

ledger = mdp.Ledger(epsilon=1)
report = mdp.evaluate(
    metric, demand, new, epsilon="1/2", ledger=ledger, within=[2, 3, 4, 5, 6, 8], against=old
)
print(report)

# %%

figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
share, loads = report.share, report.loads
panels[0].fill_between(report.within, share.low, share.high, alpha=0.3)
panels[0].plot(report.within, share.estimate, "o-")
panels[0].set(xlabel="hops", ylabel="share with a site within", ylim=(0, 1))
reach = [loads.estimate - loads.low, loads.high - loads.estimate]
panels[1].bar(range(1, 6), loads.estimate, yerr=reach, capsize=4, color="#56B4E9")
panels[1].set(xlabel="new site", ylabel="people nearest to it")
panels[1].set_title(f"better than the old ones: {report.against.verdict}")
plt.show()
