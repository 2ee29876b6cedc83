"""What all releases of demand in a box have in common: weighted points, and centers anywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.methods.box.descent import distinct_in
from metricdp.methods.demand_release import DemandRelease
from metricdp.methods.question import BoxQuestion
from metricdp.methods.result import Result
from metricdp.metrics.space import EuclideanSpace
from metricdp.metrics.vectors import EuclideanMetric
from metricdp.releases import Receipt
from metricdp.solvers.lloyd import lloyd
from metricdp.solvers.stopping import NEVER, Deadline

MOST_STARTS = 24
FEW_CENTERS = 64
"""Seedings on a release, down to one where there are many more than so many centers."""

Array = NDArray[np.float64]


class BoxRelease(DemandRelease):
    """A private release of where the demand is in a box: weighted points for any number of
    questions, whose centers may stand anywhere.

    Attributes
    ----------
    space : EuclideanSpace
    universe : EuclideanMetric
        The weighted points.

    Examples
    --------
    >>> import metricdp as mdp
    >>> space = mdp.EuclideanSpace([0, 0], [1, 1])
    >>> demand = mdp.PrivateDemand(space, [[0.2, 0.2]] * 4000 + [[0.8, 0.7]] * 4000)
    >>> release = mdp.release(space, demand, epsilon=4)
    >>> release.k_means(k=2).centers.shape, len(release.universe) == len(release.weights)
    ((2, 2), True)
    """

    method = "partition"
    space: EuclideanSpace
    universe: EuclideanMetric

    def __init__(
        self,
        space: EuclideanSpace,
        universe: EuclideanMetric,
        weights: Array,
        receipt: Receipt,
        *,
        method: str | None = None,
    ) -> None:
        super().__init__(universe, weights, receipt, space=space, method=method)

    def _found(self, k: int, power: int, seed: int, deadline: Deadline) -> Array:
        """k points of the box of low cost on the release, perhaps with repeats, shape (k, d): of a
        public net where there are more centers than points.
        """
        points = self.universe.points
        n = min(k, len(points))
        found = searched(points, self.weights, n, power=power, seed=seed, deadline=deadline)
        return found if n == k else np.concatenate([found, self.space.net(k).points[: k - n]])

    def centers(self, question: BoxQuestion) -> Array:
        """k distinct points of the box of low cost on the release: post-processing, (k, d).

        Examples
        --------
        >>> import metricdp as mdp
        >>> space = mdp.EuclideanSpace([0, 0], [1, 1])
        >>> demand = mdp.PrivateDemand(space, [[0.2, 0.2]] * 4000 + [[0.8, 0.7]] * 4000)
        >>> release = mdp.release(space, demand, epsilon=4)
        >>> from metricdp.methods.question import BoxQuestion
        >>> release.centers(BoxQuestion.checked(space, 2, 1)).shape
        (2, 2)
        """
        with Deadline(question.time_limit) as deadline:
            found = self._found(question.k, question.power, question.seed, deadline)
        return distinct_in(self.space, found)

    def answer(self, question: BoxQuestion) -> Result:
        """Centers for a question that was checked already: post-processing, free."""
        return Result(self.centers(question), question.k, self.method, self.receipt, self)

    def _question(self, k: int, power: int, **asked: Any) -> BoxQuestion:
        return BoxQuestion.checked(self.space, k, power, **asked)


def searched(
    points: Array,
    weights: Array,
    k: int,
    *,
    power: int,
    seed: int,
    deadline: Deadline = NEVER,
    smooth: float | Array = 0.0,
) -> Array:
    """k centers of low cost for released weights, by Lloyd's or Weiszfeld's method from several
    seedings, shape (k, d).
    """
    return lloyd(
        points,
        weights,
        k,
        power=power,
        seed=seed,
        starts=starts_for(k),
        smooth=smooth,
        deadline=deadline,
    )


def starts_for(k: int) -> int:
    """Seedings that are tried for k centers."""
    return int(np.clip(MOST_STARTS * FEW_CENTERS // k, 1, MOST_STARTS))
