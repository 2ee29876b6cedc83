"""Covering loops: their sums, their price, their distribution, what they cover; and the method
built on them.
"""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import hypothesis.strategies as st
import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_matrix

import metricdp as mdp
from metricdp.accounting import Cost, covering, selection_epsilon
from metricdp.accounting.covering import WHOLE_LOOP, exponent
from metricdp.audit.samplers import p_value
from metricdp.kernels.scores import CAP
from metricdp.methods.finite.max_coverage import first_covering
from metricdp.metrics.listing import listed_balls, listed_sets
from metricdp.metrics.set_systems import Balls, ListedSets
from metricdp.partitions.finite.labels import LabelParts
from metricdp.privacy import CoverQuery, cover, split
from metricdp.records.scores import add_sums, bounded
from tests import naive, refuses

METRICS = {
    "graph": lambda: mdp.GraphMetric(
        nx.random_geometric_graph(40, 0.3, seed=1), weight=None, largest_component=True
    ),
    "points": lambda: mdp.EuclideanMetric(np.random.default_rng(0).random((25, 2)).round(1)),
    "matrix": lambda: mdp.PrecomputedMetric([[0.0, 0, 3], [0, 0.0, 3], [3, 3, 0.0]]),
    "ground set": lambda: mdp.GroundSet("abcdef"),
}


def chain(script):
    """A `choose` that takes candidates by a script, and the scores that it was shown."""
    shown = []

    def choose(scores):
        shown.append(scores.copy())
        return script[len(shown) - 1] % len(scores)

    return choose, shown


# Sets and sums


@pytest.mark.parametrize("kind", METRICS)
@pytest.mark.parametrize("some", [False, True])
def test_balls_are_the_points_within_the_radius(kind, some):
    metric = METRICS[kind]()
    distances = metric.grid_rows(np.arange(len(metric)))
    centers = np.array([2, 0]) if some else np.arange(len(metric))
    rng = np.random.default_rng(1)
    for radius in (0.0, 0.3, 1.0, 2.0, 1e30):
        balls = Balls(metric, radius, centers if some else None)
        elements = rng.permutation(len(metric))[:3]
        amounts = rng.integers(-5, 9, len(elements))
        inside = distances[centers] <= min(radius / metric.unit, 2**61)
        for system in (balls, listed_balls(balls)):
            total = np.full(len(centers), 7)
            add_sums(system, total, elements, amounts)
            assert total.tolist() == (7 + inside[:, elements] @ amounts).tolist()
            found = [sorted(system.members(i)) for i in range(len(centers))]
            assert found == [np.flatnonzero(row).tolist() for row in inside]
        assert balls.centers.tolist() == centers.tolist()


def test_large_balls_are_listed_while_memory_allows():
    balls = Balls(METRICS["graph"](), 100.0)
    n = balls.n_elements
    assert [listed_balls(balls, most).n_sets for most in (0, n, 3 * n + 1, n * n)] == [1, 1, 3, n]


def test_listed_sets_hold_an_element_once_however_often_it_is_listed():
    universe = mdp.GroundSet("abcd")
    system = listed_sets(["abba", [], "d"], universe)
    assert [system.members(i).tolist() for i in range(3)] == [[0, 1], [], [3]]
    total = np.zeros(3, np.int64)
    add_sums(system, total, np.arange(4), np.array([5, 7, 11, 13]))
    assert total.tolist() == [12, 0, 13]
    matrix = listed_sets(csr_matrix([[1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 2]]), universe)
    assert [matrix.members(i).tolist() for i in range(3)] == [[0, 1], [], [3]]


