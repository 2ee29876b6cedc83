"""
A ledger through a study
========================

The budgets of all questions about the same people add up. The ledger charges each call first, in
exact fractions. It refuses a call that does not fit, before any data are read.
"""

from fractions import Fraction

import matplotlib.pyplot as plt
import networkx as nx

import metricdp as mdp

metric = mdp.GraphMetric(nx.cycle_graph(60), weight=None)
demand = mdp.PrivateDemand(metric, [0] * 200 + [30] * 300)
ledger = mdp.Ledger(epsilon=1)

# %%
# Eleven charges of 1/22 spend exactly 1/2, so a release of 1/2 still fits. Any further charge is
# refused.

left = [ledger.left]
for _ in range(11):
    mdp.k_median(metric, demand, k=2, epsilon=Fraction(1, 22), ledger=ledger)
    left.append(ledger.left)
release = mdp.release(metric, demand, epsilon="1/2", ledger=ledger)
left.append(ledger.left)
try:
    mdp.k_median(metric, demand, k=2, epsilon="1/100", ledger=ledger)
except mdp.BudgetError as refusal:
    print(refusal)

# %%
# Questions of a release are free.

for k in range(1, 6):
    release.k_median(k=k)
    left.append(ledger.left)

figure, axes = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
axes.step(range(len(left)), [float(rest) for rest in left], where="post", color="#0072B2")
axes.annotate("a release", (12, 0.25), ha="right")
axes.annotate("free questions", (12.2, 0.03))
axes.set_xlabel("calls")
axes.set_ylabel("epsilon left")
plt.show()
