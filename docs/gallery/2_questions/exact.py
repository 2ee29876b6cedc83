"""
Proven best: exact solutions and certificates
=============================================

Without private demand, metricdp is a k-median solver. Shown are the cost of a quick search, the
lower bound of its certificate, and the proven optimum, on a p-median instance with 200 vertices.
"""

import matplotlib.pyplot as plt

import metricdp as mdp
from metricdp.universe import sample_path

metric = mdp.read_graph(sample_path("generated_pmed.txt"), format="pmed")
bounds = {}
for k in (5, 20, 40):
    quick = mdp.k_median(metric, k=k, certificate=True)
    exact = mdp.k_median(metric, k=k, exact=True, time_limit=20)
    bounds[k] = (quick.cost, quick.lower_bound, exact.cost)
    print(f"k = {k:2}: quick {quick.cost:,.0f}, gap {quick.gap:.2%}; exact {exact.cost:,.0f}")

# %%
# All cost at most what the search found, and at least what the certificate proves.

figure, axes = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
ks = [str(k) for k in bounds]
axes.bar(ks, [cost for cost, _, _ in bounds.values()], color="#56B4E9", label="quick search")
axes.scatter(
    ks, [low for _, low, _ in bounds.values()], marker="_", s=900, c="black", label="lower bound"
)
axes.scatter(ks, [best for *_, best in bounds.values()], c="#D55E00", label="proven best")
axes.set_xlabel("k")
axes.set_ylabel("cost")
axes.legend()
plt.show()
