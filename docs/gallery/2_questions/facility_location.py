"""
How many sites? Opening costs
=============================

If k is not given but a site has a price, facility location chooses the number. From one private
release, for several prices, at no further privacy cost.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import metricdp as mdp

metric = mdp.GraphMetric(nx.grid_2d_graph(15, 15), weight=None)
coins = np.random.default_rng(8)
homes = coins.choice(225, 4_000, p=coins.dirichlet(np.full(225, 0.15)))
demand = mdp.PrivateDemand(metric, [metric.ids[i] for i in homes])
release = mdp.release(metric, demand, epsilon=1, ledger=mdp.Ledger(epsilon=1))

prices = [100, 200, 400, 800, 1_600, 3_200]
plans = [mdp.solve(release, mdp.objectives.FacilityLocation(costs=price)) for price in prices]

# %%

figure, axes = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
axes.plot(prices, [plan.k for plan in plans], "o-", color="#0072B2")
axes.set_xscale("log")
axes.set_xlabel("price of a site, in distance traveled")
axes.set_ylabel("sites opened")
walk = axes.twinx()
walk.plot(prices, [plan.mean for plan in plans], "s--", color="#D55E00")
walk.set_ylabel("mean distance (dashed)")
plt.show()
