"""
A private heat map
==================

Released demand, smoothed along the streets. The bandwidth follows the noise, so that noise does not
show as detail. A heat map of the records themselves would protect nobody: an attacker who knows its
bandwidth can invert it (:doc:`/docs/adopted-plans`).
"""

import matplotlib.pyplot as plt

import metricdp as mdp
from metricdp.universe import sample_path

metric = mdp.read_graph(
    sample_path("coquimbo.csv.gz"),
    nodes=sample_path("coquimbo_nodes.csv.gz"),
    symmetrize=True,
    largest_component=True,
)
demand = mdp.PrivateDemand.from_frame(metric, sample_path("coquimbo_demand.csv.gz"))
ledger = mdp.Ledger(epsilon=2)

figure, panels = plt.subplots(1, 2, figsize=(9, 5.4), layout="constrained")
for axes, epsilon in zip(panels, ("0.1", "1")):
    heat = mdp.release(metric, demand, epsilon=epsilon, ledger=ledger).heatmap()
    heat.plot(axes)
    axes.set_title(f"ε = {epsilon}: bandwidth {heat.bandwidth:,.0f} m")
    axes.set_axis_off()
plt.show()
