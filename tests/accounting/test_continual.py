"""Schedules of streams against their definition: which days a node has, which nodes a day needs,
and that no shape costs less.
"""

from itertools import product

import numpy as np
import pytest

from metricdp.accounting.continual import DayBlock, Node, days_of, l1, squared
from metricdp.accounting.continual import Schedule as Plain
from metricdp.running.days import FAINT, best_for_totals, best_for_windows, needed, present
from metricdp.running.days import LeastNoise as Schedule
from tests import cases, refuses

SCHEDULES = [
    *(Plain(horizon, window) for horizon in (None, 40) for window in (None, 7)),
    *(Schedule(horizon, gaussian=g) for horizon in (1, 2, 30, 65) for g in (False, True)),
    Schedule(),
    Schedule(gaussian=True),
    *(Schedule(horizon, window) for horizon in (None, 40) for window in (1, 2, 7, 30)),
    Schedule(gaussian=True, window=9),
    Schedule(half_life=0.25),
    Schedule(40, half_life=0.5),
]


def test_blocks_of_an_unknown_horizon_follow_one_another():
    schedule = Schedule()
    blocks = [schedule.block(number) for number in range(4)]
    assert [(b.start, b.length) for b in blocks] == [(0, 16), (16, 64), (80, 256), (336, 1024)]
    found = [(b.base, b.levels) for b in blocks]
    assert found == [best_for_totals(b.length, False) for b in blocks]
    edges = [0, 15, 16, 79, 80, 335, 336]
    assert [schedule.number_of(day) for day in edges] == [0, 0, 1, 1, 2, 2, 3]


def test_other_streams_have_one_block():
    assert Schedule(9, half_life=2.0).block(0) == DayBlock(0, 9, 2, 1)
    for gaussian in (False, True):
        of = Schedule(90, 30, gaussian=gaussian).block(0)
        assert of == DayBlock(0, 90, *best_for_windows(30, gaussian))
        of = Schedule(90, gaussian=gaussian).block(0)
        assert of == DayBlock(0, 90, *best_for_totals(90, gaussian))
    for one in (Schedule(99), Schedule(window=3), Schedule(half_life=2.0)):
        assert one.number_of(98) == 0


@pytest.mark.parametrize("schedule", SCHEDULES, ids=repr)
def test_nodes_are_what_they_say(schedule):
    """A day is in one node of each level; the present is the days that it should be, once each;
    what it will need on a later day is kept, and where days go on, nothing else is (but for
    windows).
    """
    last = (schedule.horizon or 100) - 1
    needed_later: set[Node] = set()
    for day in range(last, -1, -1):
        nodes = schedule.nodes(day)
        block = schedule.block(schedule.number_of(day))
        assert [node.level for node in nodes] == list(range(block.levels))
        for node in nodes:
            first, end = schedule.days(node)
            assert first <= day <= end and end - first + 1 == block.base**node.level
            assert first >= block.start and (first - block.start) % block.base**node.level == 0
            assert schedule.ends(node, end) and not schedule.ends(node, end - 1)
        ended = {n for d in range(max(0, day - 40), day + 1) for n in schedule.nodes(d)}
        for node in (n for n in ended if schedule.days(n)[1] <= day):
            if schedule.window is not None:  # whatever begins in the next one
                begins = schedule.days(node)[0] > day + 1 - schedule.window
                assert begins == needed(schedule, node, day) >= (node in needed_later)
            elif day < last - 40 or node in needed_later:
                assert needed(schedule, node, day) == (node in needed_later), (node, day)
        now = present(schedule, day)
        runs = [schedule.days(node) for node, _ in now]
        reported = [day for first, last in runs for day in range(first, last + 1)]
        if schedule.half_life is not None:
            weights = {node.place: weight for node, weight in now}
            assert min(weights) >= 0 and max(weights) == day
            for past in range(day + 1):
                weight = 2.0 ** (-(day - past) / schedule.half_life)
                assert weights.get(past) == (weight if weight >= FAINT else None)
        else:
            first = 0 if schedule.window is None else max(0, day - schedule.window + 1)
            assert sorted(reported) == list(range(first, day + 1))
            assert all(weight == 1 for _, weight in now)
        assert all(schedule.days(node)[1] <= day for node, _ in now)
        needed_later |= {node for node, _ in now}


