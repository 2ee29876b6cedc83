"""A private coreset by locality-sensitive hashing (Chang & Kamath 2021), and k-means on it.

1. Build the prefix tree of a `SimHash` to a public depth: release the histogram of each level's
   leaves, and split those whose noisy count is large.
2. Release the count and the sum of every leaf. Their means, weighted by the counts, are a coreset.
3. Cluster the coreset.

**Privacy.** Every record is in one leaf, so a level is one histogram, and splits follow from
earlier counts. Levels have fixed shares, step 2 the rest (`metricdp.methods.baselines.averages`).
Differences from Google's code: integer noise; every leaf is counted in each level; hashes cut
through the middle of the public box.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from metricdp.arguments import count
from metricdp.methods.asking import Account, Ask, Steps, Terms, deviation
from metricdp.methods.baselines.averages import COUNTS_SHARE, Baseline, averages, release_of
from metricdp.methods.question import BoxQuestion
from metricdp.partitions.box.simhash import HashCells, SimHash
from metricdp.privacy.queries import HistogramQuery
from metricdp.releases import Release

LEVELS_SHARE = Fraction(1, 2)
"""Share of the budget for all levels of the tree together."""
MOST_BITS = 24
LOW_NOISE = 10
BRANCHING = 3
"""Least count of a node of the coreset over the noise of its sum; over that, of a node to split."""


@dataclass(frozen=True, kw_only=True)
class LSHCoreset(Baseline):
    """Noisy means of the leaves of a tree of hash prefixes, and a public solver on them.

    **Privacy.** epsilon-DP, or, with a delta, (epsilon, delta)-DP, by the module's text.

    Parameters
    ----------
    depth : int
        Most bits of a prefix, 1 to 24 (20 in Google's code).

    References
    ----------
    A. Chang, P. Kamath, "Practical differentially private clustering", Google AI blog, October
    2021. A. Chang, B. Ghazi, R. Kumar, P. Manurangsi, "Locally private k-means in one round", ICML
    2021, Section 5.

    Examples
    --------
    >>> space = mdp.EuclideanSpace([0, 0], [1, 1])
    >>> demand = mdp.PrivateDemand(space, [[0.2, 0.2]] * 4000 + [[0.8, 0.7]] * 4000)
    >>> method = mdp.methods.LSHCoreset()
    >>> mdp.k_means(space, demand, k=2, epsilon=4, delta=1e-6, method=method).centers.shape
    (2, 2)
    """

    name = "lsh"
    chooses = (
        "Hash functions are public coins; the number of records is bought as a noisy count for 5 "
        "% of epsilon, unless it is public (replace-one) or guessed (records_hint). Which nodes "
        "are split follows from released counts."
    )
    afterwards = (
        "Means of the nodes above the noise threshold are weighted points; centers by a public "
        "solver on them."
    )
    releases = True

    depth: int = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        count(self.depth, "depth", 1, MOST_BITS)

    def work(self, terms: Terms, question: BoxQuestion) -> Steps:
        """The coreset."""
        space = question.space
        hashed = SimHash(space, self.depth, question.seed)
        cells, fewest = yield from self._tree(terms, hashed, question.k)
        left = (yield Account()).left
        counts = left * COUNTS_SHARE
        found = yield from averages(
            space, HistogramQuery(cells), counts, left - counts, self.reach(space)
        )
        kept = found.counts >= fewest
        kept[int(np.argmax(found.counts))] = True
        return release_of(self.name, cells, found.at(kept), (yield Account()).receipt)

    def _tree(
        self, terms: Terms, hashed: SimHash, k: int
    ) -> Generator[Ask, Release, tuple[HashCells, float]]:
        """Step 1: the leaves, and the least count of a node in the coreset."""
        cells = HashCells.whole(hashed)
        fewest = 1.0
        for level in range(self.depth):
            counted = yield Ask(HistogramQuery(cells), LEVELS_SHARE / self.depth)
            counts = counted.values.astype(float)
            if level == 0:
                noise = terms.deviation_of_sums(hashed.space, LEVELS_SHARE * (1 - COUNTS_SHARE))
                low_noise = LOW_NOISE * math.sqrt(hashed.space.dimension) * noise
                hint = self.records_hint
                total = float(counts[0]) if hint is None else float(hint) * terms.weight_units
                fewest = max(1.0, min(low_noise, total / (2 * k)), deviation(counted))
            at = cells.leaves[(counts >= BRANCHING * fewest) & (cells.level[cells.leaves] == level)]
            if len(at) == 0:
                break
            cells = cells.split(at)
        return cells, fewest

    @property
    def least_share(self) -> Fraction:
        """The share of a level's counts."""
        return LEVELS_SHARE * COUNTS_SHARE / self.depth
