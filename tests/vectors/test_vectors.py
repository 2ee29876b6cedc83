"""The published vectors: an independent reference gives them, and so does the package, wherever its
randomness can be put in from outside.

OpenDP draws noise inside its own library and takes no coins, so there the vectors hold the
reference alone, whose distribution is followed through all its coins; the package's noise is held
to the same distribution by ``tests/privacy/test_distribution.py``.
"""

import ast
import io
import json
import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import metricdp as mdp
from metricdp.accounting.cost import laplace_scale
from metricdp.audit.worlds import Labels
from metricdp.kernels.scores import CAP
from metricdp.local.randomizers import KRR
from metricdp.privacy import HistogramQuery, measure
from metricdp.privacy.noise import DiscreteLaplace
from metricdp.privacy.selection import choose
from tests import path_metric, refuses
from tests.vectors import make, reference

VECTORS = json.loads(make.FILE.read_text("utf-8"))


def test_the_reference_shares_no_code():
    tree = ast.parse(Path(reference.__file__).read_text("utf-8"))
    imported = [n for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom)]
    names = {getattr(n, "module", None) or n.names[0].name for n in imported}
    assert names == {"math", "decimal", "fractions"}


def test_the_reference_reproduces_the_file():
    assert json.loads(json.dumps(make.vectors())) == VECTORS


@pytest.mark.parametrize("case", VECTORS["selection"], ids=lambda c: str(len(c["scores"])))
def test_selection(case, monkeypatch):
    monkeypatch.setattr(os, "urandom", io.BytesIO(bytes.fromhex(case["coins"])).read)
    scores = np.array(case["scores"], np.int64)
    distribution = "exponential mechanism" if case["gumbel"] else "permute-and-flip"
    assert choose([scores], Fraction(case["eta"]), distribution) == case["position"]


def test_some_selections_needed_further_coins():
    more = [c for c in VECTORS["selection"] if c["scores"] == [4, 4]]
    assert {c["position"] for c in more} == {0, 1}


@pytest.mark.parametrize("case", VECTORS["histogram"], ids=lambda c: str(c["n_parts"]))
def test_histogram(case, monkeypatch):
    n_parts = case["n_parts"]
    metric = path_metric(n_parts)
    demand = mdp.PrivateDemand(metric, case["parts"])

    def given(noise, values):
        counts = [int(v) for v in values]
        low, high = reference.LEAST, reference.MOST
        return np.array([min(max(c + z, low), high) for c, z in zip(counts, case["noise"])])

    monkeypatch.setattr(DiscreteLaplace, "__call__", given)
    budget = mdp.Ledger(epsilon=1).charge(1)
    query = HistogramQuery(Labels(metric, tuple(range(n_parts)), n_parts))
    assert measure(demand, query, "1/5", budget).values.tolist() == case["release"]


def test_noise_saturates_as_the_reference_does():
    """Exact answers end at 2^61 on both sides, where the gate saturates them: no noise wraps."""
    noise = DiscreteLaplace(1, Fraction(1))
    noisy = noise(np.array([CAP] * 200 + [-CAP] * 200))
    assert (noisy[:200] > 0).all() and (noisy[200:] < 0).all()
    for beyond in (CAP + 1, -CAP - 1, reference.MOST, reference.LEAST):
        refuses("stated range", noise, np.array([beyond]), error=AssertionError)


@pytest.mark.parametrize("case", VECTORS["laplace_scale"], ids=lambda c: c["epsilon"])
def test_scale(case):
    assert laplace_scale(case["sensitivity"], Fraction(case["epsilon"])).hex() == case["scale"]


@pytest.mark.parametrize("case", VECTORS["ledger"], ids=lambda c: str(c["budget"]))
def test_ledger(case):
    ledger = mdp.Ledger(epsilon=case["budget"])
    reported = []
    for charge in case["charges"]:
        try:
            ledger.charge(charge)
            reported.append(str(ledger.left))
        except (mdp.BudgetError, mdp.InputError):
            reported.append("refused")
    assert reported == case["left"]


@pytest.mark.parametrize("case", VECTORS["randomized_response"], ids=lambda c: str(c["coin"]))
def test_randomized_response(case):
    randomizer = KRR(Fraction(case["epsilon"]), case["domain"])
    assert randomizer.favored == case["favored"]
    asked = []

    def below(n):
        asked.append(n)
        return case["coin"]

    assert randomizer.draw(case["value"], below) == (case["report"],)
    assert asked == [randomizer.total]
