"""Absurd arguments to ledgers and to the gate: a valid answer, or one clear error and nothing
charged, drawn or written.
"""

import contextlib
import tempfile
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

import metricdp as mdp
from metricdp import privacy
from tests.fuzz.test_fuzz_calls import DEMANDS, TOWN, Books
from tests.fuzzing import Case, fuzz, spoiled, tried

BUDGETS = {
    "Ledger": {"epsilon": 1, "delta": 0, "neighboring": "add-remove", "journal": None},
    "charge": {"epsilon": 1, "delta": 0, "purpose": ""},
    "quote": {"epsilon": 1, "delta": 0},
}


@fuzz(350, case=spoiled(BUDGETS, 3), kept=st.integers(0, 3))
def test_budgets(case: Case, kept: int) -> None:
    name, spoils = case
    arguments = {**BUDGETS[name], **spoils}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        books = Books(folder, kept == 0)
        call = mdp.Ledger if name == "Ledger" else getattr(books.ledger, name)
        answer, error = tried(lambda: call(**arguments))
        if error is not None or name == "quote":
            assert books.state() == books.before
        elif name == "charge":
            assert books.ledger.spent == Fraction(1, 7) + answer.epsilon
            if books.path is not None:
                found = mdp.Ledger(2, Fraction(1, 10**5), journal=books.path).entries
                assert found == books.ledger.entries


class Halves:
    """The town cut in two."""

    universe, n_parts = TOWN, 2

    def encode(self, records: Any) -> Any:
        return (np.asarray(records) >= 3).astype(int)


QUERIES = [
    privacy.CountQuery(),
    privacy.HistogramQuery(Halves()),
    privacy.CostQuery(TOWN, [0]),
    privacy.CoverageQuery(TOWN, 1.5),
]
GATE = {
    "measure": ("demand", "query", "epsilon", "budget", "delta"),
    "select": ("demand", "query", "epsilon", "budget"),
    "split": ("demand", "partition", "epsilon", "ledger", "purpose"),
}


@fuzz(
    300,
    case=spoiled(GATE, 3),
    query=st.sampled_from(QUERIES),
    which=st.integers(0, 2),
    in_rho=st.booleans(),
)
def test_the_gate(case: Case, query: Any, which: int, in_rho: bool) -> None:
    demand = DEMANDS[id(TOWN)][which]
    with tempfile.TemporaryDirectory() as folder:
        books = Books(folder, False)
        budget = books.ledger.charge(privacy.Cost.zcdp(1, "1/1000000") if in_rho else 1)
        books.before = books.state()
        before = budget.spent, budget.spent_delta, budget.left
        valid = {"demand": demand, "query": query, "partition": Halves(), "epsilon": "1/9"}
        valid |= {"budget": budget, "ledger": books.ledger}
        arguments = {name: valid[name] for name in GATE[case.name] if name in valid} | case.spoils
        answer, error = tried(lambda: getattr(privacy, case.name)(**arguments))
        if error is not None:
            assert (budget.spent, budget.spent_delta, budget.left) == before
            assert books.state() == books.before
        elif case.name == "split":
            assert len(answer) == 2 and books.ledger.spent > books.before[0]
        elif case.name == "select":
            assert 0 <= answer[0] < len(TOWN)
        else:
            assert answer.values.dtype == np.int64


MADE = {
    "CostQuery": {"universe": TOWN, "centers": (), "power": 1, "cap": None},
    "CoverageQuery": {"universe": TOWN, "radius": 1},
    "HistogramQuery": {"partition": Halves()},
    "LevelsQuery": {"levels": [privacy.HistogramQuery(Halves())]},
    "selections": {"epsilon": "1/10", "times": 3, "delta": "1e-6"},
    "exact": {"value": "1/3"},
}


@fuzz(300, case=spoiled(MADE))
def test_queries_and_prices(case: Case) -> None:
    answer, error = tried(lambda: getattr(privacy, case.name)(**{**MADE[case.name], **case.spoils}))
    if error is None and isinstance(answer, privacy.SelectionQuery):
        for relation in ("add-remove", "replace-one"):
            assert answer.range(relation, 3) >= answer.sensitivity(relation, 3) >= 1
        budget = mdp.Ledger(1).charge(1)
        if answer.universe is TOWN:
            assert 0 <= privacy.select(DEMANDS[id(TOWN)][0], answer, 1, budget)[0] < len(TOWN)


PIECES = {
    "draw": ("epsilon", "delta"),
    "charge": ("epsilon", "delta", "purpose"),
    "of": ("epsilon", "delta"),
    "zcdp": ("epsilon", "delta"),
}
PIECES |= {"selection": ("epsilon",)}


@fuzz(250, case=spoiled(PIECES, 3), in_rho=st.booleans())
def test_pieces_of_a_budget_slice(case: Case, in_rho: bool) -> None:
    budget = mdp.Ledger(2, "1/1000").charge(privacy.Cost.zcdp(1, "1/1000000") if in_rho else 1)
    before = budget.spent, budget.spent_delta, budget.left
    call = getattr(budget if case.name in ("draw", "charge") else privacy.Cost, case.name)
    valid = {"epsilon": "1/9", **({"delta": "1e-6"} if case.name == "zcdp" else {})}
    cost, error = tried(lambda: call(**{**valid, **case.spoils}))
    after = budget.spent, budget.spent_delta, budget.left
    assert (case.name in ("draw", "charge") and error is None) or after == before
    # which may be negative: who takes it says no
    if isinstance(cost, privacy.Cost) and case.name != "of":
        assert cost.epsilon >= 0 and 0 <= cost.delta < 1 and (cost.rho is None or cost.rho >= 0)
