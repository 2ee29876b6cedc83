"""Private candidate centers in a box, by locality-sensitive hashing (after Kaplan & Stemmer,
NeurIPS 2018).

For each of a few radii, release counts of the buckets of a public random hash, and sums of their
records. The means of the buckets above the noise threshold are candidates.

**Privacy.** Every record is in one bucket of each hash. Counts (`LevelsQuery`) and sums
(`SumsQuery`) are the only reads, paid from one budget, of rho or of epsilon.
"""

from __future__ import annotations

from collections.abc import Generator
from fractions import Fraction
from typing import Any

import numpy as np

from metricdp.arguments import Floats
from metricdp.methods.asking import Ask, Terms, deviation
from metricdp.metrics.space import EuclideanSpace
from metricdp.partitions.box.buckets import BUCKETS, HashBuckets
from metricdp.privacy.queries import HistogramQuery, LevelsQuery, SumsQuery

HASHES = 3
"""Hashes: one for each radius."""
LARGEST = 8.0
"""The first radius is the diameter divided by this; each next one is half as large."""
COUNTS_SHARE = Fraction(1, 4)
THRESHOLD = 4.0
"""A bucket gives a candidate if its noisy count exceeds so many standard deviations of noise, …"""
NOISE_RADIUS = 1.0
"""… and if the noise of its mean is below this multiple of the hash's radius."""


def private_candidates(
    terms: Terms, space: EuclideanSpace, seed: int
) -> Generator[Any, Any, tuple[Floats, list[float]]]:
    """Release candidate centers (m, d) for the whole budget; also the hashes' radii."""
    radii = [space.diameter_bound() / (LARGEST * 2**i) for i in range(HASHES)]
    hashes = [HistogramQuery(HashBuckets(space, radius, seed)) for radius in radii]
    counts = yield Ask(LevelsQuery(tuple(hashes)), COUNTS_SHARE)
    noise = deviation(counts)
    found = []
    middle = (space.lower + space.upper) / 2
    for i, query in enumerate(hashes):
        count = counts.values[i * BUCKETS : (i + 1) * BUCKETS].astype(float)
        sums = SumsQuery(query)
        total = yield Ask(sums, (1 - COUNTS_SHARE) / HASHES)
        scale = total.receipt.mechanisms[0].scale * sums.steps[0] * np.sqrt(space.dimension)
        good = count > np.maximum(THRESHOLD * noise, scale / (NOISE_RADIUS * radii[i]))
        means = total.values.reshape(-1, space.dimension)[good] * sums.steps[0] / count[good, None]
        found.append(space.clip(middle + means))
    return np.concatenate(found), radii
