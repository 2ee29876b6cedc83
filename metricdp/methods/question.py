"""What is asked of the solver: the public arguments that every clustering call shares, checked
before anything is charged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import positive
from metricdp.errors import InputError
from metricdp.methods.result import checked_candidates, checked_seed
from metricdp.metrics.base import Metric
from metricdp.solvers.bounds import Certificate, certificate, check_size
from metricdp.solvers.kmedian import solve


@dataclass(frozen=True)
class Question:
    """k centers of a finite universe: all of it public.

    Attributes
    ----------
    metric : Metric
    k : int
    power : {1, 2}
        Sum of distances or of squared distances.
    candidates : ndarray of int64, or None
        Positions where centers may stand; None: anywhere.
    opened : ndarray of int64
        Positions of facilities that are open already and count towards k.
    seed : int
        Public coins.
    time_limit : float or None
        Seconds for the search.
    in_space : bool
        The metric is a public net of a box: centers are told by their coordinates.
    """

    metric: Metric
    k: int
    power: int
    candidates: NDArray[np.int64] | None
    opened: NDArray[np.int64]
    seed: int
    time_limit: float | None
    in_space: bool = False

    @classmethod
    def checked(
        cls,
        metric: Metric,
        k: Any,
        power: int,
        *,
        candidates: Any = None,
        opened: Any = None,
        seed: Any = 0,
        time_limit: Any = None,
        in_space: bool = False,
    ) -> Question:
        """Check ids, k, seed and time limit.

        Raises
        ------
        InputError
            One of them breaks its rule.
        """
        fixed = np.empty(0, np.int64) if opened is None else np.unique(metric.positions(opened))
        allowed = checked_candidates(metric, k, candidates, fixed)
        if len(fixed) > k:
            raise InputError(
                f"k counts the opened facilities: it must be at least their number, "
                f"{len(fixed):,}; got {k}"
            )
        if time_limit is not None and not (
            isinstance(time_limit, float) and time_limit == float("inf")
        ):
            time_limit = positive(time_limit, "time_limit")
        return cls(metric, int(k), power, allowed, fixed, checked_seed(seed), time_limit, in_space)

    def answer(self, weights: NDArray[np.float64], starts: int | None = None) -> NDArray[np.int64]:
        """Positions of centers for demand `weights`, shape (k,), the opened ones first; `starts` as
        in `metricdp.solvers.kmedian.solve`.
        """
        return solve(
            self.metric,
            weights,
            self.k,
            power=self.power,
            candidates=self.candidates,
            opened=self.opened,
            seed=self.seed,
            starts=starts,
            time_limit=self.time_limit,
        ).centers

    def names(self, positions: NDArray[np.int64]) -> Any:
        """The user's ids of positions; coordinates, shape (n, d), in a box."""
        if self.in_space:
            return self.metric.points[positions]  # type: ignore[attr-defined]
        return [self.metric.ids[i] for i in positions]

    def check_certifiable(self, weights: NDArray[np.float64]) -> None:
        """Refuse what cannot be certified before time is spent on it.

        Raises
        ------
        InputError
            There are too many pairs of candidate and demand point.
        """
        demand = np.count_nonzero(weights) or len(weights)
        check_size(
            len(self.metric)
            if self.candidates is None
            else len(np.union1d(self.candidates, self.opened)),
            int(demand),
        )

    def certificate(self, weights: NDArray[np.float64], centers: NDArray[np.int64]) -> Certificate:
        """How far these centers are from the best for public `weights`; the time limit counts from
        now on.
        """
        return certificate(
            self.metric,
            weights,
            centers,
            power=self.power,
            candidates=self.candidates,
            opened=self.opened,
            time_limit=self.time_limit,
        )
