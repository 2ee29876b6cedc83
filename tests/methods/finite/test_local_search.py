"""Private local search: its answers keep the rules of all methods, its budget adds up, and without
privacy it is Algorithm 1.
"""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

import metricdp as mdp
from benchmarks.frame.best_swaps import best_swaps
from metricdp.accounting import Ledger
from metricdp.methods import DPHST
from metricdp.methods.finite.local_search import LocalSearch, public_start
from metricdp.methods.question import Question
from metricdp.running.runner import Run
from tests import cases, naive, tries
from tests.records.test_scores import metric_of

STARTS = ("hst", "k-median++", "random")


ROAD = metric_of(*naive.random_graph(60, seed=4))


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("final", [True, False])
def test_the_budget_is_spent_to_the_last_fraction(relation, start, final):
    user = list(range(20)) * 2
    demand = mdp.PrivateDemand(ROAD, [3] * 20 + [40] * 20, user=user, max_contributions=2)
    ledger, method = Ledger(1, neighboring=relation), LocalSearch(steps=3, start=start, final=final)
    for ask in (mdp.k_median, mdp.k_means):
        result = ask(ROAD, demand, 3, epsilon="1/3", ledger=ledger, method=method)
        assert len(set(result.centers)) == 3 and result.method == "local-search"
        assert result.receipt.epsilon == Fraction(1, 3) and result.receipt.unit == "user"
        swaps = [m for m in result.receipt.mechanisms if m.name == "permute-and-flip"]
        assert len(swaps) == 3 + final and len({m.epsilon for m in swaps}) == 1
        found = sum(m.epsilon for m in swaps)
        assert found == (Fraction(1, 6) if start == "hst" else Fraction(1, 3))
    assert ledger.spent == Fraction(2, 3)


def test_a_delta_is_spent_only_where_it_buys_more():
    demand = mdp.PrivateDemand(ROAD, [3, 4, 5])
    few, many = LocalSearch(steps=2, start="random"), LocalSearch(steps=300, start="random")
    assert few.price(1, 1e-6).delta == 0 and not few.price(1, 1e-6).in_rho
    assert many.price(1, 1e-6).in_rho
    for start in STARTS:
        ledger = Ledger(1, 1e-6)
        method = LocalSearch(steps=40, start=start, final=False)
        result = mdp.k_median(ROAD, demand, 2, epsilon=1, delta=1e-6, ledger=ledger, method=method)
        assert ledger.spent <= 1 and result.receipt.bound == "zCDP"
        assert result.receipt.delta == Fraction(1, 10**6)
        swaps = [m for m in result.receipt.mechanisms if m.name == "exponential mechanism"]
        pool = many.price(1, 1e-6).rho
        share = sum(m.rho for m in swaps)
        assert len(swaps) == 40 and share <= pool
        assert share > pool * (Fraction(499, 1000) if start == "hst" else Fraction(999, 1000))


@tries(60, naive.graphs(7), st.data(), fixed=True)
def test_answers_keep_the_rules_of_all_methods(graph, data):
    metric = metric_of(*graph)
    n = len(metric)
    records = data.draw(st.lists(st.integers(0, n - 1), max_size=5))
    opened = data.draw(st.sets(st.integers(0, n - 1), max_size=2))
    candidates = data.draw(st.none() | st.sets(st.integers(0, n - 1), min_size=1))
    most = n if candidates is None else len(candidates | opened)
    k = data.draw(st.integers(max(1, len(opened)), most))
    final = data.draw(st.booleans())
    start = data.draw(st.sampled_from(["hst", "k-median++", "random"]))
    method = LocalSearch(steps=data.draw(st.integers(0, 3)), start=start, final=final)
    demand = mdp.PrivateDemand(metric, records)
    where = {"opened": opened, "candidates": candidates}
    found = mdp.k_median(metric, demand, k, epsilon=1, method=method, **where)
    assert len(set(found.centers)) == len(found.centers) == k
    assert found.centers[: len(opened)] == sorted(opened)
    assert candidates is None or set(found.centers) <= candidates | opened
    assert found.receipt.epsilon <= 1


