"""Selections of swaps and of sets of centers: scores, ranges, numbering, and what is kept between
selections.
"""

import gc
import pickle

import numpy as np
import pytest
from hypothesis import strategies as st

import metricdp as mdp
from metricdp.audit.worlds import demands, neighboring_pairs, worlds
from metricdp.privacy import CentersQuery, SwapQuery, _vault, select
from tests import naive, refuses, tries, wrong
from tests.records.test_scores import metric_of

PATH = worlds()["a path"].universe


def scores_of(query, records) -> np.ndarray:
    return np.concatenate(list(query.blocks(np.array(records, np.int64))))


@st.composite
def asked(draw):
    """A tiny graph, a demand, centers some of which are opened, candidates."""
    n, edges = draw(naive.graphs(8))
    demand = draw(st.lists(st.integers(0, n - 1), max_size=10))
    centers = draw(st.permutations(range(n)))[: draw(st.integers(1, n))]
    opened = draw(st.sets(st.sampled_from(centers)))
    return n, edges, demand, centers, opened, draw(st.sets(st.integers(0, n - 1), min_size=1))


@tries(60, asked(), st.sampled_from([1, 2]), st.sampled_from([None, 1.0, 3.0]), fixed=True)
def test_scores_are_the_costs_after_the_swap_that_the_number_stands_for(problem, power, cap):
    n, edges, demand, centers, opened, candidates = problem
    metric = metric_of(n, edges)
    may_leave, may_come = [c for c in centers if c not in opened], sorted(candidates - set(centers))
    if not may_leave or not may_come:
        with pytest.raises(mdp.InputError, match="nothing to swap"):
            SwapQuery(metric, centers, power=power, cap=cap, candidates=candidates, opened=opened)
        return
    query = SwapQuery(metric, centers, power=power, cap=cap, candidates=candidates, opened=opened)
    distance, scores = metric.grid_rows(np.arange(n)), scores_of(query, demand)
    assert len(query) == len(scores) == len(may_leave) * len(may_come)
    swaps = [query.decode(i) for i in range(len(query))]
    assert sorted(swaps) == sorted((x, y) for x in may_leave for y in may_come)
    for i, (x, y) in enumerate(swaps):
        after = [y if c == x else c for c in centers]
        assert -scores[i] == naive.cost_of(distance, after, demand, query._scale)
        assert query.after(i).tolist() == after
        if x in candidates or len(may_come) > 1:  # else nothing is left to swap
            assert query.swapped(i).centers.tolist() == after


@tries(60, asked(), st.data(), st.sampled_from([1, 2]), fixed=True)
def test_no_record_moves_scores_by_more_than_is_stated(problem, data, power):
    n, edges, demand, centers, *_ = problem
    metric, one = metric_of(n, edges), data.draw(st.integers(0, n - 1))
    queries = [CentersQuery(metric, [centers, list(range(1)), [n - 1]], power=power)]
    if len(centers) < n:
        queries.append(SwapQuery(metric, centers, power=power))
    for query in queries:
        change = scores_of(query, [*demand, one]) - scores_of(query, demand)
        assert -query.sensitivity("add-remove", 1) <= change.min() and change.max() <= 0
        assert np.ptp(change) <= query.range("add-remove", 1) <= query.range("replace-one", 1) / 2


def test_the_stated_range_is_reached_on_a_path():
    for query in (SwapQuery(PATH, [1, 2], candidates=[0, 3]), CentersQuery(PATH, [[0], [3]])):
        changes = [np.ptp(scores_of(query, [v])) for v in range(4)]
        assert max(changes) == query.range("add-remove", 1)
        some = demands(4, 2)
        chosen = [[u[0] for u in one] for one in some]
        pairs = neighboring_pairs(some, "replace-one")
        scores = [scores_of(query, places) for places in chosen]
        exchanged = [np.ptp(scores[i] - scores[j]) for i, j in pairs]
        assert max(exchanged) <= query.range("replace-one", 1)


def test_sets_are_ranked_by_their_costs():
    rng = np.random.default_rng(0)
    metric = mdp.EuclideanMetric(rng.random((40, 2)))
    sets = [rng.permutation(40)[:3] for _ in range(6)]
    demand = rng.integers(0, 40, 50)
    for power in (1, 2):
        query = CentersQuery(metric, sets, power=power)
        distance = metric.grid_rows(np.arange(40))
        cost = np.array([naive.cost_of(distance, s, demand, query._scale) for s in sets])
        scores = scores_of(query, demand)
        assert (np.diff(scores + cost) == 0).all() and scores.max() <= 0


