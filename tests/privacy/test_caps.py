"""Caps: sensitivities on all small neighbors, and a release whose noise follows them."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import metricdp as mdp
from metricdp.accounting import Cost
from metricdp.accounting.binding import Protection
from metricdp.partitions.finite.labels import LabelParts
from metricdp.privacy import CountQuery, HistogramQuery, LevelsQuery, PrivateDemand, gate, measure
from metricdp.privacy.caps import refined, squared_sensitivity
from metricdp.records.engines.bounding import Bounding
from tests import grid_metric, path_metric, refuses
from tests.privacy_worlds import Labels

PATH = path_metric(4)
GRID = grid_metric(20, 20)


def parts(*labels):
    return Labels(PATH, labels, max(labels) + 1)


AREAS = parts(0, 0, 1, 1)


def test_caps_are_whole_numbers_whose_product_does_not_wrap():
    assert mdp.Caps(2**31 - 1).max_contributions == 2**31 - 1
    for parts, records in ((2**31, 1), (1, 2**31), (np.int64(2**32), np.int64(2**32))):
        refuses("too many records", mdp.Caps, parts, records)
    for wrong in (0, -1, 1.5, "x", None):
        for given in ((wrong, 1), (1, wrong)):
            refuses("at least 1", mdp.Caps, *given)


def test_parts_of_another_universe_lie_in_no_area():
    known = mdp.Caps(2, 2, areas=AREAS).of(PATH)
    twin = path_metric(4)
    assert refined(known, HistogramQuery(LabelParts.of(PATH)))
    assert not refined(known, HistogramQuery(LabelParts.of(twin)))
    for relation, times in (("add-remove", 1), ("replace-one", 2)):
        own, other = (HistogramQuery(LabelParts.of(metric)) for metric in (PATH, twin))
        assert squared_sensitivity(own, relation, 4, known) == times * 8
        assert squared_sensitivity(other, relation, 4, known) == times * 16


@pytest.mark.parametrize("caps", [(1, 1), (2, 1), (1, 2), (2, 2)])
@pytest.mark.parametrize("labels", [[0, 0, 1, 1], [0, 1, 2, 3], [0, 1, 2, 2], [0, 0, 0, 0]])
def test_no_user_of_up_to_four_records_moves_more_than_is_stated(caps, labels):
    known = mdp.Caps(*caps, areas=AREAS).of(PATH)
    query = HistogramQuery(parts(*labels))
    levels = LevelsQuery((query, query))
    users = set()
    for size in range(1, 5):
        for own in itertools.combinations_with_replacement(range(4), size):
            at = np.array(own)
            kept = Bounding(*caps, "0f", known.areas).kept(["u"] * size, at)
            users.add(tuple(query.exact(kept).tolist()))
    vectors = [np.array(user) for user in users]
    m = caps[0] * caps[1]
    most = max(int(u @ u) for u in vectors)
    stated = squared_sensitivity(query, "add-remove", m, known)
    assert most <= stated <= m * m
    assert most == stated or labels == [0, 0, 0, 0]
    assert max(int(u.sum()) for u in vectors) <= m
    differing = max(int((u - v) @ (u - v)) for u in vectors for v in vectors)
    assert differing <= squared_sensitivity(query, "replace-one", m, known)
    assert squared_sensitivity(levels, "add-remove", m, known) == 2 * stated


def test_only_finer_parts_gain():
    known = mdp.Caps(2, 3, areas=AREAS).of(PATH)
    fine, wide = HistogramQuery(parts(0, 1, 2, 2)), HistogramQuery(parts(0, 1, 1, 2))
    assert squared_sensitivity(fine, "add-remove", 6, known) == 18
    assert squared_sensitivity(fine, "replace-one", 6, known) == 36
    assert squared_sensitivity(wide, "add-remove", 6, known) == 36
    assert squared_sensitivity(CountQuery(), "add-remove", 6, known) == 36
    assert squared_sensitivity(LevelsQuery((fine, wide)), "add-remove", 6, known) == 54
    assert squared_sensitivity(fine, "add-remove", 6, None) == 36


NINE = PrivateDemand(PATH, [0, 1, 2, 3] * 9, user=[*range(9)] * 4, caps=mdp.Caps(2, 1, areas=AREAS))


def test_the_gate_draws_gaussian_noise_of_that_scale():
    cost = Cost.zcdp(4, "1/1000")
    budget = mdp.Ledger(4, "1/1000").charge(cost)
    (one,) = measure(NINE, HistogramQuery(AREAS), 4, budget, "1/1000").receipt.mechanisms
    assert one.name == "discrete Gaussian"
    exact = math.sqrt(2 / (2 * float(cost.rho)))
    assert exact <= one.scale <= exact * (1 + 1e-12)
    assert Fraction(one.scale) ** 2 * 2 * cost.rho >= 2


def test_a_split_demand_keeps_its_caps_and_a_moved_one_its_bound_alone():
    (part, _), _ = gate.split(NINE, AREAS, 1, mdp.Ledger(9))
    assert part.caps is NINE.caps
    moved = gate.moved(NINE, AREAS, path_metric(2))
    assert (moved.caps, moved.max_contributions) == (None, 2)


def crowd(caps, n_users=400):
    """Demand of users with 60 records each."""
    at = np.random.default_rng(5).integers(0, len(GRID), n_users * 60)
    users = np.repeat(np.arange(n_users), 60).tolist()
    return mdp.PrivateDemand(GRID, [GRID.ids[i] for i in at], user=users, caps=caps)


@pytest.mark.parametrize("neighboring", ["add-remove", "replace-one"])
def test_a_release_spends_its_delta_where_caps_make_that_less_noise(neighboring):
    demand = crowd(mdp.Caps(30, 2))
    assert demand.protects == Protection("user", 60)
    ledger = mdp.Ledger(2, "1e-6", neighboring=neighboring)
    release = mdp.release(GRID, demand, epsilon=1, delta="1e-6", ledger=ledger)
    assert (ledger.spent, ledger.spent_delta) == (1, Fraction(1, 10**6))
    assert {m.name for m in release.receipt.mechanisms} == {"discrete Gaussian"}
    assert sum(m.rho for m in release.receipt.mechanisms) == Cost.zcdp(1, "1e-6").rho
    twice = 1 if neighboring == "add-remove" else 2
    for one in release.receipt.mechanisms[1:]:
        assert one.scale == pytest.approx(math.sqrt(twice * 30 * 4 / (2 * one.rho)))
    assert 3000 < release.weights.sum() < 30_000
    reported = release.interval(release.k_median(3).centers)
    assert reported.low <= reported.estimate <= reported.high
    assert len(mdp.k_median(GRID, demand, 3, epsilon=1, ledger=ledger).centers) == 3
    assert ledger.spent_delta == Fraction(1, 10**6)  # without a delta, none is spent


def test_few_parts_keep_laplace_noise_and_the_delta():
    ledger = mdp.Ledger(1, "1e-6")
    release = mdp.release(GRID, crowd(mdp.Caps(3, 1)), epsilon=1, delta="1e-6", ledger=ledger)
    assert ledger.spent_delta == 0
    assert {m.name for m in release.receipt.mechanisms} == {"discrete Laplace"}


def test_it_can_be_saved(tmp_path):
    release = mdp.release(GRID, crowd(mdp.Caps(30, 2), 200), epsilon=1, delta="1e-6")
    release.save(tmp_path / "a.release")
    again = mdp.Release.load(tmp_path / "a.release", GRID)
    assert (again.weights == release.weights).all() and again.receipt == release.receipt


def test_bad_arguments_are_refused():
    elsewhere = mdp.Caps(2, areas=AREAS)
    refuses("different universes", mdp.PrivateDemand, GRID, [(0, 0)], user=[1], caps=elsewhere)
    for areas in (0, "x"):
        refuses("", mdp.Caps, 1, 1, areas)
    box = mdp.EuclideanSpace([0, 0], [1, 1])
    refuses("finite universe", mdp.PrivateDemand, box, [[0, 0]], user=[1], caps=mdp.Caps(2))
