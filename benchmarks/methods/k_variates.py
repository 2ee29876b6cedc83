"""k-variates++ in a private instance (Nock et al., ICML 2016): k-means++ seeding on noisy means.

1. Split the box into 512 public nodes by nine bits of a `SimHash`.
2. Release the count and the sum of each node's records. Their quotient is the node's draw.
3. k times, choose a node with probability proportional to its noisy count times the (squared)
   distance of its draw from the centers so far. Its draw is the next center.

**Privacy.** Step 2 is the only read: a histogram and a query of sums over public parts, with shares
that add up to 1 (`metricdp.methods.baselines`). The paper's own variant needs two
constants of the data, which are neither public nor paid for; here noise follows public bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from metricdp.arguments import Floats
from metricdp.methods.asking import Account, Steps, Terms
from metricdp.methods.baselines import COUNTS_SHARE, Baseline, averages, release_of
from metricdp.methods.box.anywhere import anywhere
from metricdp.methods.question import BoxQuestion
from metricdp.partitions.box.simhash import HashCells, SimHash
from metricdp.privacy.queries import HistogramQuery
from metricdp.solvers.stopping import Deadline

BITS = 9  # 512 nodes, as 500 in KDD 2022


@anywhere
def drawn(release: Any, k: int, power: int, seed: int, deadline: Deadline) -> Floats:
    """k means by a seeding of the question's own."""
    points: Floats = release.universe.points
    return seeded(points, release.weights, k, power, np.random.default_rng([seed, 29]))


def seeded(points: Floats, weights: Floats, k: int, power: int, rng: np.random.Generator) -> Floats:
    """k of the points (k, d), each by weight times distance to the power; may repeat."""
    distance = np.ones(len(points))
    centers = np.empty((k, points.shape[1]))
    for i in range(k):
        weight = np.cumsum(weights * distance)
        at = (
            int(np.searchsorted(weight, rng.random() * weight[-1], side="right"))
            if weight[-1] > 0
            else int(rng.integers(len(points)))
        )
        centers[i] = points[min(at, len(points) - 1)]
        away = ((points - centers[i]) ** 2).sum(axis=1) ** (power / 2)
        distance = away if i == 0 else np.minimum(distance, away)
    return centers


@dataclass(frozen=True, kw_only=True)
class KVariates(Baseline):
    """Seeding on noisy draws of hashed nodes, without any step after it.

    **Privacy.** epsilon-DP, or, with a delta, (epsilon, delta)-DP, by the module's text.

    References
    ----------
    R. Nock, R. Canyasse, R. Boreli, F. Nielsen, "k-variates++: more pluses in the k-means++", ICML
    2016.

    Examples
    --------
    >>> space = mdp.EuclideanSpace([0, 0], [1, 1])
    >>> demand = mdp.PrivateDemand(space, [[0.2, 0.2]] * 4000 + [[0.8, 0.7]] * 4000)
    >>> from benchmarks.methods.k_variates import KVariates
    >>> method = KVariates()
    >>> mdp.k_means(space, demand, k=2, epsilon=4, delta=1e-6, method=method).centers.shape
    (2, 2)
    """

    name = "k-variates"
    chooses = (
        "Hash functions are public coins; the number of records is bought as a noisy count for 5 "
        "% of epsilon, unless it is public (replace-one) or guessed (records_hint). Which nodes "
        "are opened follows from released counts."
    )
    afterwards = "Centers are seeded on noisy averages by public coins."
    releases = True

    def work(self, terms: Terms, question: BoxQuestion) -> Steps:
        """The release that centers are drawn from."""
        space = question.space
        cells = HashCells.complete(SimHash(space, BITS, question.seed))
        found = yield from averages(
            space, HistogramQuery(cells), COUNTS_SHARE, 1 - COUNTS_SHARE, self.reach(space)
        )
        kept = found.above_noise.copy()
        kept[int(np.argmax(found.counts))] = True
        receipt = (yield Account()).receipt
        return release_of(self.name, cells, found.at(kept), receipt, drawn)
