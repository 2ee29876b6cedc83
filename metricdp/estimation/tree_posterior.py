"""Posterior mean of a demand histogram from its noisy release, under a hierarchical prior on the partition's tree.

Post-processing: sees noisy values and public structure only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from metricdp.kernels.tree_posterior import downward, upward
from metricdp.trees.ward import PartitionTree

_GRID = 72
_SPREAD = 7.0
_QUADRATURE = 12
_CONCENTRATIONS = (2.0,)
_ROUNDS = 20
_SHRINK = 2.0
_SIDE = 1.0
_BAND = 3.0


def posterior_mean(
    tree: PartitionTree,
    noisy: NDArray[np.int64],
    scale: float,
    total: float | None = None,
    total_scale: float = 0.0,
) -> NDArray[np.float64]:
    """Expected true count of every part given all noisy ones, shape (n_parts,)."""
    m = tree.n_parts
    if m == 1:
        return np.maximum(noisy.astype(np.float64), 0.0)
    left, right = tree.children.T
    leaves, center = np.r_[np.ones(m), np.zeros(m - 1)], np.r_[noisy.astype(np.float64), np.zeros(m - 1)]
    for i in range(m - 1):
        leaves[m + i] = leaves[left[i]] + leaves[right[i]]
        center[m + i] = center[left[i]] + center[right[i]]
    reach = _SPREAD * scale * np.sqrt(2.0 * leaves) + 4.0 * scale
    low = np.maximum(center - reach, 0.0)
    high = np.maximum(center, 0.0) + reach
    step = (high - low) / (_GRID - 1)
    inside, outside = np.empty((2 * m - 1, _GRID)), np.empty((2 * m - 1, _GRID))
    values = low[:, None] + step[:, None] * np.arange(_GRID)
    inside[:m] = np.exp(-np.abs(noisy[:, None] - values[:m]) / scale)
    inside[:m] /= inside[:m].max(axis=1, keepdims=True)
    outside[-1] = 1.0
    if total is not None and total_scale > 0:
        outside[-1] = np.exp(-np.abs(total - values[-1]) / total_scale)
    outside[-1] /= outside[-1].sum()
    fractions, base, component = _shares(tree)
    kinds = component.max() + 1
    band = _bands(tree)
    weights = np.full((band.max() + 1, kinds), 1.0 / kinds)
    posterior = np.empty_like(fractions)
    for _ in range(_ROUNDS):
        chances = base * weights[band][:, component]
        upward(tree.children, low, step, fractions, chances, inside)
        downward(tree.children, low, step, fractions, chances, inside, outside, posterior)
        share = np.stack([posterior[:, component == c].sum(axis=1) for c in range(kinds)], axis=1)
        count = np.stack([np.bincount(band, share[:, c], band.max() + 1) for c in range(kinds)], axis=1)
        overall = np.maximum(share.mean(axis=0), 1e-4)
        weights = count + _SHRINK * overall / overall.sum()
        weights /= weights.sum(axis=1, keepdims=True)
    belief = inside[:m] * outside[:m]
    return (belief * values[:m]).sum(axis=1) / belief.sum(axis=1)


def _shares(tree: PartitionTree) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """(possible shares of the left child, their probabilities within their component, component of each column)."""
    m = tree.n_parts
    p = tree.sizes[tree.children[:, 0]] / tree.sizes[m:]
    ones = np.ones(m - 1)
    o = p**_SIDE / (p**_SIDE + (1 - p) ** _SIDE)
    fractions, base, component = [ones, 0 * ones, p], [o, 1 - o, ones], [0, 0, 1]
    at = (np.arange(_QUADRATURE) + 0.5) / _QUADRATURE
    for c, concentration in enumerate(_CONCENTRATIONS):
        for u in at:
            fractions.append(betaincinv(concentration * p, concentration * (1 - p), u))
            base.append(ones / _QUADRATURE)
            component.append(2 + c)
    return np.stack(fractions, axis=1), np.stack(base, axis=1), np.array(component)


def _bands(tree: PartitionTree) -> NDArray[np.int64]:
    """Splits of nodes of similar size share their weights: band = generations below the root, in steps."""
    m = tree.n_parts
    generation = np.log2(tree.sizes[-1] / tree.sizes[m:])
    return np.unique((generation / _BAND).astype(np.int64), return_inverse=True)[1]
