"""The gate: refusals come before reads, what comes out is public, the package stays small enough to
read, and disjoint parts cost together what the dearest costs.
"""

import itertools
import logging
import math
import re
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from tqdm import tqdm

import metricdp as mdp
import metricdp.privacy
from metricdp import progress as progress_module
from metricdp.accounting import journal
from metricdp.audit.worlds import Coded
from metricdp.errors import BudgetError, InputError, JournalError, ResourceError
from metricdp.privacy import (
    BudgetSlice,
    CostQuery,
    CountQuery,
    HistogramQuery,
    Query,
    _vault,
    measure,
    select,
    split,
)
from metricdp.privacy._vault import _open
from metricdp.privacy.evaluation import exact_counts
from tests import cases, granted_to_threads, path_metric, raising, refuses
from tests.privacy_worlds import (
    BOX,
    THREE,
    TWO,
    Labels,
    UnitCells,
    all_demands,
    all_text,
    finest,
    line,
    neighbors,
)

CANARY = "CANARY-48611"


@pytest.fixture
def opened(monkeypatch):
    """Every opening of the vault and every draw, in order."""
    events, real_open, real_draw = [], _vault._open, BudgetSlice.draw
    monkeypatch.setattr(_vault, "_open", lambda holder: events.append("open") or real_open(holder))
    monkeypatch.setattr(
        BudgetSlice, "draw", lambda self, *a: (real_draw(self, *a), events.append("draw"))[0]
    )
    return events


class Sneaky(CountQuery):
    def sensitivity(self, neighboring, max_contributions):
        return 0


def test_the_budget_slice_pays_before_the_vault_opens(opened):
    demand, query = mdp.PrivateDemand(TWO, ["a"]), HistogramQuery(finest(TWO))
    measure(demand, query, 0.5, mdp.Ledger(1).charge(0.5))
    assert opened == ["draw", "open"]


TRUSTED = "query must be one of CountQuery, HistogramQuery, LevelsQuery, SumsQuery, TotalsQuery"
TWIN = mdp.PrecomputedMetric(TWO.matrix, ids=TWO.ids)


@cases(
    ("change", "error"),
    ({"demand": ["a"]}, "needs a PrivateDemand, got list"),
    ({"demand": None}, "needs a PrivateDemand, got NoneType"),
    ({"query": "count"}, f"{TRUSTED}, got str"),
    ({"query": CountQuery}, "query must be one of"),
    ({"query": Sneaky()}, f"{TRUSTED}, got Sneaky"),
    ({"query": HistogramQuery(finest(THREE))}, "different universes"),
    ({"query": HistogramQuery(finest(TWIN))}, "different universes"),
    ({"query": HistogramQuery(UnitCells(BOX))}, "different universes"),
    ({"budget": mdp.Ledger(1)}, "needs a BudgetSlice, got Ledger"),
    ({"budget": 0.5}, "needs a BudgetSlice, got float"),
    ({"epsilon": 0}, "epsilon must be positive"),
    ({"epsilon": -0.25}, "epsilon must be positive"),
    ({"epsilon": Fraction(1, 2**60)}, "large enough for noise of 64 bits"),
    ({"epsilon": float("nan")}, "finite number"),
    ({"epsilon": None}, "finite number"),
    ({"epsilon": 0.75}, "asked epsilon 0.75, spent 0, left 0.5"),
    ids=str,
)
def test_refused_calls_read_and_spend_nothing(opened, change, error):
    budget = mdp.Ledger(1).charge(0.5)
    call = {"demand": mdp.PrivateDemand(TWO, ["a", "b"]), "query": CountQuery(), "epsilon": 0.25}
    refuses(error, measure, error=(InputError, BudgetError), **{**call, "budget": budget, **change})
    assert opened == []
    assert budget.spent == 0


def test_a_ledger_that_refuses_reads_nothing(opened, tmp_path, monkeypatch):
    demand = mdp.PrivateDemand(TWO, ["a"])
    ledger = mdp.Ledger(1, journal=tmp_path / "ledger.jsonl")
    refuses("", lambda: measure(demand, CountQuery(), 1, ledger.charge(2)), error=BudgetError)
    monkeypatch.setattr(journal.os, "write", raising(OSError(28, "No space left on device")))
    refuses("", lambda: measure(demand, CountQuery(), 1, ledger.charge(1)), error=JournalError)
    assert opened == []
    assert ledger.spent == 0


