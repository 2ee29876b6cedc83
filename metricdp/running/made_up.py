"""Made-up demand on a public universe, and a plan's searches on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from metricdp.arrays import Floats, Ints
from metricdp.kernels.points import nearest_centers
from metricdp.methods.box.anywhere import starts_for
from metricdp.methods.demand_release import STARTS
from metricdp.methods.expected import Expected, ExpectedPoints
from metricdp.methods.question import BoxQuestion, Question
from metricdp.methods.result import site_positions
from metricdp.metrics.base import Metric
from metricdp.metrics.space import EuclideanSpace
from metricdp.options import Centers
from metricdp.privacy import PrivateDemand
from metricdp.solvers.effort import ROUGH, ROUGH_SHARE
from metricdp.solvers.kmedian import solve
from metricdp.solvers.lloyd import lloyd, settled

_SEARCHED = 5_000
"""Records that the starts of a search without noise in a box look at."""
_RELINKED = 8
"""Starts among the centers that several searches found: a tenth of a second."""


class Shape(NamedTuple):
    """A made-up demand: random hot spots whose surroundings take about that share of the universe;
    without spots, even.

    Density is exp(-rank / (share · n_points)) by rank of distance to the nearest spot. Spots may be
    `unequal` in size (log-normal, deviation 0.6) and weight. A part `heavy` of the records stands
    on the spots.
    """

    name: str
    spots: int
    share: float
    unequal: bool = False
    heavy: float = 0.0


SHAPES = (
    Shape("even", 0, 1.0),
    Shape("wide spots", 8, 0.3),
    Shape("spots", 8, 0.1),
    Shape("neighborhoods", 12, 0.02, unequal=True),
    Shape("heavy points", 6, 0.05, heavy=0.15),
)
"""Demand from as even as can be to as concentrated as real demand often is."""
_UNEQUAL = 0.6  # standard deviation of the logarithm of spots' sizes


def searched(points: Floats, k: int, power: int, seed: int) -> Floats:
    """k centers anywhere, of low cost on public points of shape (n, d), n > 0, without noise, shape
    (k, d).

    Beyond 5,000 points the starts look at an even sample, and the best is improved on all.
    """
    some = points[:: -(-len(points) // _SEARCHED)]
    some = np.resize(some, (max(k, len(some)), points.shape[1]))
    found = lloyd(some, np.ones(len(some)), k, power=power, seed=seed, starts=min(starts_for(k), 8))
    return (
        settled(points, np.ones(len(points)), found, power=power, steps=10)
        if len(some) < len(points)
        else found
    )


class FiniteWorld:
    """Made-up demand on a finite universe: positions of records, by what is expected where, if that
    is known.

    Its searches are a third as long as those of `k_median`, with noise and without: a plan is of
    many runs, and what is left to find is far below what differs from one demand to the next.
    """

    def __init__(
        self, metric: Metric, k: int, power: int, seed: int, expected: Expected | None = None
    ) -> None:
        self.metric = metric
        self.expected = np.ones(len(metric)) if expected is None else expected.weights
        self.power = power
        self.question = replace(Question.checked(metric, k, power, seed=seed), effort=ROUGH)

    def draw(self, shape: Shape, records: int, rng: np.random.Generator) -> Ints:
        """Positions of made-up records of a shape, shape (records,)."""
        n = len(self.metric)
        if not shape.spots:
            return _drawn(self.expected, records, rng)
        spots = rng.choice(
            n, min(shape.spots, n), replace=False, p=self.expected / self.expected.sum()
        )
        label, away = self.metric.symmetric.nearest_to(spots)
        # not fewer places than centers: they would cost nothing
        wide = max(shape.share * n, 2 * self.question.k)
        if shape.unequal:
            density = _unequal(label, away, len(spots), wide, rng)
        else:
            rank = np.empty(n)
            rank[np.lexsort((rng.random(n), away))] = np.arange(n)
            density = np.exp(-rank / wide)
        made = _drawn(density * self.expected, records, rng)
        there = rng.random(records) < shape.heavy
        made[there] = rng.choice(spots, int(there.sum()))
        return made

    def demand(self, made: Ints, m: int) -> PrivateDemand:
        """The records as a demand of users with m each."""
        return PrivateDemand(
            self.metric, [self.metric.ids[i] for i in made.tolist()], **_users(len(made), m)
        )

    def blind(self) -> Any:
        """Centers of the universe itself, or of what is expected there."""
        return self.question.names(self.question.answer(self.expected, STARTS))

    def search(self, made: Ints) -> Any:
        """Centers without noise, found as those of a release are."""
        return self.question.names(self.question.answer(self._counts(made), STARTS))

    def refined(self, made: Ints, found: Sequence[Any]) -> Any:
        """The best k of all centers that several searches found, improved once more."""
        union = np.unique(np.concatenate([site_positions(self.metric, one) for one in found]))
        counts = self._counts(made)
        again = partial(solve, self.metric, counts, self.question.k, power=self.power)
        best = again(candidates=union, starts=_RELINKED).centers
        return self.question.names(again(first=best, starts=1, share=ROUGH_SHARE).centers)

    def _counts(self, made: Ints) -> Floats:
        return np.bincount(made, minlength=len(self.metric)).astype(np.float64)

    def costs(self, made: Ints, centers: Any) -> Floats:
        """What each record costs with these centers, exactly."""
        return self.metric.nearest(centers)[1][made] ** self.power


def _drawn(density: Floats, records: int, rng: np.random.Generator) -> Ints:
    return rng.choice(len(density), records, p=density / density.sum())


def _unequal(
    label: Ints, away: Floats, n_spots: int, wide: float, rng: np.random.Generator
) -> Floats:
    """Density around spots of unequal size and weight, each within its Voronoi cell."""
    order = np.lexsort((rng.random(len(label)), away, label))
    first = np.searchsorted(label[order], np.arange(n_spots))
    rank = np.empty(len(label))
    rank[order] = np.arange(len(label)) - first[label[order]]
    size = np.exp(rng.normal(0, _UNEQUAL, n_spots)) * wide / n_spots
    weight = rng.dirichlet(np.ones(n_spots))
    return (weight / size)[label] * np.exp(-rank / size[label])


class BoxWorld:
    """Made-up demand in a box: coordinates of records, by what is expected where."""

    def __init__(
        self,
        space: EuclideanSpace,
        k: int,
        power: int,
        seed: int,
        expected: ExpectedPoints | None = None,
    ) -> None:
        self.space = space
        self.expected = expected
        self.power = power
        self.question = BoxQuestion.checked(space, k, power, seed=seed)

    def draw(self, shape: Shape, records: int, rng: np.random.Generator) -> Floats:
        """Made-up records of a shape, shape (records, d)."""
        low = self.space.lower
        high = self.space.upper
        if not shape.spots:
            return self._places(records, rng)
        spots = self._places(shape.spots, rng)
        wide = float((shape.share / shape.spots) ** (1 / len(low))) * (high - low) / 2
        which = rng.integers(0, shape.spots, records)
        times = np.ones(shape.spots)
        if shape.unequal:
            times = np.exp(rng.normal(0, _UNEQUAL, shape.spots))
            which = rng.choice(shape.spots, records, p=rng.dirichlet(np.ones(shape.spots)))
        off = rng.normal(0, wide, (records, len(low))) * times[which, None]
        off[rng.random(records) < shape.heavy] = 0.0
        return self.space.clip(spots[which] + off)

    def demand(self, made: Floats, m: int) -> PrivateDemand:
        """The records as a demand of users with m each."""
        return PrivateDemand(self.space, made, **_users(len(made), m))

    def _places(self, n: int, rng: np.random.Generator) -> Floats:
        """Places where records are expected, or anywhere in the box, shape (n, d)."""
        low = self.space.lower
        anywhere = rng.uniform(low, self.space.upper, (n, len(low)))
        if self.expected is None:
            return anywhere
        at = rng.choice(len(self.expected.weights), n, p=self.expected.weights)
        even = rng.random((n, 1)) < self.expected.EVEN
        return np.where(even, anywhere, self.expected.points[at])

    def blind(self) -> Any:
        """Centers of the box itself, or of what is expected there."""
        if self.expected is not None and self.question.k <= len(self.expected.points):
            points, weights = self.expected.points, self.expected.weights
            return lloyd(
                points, weights, self.question.k, power=self.power, seed=self.question.seed
            )
        net = self.question.on_net()
        return net.names(net.answer(np.ones(len(net.metric)), STARTS))

    def search(self, made: Floats) -> Floats:
        """Centers without noise, anywhere."""
        return searched(made, self.question.k, self.power, self.question.seed)

    def refined(self, made: Floats, found: Sequence[Any]) -> Any:
        """The best of what several searches found."""
        return min(found, key=lambda centers: float(self.costs(made, centers).sum()))

    def costs(self, made: Floats, centers: Centers) -> Floats:
        """What each record costs with these centers, exactly."""
        square = nearest_centers(made, np.asarray(centers, dtype=np.float64))[1]
        return square ** (self.power / 2)


def _users(records: int, m: int) -> dict[str, Any]:
    return {} if m == 1 else {"user": (np.arange(records) // m).tolist(), "max_contributions": m}
