"""The replay verifier: its losses are right, it shares no code with what it verifies, and it sees
what the exact distributions by recorded randomness cannot.
"""

import ast
import math
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import metricdp as mdp
from metricdp.accounting import zcdp_epsilon, zcdp_rho
from metricdp.audit import patch, planted, replay, report, runner
from metricdp.audit.planted import Mutation, mutated
from metricdp.audit.replay import losses, verifying
from metricdp.audit.replay.subjects import subjects
from metricdp.audit.replay.transcript import Draw, Transcript, describe, recorded
from metricdp.audit.worlds import Labels, finest
from metricdp.privacy import CountQuery, HistogramQuery, PrivateDemand, gate, measure
from tests import cases, path_metric

CHECKS = {check.name: check for check in runner.checks()}
BUGS = {bug.name: bug for bug in planted.bugs()}
OURS = "metricdp.audit.replay"
OWN = {
    "metricdp.audit.distributions",
    "metricdp.audit.patch",
    "metricdp.audit.report",
    "metricdp.progress",
}
SHOWN = {"metricdp", "metricdp.audit.observe", "metricdp.audit.worlds"}
"""The front door, what everybody sees of a result, and public constants made small."""


def test_it_shares_no_code_with_what_it_verifies():
    for path in Path(replay.__file__).parent.glob("*.py"):
        names = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            if isinstance(node, ast.ImportFrom):
                deep = {f"{node.module}.{alias.name}" for alias in node.names}
                names |= deep if node.module in ("metricdp.audit", OURS) else {node.module}
        ours = {n for n in names if n.split(".")[0] == "metricdp" and not n.startswith(OURS)}
        front = path.name in ("subjects.py", "verifying.py", "days.py", "loaders.py")
        assert ours <= OWN | (SHOWN if front else set()), path.name


def test_its_hooks_are_four_modules_and_the_library_of_noise():
    files = [*Path(replay.__file__).parent.glob("*.py"), Path(patch.__file__)]
    text = "".join(p.read_text() for p in files)
    assert text.count("import_module(") == 6  # one is of intervals, two are of streams
    places = ("privacy.gate", "accounting.budget", "accounting.ledger", "privacy._vault")
    for place in (*places, "opendp.measurements"):
        assert place in text


def draw(kind, scale, hidden, output):
    return Draw(kind, scale, np.array(hidden), np.array(output))


def test_losses_of_noise_are_log_ratios_of_its_probabilities():
    v, w = [3, 5], [2, 7]
    for y in ([9, 9], [-4, 6], [3, 0]):
        one, other = (draw("laplace", 2.0, h, y) for h in (v, w))
        loss = losses.loss_of(one, other)
        ratio = sum((abs(b - o) - abs(a - o)) / 2 for a, b, o in zip(v, w, y))
        assert math.isclose(loss.seen, ratio)
        assert loss.most == 1.5
        one, other = (draw("gaussian", 2.0, h, y) for h in (v, w))
        ratio = sum(((b - o) ** 2 - (a - o) ** 2) / 8 for a, b, o in zip(v, w, y))
        assert math.isclose(losses.loss_of(one, other).seen, ratio)
        assert math.isclose(losses.loss_of(one, other).rho, (1 + 4) / 8)


def test_losses_of_selections():
    eta = Fraction(1, 2)
    one, other = (Draw("exponential mechanism", eta, np.array(s), 1) for s in ([0, 4], [2, 2]))
    loss = losses.loss_of(one, other)
    assert math.isclose(loss.seen, math.log(math.e**2 / (1 + math.e**2) / 0.5))
    assert math.isclose(loss.most, abs(math.log(1 / (1 + math.e**2) / 0.5)))


@pytest.mark.parametrize("rho", [0.001, 0.02, 0.4])
@pytest.mark.parametrize("delta", ["1/1000000", "1/1000"])
def test_the_price_of_rho_is_that_of_the_field(rho, delta):
    known = float(zcdp_epsilon(Fraction(rho), Fraction(delta)))
    assert math.isclose(losses.epsilon_of(rho, float(Fraction(delta))), known, rel_tol=1e-6)
    assert math.isclose(losses.rho_of(known, float(Fraction(delta))), rho, rel_tol=1e-5)


@pytest.mark.parametrize("epsilon", ["1/1000", "1/10", "10"])
@pytest.mark.parametrize("delta", ["1/20", "1/10", "1/2", "9/10"])
def test_rho_may_be_above_epsilon_where_delta_is_large(epsilon, delta):
    known = float(zcdp_rho(Fraction(epsilon), Fraction(delta)))
    found = losses.rho_of(float(Fraction(epsilon)), float(Fraction(delta)))
    assert known <= found <= known * (1 + 1e-5)


