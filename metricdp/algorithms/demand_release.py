"""A private release of where the demand is: weights on a public universe, good for any number of questions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metricdp.algorithms.question import Question
from metricdp.algorithms.result import Result
from metricdp.metrics.base import Metric
from metricdp.releases import Receipt

STARTS = 3
"""Starts of a search on noisy weights: more would fit their noise."""


class Coreset(NamedTuple):
    """Weighted points that stand for the private demand: ids (or coordinates in a box) and noisy weights, same length."""

    points: Any
    weights: NDArray[np.float64]


class DemandRelease:
    """A private release of where the demand is, good for any number of questions.

    Attributes
    ----------
    universe : Metric
        The finite universe of the answers; for a box, a public net of its points.
    weights : ndarray of float64, shape (n_points,), read-only
        Estimated demand at every point, in the order of ``universe.ids``: noisy.
    receipt : Receipt
        What it cost.
    """

    method: str

    def __init__(self, universe: Metric, weights: NDArray[np.float64], receipt: Receipt, *, in_space: bool = False) -> None:
        self.universe, self.weights, self.receipt, self._in_space = universe, weights, receipt, in_space
        self.weights.setflags(write=False)

    def k_median(
        self, k: int, *, candidates: Any = None, opened: Any = None, seed: int = 0, time_limit: float | None = None
    ) -> Result:
        """k centers of low sum of distances: post-processing, free.

        Parameters
        ----------
        k : int
        candidates : iterable of ids, optional
            Where centers may stand; anywhere by default.
        opened : iterable of ids, optional
            Facilities that are open already: they count towards k and stay centers.
        seed : int
            Public coins of the solver.
        time_limit : float, optional
            Seconds after which the best centers found so far are returned; Ctrl-C then ends the search as well.
        """
        return self._asked(k, 1, candidates=candidates, opened=opened, seed=seed, time_limit=time_limit)

    def k_means(
        self, k: int, *, candidates: Any = None, opened: Any = None, seed: int = 0, time_limit: float | None = None
    ) -> Result:
        """k centers of low sum of squared distances; parameters as `k_median`."""
        return self._asked(k, 2, candidates=candidates, opened=opened, seed=seed, time_limit=time_limit)

    def coreset(self) -> Coreset:
        """The points of positive estimated demand and that demand: a weighted set that may be published."""
        at = np.flatnonzero(self.weights > 0)
        question = Question.checked(self.universe, 1, 1, in_space=self._in_space)
        return Coreset(question.names(at), self.weights[at])

    def answer(self, question: Question) -> Result:
        """Centers for a question that was checked already: post-processing, free."""
        return Result(question.names(self._centers(question)), question.k, self.method, self.receipt, self)

    def _centers(self, question: Question) -> NDArray[np.int64]:
        return question.answer(self.weights, STARTS)

    def _asked(self, k: int, power: int, **asked: Any) -> Result:
        return self.answer(Question.checked(self.universe, k, power, in_space=self._in_space, **asked))
