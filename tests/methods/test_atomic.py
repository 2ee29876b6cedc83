"""Every call either answers within its price or leaves the ledger as it was: all methods,
universes, options, prices and relations, the odd ones too.
"""

import itertools
from contextlib import nullcontext
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import strategies as st

import metricdp as mdp
from metricdp import methods, privacy
from metricdp.accounting import Cost
from metricdp.audit.worlds import small_nets
from metricdp.metrics.set_systems import Balls
from tests import beside, path_metric
from tests.fuzzing import LONG_FORM, fuzz
from tests.privacy_worlds import BOX, UnitCells, finest

ASKED = beside(__file__, "atomic.toml")
PRICES = [tuple(price) for price in ASKED["prices"]]
RELATIONS = ("add-remove", "replace-one")
UNITS = (None, 1, 3, 2**31 - 1)


def universes():
    """Small ones of every kind, also of one point, of no extent, and of extents near the ends of
    what numbers hold.
    """
    points = np.random.default_rng(0).random((9, 2))
    yield "path", path_metric(7)
    yield "table", mdp.PrecomputedMetric(np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0))))
    yield "vectors", mdp.EuclideanMetric(points)
    yield "Manhattan", mdp.ManhattanMetric(points)
    yield "one point", mdp.EuclideanMetric([[1.0, 2.0]])
    yield "huge vectors", mdp.EuclideanMetric(points * 1e17)
    yield "tiny vectors", mdp.EuclideanMetric(points * 1e-14)
    for d in (1, 2, 3, 4, 5):
        yield f"box in R^{d}", mdp.EuclideanSpace([0.0] * d, [1.0] * d)
    yield "flat box", mdp.EuclideanSpace([0.0, 0.0], [1.0, 1e-12])
    yield "huge box", mdp.EuclideanSpace([-1e17] * 2, [1e17] * 2)
    yield "tiny box", mdp.EuclideanSpace([0.0] * 2, [1e-14] * 2)


UNIVERSES = dict(universes())
OPTIONS = [*mdp.METHODS, *(eval(made, {"M": methods}) for made in ASKED["methods"])]


@pytest.fixture(autouse=True, scope="module")
def nets():
    """Public nets of few points, which no price depends on; the long form has real ones."""
    with nullcontext() if LONG_FORM else small_nets():
        yield


def demanded(universe, m):
    """A few records, of users if m says how many each keeps."""
    user = {} if m is None else {"user": [0, 0, 1, 2, 2], "max_contributions": m}
    if isinstance(universe, mdp.EuclideanSpace):
        points = universe.lower + (universe.upper - universe.lower) * np.linspace(0, 1, 5)[:, None]
        return privacy.PrivateDemand(universe, points, **user)
    records = [universe.ids[i % len(universe)] for i in range(5)]
    return privacy.PrivateDemand(universe, records, **user)


def atomic(call, ledger):
    """Whether a call answered; else the ledger is as it was, and only an error of ours came out."""
    try:
        call()
    except mdp.MetricDPError as refused:
        assert (ledger.spent, ledger.spent_delta, ledger.entries) == (0, 0, ()), repr(refused)
        return False
    return True


def asked(universe, method, price, relation, m, power, k):
    ledger = mdp.Ledger(1000, "0.9999", neighboring=relation)
    ask = (mdp.k_median, mdp.k_means)[power - 1]
    demand, found = demanded(universe, m), []

    def call():
        epsilon, delta = price
        asked = {"epsilon": epsilon, "delta": delta, "ledger": ledger}
        found.append(ask(universe, demand, k, method=method, **asked))

    if atomic(call, ledger):
        receipt = found[0].receipt
        if ledger.entries:
            epsilon, delta = (mdp.privacy.exact(value) for value in price)
            assert ledger.spent <= epsilon and ledger.spent_delta <= delta
        if receipt is not None:
            assert receipt.epsilon <= ledger.spent and receipt.delta <= ledger.spent_delta
        return True
    return False


