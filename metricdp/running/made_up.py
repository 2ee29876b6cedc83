"""Synthetic demand on a public universe, and the searches of a plan on it."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from metricdp.arguments import Floats, Ints
from metricdp.kernels.points import nearest_centers
from metricdp.methods.box.anywhere import starts_for
from metricdp.methods.expected import Expected, ExpectedPoints
from metricdp.methods.question import BoxQuestion, Question, site_positions
from metricdp.metrics.base import Metric
from metricdp.metrics.space import EuclideanSpace
from metricdp.options import Centers
from metricdp.privacy import PrivateDemand
from metricdp.solvers.effort import ROUGH, ROUGH_SHARE
from metricdp.solvers.kmedian import solve
from metricdp.solvers.lloyd import converged, lloyd

_SEARCHED = 5_000
"""Sample size of the starts of a search without noise in a box: speed against quality."""
_RELINKED = 8
"""Starts of the search among centers of earlier searches: a tenth of a second."""


class Shape(NamedTuple):
    """A distribution of synthetic demand: even if there are no `spots`, else around random hot
    spots, whose neighborhoods together take about a `share` of the universe.

    The density is exp(-rank / (share · n_points)) for points ranked by distance to the nearest
    spot. With `unequal`, spots differ in size (log-normal, deviation 0.6) and weight. A share
    `heavy` of the records is exactly at the spots.
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
"""From even demand to demand as concentrated as real demand often is."""
_UNEQUAL = 0.6  # standard deviation of the logarithm of spots' sizes


