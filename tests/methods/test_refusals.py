"""Calls that are refused: nothing is charged, nothing is read, and the message names the rule."""

import networkx as nx
import numpy as np
import pytest

import metricdp as mdp
from metricdp.errors import BudgetError, InputError, UnknownIdError
from metricdp.methods.box.halved import Halved
from metricdp.methods.expected import Expected, ExpectedPoints
from tests import cases, named, path_metric, refuses, wrong
from tests.privacy_worlds import all_text

TOWN = path_metric(6)
BOX = mdp.EuclideanSpace([0, 0], [1, 1])
CANARY = 486114
METHODS = mdp.methods
ELSEWHERE = Expected.of(path_metric(9), np.ones(9))


def demand():
    return mdp.PrivateDemand(TOWN, [0, 5, 5])


BOTH = [
    ({"universe": "town"}, "universe must be a metric|another universe"),
    ({"universe": nx.path_graph(6)}, "makes one of a graph|another universe"),
    *wrong(
        "another universe",
        universe=[path_metric(6)],
        demand=[mdp.PrivateDemand(mdp.PrecomputedMetric([[0, 1], [1, 0]]), [0])],
    ),
    ({"universe": BOX, "k": 1}, "another universe"),
    ({"demand": [0, 5]}, "must be a PrivateDemand, got list"),
    ({"demand": [0, 5], "k": 0}, "must be a PrivateDemand, got list"),
    ({"demand": 3, "k": 0}, "write k=3 for the number of centers"),
    ({"epsilon": None}, "needs epsilon"),
    *wrong(
        "epsilon must be a finite number", epsilon=[float("nan"), float("inf"), "much", True, [0.5]]
    ),
    *wrong("epsilon must be between", epsilon=[0, -0.5, 1e-12, 1e9]),
    ({"ledger": 0.5}, "ledger must be a Ledger, got float"),
    ({"ledger": mdp.Ledger}, "ledger must be a Ledger, got type"),
    *wrong(
        "records_hint must be positive",
        records_hint=[0, -5, float("nan"), float("inf"), "many", [5]],
    ),
    ({"records_hint": 1e300}, "at most 2.61"),
    *wrong("seed must be an integer", seed=[-1, 0.5, None, "x"]),
]
CLUSTERING = [
    ({"k": 0}, "k must be an integer from 1 to 6"),
    *wrong("k must be an integer", k=[-1, 2.0, "2", True, np.nan]),
    ({"k": 7}, "the number of points; got 7"),
    ({"k": None}, "k= is needed"),
    *wrong(
        "method must be one of",
        method=["hst-of-another-issue", None, ["partition"], mdp.methods.Partition],
    ),
    ({"delta": 1}, "delta must be at least 0 and below 1"),
    ({"delta": -1e-9}, "delta must be at least 0"),
    ({"delta": "much"}, "delta must be a finite number"),
    ({"weights": np.ones(6)}, "not both"),
    ({"candidates": [0, 1], "k": 3}, "1 to 2, the number of candidates"),
    ({"candidates": [0, 0, 1, 1], "k": 3}, "1 to 2, the number of candidates"),
    ({"candidates": [], "k": 1}, "the number of candidates"),
    ({"candidates": [0, "nowhere"]}, "nowhere"),
    ({"candidates": 5}, "as an iterable of ids, got int"),
    ({"method": METHODS.Partition(expected=ELSEWHERE)}, "universe's 6 points, got 9"),
    (
        {"method": METHODS.LocalSearch(start=METHODS.Partition(expected=ELSEWHERE))},
        "universe's 6 points, got 9",
    ),
]


def refuse(ask, change, error):
    ledger = change.get("ledger", mdp.Ledger(1))
    call = {"universe": TOWN, "demand": demand(), "epsilon": 0.5, "ledger": ledger, **change}
    if ask is not mdp.release:
        call.setdefault("k", 2)
    refuses(error, ask, **call)
    if isinstance(ledger, mdp.Ledger):
        assert ledger.spent == 0 and ledger.entries == ()


@pytest.mark.parametrize(("change", "error"), BOTH + CLUSTERING, ids=named)
def test_refused_questions_cost_nothing(change, error, sealed):
    for ask in (mdp.k_median, mdp.k_means):
        refuse(ask, change, error)