@pytest.mark.parametrize("relation", verifying.RELATIONS)
def test_neighbors_by_the_definition(relation):
    subject = next(s for s in subjects() if s.unit.name == "user, m = 2")
    units = verifying.medium(subject, 0)
    most = sorted(kind for _, kind in units)
    for other in verifying._neighbors(units, subject, relation):
        rest = list(most)
        extra = []
        for _, kind in other:
            rest.remove(kind) if kind in rest else extra.append(kind)
        changes = (len(rest), len(extra))
        assert changes in ({(0, 1), (1, 0)} if relation == "add-remove" else {(1, 1)})


def test_a_replay_gives_the_outputs_again_and_notes_its_own_answers():
    metric = path_metric(3)
    query = HistogramQuery(finest(metric))

    def asked(records, before=None):
        with recorded(Transcript(metric, before)) as transcript:
            noisy = measure(PrivateDemand(metric, records), query, 1, mdp.Ledger(1).charge(1))
        return noisy.values.tolist(), transcript

    values, first = asked([0, 0, 2])
    again, second = asked([0, 2], first)
    assert values == again
    assert [d.hidden.tolist() for t in (first, second) for d in t.draws] == [[2, 0, 1], [1, 0, 1]]
    assert losses.difference(first, second) == ""
    assert abs(losses.of_step(first.steps[0], second.steps[0]).seen) == 1


def test_a_question_by_another_partition_is_another_question():
    metric = path_metric(3)
    cuts = ((0, 0, 1), (0, 1, 1), (0, 0, 1))
    reported = {describe(HistogramQuery(Labels(metric, labels, 2)), metric) for labels in cuts}
    assert len(reported) == 2
    assert describe(CountQuery(), metric) == describe(CountQuery(), metric)


TWINS = {
    "large counts kept exact": "k_median, partition, two points, add-remove",
    "a rebate for many records": "k_median, partition, two points, add-remove",
    "the better of two selections": "k_median, local-search, two points, add-remove",
    "small counts not published": "release, two points, add-remove",
    "noise by the size of the answer": "HistogramQuery, two points, add-remove",
}


@pytest.mark.parametrize("bug", TWINS)
def test_exact_distributions_by_recorded_randomness_miss_what_it_sees(bug):
    with BUGS[bug].plant():
        finding = runner.perform(CHECKS[TWINS[bug]], quick=True)
    assert finding.passed, finding


def test_every_mechanism_of_the_table_is_of_every_unit_and_relation():
    rows = {(s.name, s.unit.name, r) for s in subjects() for r in s.relations}
    for unit in ("record", "user, m = 2", "user, share", "user, caps"):
        for relation in verifying.RELATIONS:
            assert ("k_median, partition, a grid", unit, relation) in rows
    assert len(rows) > 150


# Mutations


def test_a_mutation_is_planted_where_it_was_imported_to_and_put_back():
    bug = mutated([Mutation("privacy.gate:_split_price", "else 2", "else 1")])
    price = gate._split_price
    assert price([Fraction(1)], 1, "replace-one") == 2
    with bug():
        assert price([Fraction(1)], 1, "replace-one") == 1
    assert price([Fraction(1)], 1, "replace-one") == 2


@cases(
    ("place", "old"),
    ("privacy.gate:_split_price", "not there"),
    ("privacy.gate:_split_price", "shares"),
    ("privacy.gate:no_such_function", "x"),
    ("privacy.noise:_BLOCK", "7"),
)
def test_a_place_that_is_gone_is_reported(place, old):
    with pytest.raises((LookupError, AttributeError)), mutated([Mutation(place, old, "y")])():
        pass


# What cannot run


def test_a_check_and_a_bug_that_miss_a_package_are_skipped_and_fail_nothing(monkeypatch):
    name = "replay, k_median, hst, from DuckDB, user, m = 2, add-remove"
    bug = planted.Bug("b", "", (name,), mutated([]))
    for module in [m for m in sys.modules if m.split(".")[0] in ("duckdb", "_duckdb")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "duckdb", None)
    finding = runner.perform(CHECKS[name], quick=True)
    caught = runner.catch(bug, [CHECKS[name]], quick=True)
    assert finding.skipped and finding.found == caught.note == "skipped, needs duckdb"
    assert report.clean([finding], [caught])
    said = "0 of 0 checks passed, 0 of 0 planted bugs caught, 2 skipped"
    assert said in report.as_text([finding], [caught], 1.0)
