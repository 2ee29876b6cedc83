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

PATH = path_metric(4)
GRID = grid_metric(20, 20)


class Parts:
    def __init__(self, labels):
        self.universe = PATH
        self.labels = np.array(labels)
        self.n_parts = int(max(labels)) + 1

    def encode(self, records):
        return self.labels[records]


AREAS = Parts([0, 0, 1, 1])


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
    query = HistogramQuery(Parts(labels))
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
    fine, wide = HistogramQuery(Parts([0, 1, 2, 2])), HistogramQuery(Parts([0, 1, 1, 2]))
    assert squared_sensitivity(fine, "add-remove", 6, known) == 18
    assert squared_sensitivity(fine, "replace-one", 6, known) == 36
    assert squared_sensitivity(wide, "add-remove", 6, known) == 36
    assert squared_sensitivity(CountQuery(), "add-remove", 6, known) == 36
    assert squared_sensitivity(LevelsQuery((fine, wide)), "add-remove", 6, known) == 54
    assert squared_sensitivity(fine, "add-remove", 6, None) == 36


def test_the_gate_draws_gaussian_noise_of_that_scale():
    user = list(range(9)) * 4
    demand = PrivateDemand(PATH, [0, 1, 2, 3] * 9, user=user, caps=mdp.Caps(2, 1, areas=AREAS))
    cost = Cost.zcdp(4, "1/1000")
    budget = mdp.Ledger(4, "1/1000").charge(cost)
    (one,) = measure(demand, HistogramQuery(AREAS), 4, budget, "1/1000").receipt.mechanisms
    assert one.name == "discrete Gaussian"
    exact = math.sqrt(2 / (2 * float(cost.rho)))
    assert exact <= one.scale <= exact * (1 + 1e-12)
    assert Fraction(one.scale) ** 2 * 2 * cost.rho >= 2


def test_a_split_demand_keeps_its_caps_and_a_moved_one_its_bound_alone():
    user = list(range(9)) * 4
    demand = PrivateDemand(PATH, [0, 1, 2, 3] * 9, user=user, caps=mdp.Caps(2, 1, areas=AREAS))
    (part, _), _ = gate.split(demand, AREAS, 1, mdp.Ledger(9))
    assert part.caps is demand.caps
    moved = gate.moved(demand, AREAS, path_metric(2))
    assert (moved.caps, moved.max_contributions) == (None, 2)


def people(n_users=400, each=60):
    rng = np.random.default_rng(5)
    users = np.repeat(np.arange(n_users), each)
    at = rng.integers(0, len(GRID), n_users * each)
    return users.tolist(), [GRID.ids[i] for i in at]


@pytest.mark.parametrize("neighboring", ["add-remove", "replace-one"])
def test_a_release_spends_its_delta_where_caps_make_that_less_noise(neighboring):
    users, at = people()
    demand = mdp.PrivateDemand(GRID, at, user=users, caps=mdp.Caps(30, 2))
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
    users, at = people()
    demand = mdp.PrivateDemand(GRID, at, user=users, caps=mdp.Caps(3, 1))
    ledger = mdp.Ledger(1, "1e-6")
    release = mdp.release(GRID, demand, epsilon=1, delta="1e-6", ledger=ledger)
    assert ledger.spent_delta == 0
    assert {m.name for m in release.receipt.mechanisms} == {"discrete Laplace"}


def test_it_can_be_saved(tmp_path):
    users, at = people(200)
    demand = mdp.PrivateDemand(GRID, at, user=users, caps=mdp.Caps(30, 2))
    release = mdp.release(GRID, demand, epsilon=1, delta="1e-6")
    release.save(tmp_path / "a.release")
    again = mdp.Release.load(tmp_path / "a.release", GRID)
    assert (again.weights == release.weights).all() and again.receipt == release.receipt


def test_bad_arguments_are_refused():
    caps = mdp.Caps(2)
    for options, what in (
        ({"caps": caps}, "user="),
        ({"caps": caps, "user": [1], "max_contributions": 2}, "give one"),
        ({"caps": caps, "user": [1], "weighting": "share"}, "give one"),
        ({"caps": (2, 1), "user": [1]}, "mdp.Caps"),
        ({"caps": mdp.Caps(2, areas=Parts([0, 1, 1, 1])), "user": [1]}, "different universes"),
    ):
        refuses(what, mdp.PrivateDemand, GRID, [(0, 0)], **options)
    for bad in ((0,), (1, 0), (1.5,), (2**20, 2**20), (1, 1, 0), (1, 1, "x")):
        refuses("", mdp.Caps, *bad)
    box = mdp.EuclideanSpace([0, 0], [1, 1])
    refuses("finite universe", mdp.PrivateDemand, box, [[0, 0]], user=[1], caps=caps)
    with pytest.raises(mdp.InputError, match="max_snap"):
        metric = mdp.EuclideanMetric([[0.0, 0.0]])
        mdp.PrivateDemand.from_coordinates(metric, [[0, 0]], user=[1], caps=caps, max_snap=1)
