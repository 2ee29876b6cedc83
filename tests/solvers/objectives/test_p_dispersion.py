"""Sites far apart, against all choices of them."""

from itertools import combinations

import numpy as np
import pytest

import metricdp as mdp
from metricdp.solvers.objectives import p_dispersion
from metricdp.solvers.objectives.p_dispersion import independent_rows
from metricdp.solvers.stopping import NEVER, Deadline
from tests import one_way_metric, path_metric

o = mdp.objectives


UNIVERSES = {
    "points": lambda: mdp.EuclideanMetric(np.random.default_rng(1).random((12, 2))),
    "road": lambda: path_metric(12),
    "one-way": lambda: one_way_metric(12),
}


def _best(metric, k, opened, places):
    far = metric.distances(metric.ids)
    choices = (c for c in combinations(places, k) if set(opened) <= set(c))
    return max(min(min(far[a, b], far[b, a]) for a, b in combinations(c, 2)) for c in choices)


@pytest.mark.parametrize("universe", sorted(UNIVERSES))
@pytest.mark.parametrize("opened", [[], [5], [5, 6]])
@pytest.mark.parametrize("k", [2, 4])
def test_none_is_better(universe, opened, k):
    metric = UNIVERSES[universe]()
    for places in (range(12), range(1, 9)):
        asked = {"opened": opened, "candidates": list(places)}
        plan = mdp.solve(metric, o.PDispersion(k), **asked)
        assert plan.value == pytest.approx(_best(metric, k, opened, places))
        assert plan.gap == pytest.approx(0, abs=1e-9)
        assert set(opened) <= set(plan.centers) <= set(places)
        assert plan.compare(plan.centers)["ratio"] == pytest.approx(1)


def test_distances_that_differ_by_rounding():
    """The farthest of a regular polygon from a required corner: the search ended in an error."""
    angle = np.arange(12) * np.pi / 6
    metric = mdp.EuclideanMetric(np.c_[np.cos(angle), np.sin(angle)])
    for corner in range(12):
        plan = mdp.solve(metric, o.PDispersion(2), opened=[corner])
        assert (plan.value, plan.gap) == (pytest.approx(2.0), pytest.approx(0, abs=1e-9))


def test_a_bound_where_not_all_distances_are_held(monkeypatch):
    monkeypatch.setattr(p_dispersion, "WHOLE_BLOCK", 0)
    for universe in UNIVERSES.values():
        metric = universe()
        plan = mdp.solve(metric, o.PDispersion(3))
        best = _best(metric, 3, [], range(12))
        if metric.directed:  # nothing is proven: no infinite bound, no gap that is no number
            assert (plan.bound, plan.gap) == (None, None) and plan.value <= best * (1 + 1e-9)
            continue
        assert plan.value <= best * (1 + 1e-9) <= plan.bound * (1 + 2e-9)
        assert plan.value >= best / 2 * (1 - 1e-9)
    plan = mdp.solve(path_metric(9), o.PDispersion(3), opened=[0, 4, 7])
    assert (plan.value, plan.bound, plan.gap) == (3, 3, 0)  # all sites are required


@pytest.mark.parametrize("block", [0, 10**9])
@pytest.mark.parametrize("seed", range(4))
def test_no_bound_trusts_a_table_to_be_a_metric(seed, block, monkeypatch):
    """Without the triangle inequality twice the distance of farthest first may be too little."""
    monkeypatch.setattr(p_dispersion, "WHOLE_BLOCK", block)
    table = np.random.default_rng(seed).exponential(size=(12, 12)) ** 3
    table = np.triu(table, 1) + np.triu(table, 1).T
    metric = mdp.PrecomputedMetric(table)
    plan = mdp.solve(metric, o.PDispersion(3))
    assert plan.value <= _best(metric, 3, [], range(12)) * (1 + 1e-9)
    assert (plan.bound, plan.gap) == (None, None) if block == 0 else plan.gap == 0


@pytest.mark.parametrize("k", [5, 12])
def test_hundreds_of_points_are_proven(k):
    """Farthest-first traversal is 10 % below, and its bound twice that."""
    metric = mdp.EuclideanMetric(np.random.default_rng(1).random((300, 2)))
    plan = mdp.solve(metric, o.PDispersion(k))
    far = metric.distances(plan.centers, plan.centers)
    assert plan.value == pytest.approx(far[np.triu_indices(k, 1)].min()) and plan.gap == 0


def test_the_time_allowed_is_used_while_a_gap_is_open(monkeypatch):
    asked = []

    def undecided(near, k, deadline, seconds):
        asked.append(seconds)
        return None, False

    monkeypatch.setattr(p_dispersion, "independent_rows", undecided)
    metric = mdp.EuclideanMetric(np.random.default_rng(1).random((60, 2)))
    plan = mdp.solve(metric, o.PDispersion(7))
    assert plan.gap > 0 and set(asked) == {0.0, p_dispersion._SECONDS}
    plan = mdp.solve(metric, o.PDispersion(7), time_limit=1)
    assert plan.gap > 0 and max(asked) >= 4 * p_dispersion._SECONDS


def _largest(near):
    """Rows of a largest independent set: all subsets."""
    n = len(near)
    sizes = (k for k in range(n, 0, -1) for c in combinations(range(n), k) if _apart(near, c))
    return next(sizes, 0)


def _apart(near, rows):
    return not any(near[a, b] for a, b in combinations(rows, 2))


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_found_if_there_are_any(share, seed):
    drawn = np.random.default_rng(seed).random((9, 9)) < share
    near = np.triu(drawn, 1) | np.triu(drawn, 1).T
    largest = _largest(near)
    for k in range(1, 10):
        rows, proven = independent_rows(near, k, NEVER, 10.0)
        assert proven and (rows is not None) == (k <= largest)
        if rows is not None:
            assert len(set(rows)) == k and _apart(near, rows)
        bounded, proven = independent_rows(near, k, NEVER, 0.0)  # without an integer program
        assert (bounded is None and proven) <= (k > largest)


def test_an_odd_cycle_is_left_to_the_integer_program():
    """Its linear program has 2.5 rows, 3 cycles 7.5; one more is refuted by the bound alone."""
    one = np.roll(np.eye(5, dtype=bool), 1, axis=1)
    near = np.kron(np.eye(3, dtype=bool), one | one.T)
    assert independent_rows(near, 7, NEVER, 0.0) == (None, False)
    assert independent_rows(near, 7, NEVER, 10.0) == (None, True)
    assert independent_rows(near, 8, NEVER, 0.0) == (None, True)
    assert len(independent_rows(near, 6, NEVER, 10.0)[0]) == 6
    assert independent_rows(near, 8, Deadline(1e-9), 10.0) == (None, False)  # time is over