def test_days_beyond_the_horizon_are_refused():
    refuses("beyond the horizon", lambda: list(Schedule(9).cover(0, 9)), error=ValueError)
    assert sum(1 for _ in Schedule(9).cover(8, 8)) == 1


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("days", [1, 2, 3, 4, 5, 8, 9, 16, 17, 31, 64])
def test_no_shape_costs_less(days, gaussian):
    """All shapes are tried, and the nodes of every total and window counted one by one."""

    def digits(total, base, levels):
        most = base ** (levels - 1)
        return total // most + sum(total // base**i % base for i in range(levels - 1))

    def window(start, base, levels):
        found, day = 0, start
        while day < start + days:
            sizes = (base**i for i in range(levels) if day % base**i == 0)
            size = max(size for size in sizes if day + size <= start + days)
            found, day = found + 1, day + size
        return found

    def cost(nodes, levels):
        return nodes * (levels if gaussian else levels**2)

    shapes = [
        (base, levels)
        for levels, base in product(range(1, days.bit_length() + 2), range(2, max(3, days + 1)))
        if base ** (levels - 1) <= days
    ]
    mean = {shape: np.mean([digits(t, *shape) for t in range(1, days + 1)]) for shape in shapes}
    totals = {shape: cost(float(mean[shape]), shape[1]) for shape in shapes}
    assert totals[best_for_totals(days, gaussian)] == min(totals.values())
    windows = {}
    for base, levels in shapes:
        some = np.unique(np.linspace(0, base ** (levels - 1) - 1, 24).astype(np.int64))
        mean = float(np.mean([window(s, base, levels) for s in some.tolist()]))
        windows[base, levels] = cost(mean, levels)
    assert windows[best_for_windows(days, gaussian)] == min(windows.values())


@cases(
    ("days", "laplace", "gaussian", "window"),
    (1, (2, 1), (2, 1), [(2, 1), (2, 1)]),
    (7, (2, 1), (2, 1), [(2, 1), (2, 1)]),
    (30, (2, 1), (6, 2), [(2, 1), (6, 2)]),
    (365, (20, 2), (4, 4), [(20, 2), (4, 4)]),
    pytest.param(1000, (10, 3), (6, 4), [(10, 3), (6, 4)], marks=pytest.mark.extended),
    (4096, (17, 3), (5, 5), None),
    (5000, (17, 3), (4, 6), None),
    (100_000, (18, 4), (5, 7), None),
)
def test_shapes_stay_what_they_are(days, laplace, gaussian, window):
    """A stream that is taken up again goes on with the shape that it was begun with."""
    assert (best_for_totals(days, False), best_for_totals(days, True)) == (laplace, gaussian)
    if window is not None:
        assert [best_for_windows(days, distribution) for distribution in (False, True)] == window


def test_sensitivities_of_a_block():
    for schedule, days in ((Schedule(9), 9), (Schedule(30, 7), 30)):
        block = DayBlock(0, schedule.horizon, 3, 3)
        assert (days_of(schedule, "event"), days_of(schedule, "user")) == (1, days)
        assert l1(schedule, block, "event", 2) == 6
        assert l1(schedule, block, "user", 2) == 6 * days
        assert squared(schedule, block, "event", 5) == 15
        assert squared(schedule, block, "user", 5) == 5 * days * (1 + 3 + 9)
    assert squared(Schedule(4), DayBlock(0, 4, 3, 3), "user", 5) == 5 * 4 * (1 + 3 + 4)
    assert days_of(Schedule(), "user") == 0