@pytest.mark.parametrize("method", OPTIONS, ids=lambda m: m if isinstance(m, str) else repr(m)[:60])
def test_every_method_answers_within_its_price_or_leaves_the_ledger_alone(method):
    """Each method with every price, each option with half of them, on small universes."""
    kind = methods.BY_NAME[method] if isinstance(method, str) else method
    answers = 0
    for i, price in list(enumerate(PRICES))[:: 1 if isinstance(method, str) else 2]:
        name = "path" if kind.in_finite and i % 2 else ("box in R^2", "box in R^4")[i % 4 // 2]
        if not kind.in_space:
            name = ("path", "vectors")[i % 2]
        relation, m = RELATIONS[i % 3 % 2], UNITS[i % 5 // 3]
        answers += asked(UNIVERSES[name], method, price, relation, m, 1 + i % 2, 2)
    assert answers


@fuzz(
    60,
    name=st.sampled_from(sorted(UNIVERSES)),
    method=st.sampled_from(OPTIONS),
    price=st.sampled_from(PRICES[:9])
    | st.tuples(
        st.fractions(Fraction(1, 10**9), 1000), st.just(0) | st.fractions(0, Fraction(1, 2))
    ),
    relation=st.sampled_from(RELATIONS),
    m=st.sampled_from(UNITS),
    power=st.sampled_from([1, 2]),
    k=st.integers(1, 4),
)
def test_any_call_answers_within_its_price_or_leaves_the_ledger_alone(
    name, method, price, relation, m, power, k
):
    asked(UNIVERSES[name], method, price, relation, m, power, k)


def doors(price, here, there, budget):
    """Every door of the gate, asked to spend so much of a budget slice."""
    epsilon, delta = price
    path, boxed = here.universe, privacy.HistogramQuery(UnitCells(BOX))
    for query, demand in (
        (privacy.CountQuery(), here),
        (privacy.HistogramQuery(finest(path)), here),
        (privacy.SumsQuery(boxed), there),
        (privacy.LevelsQuery((boxed, privacy.SumsQuery(boxed, 20))), there),
    ):
        yield partial(privacy.measure, demand, query, epsilon, budget, delta)
    swaps, sets = privacy.SwapQuery(path, [0], power=2), privacy.CentersQuery(path, [[0], [1]])
    for scores in (privacy.CostQuery(path), privacy.CoverageQuery(path, 1), swaps, sets):
        yield partial(privacy.select, here, scores, epsilon, budget)
    covers = privacy.CoverQuery(finest(path), [(Balls(path, 1), 2)])
    yield lambda: privacy.cover(here, covers, Cost.of(epsilon, delta), budget)
    yield partial(privacy.gate.split, here, finest(path), epsilon, budget)


@pytest.mark.parametrize("price", PRICES, ids=str)
@pytest.mark.parametrize("relation", RELATIONS)
def test_every_door_of_the_gate_answers_or_leaves_the_budget_slice_alone(price, relation):
    whole = Cost.of(900, "1e-3"), Cost.zcdp(900, "1e-3")
    for m, bought in itertools.product((None, 2**31 - 1), whole):
        here, there = demanded(UNIVERSES["path"], m), demanded(BOX, m)
        ledgers = [mdp.Ledger(900, "1e-3", neighboring=relation) for _ in range(10)]
        for i, budget in enumerate([ledger.charge(bought) for ledger in ledgers]):
            call = next(itertools.islice(doors(price, here, there, budget), i, None))
            try:
                call()
            except mdp.MetricDPError:
                assert (budget.spent, budget.spent_delta) == (0, 0)


class Rows(mdp.EuclideanMetric):
    """A metric of somebody's own, whose rows are as a test wants them."""

    rows = staticmethod(lambda rows: rows)

    def grid_rows(self, sources, targets=None):
        return self.rows(super().grid_rows(sources, targets))


@pytest.mark.parametrize(
    "rows",
    [lambda r: r.astype(float), lambda r: -r, lambda r: r * 1.5, lambda r: r.astype(np.int32)],
    ids=["floats", "negative", "fractions", "int32"],
)
@pytest.mark.parametrize("method", ["local-search", "max-coverage", "partition", "hst"])
def test_a_metric_that_breaks_its_promises_costs_nothing(monkeypatch, rows, method):
    metric = Rows(np.random.default_rng(1).random((12, 2)))
    monkeypatch.setattr(Rows, "rows", staticmethod(rows))
    ledger = mdp.Ledger(1)
    demand = demanded(metric, None)
    atomic(lambda: mdp.k_median(metric, demand, 3, epsilon=1, ledger=ledger, method=method), ledger)


@pytest.mark.parametrize("scale", [1e140, 1e150, 1e155, 1e160, 1e300, 1e-160, 1e-300])
def test_private_points_of_any_size_are_snapped_and_none_refused(scale):
    """Their squares overflowed from 1e154 on: refused in some spaces, and snapped in others."""
    points = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    for metric in (mdp.EuclideanMetric(points), mdp.ManhattanMetric(points)):
        kept = privacy._vault._open(privacy.PrivateDemand.from_coordinates(metric, points * scale))
        assert len(kept) == 4
    space = mdp.EuclideanSpace([0.0, 0.0], [1.0, 1.0])
    assert privacy.PrivateDemand(space, points * scale) is not None