@pytest.mark.parametrize(
    ("change", "error"), [case for case in BOTH if "k" not in case[0]], ids=named
)
def test_refused_releases_cost_nothing(change, error, sealed):
    refuse(mdp.release, change, error)


IN_A_BOX = [
    ({"k": 5000}, "1 to 4,096"),
    ({"candidates": [0]}, "finite universe"),
    ({"demand": mdp.PrivateDemand(mdp.EuclideanSpace(0, 1), [[0.5]])}, "another universe"),
    *[
        ({"method": METHODS.Coreset(source=source)}, "source of a coreset must be the default")
        for source in (METHODS.Quadtree(), METHODS.Lloyd(), METHODS.Uniform(), "lsh")
    ],
    (
        {"method": Halved(expected=ExpectedPoints.of(mdp.EuclideanSpace(0, 1), ([[0.5]], [1])))},
        r"shape \(n, 2\)",
    ),
]


@pytest.mark.parametrize(("change", "error"), IN_A_BOX, ids=named)
def test_refused_questions_about_a_box_cost_nothing(change, error, sealed):
    boxed = {"universe": BOX, "demand": mdp.PrivateDemand(BOX, [[0.5, 0.5]])}
    refuse(mdp.k_median, boxed | change, error)


@pytest.mark.parametrize("ask", [mdp.k_median, mdp.k_means, mdp.release])
def test_what_does_not_fit_the_budget_is_not_read(ask, sealed):
    ledger = mdp.Ledger(1)
    ledger.charge("2/3")
    extra = {} if ask is mdp.release else {"k": 2}
    spent = r"asked epsilon 0\.5, spent 0\.666667, left 0\.333333"
    call = {"epsilon": 0.5, "ledger": ledger, **extra}
    refusal = refuses(spent, ask, TOWN, demand(), error=BudgetError, **call)
    assert (refusal.asked, refusal.left) == (mdp.Ledger(0.5).epsilon, ledger.left)
    assert len(ledger.entries) == 1


@cases(
    ("options", "error"),
    *wrong(
        "epsilon, delta and ledger are for private demand",
        **{"epsilon": [0.5], "ledger": [mdp.Ledger(1)], "delta": [1e-6]},
    ),
    *wrong("6 finite numbers", weights=[np.ones(5), np.ones((6, 1)), "heavy", ["a"] * 6, 3.0]),
    *wrong("6 finite numbers", weights=[[*range(5), np.nan], [*range(5), np.inf]]),
    *wrong("6 finite numbers", weights=[{0: np.nan}, {0: "much"}]),
    *wrong("of at most 1e", weights=[[*range(5), 1e31], [*range(5), -1e31]]),
    ({"weights": {"nowhere": 1}}, "nowhere"),
    ({"k": 7}, "1 to 6"),
    ({"method": "best"}, "method must be one of"),
    ids=named,
)
def test_bad_public_questions(options, error):
    refuses(error, mdp.k_median, TOWN, **{"k": 2, **options})


def test_uniform_checks_its_demand_too():
    for bad in ([0], mdp.PrivateDemand(BOX, [[0.5, 0.5]])):
        refuses("", mdp.k_median, TOWN, bad, k=2, method="uniform")


def test_unknown_ids_are_of_the_universe_alone():
    refuses("nowhere", mdp.k_median, TOWN, error=UnknownIdError, k=1, candidates=["nowhere"])


@pytest.mark.parametrize(
    ("change", "error"),
    [case for case in BOTH + CLUSTERING if case[0].get("demand") is None],
    ids=named,
)
def test_no_message_holds_records_or_their_number(change, error):
    metric = mdp.PrecomputedMetric([[0, 1], [1, 0]], ids=["home of Ann", "elsewhere"])
    private = mdp.PrivateDemand(metric, ["home of Ann"] * 4861)
    call = {"universe": metric, "demand": private, "k": 2, "epsilon": 0.5, **change}
    try:
        mdp.k_median(**call)
    except InputError as refusal:
        assert "Ann" not in all_text(refusal) and "4861" not in all_text(refusal)
        assert "4,861" not in all_text(refusal)
