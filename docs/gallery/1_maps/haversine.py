"""
Cities on the globe
===================

Longitudes and latitudes, and great-circle distances in meters: no projection, no road network.
"""

import matplotlib.pyplot as plt
import numpy as np

import metricdp as mdp

# %%
# The public universe: a lattice of places on all continents' latitudes, evenly on the sphere.

n = 2_000
turn = np.arange(n) * np.pi * (1 + 5**0.5)
height = 1 - 2 * (np.arange(n) + 0.5) / n
lonlat = np.column_stack([np.degrees(turn) % 360 - 180, np.degrees(np.arcsin(height))])
metric = mdp.HaversineMetric(lonlat)

# %%
# Private travelers around three cities. One of them lies near the date line, where degrees lie
# about distance: 179° east and 179° west are neighbors.

coins = np.random.default_rng(2)
cities = {"Paris": (2.4, 48.9), "Lagos": (3.4, 6.5), "Suva": (178.4, -18.1)}
people = np.concatenate([coins.normal(at, 4, (2_000, 2)) for at in cities.values()])
people[:, 0] = (people[:, 0] + 180) % 360 - 180
demand = mdp.PrivateDemand.from_coordinates(metric, people)
result = mdp.k_median(metric, demand, k=3, epsilon=1, ledger=mdp.Ledger(epsilon=1))

away = metric.distances(result.centers, metric.snap(list(cities.values()))).min(axis=0)
print({name: f"{meters / 1000:,.0f} km to a center" for name, meters in zip(cities, away)})

# %%

axes = plt.subplots(figsize=(8, 4.2), subplot_kw={"projection": "mollweide"}, layout="constrained")[
    1
]
label = metric.nearest(result.centers)[0]
axes.scatter(*np.radians(lonlat).T, c=label, cmap="Set2", s=6)
axes.scatter(*np.radians(result.coordinates).T, marker="*", s=250, c="black")
axes.grid(True, alpha=0.4)
axes.set_title("three centers and who is nearest to them")
plt.show()
