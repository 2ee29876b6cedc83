"""The properties of a metric that private sums need: rows of distances that are integers,
symmetric, not negative, and within the metric's bound.

`check` tests a public sample before any demand is made. `metricdp.protocols.sound_rows` corrects
each entry by a public rule, so that even with a wrong metric a record counts for no more than was
paid for; it refuses nothing, as points may be private.
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import Protocol

import numpy as np

from metricdp.arguments import Floats, Ints
from metricdp.errors import InputError
from metricdp.protocols import Rows

_SOURCES = 8
_TARGETS = 2048
"""Rows that are checked, and entries of each."""


class Promising(Rows, Protocol):
    """The parts of a metric that are checked."""

    ids: Sequence[Hashable]
    unit: float
    name: str
    grid_error: float

    def distance_rows(self, sources: Ints, targets: Ints | None = None) -> Floats:
        """Distances."""

    def diameter_bound(self) -> float:
        """An upper bound of all distances."""

    def positions(self, ids: Iterable[Hashable]) -> Ints:
        """Positions of ids."""


def check(metric: Promising) -> None:
    """Check a sample: distances of 8 points to 2,048, both spread evenly, and one whole row."""
    n = len(metric)
    _check_facts(metric, n)
    sources = np.unique(np.linspace(0, n - 1, min(n, _SOURCES)).astype(np.int64))
    targets = np.union1d(sources, np.linspace(0, n - 1, min(n, _TARGETS)).astype(np.int64))
    rows = np.asarray(metric.grid_rows(sources, targets))
    lengths = np.asarray(metric.distance_rows(sources, targets))
    expected = (len(sources), len(targets))
    if rows.shape != expected or lengths.shape != expected:
        raise _broken(
            metric,
            f"rows must have shape (n_sources, n_targets), {expected} where {rows.shape}, "
            f"{lengths.shape} came",
        )
    whole = metric.grid_rows(sources[:1])
    alone = metric.grid_rows(sources[-1:], sources)
    among = rows[:, np.searchsorted(targets, sources)]
    most = np.ceil((metric.diameter_bound() + metric.grid_error) / metric.unit)
    noise = 1e-9 * np.abs(lengths)
    for rule, kept in (
        ("grid_rows must be int64", rows.dtype == np.int64),
        ("distances must be numbers", np.isfinite(lengths).all()),
        ("distances must not be negative", (rows >= 0).all()),
        ("distances must be 0 from a point to itself", not np.diagonal(among).any()),
        ("distances must be symmetric", np.array_equal(among, among.T)),
        ("distances must not exceed diameter_bound()", (rows <= most).all()),
        (
            "grid_rows must be distances rounded up to multiples of unit",
            (rows * metric.unit + metric.grid_error >= lengths - noise).all(),
        ),
        (
            "a distance must not depend on what else is asked for",
            np.array_equal(np.asarray(whole)[:, targets], rows[:1])
            and np.array_equal(alone, among[-1:]),
        ),
    ):
        if not kept:
            raise _broken(metric, rule)


def _check_facts(metric: Promising, n: int) -> None:
    if n == 0:
        raise InputError("the universe has no points")
    for fact, least in (("diameter_bound", 0.0), ("grid_error", 0.0), ("unit", 5e-324)):
        value = getattr(metric, fact)
        if not least <= (value() if callable(value) else value) < np.inf:
            raise _broken(
                metric, f"{fact} must be finite and {'positive' if least else 'not negative'}"
            )
    first = [metric.ids[i] for i in (0, n - 1)]
    try:
        distinct = len(set(metric.ids)) == n
        found = metric.positions(first).tolist()
    except TypeError:
        raise _broken(metric, "ids must be hashable") from None
    if not distinct or found != [0, n - 1]:
        raise _broken(metric, "ids must name each point once, in order of position")


def _broken(metric: Promising, rule: str) -> InputError:
    return InputError(f"{type(metric).__name__}: {rule} (metricdp.testing checks a metric in full)")
