"""Calls that are refused: nothing is charged, nothing is read, and the message names the rule."""

from datetime import UTC, datetime
from itertools import chain

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import metricdp as mdp
from metricdp.errors import BudgetError, InputError
from metricdp.methods.box.halved import Halved
from metricdp.methods.expected import Expected, ExpectedPoints
from metricdp.report import map_page
from metricdp.running.made_up import Shape
from tests import beside, cases, named, path_metric, refuses
from tests.privacy_worlds import all_text

TOWN, NINE = path_metric(6), path_metric(9)
BOX, DEEP = (mdp.EuclideanSpace([0] * d, [1] * d) for d in (2, 5))
SPOT = mdp.PrivateDemand(BOX, [[0.5, 0.5]])
HOMES = mdp.PrivateDemand(TOWN, [0, 5, 5])
NAMES = {
    **{"mdp": mdp, "np": np, "nx": nx, "M": mdp.methods, "o": mdp.objectives},
    **{"pd": pd, "datetime": datetime, "UTC": UTC},
    **{"path_metric": path_metric, "Shape": Shape, "Halved": Halved},
    **{"nan": np.nan, "inf": np.inf, "ledger": mdp.Ledger(1)},
    **{"town": TOWN, "nine": NINE, "box": BOX, "spot": SPOT, "homes": HOMES},
    **{"map_page": map_page, "Expected": Expected, "deep": DEEP},
    "at_depth": mdp.PrivateDemand(DEEP, [[0.5] * 5]),
    "released": mdp.release(TOWN, HOMES, epsilon=1),
    "boxed": mdp.release(BOX, SPOT, epsilon=1),
    "elsewhere": mdp.PrivateDemand(mdp.PrecomputedMetric([[0, 1], [1, 0]]), [0]),
    "letters": mdp.PrivateDemand(mdp.GroundSet("abcd"), list("aac")),
    "of_nine": Expected.of(NINE, np.ones(9)),
    "of_a_line": ExpectedPoints.of(mdp.EuclideanSpace(0, 1), ([[0.5]], [1])),
    "twice": pd.Series([1, 2], index=[0, 0]),
}
"""What calls of the table are made of."""
REFUSED = beside(__file__, "refused.toml")


@cases(("call", "rule"), *chain(*(part.items() for part in REFUSED["calls"].values())))
def test_refused_calls_cost_nothing_and_say_why_in_one_line(call, rule, sealed):
    ledger = mdp.Ledger(1)
    paid = {"epsilon": "1/2", "ledger": ledger}
    error = refuses(rule, eval, call, NAMES | {"ledger": ledger, "paid": paid})
    assert "\n" not in str(error) and ledger.entries == ()


def changes(*parts):
    """What is changed in a good question, and the rule that it breaks."""
    listed = chain(*(REFUSED[part].items() for part in parts))
    return [(eval(f"dict({change})", NAMES), rule) for change, rule in listed]


def refuse(ask, change, error):
    ledger = change.get("ledger", mdp.Ledger(1))
    call = {"universe": TOWN, "demand": HOMES, "epsilon": 0.5, "ledger": ledger, **change}
    if ask is not mdp.release:
        call.setdefault("k", 2)
    refuses(error, ask, **call)
    if isinstance(ledger, mdp.Ledger):
        assert ledger.spent == 0 and ledger.entries == ()


@cases(("change", "error"), *changes("both", "clusterings"), ids=named)
def test_refused_questions_cost_nothing(change, error, sealed):
    for ask in (mdp.k_median, mdp.k_means):
        refuse(ask, change, error)


@cases(("change", "error"), *(case for case in changes("both") if "k" not in case[0]), ids=named)
def test_refused_releases_cost_nothing(change, error, sealed):
    refuse(mdp.release, change, error)


@cases(("change", "error"), *changes("boxed"), ids=named)
def test_refused_questions_about_a_box_cost_nothing(change, error, sealed):
    refuse(mdp.k_median, {"universe": BOX, "demand": SPOT} | change, error)


@pytest.mark.parametrize("ask", [mdp.k_median, mdp.k_means, mdp.release])
def test_what_does_not_fit_the_budget_is_not_read(ask, sealed):
    ledger = mdp.Ledger(1)
    ledger.charge("2/3")
    extra = {} if ask is mdp.release else {"k": 2}
    spent = r"asked epsilon 0\.5, spent 0\.666667, left 0\.333333"
    call = {"epsilon": 0.5, "ledger": ledger, **extra}
    refusal = refuses(spent, ask, TOWN, HOMES, error=BudgetError, **call)
    assert (refusal.asked, refusal.left) == (mdp.Ledger(0.5).epsilon, ledger.left)
    assert len(ledger.entries) == 1


@cases(("options", "error"), *changes("public"), ids=named)
def test_bad_public_questions(options, error):
    refuses(error, mdp.k_median, TOWN, **{"k": 2, **options})


def test_uniform_checks_its_demand_too():
    for bad in ([0], SPOT):
        refuses("", mdp.k_median, TOWN, bad, k=2, method="uniform")


ABOUT_ANY = [case for case in changes("both", "clusterings") if case[0].get("demand") is None]


@cases(("change", "error"), *ABOUT_ANY, ids=named)
def test_no_message_holds_records_or_their_number(change, error):
    metric = mdp.PrecomputedMetric([[0, 1], [1, 0]], ids=["home of Ann", "elsewhere"])
    private = mdp.PrivateDemand(metric, ["home of Ann"] * 4861)
    call = {"universe": metric, "demand": private, "k": 2, "epsilon": 0.5, **change}
    try:
        mdp.k_median(**call)
    except InputError as refusal:
        assert "Ann" not in all_text(refusal) and "4861" not in all_text(refusal)
        assert "4,861" not in all_text(refusal)
