"""Private Lloyd's method: from random centers, a few steps by noisy counts and noisy sums.

For k-median the sum is of the records' *offsets from the center*, shortened to a radius that halves
from step to step: gradient descent on Huber's loss.

**Privacy.** The reads are 2T histograms and sums about cells of centers that were released before,
with shares that add up to 1 (`metricdp.methods.baselines.averages`). Unlike some published codes,
the number of steps is public, all coordinates are one query, and empty cells get noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from metricdp.arguments import count
from metricdp.methods.asking import Account, Steps, Terms
from metricdp.methods.baselines.averages import Baseline, averages
from metricdp.methods.box.descent import MOST_STEPS, distinct_in
from metricdp.methods.question import BoxQuestion, Result
from metricdp.partitions.box.cells import VoronoiCells
from metricdp.privacy.queries import HistogramQuery

RHO = 0.225
"""Su et al.'s typical distance of a mean from the middle, in half sides: it sets the counts' share.
"""
SMALLEST = 4
"""k-median: the radius is halved in each step, down to a 2^-4 of the first."""


@dataclass(frozen=True, kw_only=True)
class Lloyd(Baseline):
    """Noisy steps of Lloyd's method from random centers.

    **Privacy.** epsilon-DP, or, with a delta, (epsilon, delta)-DP, by the module's text.

    Parameters
    ----------
    steps : int
        T, 1 to 100 (7 in the experiments of Cohen-Addad et al., KDD 2022).

    References
    ----------
    A. Blum, C. Dwork, F. McSherry, K. Nissim, "Practical privacy: the SuLQ framework", PODS 2005.
    D. Su, J. Cao, N. Li, E. Bertino, H. Jin, "Differentially private k-means clustering", CODASPY
    2016 (DPLloyd; the shares, Section 4).

    Examples
    --------
    >>> space = mdp.EuclideanSpace([0, 0], [1, 1])
    >>> demand = mdp.PrivateDemand(space, [[0.25, 0.75]] * 50_000)
    >>> center = mdp.k_means(space, demand, 1, epsilon=5, method="lloyd").centers[0]
    >>> bool(abs(center - [0.25, 0.75]).max() < 0.1)
    True
    """

    name = "lloyd"
    chooses = (
        "First centers are public coins; the number of steps, clipping radii and shares are "
        "public options."
    )
    afterwards = "Centers are quotients of noisy sums and noisy counts, clipped to the box."

    steps: int = 7

    def __post_init__(self) -> None:
        super().__post_init__()
        count(self.steps, "steps", 1, MOST_STEPS)

    def work(self, terms: Terms, question: BoxQuestion) -> Steps:
        """Centers after the last step."""
        space = question.space
        coins = np.random.default_rng([question.seed, 5]).random((question.k, space.dimension))
        centers = space.lower + coins * (space.upper - space.lower)
        counts = count_share(space.dimension)
        each = Fraction(1, self.steps)
        for step in range(self.steps):
            query = HistogramQuery(VoronoiCells(space, centers))
            radius = self.reach(space)
            around = None
            if question.power == 1:
                radius = 2 * radius / 2.0 ** min(step, SMALLEST)
                around = centers
            found = yield from averages(
                space, query, each * counts, each * (1 - counts), radius, around
            )
            centers = np.where(found.above_noise[:, None], found.means, centers)
        receipt = (yield Account()).receipt
        return Result(distinct_in(space, centers), question.k, self.name, receipt)

    @property
    def least_share(self) -> Fraction:
        """The share of a step's counts, in many dimensions."""
        return Fraction(1, 100 * self.steps)


def count_share(d: int) -> Fraction:
    """The counts' share of a step, by Su et al.: (4dρ²)^(1/3) to d for the sums; at least 1/100."""
    part = (4 * d * RHO**2) ** (1 / 3)
    return Fraction(max(round(100 * part / (d + part)), 1), 100)
