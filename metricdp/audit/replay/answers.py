"""Reference implementations of exact answers, record by record, from a query's definition."""

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

Records = list[tuple[Any, int]]
"""Records with their multiplicities."""


def naive(step: Any) -> Any:
    """The exact answer of a step and its tolerance; None if there is no reference for the query."""
    work = NAIVE.get(step.name)
    records = _records(step.demand)
    if work is None or records is None:
        return None
    return work(step.query, records)


def agree(step: Any, expected: tuple[Any, int]) -> bool:
    """Whether the exact answer to which a step added noise is the reference's."""
    answer, tolerance = expected
    hidden = np.concatenate([d.hidden for d in step.draws])
    answer = np.asarray(answer, dtype=np.int64)
    return hidden.shape == answer.shape and bool((np.abs(hidden - answer) <= tolerance).all())


def held(demand: Any, universe: Any, rows: list[tuple[str, Any]], unit: str) -> str:
    """A fault in the records of the vault, compared with the given rows; empty if there is none."""
    records = _records(demand)
    if records is None:
        return ""
    kept = sum(count for _, count in records)
    expected = [_place(universe, place) for _, place in rows]
    found = [tuple(np.ravel(record).tolist()) for record, _ in records]
    if unit == "record":
        each = [place for place, (_, count) in zip(found, records) for _ in range(count)]
        if sorted(each) != sorted(expected):
            return "the vault holds other records than were put in"
    most = (
        len(rows)
        if demand.weight_units == 1
        else demand.weight_units * len({user for user, _ in rows})
    )
    if kept > most or not set(found) <= set(expected):
        return "the vault holds more than was put in"
    return ""


def _place(universe: Any, place: Any) -> tuple[float, ...]:
    if hasattr(universe, "ids"):
        return (list(universe.ids).index(place),)
    low, high = universe.lower.tolist(), universe.upper.tolist()
    return tuple(min(max(float(x), a), b) for x, a, b in zip(np.ravel(place), low, high))


def _records(demand: Any) -> Records | None:
    """Records in the vault with multiplicities; None if they cannot be listed."""
    if not hasattr(demand, "universe"):
        return None
    kept = import_module("metricdp.privacy._vault")._open(demand)
    if isinstance(kept, np.ndarray):
        return [(record, 1) for record in kept]
    if type(kept).__name__ == "Tally":
        return [(p, int(c)) for p, c in zip(kept.points, kept.counts)]
    return None


def _count(query: Any, records: Records) -> Any:
    return [sum(count for _, count in records)], 0


def _histogram(query: Any, records: Records) -> Any:
    counts = [0] * query.partition.n_parts
    for record, count in records:
        counts[int(np.asarray(query.partition.encode(np.asarray([record])))[0])] += count
    return counts, 0


def _levels(query: Any, records: Records) -> Any:
    each = [NAIVE[type(level).__name__](level, records) for level in query.levels]
    return np.concatenate([answer for answer, _ in each]), max(slack for _, slack in each)


def _sums(query: Any, records: Records) -> Any:
    """Vectors from the part's center in integer steps, clipped to a ball, rounded towards zero."""
    d = query.centers.shape[1]
    total = [[0] * d for _ in range(len(query.centers))]
    most = 2**query.bits
    for record, count in records:
        part = int(np.asarray(query.histogram.partition.encode(np.asarray([record])))[0])
        step = float(query.radii[part]) / most
        v = [(float(x) - float(c)) / step for x, c in zip(record, query.centers[part])]
        length = math.sqrt(math.fsum(x * x for x in v))
        short = min(1.0, most / length) if length else 1.0
        for axis in range(d):
            total[part][axis] += count * math.trunc(v[axis] * short)
    if query.folded:
        sides = [[s[i] for s in total[side::2]] for side in (0, 1) for i in range(d)]
        return [sum(sides[i]) - sum(sides[d + i]) for i in range(d)], 2 * len(records)
    return [x for row in total for x in row], 2 * len(records)  # tolerance of floating point


def _totals(query: Any, records: Records) -> Any:
    total = [0] * query.n_values
    for record, count in records:
        amounts = [int(a) for a in np.asarray(query.measured.amounts(np.asarray([record])))[0]]
        if sum(map(abs, amounts)) <= 2**query.bits:
            total = [t + count * a for t, a in zip(total, amounts)]
    return [t >> query.shift for t in total], 0


def _steps(universe: Any, record: Any) -> list[int]:
    """Quantized distances from a point to all points."""
    return [int(x) for x in next(iter(universe.grid_rows(np.array([int(record)]))))]


def _swap(query: Any, records: Records) -> Any:
    shift, cap, power = query._scale
    rows = [(_steps(query.universe, record), count) for record, count in records]
    found = []
    for index in range(len(query)):
        leaves, comes = query.decode(index)
        there = [int(c) for c in query.centers if int(c) != leaves] + [comes]
        cost = 0
        for row, count in rows:
            cost += count * min(-(-min(row[c] for c in there) >> shift), cap) ** power
        found.append(-cost)
    return found, 0


NAIVE: dict[str, Callable[[Any, Records], Any]] = {
    "CountQuery": _count,
    "HistogramQuery": _histogram,
    "LevelsQuery": _levels,
    "SumsQuery": _sums,
    "TotalsQuery": _totals,
    "SwapQuery": _swap,
}
