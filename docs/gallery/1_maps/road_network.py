"""
Private centers on a road network
=================================

The first job of this package: a public road network, private homes on it, ten centers. Roads ©
OpenStreetMap contributors, ODbL; the 5,000 homes are invented.
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
ledger = mdp.Ledger(epsilon=1)

# %%
# One call reads the homes, and pays for that. Territories are colored, gray disks are the noisy
# demand, and the numbers are the centers' ranks.

result = mdp.k_median(metric, demand, k=10, epsilon=1, ledger=ledger)
result.plot(plt.subplots(figsize=(7, 8), layout="constrained")[1])
plt.show()

# %%
# The receipt says what was asked and what it cost. It may be published with the centers.

print(result.receipt)
