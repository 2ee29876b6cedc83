"""
Private k-means beside scikit-learn's
=====================================

The same call, and centers of the same shape; the private ones may be published.
"""

import matplotlib.pyplot as plt
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from metricdp.sklearn import PrivateKMeans

X = make_blobs(20_000, centers=6, cluster_std=0.08, center_box=(-0.8, 0.8), random_state=8)[0]
X = X.clip(-1, 1)
plain = KMeans(6, n_init=10, random_state=0).fit(X)
private = PrivateKMeans(n_clusters=6, epsilon=1, bounds=(-1, 1)).fit(X)


def cost(centers):
    return ((X[:, None] - centers) ** 2).sum(axis=2).min(axis=1).sum()


ratio = cost(private.cluster_centers_) / cost(plain.cluster_centers_)
print(f"cost {ratio:.4f} times that of the best of ten runs")

# %%

figure, axes = plt.subplots(figsize=(6, 6), layout="constrained")
axes.scatter(*X[::10].T, s=3, c="lightgray")
axes.scatter(
    *plain.cluster_centers_.T, marker="o", s=160, facecolors="none", edgecolors="black",
    linewidths=1.5, label="scikit-learn",
)  # fmt: skip
axes.scatter(*private.cluster_centers_.T, marker="x", s=90, c="#D55E00", label="private, ε = 1")
axes.legend()
axes.set_aspect("equal")
plt.show()
