"""Data of the explore page for its script: the universe, and each level's release."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial import cKDTree

from metricdp.arguments import Floats, Ints, floats, listed
from metricdp.errors import InputError
from metricdp.methods.question import Result
from metricdp.methods.remarks import percent
from metricdp.metrics.base import Metric
from metricdp.metrics.space import EuclideanSpace
from metricdp.metrics.units import in_words, unit_shown
from metricdp.protocols import Kind
from metricdp.report import drawing
from metricdp.report.canvas import network
from metricdp.report.layers import check_sited
from metricdp.report.words import sureness
from metricdp.running.front import k_means, k_median
from metricdp.running.made_up import searched
from metricdp.running.planning import Forecast

_BOX_PIXELS = 400
_MATCHED = 400
"""Up to this number of centers, ranks and colors are matched between levels (cubic time)."""


@dataclass(frozen=True, eq=False)
class Level:
    """One privacy level: its name, its epsilon, the released result, and the forecast of a
    simulation.
    """

    name: str
    epsilon: Fraction
    result: Result = field(repr=False)
    forecast: Forecast | None = None


def level_names(epsilons: Sequence[Fraction]) -> list[str]:
    """A name for each epsilon, by the certainty that an attacker can reach."""
    words = ("Very strong", "Strong", "Good", "Moderate", "Weak", "Very weak")
    return [words[bisect_left((0.1, 0.5, 1, 2, 5), epsilon)] for epsilon in epsilons]


def scene(
    universe: Metric | EuclideanSpace, levels: Sequence[Level], exact: Any, example: bool
) -> tuple[dict[str, Any], list[str]]:
    """The data that the page's script draws, and notes on how to read the page."""
    stage = stage_kind(universe)(universe)
    drawn: list[_LevelScene] = []
    for level in levels:
        drawn.append(stage.level(level, drawn[-1] if drawn else None))
    facts = {"levels": [entry.data for entry in drawn], "example": example}
    facts |= {"exact": None if exact is None else stage.markers(exact)}
    return stage.shared() | facts, stage.remarks()


@dataclass
class _LevelScene:
    """A level's data for the script, and places and colors of its centers, by rank."""

    data: dict[str, Any]
    places: Floats
    color: Ints


class _Stage:
    """Base class of drawings of networks and boxes.

    `lines`: name of the background layer, if there is one; `unprotected`: centers of the caller's
    records without privacy, in whose messages no record is quoted; `shared`: data common to all
    levels; `remarks`: notes for readers.
    """

    places: Callable[[Any], Floats]
    territories: Callable[..., tuple[dict[str, Any], Ints]]

    @staticmethod
    def check(universe: Any) -> None:
        """Refuse universes that cannot be drawn."""

    def level(self, level: Level, before: _LevelScene | None) -> _LevelScene:
        """One level, with centers ranked as their matches on the level before."""
        result, forecast = level.result, level.forecast
        places = self.places(result.centers)
        rank = _matched(places, None if before is None else before.places)
        centers = [result.centers[i] for i in rank]
        facts: dict[str, Any] = {"name": level.name, "epsilon": f"{float(level.epsilon):g}"}
        facts |= {"sure": sureness(level.epsilon), "mean": None, "forecast": None}
        if (mean := result.interval) is not None:
            unit = unit_shown(result.universe)
            facts["mean"] = [in_words(end, unit) for end in (mean.estimate, mean.low, mean.high)]
        if forecast is not None:
            facts["forecast"] = [percent(forecast.median), percent(forecast.high)]
        color = None if before is None else before.color
        data, color = self.territories(centers, places[rank], result.release, color)
        return _LevelScene({**facts, **data}, places[rank], color)

    def markers(self, centers: Any) -> list[dict[str, Any]]:
        """Labels and coordinates of centers without privacy."""
        places = self.places(centers)
        return [
            {"id": _called(center), "x": float(x), "y": float(y)}
            for center, (x, y) in zip(centers, places)
            if np.isfinite([x, y]).all()
        ]


class _Network(_Stage):
    """Drawing of a finite universe: vertices, edges, and territories and weights of levels."""

    check = staticmethod(check_sited)

    @staticmethod
    def lines(universe: Metric) -> str | None:
        return "Points" if universe.graph is None else "Network"

    @staticmethod
    def unprotected(universe: Metric, records: Any, k: int, power: int, seed: int) -> Any:
        at = None
        with suppress(InputError):  # its message quotes the id
            at = np.asarray(universe.positions(listed(records, "administrator")), dtype=np.int64)
        if at is None:
            raise InputError(
                f"administrator must be ids of points of {universe.name}; at least one is not"
            )
        counts = np.bincount(at, minlength=len(universe)).astype(np.float64)
        return (k_median, k_means)[power - 1](universe, k=k, weights=counts, seed=seed).centers

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self.net = network.DrawnUniverse(metric)
        self.shared, self.remarks = self.net.data, self.net.remarks

    def places(self, centers: Any) -> Floats:
        return self.net.everywhere[np.asarray(self.metric.positions(centers), dtype=np.int64)]

    def territories(
        self, centers: Any, places: Floats, release: Any, color: Ints | None
    ) -> tuple[dict[str, Any], Ints]:
        label = self.metric.nearest(centers)[0]
        if color is None:
            position = np.asarray(self.metric.positions(centers), dtype=np.int64)
            color = self.net.colors(label, position)
        coreset = release.coreset()
        weights = np.zeros(len(self.metric))
        weights[self.metric.positions(list(coreset.points))] = coreset.weights
        return self.net.answer(centers, label, color, weights) | _released(release), color