def test_a_call_in_pieces():
    budget = mdp.Ledger(1).charge(0.3, purpose="two questions")
    demand = mdp.PrivateDemand(THREE, ["a", "a", "c"], user=[1, 1, 2], max_contributions=2)
    count = measure(demand, CountQuery(), budget.epsilon / 20, budget)
    parts = measure(demand, HistogramQuery(finest(THREE)), budget.left, budget)
    receipt = count.receipt + parts.receipt
    assert (receipt.epsilon, receipt.delta) == (Fraction(3, 10), 0)
    assert (receipt.unit, receipt.neighboring) == ("user", "add-remove")
    assert [(m.sensitivity, m.scale, m.epsilon) for m in receipt.mechanisms] == [
        (2, pytest.approx(2 / 0.015), Fraction(3, 200)),
        (2, pytest.approx(2 / 0.285), Fraction(57, 200)),
    ]
    assert (count.values.shape, parts.values.shape, parts.values.dtype) == ((1,), (3,), np.int64)
    with pytest.raises(BudgetError):
        measure(demand, CountQuery(), Fraction(1, 10**6), budget)


@cases(
    ("neighboring", "m", "histogram", "count"),
    ("add-remove", 1, 1, 1),
    ("add-remove", 3, 3, 3),
    ("replace-one", 1, 2, 0),
    ("replace-one", 3, 6, 2),
)
def test_sensitivities_on_the_receipt(neighboring, m, histogram, count):
    demand = mdp.PrivateDemand(TWO, ["a"], user=["u"], max_contributions=m)
    budget = mdp.Ledger(2, neighboring=neighboring).charge(2)
    for query, sensitivity in ((HistogramQuery(finest(TWO)), histogram), (CountQuery(), count)):
        mechanism = measure(demand, query, 1, budget).receipt.mechanisms[0]
        assert (mechanism.sensitivity, mechanism.scale) == (sensitivity, sensitivity)
        assert mechanism.epsilon == int(sensitivity > 0)


def test_zero_sensitivity_costs_nothing():
    budget = mdp.Ledger(1, neighboring="replace-one").charge(1)
    release = measure(mdp.PrivateDemand(TWO, ["a", "b", "b"]), CountQuery(), 1, budget)
    assert release.values.tolist() == [3]
    assert (budget.spent, release.receipt.epsilon) == (0, 0)
    assert release.receipt.mechanisms[0].name == "exact"


@pytest.mark.parametrize("parts", [0, -1, 1.5, None, "3"])
def test_bad_partitions(parts):
    refuses("n_parts >= 1", lambda: HistogramQuery(Labels(TWO, (0, 0), parts)))


@pytest.mark.parametrize("labels", [(0, 2), (-1, 0), (0.5, 1.0), ((0, 0), (0, 0))], ids=str)
def test_partitions_that_encode_wrongly(labels):
    partition = Coded(TWO, lambda records: np.array(labels)[records], 2)
    refuses("one integer part, 0 to n_parts - 1", HistogramQuery, partition)


def test_a_partition_of_a_finite_universe_never_sees_records(opened):
    seen = []

    class Curious(Labels):
        def encode(self, records):
            seen.append(records.tolist())
            return super().encode(records)

    query = HistogramQuery(Curious(TWO, (0, 1), 2))
    for _ in range(2):
        measure(mdp.PrivateDemand(TWO, ["b", "b", "b"]), query, 1, mdp.Ledger(1).charge(1))
    assert seen == [[0, 1]]


class Broken(UnitCells):
    """Fails on private points in ways whose messages quote them."""

    how = "value"

    def encode(self, records):
        if self.how == "value":
            raise RuntimeError(f"cannot place {CANARY}")
        if self.how == "memory":
            raise MemoryError(f"unable to allocate an array with shape ({len(records)},) {CANARY}")
        if self.how == "write":
            records[:] = 0
        try:
            {}[CANARY]
        except KeyError as error:
            raise ValueError("chained") from error