def test_what_is_kept_belongs_to_one_demand_and_one_budget_slice_and_goes_with_them():
    demand, other = (mdp.PrivateDemand(PATH, records) for records in ([0, 0, 3], [2]))
    budget, query = mdp.Ledger(10).charge(5), SwapQuery(PATH, [1, 2])
    for who in (demand, other):
        select(who, query, 1, budget)
    kept, others = (_vault._memory(who, budget) for who in (demand, other))
    assert kept and others and kept is not others
    assert next(iter(kept.values())).total != next(iter(others.values())).total
    assert not _vault._memory(demand, mdp.Ledger(1).charge(1))
    assert "SwapCosts" not in repr(vars(budget)) + repr(vars(query)) + repr(demand)
    refuses("", pickle.dumps, demand, error=TypeError)
    again = pickle.loads(pickle.dumps(query))
    assert not any(type(value).__name__ == "SwapCosts" for value in vars(again).values())
    assert any(type(o).__name__ == "SwapCosts" for o in gc.get_objects())
    del kept, others, budget, who
    gc.collect()
    assert not any(type(o).__name__ == "SwapCosts" for o in gc.get_objects())


def test_an_interrupted_selection_leaves_nothing_behind():
    memory, query, records = {}, SwapQuery(PATH, [1, 2]), np.array([0, 3, 3])
    want = scores_of(query, records)
    assert np.array_equal(np.concatenate(list(query.resumed(records, memory))), want) and memory
    next(query.resumed(records, memory))  # and no further
    assert not memory
    assert np.array_equal(np.concatenate(list(query.resumed(records, memory))), want) and memory


def test_scores_from_memory_are_those_of_a_fresh_query_after_any_swaps():
    n, edges = naive.random_graph(60, seed=3)
    metric, rng, memory = metric_of(n, edges), np.random.default_rng(1), {}
    records, query = rng.integers(0, n, 30), SwapQuery(metric, rng.permutation(n)[:4])
    for _ in range(10):
        resumed = np.concatenate(list(query.resumed(records, memory)))
        assert np.array_equal(resumed, scores_of(query, records))
        query = query.swapped(int(rng.integers(len(query))))


def test_bad_questions_are_refused():
    for options, words in (
        *wrong("power 1 or 2", power=[0, 3]),
        *wrong("", cap=[-1.0, np.nan], candidates=[[9], [1]], opened=[[1]], centers=[[7]]),
        *wrong("centers must be distinct, and at least one", centers=[[], [1, 1]]),
    ):
        refuses(words or None, SwapQuery, PATH, **{"centers": [1], **options})
    for sets in ([[]], [[0], [1, 1]]):
        refuses("", CentersQuery, PATH, sets)
    with pytest.raises(mdp.InputError, match="a query about centers needs a finite universe"):
        CentersQuery(mdp.EuclideanSpace([0], [1]), [[0]])
    refuses("at least one set of centers", CentersQuery, PATH, [])
    refuses("", SwapQuery, "a path", [1])


def test_what_queries_about_centers_state():
    """On a path of four points, of users with up to three records."""
    for query, each, words in (
        (SwapQuery(PATH, [1, 2]), 2, "swap of one of 2 centers that lowers the cost most"),
        (SwapQuery(PATH, [1, 2], power=2), 4, "centers that lowers the squared cost most"),
        (SwapQuery(PATH, [1, 2], cap=1.0, opened=[1]), 1, "swap of one of 1 centers"),
        (CentersQuery(PATH, [[0], [3], [1, 2]], power=2), 9, "best of 3 sets of centers"),
        (CentersQuery(PATH, [[0], [3]], cap=2.0), 2, "best of 2 sets of centers"),
    ):
        assert words in str(query)
        for relation in ("add-remove", "replace-one"):
            assert query.sensitivity(relation, 3) == 3 * each
    alone = CentersQuery(PATH, [[0]])
    assert scores_of(alone, [0, 3]).tolist() == [0] and alone.sensitivity("add-remove", 1) == 1


def test_a_cap_beyond_the_diameter_is_none():
    tiny = mdp.EuclideanMetric(np.arange(4.0)[:, None] * 1e-14)
    for cap in (0.5, 1e300):
        query, free = (SwapQuery(tiny, [1, 2], cap=of) for of in (cap, None))
        assert query.sensitivity("add-remove", 1) == free.sensitivity("add-remove", 1)
        assert scores_of(query, [0, 3]).tolist() == scores_of(free, [0, 3]).tolist()


def test_points_at_distance_zero_of_each_other():
    same = mdp.PrecomputedMetric(np.zeros((3, 3)))
    demand = mdp.PrivateDemand(same, [0, 1])
    for query in (SwapQuery(same, [0]), CentersQuery(same, [[0], [1]])):
        assert [query.sensitivity("add-remove", m) for m in (1, 3)] == [1, 3]
    index, receipt = select(demand, SwapQuery(same, [0]), 1, mdp.Ledger(1).charge(1))
    assert index in (0, 1) and receipt.epsilon == 1
    assert select(demand, CentersQuery(same, [[0], [1]]), 1, mdp.Ledger(1).charge(1))[0] in (0, 1)
