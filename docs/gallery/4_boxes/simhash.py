"""
SimHash: cells of similar directions
====================================

In many dimensions a grid has too many cells. The method ``lsh`` cuts space by random hyperplanes
instead: a cell holds points of similar direction. It splits a cell only if its noisy count is large
enough (Chang & Kamath 2021).
"""

import matplotlib.pyplot as plt
import numpy as np

import metricdp as mdp
from metricdp.partitions.box.simhash import HashCells, SimHash

# %%
# In the plane the cells can be drawn: six lines through the middle make at most twelve cells. The
# cell of a point follows from that point alone.

space = mdp.EuclideanSpace([-1, -1], [1, 1])
hashed = SimHash(space, n_bits=6, seed=1)
cells = HashCells.complete(hashed)
x = np.linspace(-1, 1, 300)
lattice = np.stack(np.meshgrid(x, x), axis=2).reshape(-1, 2)
number = np.unique(cells.encode(lattice), return_inverse=True)[1].reshape(300, 300)

# %%
# The same in fifty dimensions, with private points around eight directions.

coins = np.random.default_rng(5)
middles = coins.normal(size=(8, 50))
middles /= 2 * np.linalg.norm(middles, axis=1)[:, None]
points = middles[coins.integers(8, size=40_000)] + coins.normal(0, 0.02, (40_000, 50))
high = mdp.EuclideanSpace(np.full(50, -1.0), np.full(50, 1.0))
demand = mdp.PrivateDemand(high, points)
result = mdp.k_means(high, demand, k=8, epsilon=2, delta=1e-6, method="lsh")
missed = np.linalg.norm(middles[:, None] - result.centers, axis=2).min(axis=1)
print("distance from each true middle to a private center:", missed.round(2))

# %%

figure, panels = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
panels[0].imshow(number, origin="lower", extent=(-1, 1, -1, 1), cmap="tab20")
panels[0].set_title("cells of six hyperplanes")
panels[1].bar(range(1, 9), missed, color="#0072B2")
panels[1].axhline(0.5, color="#D55E00", linestyle="--", label="from 0 to a middle")
panels[1].set(xlabel="middle", ylabel="distance to a private center")
panels[1].legend()
plt.show()