@pytest.mark.parametrize("how", ["value", "memory", "write", "chained"])
def test_a_failure_inside_shows_nothing(how, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    partition = Broken(BOX)
    object.__setattr__(partition, "how", how)
    budget = mdp.Ledger(1).charge(1)
    kind = ResourceError if how == "memory" else InputError
    demand, query = mdp.PrivateDemand(BOX, [[1.25]]), HistogramQuery(partition)
    with warnings.catch_warnings(record=True) as warned:
        failed = refuses("details withheld", measure, demand, query, 1, budget, error=kind)
    said = caplog.text + "".join(capfd.readouterr()) + str(warned)
    assert CANARY not in all_text(failed) + said
    assert failed.__context__ is None
    assert budget.left == 0  # what was paid stays paid


def test_a_release_holds_only_noise():
    universe = mdp.PrecomputedMetric(1.0 - np.eye(2), ids=[CANARY, "b"])
    demand = mdp.PrivateDemand(universe, 4861 * ["b"])
    release = measure(demand, HistogramQuery(finest(universe)), "1/1000", mdp.Ledger(1).charge(1))
    plain = {name: getattr(release, name) for name in ("values", "query", "receipt")}
    assert set(vars(release)) == set(plain)
    receipt = release.receipt
    text = repr(release) + str(receipt) + str(receipt.to_dict()) + repr(receipt)
    assert "4861" not in text
    assert CANARY not in text
    assert vars(release.query).keys() == {"partition", "n_parts", "universe", "encode", "labels"}


def test_calls_from_many_threads():
    ledger, query = mdp.Ledger(1), HistogramQuery(finest(TWO))
    demand = mdp.PrivateDemand(TWO, ["a"])

    def ask(_):
        measure(demand, query, "1/40", ledger.charge("1/40"))

    assert granted_to_threads(ask, 40) == 40
    assert ledger.left == 0


# Evaluation
def test_exact_cost_sums_over_records_and_warns():
    demand, square = mdp.PrivateDemand(line(10), [0, 0, 3, 9]), mdp.EuclideanSpace([0, 0], [4, 4])
    for private, centers, power, cost in (
        (demand, [1, 8], 1, 1 + 1 + 2 + 1),
        (demand, [1, 8], 2, 1 + 1 + 4 + 1),
        (mdp.PrivateDemand(square, [[3, 4], [9, 0]]), [[0.0, 0.0]], 1, 5 + 4),
        (mdp.PrivateDemand(square, []), [[0.0, 0.0]], 1, 0),
    ):
        with pytest.warns(mdp.PrivateDataWarning, match="do not publish"):
            assert mdp.exact_cost(private, centers, power=power) == cost


@pytest.mark.filterwarnings("ignore::metricdp.privacy.PrivateDataWarning")
@cases("arguments", ([0],), ([],), ([0], 0), ([0], -1), ([0], float("nan")), (["zz"],), ids=str)
def test_exact_cost_refuses(opened, arguments):
    demand = [0] if arguments == ([0],) else mdp.PrivateDemand(line(3), [0, 1])
    refuses("", mdp.exact_cost, demand, *arguments)
    assert opened == []


def test_exact_counts_are_of_every_point_and_warn():
    with pytest.warns(mdp.PrivateDataWarning, match="do not publish") as warned:
        assert exact_counts(mdp.PrivateDemand(line(5), [0, 0, 3])).tolist() == [2, 0, 0, 1, 0]
        mdp.exact_cost(mdp.PrivateDemand(line(5), [0]), [1])
    assert [one.filename for one in warned] == [__file__] * 2
    for wrong in ([0], mdp.PrivateDemand(BOX, [[0.5]])):
        refuses("exact_counts needs a", exact_counts, wrong)


# The package
FOLDER = Path(metricdp.privacy.__file__).parent


def test_only_four_modules_touch_the_vault():
    """Apart from the audit, on top of everything: it looks into demand that it makes up itself."""
    root = FOLDER.parent
    texts = {p.relative_to(root).as_posix(): p.read_text("utf-8") for p in root.rglob("*.py")}
    users = {name for name, text in texts.items() if "_vault" in text}
    imports = re.compile(
        r"^\s*(from|import)\s+metricdp\.audit|from\s+metricdp\s+import.*\baudit\b"
        r"|import_module\(\s*f?[\"']metricdp\.audit",
        re.MULTILINE,
    )
    assert imports.search("    from metricdp.audit import runner")
    others = [path for path in root.rglob("*.py") if "audit" not in path.parts]
    assert not [path.name for path in others if imports.search(path.read_text(encoding="utf-8"))]
    users = {name for name in users if not name.startswith("audit/")}
    few = ("demand", "gate", "evaluation", "continual")
    assert users == {f"privacy/{name}.py" for name in few}


def test_no_other_source_of_randomness():
    for path in FOLDER.glob("*.py"):
        for word in ("np.random", "numpy.random", "import random", "seed="):
            assert word not in path.read_text(encoding="utf-8"), (path.name, word)


@pytest.mark.parametrize(
    "name", [n for n in metricdp.privacy.__all__ if n not in ("PrivateDataWarning", "Partition")]
)
def test_everything_public_is_documented(name):
    assert getattr(metricdp.privacy, name).__doc__


@cases("thing", CountQuery, HistogramQuery, mdp.PrivateDemand, mdp.Ledger, measure, mdp.exact_cost)
def test_privacy_sections(thing):
    assert "**Privacy.**" in thing.__doc__
    assert issubclass(CountQuery, Query)


def test_every_test_that_threats_names_exists():
    root = FOLDER.parent.parent
    if not (root / "THREATS.md").exists():
        pytest.skip("not a source tree")
    code = "".join(p.read_text(encoding="utf-8") for p in (root / "tests").rglob("*.py"))
    named = re.findall(r"`(test_\w+)`", (root / "THREATS.md").read_text(encoding="utf-8"))
    assert len(named) > 15
    assert [name for name in named if f"def {name}(" not in code] == []


def test_no_bar_tells_how_much_is_private(monkeypatch):
    """Searches from private demand show no bar: its total would be their number."""
    bars = []
    monkeypatch.setattr(progress_module, "tqdm", lambda *a, **o: bars.append(o) or tqdm(*a, **o))
    universe = path_metric(6)
    universe.distance_rows(np.array([0]))
    assert [bar["disable"] for bar in bars] == [None]
    bars.clear()
    select(mdp.PrivateDemand(universe, [0, 0, 3]), CostQuery(universe), 1, mdp.Ledger(1).charge(1))
    assert {bar["total"]: bar["disable"] for bar in bars if bar["unit"] == "source"} == {2: True}


@pytest.mark.parametrize("neighboring", ["add-remove", "replace-one"])
def test_what_the_noise_would_refuse_is_not_charged(neighboring):
    demand = mdp.PrivateDemand(TWO, ["a"], user=["u"], max_contributions=10**7)
    ledger = mdp.Ledger(1, neighboring=neighboring)
    asked = {"epsilon": 1e-9, "ledger": ledger}
    for call, more in ((mdp.k_median, {"k": 1}), (mdp.k_means, {"k": 1}), (mdp.release, {})):
        refuses("large enough for noise of 64 bits", call, TWO, demand, **asked, **more)
    assert ledger.spent == 0


THIRDS = Labels(THREE, (0, 1, 2), 3)


@cases(
    ("m", "neighboring", "cost"),
    (1, "add-remove", Fraction(1, 2)),
    (1, "replace-one", Fraction(1)),
    (2, "add-remove", Fraction(3, 4)),
    (2, "replace-one", Fraction(3, 2)),
    (9, "add-remove", Fraction(7, 8)),
)
def test_the_largest_epsilons_that_one_unit_can_touch_are_paid(m, neighboring, cost):
    ledger = mdp.Ledger(2, neighboring=neighboring)
    user = None if m == 1 else ["u", "u", "v"]
    bound = None if m == 1 else m
    demand = mdp.PrivateDemand(THREE, ["a", "b", "c"], user=user, max_contributions=bound)
    parts = split(demand, THIRDS, ["1/8", "1/2", "1/4"], ledger, purpose="districts")
    assert ledger.spent == cost
    expected = [Fraction(1, 8), Fraction(1, 2), Fraction(1, 4)]
    assert [budget.epsilon for _, budget in parts] == expected
    assert {budget.neighboring for _, budget in parts} == {"add-remove"}
    assert all(part.max_contributions == m and part.unit == demand.unit for part, _ in parts)


@pytest.mark.parametrize(
    ("m", "neighboring"), list(itertools.product([1, 2], ["add-remove", "replace-one"]))
)
def test_exact_distribution_of_all_parts_together(m, neighboring):
    """Worst log ratio of noisy counts of all parts, over all neighbors: at most what was charged,
    and reached.
    """
    shares = [Fraction(1, 2), Fraction(1, 4), Fraction(1, 8)]
    ledger = mdp.Ledger(4, neighboring=neighboring)
    demand = mdp.PrivateDemand(THREE, ["a"], user=["u"], max_contributions=m)
    scales = []
    for part, budget in split(demand, THIRDS, shares, ledger):
        scales.append(measure(part, CountQuery(), budget.left, budget).receipt.mechanisms[0].scale)
    outputs = np.array(list(itertools.product((-9, 9), repeat=3)))
    worst = 0.0
    for one, other in itertools.permutations(all_demands(3, 2, m), 2):
        if neighbors(one, other, neighboring):
            a, b = (np.bincount([r for u in d for r in u], minlength=3) for d in (one, other))
            loss = (np.abs(outputs - b) - np.abs(outputs - a)) @ (1 / np.array(scales))
            worst = max(worst, float(loss.max()))
    assert worst <= float(ledger.spent) * (1 + 1e-12)
    if neighboring == "add-remove" and m == 1:
        assert math.isclose(worst, float(ledger.spent))


def test_parts_hold_their_records_and_only_theirs():
    demand = mdp.PrivateDemand(THREE, ["a", "c", "c", "b", "c"])
    parts = split(demand, Labels(THREE, (0, 0, 2), 3), 900, mdp.Ledger(1000))
    assert [sorted(_open(part).tolist()) for part, _ in parts] == [[0, 1], [], [2, 2, 2]]
    query = HistogramQuery(finest(THREE))
    counts = [measure(part, query, 900, budget).values.tolist() for part, budget in parts]
    assert counts == [[1, 1, 0], [0, 0, 0], [0, 0, 3]]
    in_box = split(mdp.PrivateDemand(BOX, [[0.5], [2.5], [2.7]]), UnitCells(BOX), 1, mdp.Ledger(1))
    assert [len(_open(part)) for part, _ in in_box] == [1, 0, 2]


def test_only_its_own_budget_slice_reads_a_part():
    demand, ledger = mdp.PrivateDemand(THREE, ["a", "b", "c"]), mdp.Ledger(3)
    (one, budget), (other, _), _ = split(demand, THIRDS, 1, ledger)
    outside = ledger.charge(1)
    for part, account in ((one, outside), (other, budget), (demand, budget)):
        with pytest.raises(InputError, match="paid from the budget slices that split returned"):
            measure(part, CountQuery(), "1/2", account)
    words, asked = "paid from the budget slice that split returned", {"k": 1, "epsilon": 0.5}
    for who_pays in ({"ledger": ledger}, {}):
        refuses(words, mdp.k_median, THREE, one, **asked, **who_pays)
    assert (ledger.spent, budget.spent, outside.spent) == (2, 0, 0)
    found = mdp.k_median(THREE, one, k=1, epsilon=0.5, ledger=budget).receipt.epsilon
    assert found == Fraction(1, 2)
    refuses("", mdp.k_median, THREE, one, error=BudgetError, k=1, epsilon=0.6, ledger=budget)
    inner = split(one, THIRDS, 0.5, budget)
    assert measure(*inner[0][:1], CountQuery(), 0.5, inner[0][1]).receipt.epsilon == Fraction(1, 2)


@cases(
    ("epsilon", "partition", "error"),
    (0, THIRDS, "positive"),
    ([1, 1], THIRDS, "each of the 3 parts"),
    ([1, 1, -1], THIRDS, "positive"),
    ("x", THIRDS, "finite number"),
    (1, finest(TWO), "different universes"),
)
def test_refusals_spend_nothing(epsilon, partition, error, sealed):
    ledger, demand = mdp.Ledger(3), mdp.PrivateDemand(THREE, ["a"])
    refuses(error, split, demand, partition, epsilon, ledger)
    refuses("", split, demand, THIRDS, 4, ledger, error=BudgetError)
    assert ledger.spent == 0


def test_one_ledger_pays_for_many_districts():
    universe = line(40)
    demand = mdp.PrivateDemand(universe, list(range(40)) * 50)
    ledger = mdp.Ledger(1)
    halves = Labels(universe, tuple([0] * 20 + [1] * 20), 2)
    parts = split(demand, halves, 1, ledger)
    centers = [mdp.k_median(universe, part, k=1, epsilon=1, ledger=b).centers for part, b in parts]
    assert centers[0][0] < 20 <= centers[1][0]
    assert ledger.left == 0