class _Box(_Stage):
    """Drawing of a box in the plane: the coreset's points of each level."""

    @staticmethod
    def lines(universe: EuclideanSpace) -> None:
        """A box has no background layer."""

    @staticmethod
    def check(universe: EuclideanSpace) -> None:
        if universe.dimension != 2:
            raise InputError(f"a page needs a box of two dimensions, got {universe.dimension}")

    @staticmethod
    def unprotected(universe: EuclideanSpace, records: Any, k: int, power: int, seed: int) -> Any:
        rule = "administrator must be finite numbers of shape (n, 2)"
        points = universe.clip(floats(records, rule).reshape(-1, 2))
        return searched(points, k, power, seed) if len(points) else points

    def __init__(self, space: EuclideanSpace) -> None:
        self.space = space
        self.box = [*space.lower.tolist(), *space.upper.tolist()]
        size = space.upper - space.lower
        pixels = np.rint(size / network.span(self.box) * _BOX_PIXELS)
        columns, rows = np.maximum(1, pixels.astype(int)).tolist()
        gx, gy = np.meshgrid(np.arange(columns) + 0.5, rows - np.arange(rows) - 0.5)
        shares = np.column_stack([gx.ravel() / columns, gy.ravel() / rows])
        self.pixels = shares * size + space.lower
        owner = np.arange(rows * columns).reshape(rows, columns)
        self.ground = drawing.Ground(owner, self.box[0], self.box[3], *size.tolist())

    def shared(self) -> dict[str, Any]:
        nothing = {name: drawing.squeezed([]) for name in ("x", "y", "tails", "reach")}
        return network.frame("", "points", self.box) | nothing

    def places(self, centers: Any) -> Floats:
        return np.asarray(centers, dtype=np.float64).reshape(-1, 2)

    def territories(
        self, centers: Any, places: Floats, release: Any, color: Ints | None
    ) -> tuple[dict[str, Any], Ints]:
        near = cKDTree(places)
        if color is None:
            owner = np.repeat(np.arange(len(places)), 7)
            pairs = np.column_stack([owner, near.query(places, 7)[1].ravel()])
            color = drawing.assign_colors(len(places), pairs[pairs[:, 1] < len(places)])
        coreset = release.coreset()
        points = np.asarray(coreset.points, dtype=np.float64).reshape(-1, 2)
        weights = np.asarray(coreset.weights)
        order = drawing.z_order(points) if len(points) else np.empty(0, np.int64)
        at = network.steps(points[order], self.box)
        label = near.query(points)[1] if len(points) else order
        data = {
            "centers": network.center_records(
                [_called(c) for c in centers], places, label, color, weights
            ),
            "x": drawing.squeezed(at[:, 0]),
            "y": drawing.squeezed(at[:, 1]),
            "weight": network.packed_weights(weights[order]),
            "shade": self.ground.painted(color[near.query(self.pixels)[1]]),
        }
        return data | _released(release), color

    def remarks(self) -> list[str]:
        return [
            "The universe is a box: demand may lie anywhere in it, and the coreset's points are "
            "cells of a public grid."
        ]


_STAGES: dict[Kind, Any] = {"finite": _Network, "box": _Box}


def stage_kind(universe: Metric | EuclideanSpace) -> Any:
    """The `_Stage` class of a universe."""
    return _STAGES[universe.kind]


def _matched(places: Floats, before: Floats | None) -> Ints:
    """Index of the center of each rank: the assignment of least squared distances to those
    before.
    """
    fits = before is not None and len(before) == len(places) <= _MATCHED
    if before is None or not fits or not np.isfinite([places, before]).all():
        return np.arange(len(places))
    distance = ((before[:, None] - places[None]) ** 2).sum(axis=2)
    return np.asarray(linear_sum_assignment(distance)[1], dtype=np.int64)


def _called(center: Any) -> str:
    """An id, or rounded coordinates, as text."""
    if isinstance(center, np.ndarray):
        return f"({', '.join(f'{float(c):.6g}' for c in center)})"
    return str(center)


def _released(release: Any) -> dict[str, Any]:
    """Size and total weight of a coreset, and the number of parts of its partition."""
    weights = np.asarray(release.coreset().weights)
    parts = getattr(getattr(release, "partition", None), "n_parts", None)
    return {"size": len(weights), "total": float(weights.sum()), "parts": parts}
