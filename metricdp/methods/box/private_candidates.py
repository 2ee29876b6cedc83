"""Private candidate centers in a box, by locality-sensitive hashing (after Kaplan & Stemmer,
NeurIPS 2018).

Near points are likely to fall into one bucket of a hash, far ones into several; so, at the radius
of a cluster, some bucket holds most of it and little else, and the bucket's mean is a good center.
For each of a few radii: a public random hash, noisy counts of its buckets, noisy sums of their
records; the means of the buckets that stand out of the noise are candidates.

**Privacy.** Every record is in one bucket of each hash, by its own place and public coins. Counts
(`LevelsQuery`) and sums (`SumsQuery`) are the only reads, and are paid from one budget: a pool of
rho with Gaussian noise where there is a delta, else shares of epsilon with Laplace noise. Which
buckets stand out is decided on noisy counts.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.accounting import Cost, Grant, Pool, zcdp_epsilon
from metricdp.metrics.space import EuclideanSpace
from metricdp.privacy import HistogramQuery, LevelsQuery, PrivateDemand, SumsQuery, measure
from metricdp.releases import Receipt

BUCKETS, HASHES, PROJECTIONS, WIDTH = 512, 3, 5, 4.0
"""Buckets of a hash; hashes, for one radius each; projections of a hash, and the width of its slabs
in radii over √d.
"""
LARGEST = 8.0
"""The first radius is the diameter divided by this; the next ones are half as large each."""
COUNTS_SHARE = Fraction(1, 4)
STANDS_OUT = 4.0
"""A bucket counts if its noisy count exceeds this many standard deviations of the noise, …"""
NOISE_RADIUS = 1.0
"""… and if the noise of its mean is below this multiple of the hash's radius."""


class HashPartition:
    """A box cut into slabs along a few random directions, the cells thrown into a fixed number of
    buckets: all by public coins.

    Parameters
    ----------
    space : EuclideanSpace
    radius : float
        Of the balls that should mostly stay in one bucket.
    seed : int
    """

    def __init__(self, space: EuclideanSpace, radius: float, seed: int) -> None:
        rng = np.random.default_rng([seed, round(radius / space.diameter_bound() * 2**40)])
        self.universe, self.radius, self.n_parts = space, radius, BUCKETS
        directions = rng.normal(size=(space.dimension, min(PROJECTIONS, space.dimension)))
        self._directions = (
            directions
            / np.linalg.norm(directions, axis=0)
            * (np.sqrt(space.dimension) / (WIDTH * radius))
        )
        self._shift = np.asarray(rng.random(directions.shape[1]))
        self._key = rng.integers(1, 2**63, directions.shape[1], dtype=np.uint64) | np.uint64(1)

    def encode(self, records: NDArray[np.float64]) -> NDArray[np.int64]:
        """Bucket of each point, shape (n,)."""
        place = np.tile(self._shift, (len(records), 1))
        for coordinate, direction in zip(
            records.T, self._directions
        ):  # a matrix product may round a row differently in other company
            place += coordinate[:, None] * direction
        slab = np.floor(place).astype(np.int64).astype(np.uint64)
        mixed = (slab * self._key).sum(axis=1, dtype=np.uint64)
        return (
            (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(40)
        ).astype(np.int64) % self.n_parts


def private_candidates(
    demand: PrivateDemand, space: EuclideanSpace, grant: Grant, seed: int
) -> tuple[NDArray[np.float64], list[float], Receipt]:
    """Candidate centers for demand in a box; the whole grant is spent.

    Parameters
    ----------
    demand : PrivateDemand
    space : EuclideanSpace
        The demand's.
    grant : Grant
        A `Pool` buys Gaussian noise.
    seed : int
        Public coins of the hashes.

    Returns
    -------
    points : ndarray of float64, shape (n_candidates, d)
        In the box; may be empty.
    radii : list of float
        Of the hashes, largest first.
    receipt : Receipt
    """
    radii = [space.diameter_bound() / (LARGEST * 2**i) for i in range(HASHES)]
    hashes = [HistogramQuery(HashPartition(space, radius, seed)) for radius in radii]
    counts = measure(demand, LevelsQuery(tuple(hashes)), _share(grant, COUNTS_SHARE), grant)
    noise, found, receipts = counts.receipt.mechanisms[0], [], [counts.receipt]
    deviation = noise.scale if noise.rho is not None else noise.scale * np.sqrt(2.0)
    middle = (space.lower + space.upper) / 2
    for i, query in enumerate(hashes):
        held = counts.values[i * BUCKETS : (i + 1) * BUCKETS].astype(float)
        sums = SumsQuery(query)
        total = measure(demand, sums, _share(grant, (1 - COUNTS_SHARE) / HASHES), grant)
        receipts.append(total.receipt)
        scale = total.receipt.mechanisms[0].scale * sums.steps[0] * np.sqrt(space.dimension)
        good = held > np.maximum(STANDS_OUT * deviation, scale / (NOISE_RADIUS * radii[i]))
        means = total.values.reshape(-1, space.dimension)[good] * sums.steps[0] / held[good, None]
        found.append(space.clip(middle + means))
    return np.concatenate(found), radii, grant.receipt(receipts)


def _share(grant: Grant, share: Fraction) -> Any:
    """A share of the whole of a grant: of its rho, or of its epsilon."""
    if isinstance(grant, Pool):
        return Cost(
            zcdp_epsilon(grant.rho * share, grant.delta), grant.delta, grant.rho * share, "zCDP"
        )
    return grant.epsilon * share
