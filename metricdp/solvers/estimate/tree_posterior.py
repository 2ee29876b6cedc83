"""Posterior mean of a demand histogram from its noisy release, under a hierarchical prior on the
partition's tree.

Post-processing: sees noisy values and public structure only. The prior says how a node's demand
divides between its two children: all of it on one side (empty regions), in proportion to the
children's sizes (demand follows the universe), or at a random share around that. How often each
happens is learned from the noisy counts themselves. For fixed centers the cost is linear in the
weights, so the posterior mean is the estimate under which a solver minimizes the expected cost.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincinv

from metricdp.kernels.tree_posterior import downward, upward
from metricdp.partitions.finite.ward import PartitionTree

_GRID = 72
"""Values a node's count may take."""
_REACH = 7.0
"""Half the width of a node's grid, in standard deviations of the noise below it."""
_CONCENTRATION = 12.0
"""Of the beta law of random shares: Beta(12 p, 12 (1 - p)) for a child of relative size p."""
_QUANTILES = (np.arange(12) + 0.5) / 12
_AROUND = np.array([-5.0, -3.5, -2.5, -1.7, -1.0, -0.5, 0.0, 0.5, 1.0, 1.7, 2.5, 3.5, 5.0])
"""Shares at which that law is evaluated: its quantiles, and the observed share at these multiples
of its noise.
"""
_KINDS = 3
_ROUNDS, _SETTLED = 20, 5e-3
_BAND = 3.0
"""Splits of nodes whose sizes agree within a factor 2**3 share their frequencies of the three
kinds, …
"""
_SHRINK = 2.0
"""… which are drawn to those of the whole tree with the weight of this many splits."""


def posterior_mean(
    tree: PartitionTree,
    noisy: NDArray[Any],
    scale: float,
    total: float | None = None,
    total_scale: float = 0.0,
    *,
    gaussian: bool = False,
) -> NDArray[np.float64]:
    """Expected true count of every part, given all noisy ones.

    Parameters
    ----------
    tree : PartitionTree
    noisy : ndarray of int64 or float64, shape (n_parts,)
        True counts plus independent discrete Laplace noise.
    scale : float
        Scale of that noise.
    total : float, optional
        Another noisy observation of the sum of all true counts.
    total_scale : float
        Scale of its Laplace noise.
    gaussian : bool
        Whether the parts' noise is nearly Gaussian, as that of local reports, in place of Laplace;
        of standard deviation `scale` · sqrt(2) either way.

    Returns
    -------
    ndarray of float64, shape (n_parts,)
        Not negative.

    Notes
    -----
    Sum-product message passing on the tree, up and down, with one uniform grid of 72 values a node;
    up to 20 rounds of expectation maximization for the frequencies of the three kinds of split.
    O(n_parts) time: some 10^5 operations a part and round. The idea of mixing proportional and
    one-sided splits is that of Polya trees; consistency of tree counts by least squares (Hay et
    al., VLDB 2010) is the special case without a prior.
    """
    m = tree.n_parts
    if m == 1:
        return np.maximum(noisy.astype(np.float64), 0.0)
    leaves, center = _sums(tree, np.ones(m)), _sums(tree, noisy.astype(np.float64))
    spread = scale * np.sqrt(2.0 * leaves)
    reach = _REACH * spread + 4.0 * scale
    low = np.maximum(center - reach, 0.0)
    step = (np.maximum(center, 0.0) + reach - low) / (_GRID - 1)
    values = low[:, None] + step[:, None] * np.arange(_GRID)
    inside, outside = np.empty((2 * m - 1, _GRID)), np.empty((2 * m - 1, _GRID))
    inside[:m] = _likelihood(noisy[:, None], values[:m], scale, gaussian)
    outside[-1] = (
        1.0 if total is None else _likelihood(np.array([[total]]), values[-1:], total_scale)[0]
    )
    outside[-1] /= outside[-1].sum()
    fractions, chances, kind = _shares(tree, center, spread)
    band = _bands(tree)
    frequency = np.full((band.max() + 1, _KINDS), 1.0 / _KINDS)
    posterior = np.empty_like(fractions)
    for _ in range(_ROUNDS):
        weighted = chances * frequency[band][:, kind]
        upward(tree.children, low, step, fractions, weighted, inside)
        downward(tree.children, low, step, fractions, weighted, inside, outside, posterior)
        before, frequency = frequency, _frequencies(posterior, kind, band)
        if np.abs(frequency - before).max() < _SETTLED:
            break
    belief = inside[:m] * outside[:m]
    return (belief * values[:m]).sum(axis=1) / belief.sum(axis=1)


def _sums(tree: PartitionTree, leaves: NDArray[np.float64]) -> NDArray[np.float64]:
    """One value a part, summed up to every node."""
    sums = np.r_[leaves, np.zeros(tree.n_parts - 1)]
    for i, (left, right) in enumerate(tree.children):
        sums[tree.n_parts + i] = sums[left] + sums[right]
    return sums


def _likelihood(
    noisy: NDArray[Any], values: NDArray[np.float64], scale: float, gaussian: bool = False
) -> NDArray[np.float64]:
    """Likelihood of each value under Laplace noise, or Gaussian noise of that variance, every row
    scaled to a maximum of 1.
    """
    distance = np.abs(noisy - values) / scale
    if gaussian:
        distance = distance**2 / 4
    return np.exp(distance.min(axis=1, keepdims=True) - distance)


def _shares(
    tree: PartitionTree, center: NDArray[np.float64], spread: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """(possible shares of the left child, their probabilities within their kind, kind of each
    column), shapes (m - 1, S), same, (S,).
    """
    m = tree.n_parts
    left = tree.children[:, 0]
    p = (tree.sizes[left] / tree.sizes[m:])[:, None]
    a, b = _CONCENTRATION * p, _CONCENTRATION * (1 - p)
    whole = np.maximum(center[m:], spread[m:])[:, None]
    observed = center[left][:, None] / whole + _AROUND * spread[m:][:, None] / whole
    drawn = np.sort(
        np.concatenate([betaincinv(a, b, _QUANTILES), np.clip(observed, 0.0, 1.0)], axis=1), axis=1
    )
    cdf = betainc(a, b, (drawn[:, 1:] + drawn[:, :-1]) / 2)
    mass = np.diff(cdf, axis=1, prepend=0.0, append=1.0)
    one = np.ones_like(p)
    fractions = np.concatenate([one, 0 * one, p, drawn], axis=1)
    chances = np.concatenate([p, 1 - p, one, mass], axis=1)
    return fractions, chances, np.r_[0, 0, 1, np.full(drawn.shape[1], 2)]


def _bands(tree: PartitionTree) -> NDArray[np.int64]:
    """Band of every split: generations below the root by size, in steps."""
    generation = np.log2(tree.sizes[-1] / tree.sizes[tree.n_parts :])
    return np.unique((generation / _BAND).astype(np.int64), return_inverse=True)[1]


def _frequencies(
    posterior: NDArray[np.float64], kind: NDArray[np.int64], band: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Expected frequencies of the kinds of split in every band, shape (n_bands, kinds)."""
    share = np.stack([posterior[:, kind == c].sum(axis=1) for c in range(_KINDS)], axis=1)
    overall = share.sum(axis=0) + 0.01
    count = np.stack([np.bincount(band, share[:, c]) for c in range(_KINDS)], axis=1)
    frequency = count + _SHRINK * overall / overall.sum()
    return frequency / frequency.sum(axis=1, keepdims=True)