def searched(points: Floats, k: int, power: int, seed: int) -> Floats:
    """k centers (k, d) anywhere in the box, of low cost for public `points` (n, d), n > 0.

    Of more than 5,000 points the starts use a sample; the best is then improved on all points.
    """
    sample = points[:: -(-len(points) // _SEARCHED)]
    sample = np.resize(sample, (max(k, len(sample)), points.shape[1]))
    weights = np.ones(len(sample))
    found = lloyd(sample, weights, k, power=power, seed=seed, starts=min(starts_for(k), 8))
    if len(sample) == len(points):
        return found
    return converged(points, np.ones(len(points)), found, power=power, steps=10)


class FiniteWorld:
    """Synthetic demand on a finite universe: positions of records, drawn in proportion to the
    `expected` weights, if these are known.

    Searches, with noise and without, take a third of the time of `k_median`: a plan has many runs,
    and a longer search gains far less than demands differ.
    """

    def __init__(
        self, metric: Metric, k: int, power: int, seed: int, expected: Expected | None = None
    ) -> None:
        self.metric = metric
        self.expected = np.ones(len(metric)) if expected is None else expected.weights
        self.power = power
        self.question = replace(Question.checked(metric, k, power, seed=seed), effort=ROUGH)

    def draw(self, shape: Shape, records: int, rng: np.random.Generator) -> Ints:
        """Positions (records,) of synthetic records of a shape."""
        n = len(self.metric)
        if not shape.spots:
            return _drawn(self.expected, records, rng)
        spots = rng.choice(
            n, min(shape.spots, n), replace=False, p=self.expected / self.expected.sum()
        )
        label, away = self.metric.symmetric.nearest_to(spots)
        # at least as many distinct places as centers, else the cost would be zero
        wide = max(shape.share * n, 2 * self.question.k)
        if shape.unequal:
            density = _unequal(label, away, len(spots), wide, rng)
        else:
            rank = np.empty(n)
            rank[np.lexsort((rng.random(n), away))] = np.arange(n)
            density = np.exp(-rank / wide)
        made = _drawn(density * self.expected, records, rng)
        at_spots = rng.random(records) < shape.heavy
        made[at_spots] = rng.choice(spots, int(at_spots.sum()))
        return made

    def demand(self, made: Ints, m: int) -> PrivateDemand:
        """The records as a demand of users with m records each."""
        return PrivateDemand(
            self.metric, [self.metric.ids[i] for i in made.tolist()], **_users(len(made), m)
        )

    def blind(self) -> Any:
        """Centers for the universe itself, or for the expected weights."""
        return self.question.names(self.question.answer(self.expected))

    def search(self, made: Ints) -> Any:
        """Centers without noise, by the same search as for a release."""
        return self.question.names(self.question.answer(self._counts(made)))

    def refined(self, made: Ints, found: Sequence[Any]) -> Any:
        """The best k among the centers of several searches, improved by a last search."""
        union = np.unique(np.concatenate([site_positions(self.metric, one) for one in found]))
        counts = self._counts(made)
        again = partial(solve, self.metric, counts, self.question.k, power=self.power)
        best = again(candidates=union, starts=_RELINKED).centers
        return self.question.names(again(first=best, starts=1, share=ROUGH_SHARE).centers)

    def _counts(self, made: Ints) -> Floats:
        return np.bincount(made, minlength=len(self.metric)).astype(np.float64)

    def costs(self, made: Ints, centers: Any) -> Floats:
        """The exact cost of each record with these centers, shape (records,)."""
        return self.metric.nearest(centers)[1][made] ** self.power


def _drawn(density: Floats, records: int, rng: np.random.Generator) -> Ints:
    return rng.choice(len(density), records, p=density / density.sum())


def _unequal(
    label: Ints, away: Floats, n_spots: int, wide: float, rng: np.random.Generator
) -> Floats:
    """Density around spots of random size and weight, each within its Voronoi cell."""
    order = np.lexsort((rng.random(len(label)), away, label))
    first = np.searchsorted(label[order], np.arange(n_spots))
    rank = np.empty(len(label))
    rank[order] = np.arange(len(label)) - first[label[order]]
    size = np.exp(rng.normal(0, _UNEQUAL, n_spots)) * wide / n_spots
    weight = rng.dirichlet(np.ones(n_spots))
    return (weight / size)[label] * np.exp(-rank / size[label])


class BoxWorld:
    """Synthetic demand in a box: coordinates of records, drawn around the expected points."""

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
        """Coordinates (records, d) of synthetic records of a shape."""
        low = self.space.lower
        high = self.space.upper
        if not shape.spots:
            return self._places(records, rng)
        spots = self._places(shape.spots, rng)
        width = float((shape.share / shape.spots) ** (1 / len(low))) * (high - low) / 2
        spot = rng.integers(0, shape.spots, records)
        scale = np.ones(shape.spots)
        if shape.unequal:
            scale = np.exp(rng.normal(0, _UNEQUAL, shape.spots))
            spot = rng.choice(shape.spots, records, p=rng.dirichlet(np.ones(shape.spots)))
        offset = rng.normal(0, width, (records, len(low))) * scale[spot, None]
        offset[rng.random(records) < shape.heavy] = 0.0
        return self.space.clip(spots[spot] + offset)

    def demand(self, made: Floats, m: int) -> PrivateDemand:
        """The records as a demand of users with m records each."""
        return PrivateDemand(self.space, made, **_users(len(made), m))

    def _places(self, n: int, rng: np.random.Generator) -> Floats:
        """Random places (n, d) where records are expected, or anywhere in the box."""
        low = self.space.lower
        anywhere = rng.uniform(low, self.space.upper, (n, len(low)))
        if self.expected is None:
            return anywhere
        at = rng.choice(len(self.expected.weights), n, p=self.expected.weights)
        even = rng.random((n, 1)) < self.expected.EVEN
        return np.where(even, anywhere, self.expected.points[at])

    def blind(self) -> Any:
        """Centers for the box itself, or for the expected points."""
        if self.expected is not None and self.question.k <= len(self.expected.points):
            points, weights = self.expected.points, self.expected.weights
            return lloyd(
                points, weights, self.question.k, power=self.power, seed=self.question.seed
            )
        net = self.question.on_net()
        return net.names(net.answer(np.ones(len(net.metric))))

    def search(self, made: Floats) -> Floats:
        """Centers without noise, anywhere in the box."""
        return searched(made, self.question.k, self.power, self.question.seed)

    def refined(self, made: Floats, found: Sequence[Any]) -> Any:
        """The best centers of several searches."""
        return min(found, key=lambda centers: float(self.costs(made, centers).sum()))

    def costs(self, made: Floats, centers: Centers) -> Floats:
        """The exact cost of each record with these centers, shape (records,)."""
        square = nearest_centers(made, np.asarray(centers, dtype=np.float64))[1]
        return square ** (self.power / 2)


def _users(records: int, m: int) -> dict[str, Any]:
    return {} if m == 1 else {"user": (np.arange(records) // m).tolist(), "max_contributions": m}