def test_with_much_budget_it_finds_what_the_best_swaps_find():
    records = np.r_[[3] * 40, [17] * 40, [40] * 40]
    demand = mdp.PrivateDemand(ROAD, records)
    best = best_swaps(ROAD, records, np.array([0, 1, 2]))
    assert best.costs[-1] == 0 and set(best.centers[-1]) == {3, 17, 40}
    result = mdp.k_median(ROAD, demand, 3, epsilon=900, method=LocalSearch(start="random", steps=3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert mdp.exact_cost(demand, result.centers) == 0


def test_the_last_draw_prefers_the_better_set():
    demand, budget = mdp.PrivateDemand(ROAD, [3] * 500), Ledger(1000).charge(1000)
    method, question = LocalSearch(steps=4, start="random"), Question.checked(ROAD, 1, 1)
    run = Run(demand, budget)
    visited = run.drive(method.visited(run.terms, question))
    assert len(visited) == 5 and len(run.receipts) == 4
    assert [3] in [v.tolist() for v in visited] and budget.left == Fraction(1000, 5)
    assert mdp.k_median(ROAD, demand, 1, epsilon=1000, method=method).centers == [3]


def test_a_start_may_be_any_method_and_costs_nothing_if_it_asks_nothing():
    demand = mdp.PrivateDemand(ROAD, [3] * 10)
    for start in (DPHST(), mdp.methods.Partition()):
        method = LocalSearch(start=start, steps=1, share="3/4", final=False)
        result = mdp.k_median(ROAD, demand, 2, epsilon=1, method=method)
        assert result.receipt.epsilon == 1
        assert result.receipt.mechanisms[-1].epsilon == Fraction(1, 4)
    for start in ("random", mdp.methods.Uniform()):
        for steps in (0, 1):
            ledger, method = Ledger(1), LocalSearch(start=start, steps=steps)
            result = mdp.k_median(ROAD, demand, 2, epsilon=1, ledger=ledger, method=method)
            assert ledger.spent == result.receipt.epsilon == steps


def test_public_starts_are_seeded_and_keep_to_the_candidates():
    question = Question.checked(ROAD, 4, 1, candidates=range(10, 20), opened=[3], seed=1)
    for spread in (True, False):
        at = public_start(question, spread)
        assert at[0] == 3 and len(set(at.tolist())) == 4
        assert set(at[1:].tolist()) <= set(range(10, 20))
        assert at.tolist() == public_start(question, spread).tolist()


@cases(
    ("k", "options", "centers"),
    (60, {}, ROAD.ids),
    (2, {"opened": [7, 5]}, [5, 7]),
    (3, {"candidates": [9, 1], "opened": [5]}, [5, 1, 9]),
    ids=str,
)
def test_the_only_answer_is_public_and_free(k, options, centers, sealed):
    demand, ledger = mdp.PrivateDemand(ROAD, [3] * 20), Ledger(1)
    asked = {"epsilon": 1, "ledger": ledger, "method": "local-search"}
    result = mdp.k_median(ROAD, demand, k, **asked, **options)
    assert result.centers == centers and not result.receipt.mechanisms
    assert result.receipt.epsilon == 0 and not ledger.entries


@tries(60, naive.graphs(8), st.data(), st.sampled_from([1, 2]), fixed=True)
def test_best_swaps_are_those_of_the_definition(graph, data, power):
    metric = metric_of(*graph)
    n = len(metric)
    demand = data.draw(st.lists(st.integers(0, n - 1), max_size=8))
    centers = data.draw(st.permutations(range(n)))[: data.draw(st.integers(1, n))]
    found = best_swaps(metric, np.array(demand, np.int64), np.array(centers), power=power, alpha=0)
    distance = metric.grid_rows(np.arange(n))

    def cost(at):
        return naive.cost_of(distance, at, demand, (0, 2**40, power))

    assert [int(c) for c in found.costs] == [cost(at) for at in found.centers]
    for before, after in zip(found.centers, found.centers[1:]):
        others = np.setdiff1d(np.arange(n), before)
        swaps = naive.swap_table(distance, before, demand, (0, 2**40, power), others)
        assert cost(after) == np.min(swaps) < cost(before)
    last, others = found.centers[-1], np.setdiff1d(np.arange(n), found.centers[-1])
    if len(others):
        swaps = naive.swap_table(distance, last, demand, (0, 2**40, power), others)
        assert np.min(swaps) >= cost(last)
    found = best_swaps(metric, np.array(demand, np.int64), np.array(centers), steps=1)
    assert len(found.centers) <= 2