def test_sums_are_over_sets_that_are_trusted_and_counts_whose_sum_does_not_overflow():
    class Own(ListedSets):
        pass

    total = np.zeros(1, np.int64)
    with pytest.raises(mdp.InputError, match="ListedSets or Balls"):
        add_sums(Own(np.array([0, 1]), np.array([0]), 1), total, total, total)
    for n in (1, 2, 3):
        found = bounded(np.array([0, CAP // n - 1, CAP][-n:]))
        assert found.tolist() == [0, CAP // n - 1, CAP // n][-n:]
    assert bounded(total[:0]).tolist() == []


def test_bad_sets_are_refused():
    universe = mdp.GroundSet("abcd")
    for bad in ([], 7, [["z"]], csr_matrix((2, 3))):
        refuses("", listed_sets, bad, universe)
    for starts, members in (([0], []), ([0, 1], [4]), ([0, 2, 1], [0, 1]), ([0, 1], [-1])):
        refuses("", ListedSets, starts, members, 4)
    sets, points = listed_sets(["ab"], universe), LabelParts.of(universe)
    other = ListedSets([0, 1], [0], 3)
    pairs = (sets, 0), (sets, 1.5), ("ab", 1), (other, 1), (sets, None), (sets, 1, 1)
    bad = [sets, [sets, 1], *pairs]
    for stages in ([], 3, *([one] for one in bad), *([(sets, 1), one] for one in bad)):
        refuses("stage", CoverQuery, points, stages)
    query = CoverQuery(points, [(sets, 7), (listed_sets(["ab", "c"], universe), 7)])
    assert [times for _, times in query.stages] == [1, 2] and query.rounds == 3
    assert str(query) == "3 sets in 2 stages that cover most"
    refuses("different universes", lambda: query.check(mdp.GroundSet("abcd")))


SYSTEMS = st.integers(2, 7).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.lists(
            st.lists(st.lists(st.integers(0, n - 1), max_size=n), min_size=1, max_size=5),
            min_size=1,
            max_size=3,
        ),
        st.lists(st.integers(0, n - 1), max_size=12),
        st.lists(st.integers(0, 50), min_size=15, max_size=15),
        st.integers(1, 4),
    )
)


@given(SYSTEMS)
def test_the_loop_shows_each_round_what_is_not_covered_yet(drawn):
    n, stages, records, script, times = drawn
    universe = mdp.GroundSet(range(n))
    listed = [(listed_sets(sets, universe), times) for sets in stages]
    query = CoverQuery(LabelParts.of(universe), listed)
    choose, shown = chain(script)
    counts = np.bincount(np.array(records, np.int64), minlength=n)
    found = query.selected(counts, choose)
    assert counts.sum() == len(records)  # the caller's counts stay as they were
    expected, rounds = naive.covering(stages, records, times, script)
    assert [one.tolist() for one in found] == expected
    assert [scores.tolist() for scores in shown] == rounds
    assert len(rounds) == query.rounds


# The price


@given(
    st.floats(0.05, 3),
    st.integers(1, 3),
    st.lists(st.lists(st.integers(0, 100), min_size=4, max_size=4), min_size=1, max_size=5),
    st.floats(0.0, 3.0),
)
def test_no_loop_needs_more_delta_than_the_theorem_says(x, unit, rows, epsilon):
    """Random loops: a round covers 0..unit of the unit's records with random chances."""
    chances = [[max(row[0], 1), *row[1 : unit + 1]] for row in rows]
    needed = naive.covering_delta(chances, x / unit, unit, epsilon)
    assert needed <= -math.expm1(-x) * math.exp(-(epsilon + x) / math.expm1(x)) * (1 + 1e-9)


def test_the_theorem_is_tight():
    x, epsilon = 0.4, 1.0
    claimed = -math.expm1(-x) * math.exp(-(epsilon + x) / math.expm1(x))
    chance, growth, needed, alive, ratio = 1 / 400, math.expm1(x), 0.0, 1.0, 0.0
    for _ in range(4000):
        ratio += math.log1p(growth * chance)
        needed += alive * chance * max(0.0, -math.expm1(epsilon - (ratio - x)))
        alive *= 1 - chance
    needed += alive * max(0.0, -math.expm1(epsilon - ratio))
    assert 0.98 * claimed < needed <= claimed


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("epsilon", ["1/100", "1/2", 2, 60])
@pytest.mark.parametrize("delta", ["1e-9", "1e-6", "1/20"])
def test_the_exponent_solves_the_condition_and_is_never_beyond_it(relation, epsilon, delta):
    budget = Cost.of(epsilon, delta)
    many = exponent(budget, 10**6, relation, 1)
    assert many.bound == WHOLE_LOOP
    x, s = float(many.eta), float(budget.epsilon)

    def log_delta(x):
        if relation == "add-remove":
            return math.log(-math.expm1(-x)) - (s + x) / math.expm1(x)
        return math.log(math.expm1(x)) - s / math.expm1(x)

    assert log_delta(x) <= math.log(float(budget.delta)) + 1e-9
    assert x == s or log_delta(x * 1.0001) > math.log(float(budget.delta))
    assert exponent(budget, 10**6, relation, 3).eta == many.eta / 3
    few = exponent(budget, 1, relation, 1)
    assert few.eta >= max(many.eta, budget.epsilon / (1 if relation == "add-remove" else 2))
    etas = [exponent(budget, rounds, relation, 2).eta for rounds in (1, 2, 5, 20, 100, 1000)]
    assert etas == sorted(etas, reverse=True)


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [("1/2", "1e-6"), (2, "1e-9"), ("1/3", "1e-5"), ("3/2", "1e-4"), (1, "1e-7"), ("3/4", "1e-8")],
)
def test_the_factor_is_the_largest_of_its_grid_that_keeps_its_margin(relation, epsilon, delta):
    """To 80 digits: within 1e-12 of the bound, and one step on it is nearer than that."""
    budget = Cost.of(epsilon, delta)
    x = covering._largest(budget.epsilon, budget.delta, relation)
    assert x * 2**60 == int(x * 2**60) and x < budget.epsilon
    with localcontext() as context:
        context.prec = 80
        at, s, d = (Decimal(v.numerator) / v.denominator for v in (x, *budget_of(budget)))
        growth = at.exp() - 1
        bound = growth.ln() - s / growth
        if relation == "add-remove":
            bound = (1 - (-at).exp()).ln() - (s + at) / growth
        assert Decimal("1e-12") <= d.ln() - bound < Decimal("1.001e-12")
    assert covering._safe(x, *budget_of(budget), relation)
    assert not covering._safe(x + Fraction(1, 2**60), *budget_of(budget), relation)


def budget_of(cost):
    return cost.epsilon, cost.delta


def test_the_largest_of_the_bounds_that_are_known_is_taken():
    budget, least = Cost.of(1, "1e-6"), covering.LEAST
    bounds = {rounds: exponent(budget, rounds, "add-remove", 1) for rounds in (1, 6, 10**6)}
    assert [one.bound for one in bounds.values()] == ["basic composition", "zCDP", WHOLE_LOOP]
    assert bounds[6].eta == selection_epsilon(Cost.zcdp(1, "1e-6"), 6)
    for relation, times in (("add-remove", 1), ("replace-one", 2)):
        assert exponent(budget, 6, relation, 3).eta == bounds[6].eta / (3 * times)
        assert exponent(budget, 1, relation, 3).eta == Fraction(1, 3 * times)
    wide = exponent(Cost.of(60, "1/20"), 10**6, "replace-one", 3)
    assert wide.eta == covering._largest(Fraction(60), Fraction(1, 20), "replace-one") / 3
    assert exponent(Cost.of(least, "1/10"), 2, "add-remove", 1).eta > 0
    assert covering._largest(least, Fraction(1, 10**60), "add-remove") == 0  # below the grid
    refuses("too small for a cover", exponent, Cost.of(least / 2, "1/10"), 2, "add-remove", 1)


def test_without_delta_rounds_add_up():
    assert exponent(Cost.of(1), 10, "add-remove", 2) == (Fraction(1, 20), "basic composition")
    assert exponent(Cost.of(1), 10, "replace-one", 2) == (Fraction(1, 40), "basic composition")


# The distribution


def test_sequences_of_selections_have_the_distribution_of_the_algorithm():
    """Chi-square over all sequences; a false alarm has probability 1e-7."""
    universe = mdp.GroundSet("abc")
    sets, records = ["ab", "bc", "c"], "aabbbc"
    demand = mdp.PrivateDemand(universe, list(records))
    listed = [(listed_sets(sets, universe), picks) for picks in (2, 1)]
    query = CoverQuery(LabelParts.of(universe), listed)
    ledger = mdp.Ledger(500, neighboring="add-remove")
    seen: dict[tuple[int, ...], int] = {}
    for _ in range(1500):
        selected, receipt = cover(demand, query, "1/10", ledger.charge("1/10"))
        key = tuple(np.concatenate(selected).tolist())
        seen[key] = seen.get(key, 0) + 1
    eta = 1 / receipt.mechanisms[0].scale
    distribution = naive.covering_distribution([(sets, 2), (sets, 1)], records, eta)
    assert set(seen) <= set(distribution)
    keys = sorted(distribution)
    counts = np.array([seen.get(key, 0) for key in keys])
    assert p_value(counts, np.array([distribution[key] for key in keys])) > 1e-7


def test_a_cover_is_paid_before_it_is_read_and_only_from_what_is_there():
    universe = mdp.GroundSet("ab")
    demand = mdp.PrivateDemand(universe, ["a"])
    query = CoverQuery(LabelParts.of(universe), [(listed_sets(["a", "b"], universe), 1)])
    budget_slice = mdp.Ledger(1, "1e-6").charge("1/2", "1e-7")
    refuses("", cover, demand, query, Cost.of("1/2", "1e-6"), budget_slice, error=mdp.BudgetError)
    assert budget_slice.spent == 0
    receipt = cover(demand, query, Cost.of("1/2", "1e-7"), budget_slice)[1]
    expected = Fraction(1, 2), Fraction(1, 10**7), 0, 0
    assert (receipt.epsilon, receipt.delta, budget_slice.left, budget_slice.left_delta) == expected
    other = mdp.PrivateDemand(mdp.GroundSet("ab"), ["a"])
    pool = mdp.Ledger(1, "1e-6").charge(Cost.zcdp(1, "1e-6"))
    budget_slice = mdp.Ledger(1).charge(1)
    cases = (other, "1/2", budget_slice), (demand, 0, budget_slice), (demand, "1/2", pool)
    for whose, epsilon, budget in cases:
        refuses("", cover, whose, query, epsilon, budget)


# What is covered


def best_cover(sets: np.ndarray, weights: np.ndarray, k: int) -> float:
    """Largest weight that k sets cover: an exact integer program."""
    n_sets, n = sets.shape
    cost = np.r_[np.zeros(n_sets), -weights.astype(float)]
    covered = LinearConstraint(np.c_[-sets.T.astype(float), np.eye(n)], ub=np.zeros(n))
    number = LinearConstraint(np.r_[np.ones(n_sets), np.zeros(n)][None, :], ub=[k])
    whole = np.r_[np.ones(n_sets), np.zeros(n)]
    limits = {"constraints": [covered, number], "bounds": Bounds(0, 1)}
    return -milp(cost, integrality=whole, **limits).fun


@pytest.mark.extended
def test_enough_selections_cover_nearly_the_optimum_on_200_random_systems():
    """Lemma 9 of the paper with its constants: all systems fail together with probability below
    1e-6.

    A selection falls short of the best set by more than t = ln(n_sets · rounds · 200 / 1e-6) / eta
    with probability below 1e-6 over 200 · rounds. Else, while the best set covers more than 2t, a
    selection covers at least half as much, and 2k·ln(1/a) of them leave a fraction a of the
    optimum; once it covers less, k of them could not add 2kt. The bound is not empty: it asks for
    four fifths of (1 - a)·optimum.
    """
    rng, accuracy, asked = np.random.default_rng(4), 0.3, []
    for _ in range(200):
        n, n_sets, k = 24, int(rng.integers(8, 20)), int(rng.integers(1, 4))
        sets = rng.random((n_sets, n)) < rng.uniform(0.05, 0.3)
        weights = rng.geometric(1 / 2000, n)
        demand = mdp.PrivateDemand(mdp.GroundSet(range(n)), np.repeat(np.arange(n), weights))
        m = min(math.ceil(2 * k * math.log(1 / accuracy)), n_sets)
        listed = [np.flatnonzero(row) for row in sets]
        found = mdp.max_coverage(listed, demand, m, epsilon=2, delta=1e-6)
        short = math.log(n_sets * m * 200 / 1e-6) * found.receipt.mechanisms[0].scale
        optimum = best_cover(sets, weights, k)
        least = (1 - accuracy) * optimum - 2 * k * short
        assert weights[sets[found.sets].any(axis=0)].sum() >= least
        asked.append(least / ((1 - accuracy) * max(optimum, 1)))
    assert np.median(asked) > 0.8


def test_names_sizes_and_budgets_of_max_coverage():
    universe = mdp.GroundSet("abcd")
    demand = mdp.PrivateDemand(universe, ["a"] * 2000 + ["c"] * 1000)
    found = mdp.max_coverage({"x": "ab", "y": "cd", "z": "b"}, demand, 2, epsilon=1)
    assert (found.sets, found.receipt.epsilon) == (["x", "y"], 1)
    every = mdp.max_coverage(["ab", "cd", "b"], demand, 3, epsilon=1, delta=1e-6)
    assert sorted(every.sets) == [0, 1, 2]
    ledger = mdp.Ledger(1, neighboring="replace-one")
    (part, budget), *_ = split(demand, LabelParts.of(universe), 1, mdp.Ledger(1))
    for whose, own in ((part, ledger), (demand, budget), (part, None)):
        asked = {"epsilon": 1, "ledger": own}
        refuses("paid from the budget slice", mdp.max_coverage, ["ab"], whose, 1, **asked)
    assert len(mdp.max_coverage(["ab", "cd"], demand, 1, epsilon=1, ledger=ledger).sets) == 1


# The method


def test_candidates_and_opened_are_kept_and_the_release_answers_on():
    metric = METRICS["graph"]()
    demand = mdp.PrivateDemand(metric, list(metric.ids[:9]) * 50)
    where = {"candidates": metric.ids[:6], "opened": [metric.ids[20]]}
    result = mdp.k_median(metric, demand, 3, epsilon=1, delta=1e-6, method="max-coverage", **where)
    assert result.centers[0] == metric.ids[20]
    assert set(result.centers[1:]) <= set(metric.ids[:6])
    assert len(result.release.k_means(5).centers) == 5 and (result.release.weights >= 0).all()
    assert sum(len(at) for at, _ in result.release.centers) > 0
    assert "max-coverage" in repr(result.release)


def test_demand_in_one_corner_of_a_large_universe_is_found():
    """All demand within one of 1,600 blocks: the parts are refined there. Errors of chance have
    probability below 1e-6.
    """
    side = 60
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(side, side))
    metric = mdp.GraphMetric(graph, weight=None)
    corner = [i for i in metric.ids if i % side < 6 and i // side < 6]
    demand = mdp.PrivateDemand(metric, corner * 100)
    release = mdp.k_median(metric, demand, 2, epsilon=1, delta=1e-6, method="max-coverage").release
    assert release.weights[metric.positions(corner)].sum() > 0.8 * release.weights.sum()


def test_the_first_covering_set_counts():
    universe = mdp.GroundSet("abcd")
    one, two = listed_sets(["ab", "bc"], universe), listed_sets(["c"], universe)
    assert first_covering([(one, np.array([1, 0])), (two, np.array([0]))]).tolist() == [1, 0, 0, 3]
