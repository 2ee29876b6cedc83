"""The audit itself: its distributions are right, its bounds hold, and it can fail. That the package
passes and that planted bugs are caught, `python -m metricdp.audit --quick` tells in CI.
"""

import itertools
import json
import logging
import math
import pickle
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

import metricdp as mdp
from metricdp import progress
from metricdp.accounting import Cost
from metricdp.audit import (
    blackbox,
    canaries,
    distributions,
    observe,
    planted,
    recording,
    report,
    runner,
    samplers,
    worlds,
)
from metricdp.audit.__main__ import main
from metricdp.audit.exact import Case, examine
from metricdp.audit.patch import patched, replaced
from metricdp.privacy import CountQuery, HistogramQuery, PrivateDemand, _vault, gate, measure
from tests import cases, raising, refuses

CHECKS = {check.name: check for check in runner.checks()}
BUGS = {bug.name: bug for bug in planted.bugs()}


def test_every_planted_bug_names_what_catches_it_and_what_is_wrong():
    for bug in BUGS.values():
        assert bug.caught_by and set(bug.caught_by) <= set(CHECKS)
        assert len(bug.wrong) > 60


def test_the_tables_hold_the_bugs_that_must_be_caught_for_ever():
    for name in (
        "half the noise",
        "doubled exponent",
        "replace one forgotten",
        "users counted as records",
        "monotone exponent everywhere",
        "budget spent twice",
        "noise scaled by data",
        "candidates from private data",
        "diameter measured on data",
        "empty parts skipped",
        "raw counts kept",
        "permute and flip in zcdp",
        "parallel composition charged once",
        "progress counts records",
        "seeded noise",
        "covered points count on",
        "all of epsilon for a loop",
        "rounds charged nothing",
        "cover priced one way",
        "rounds by the exact count",
        "empty places known to the next round",
        "a round unpaid",
        "exact counts as weights",
    ):
        assert name in BUGS


def test_bugs_leave_no_trace():
    start = "HistogramQuery, two points, add-remove"
    before = {name: check for name, check in CHECKS.items() if name.startswith(start)}
    for bug in BUGS.values():
        with bug.plant():
            pass
    assert all(runner.perform(check, quick=True).passed for check in before.values())


def test_all_methods_and_queries_are_audited():
    for method in mdp.METHODS:
        assert any(f"k_median, {method}, " in name for name in CHECKS)
        assert any(f"replay, k_median, {method}, " in name for name in CHECKS)
    for query in ("Count", "Histogram", "Levels", "Cost", "Coverage", "Cover"):
        for relation in worlds.RELATIONS:
            assert f"{query}Query, two points, {relation}" in CHECKS


def test_what_a_zcdp_accountant_sells_at_a_selections_price_buys_no_laplace_noise():
    two = worlds.worlds()["two points"].universe
    accountant = mdp.Ledger(1, "1e-6").charge(Cost.zcdp(1, "1e-6"))
    epsilon, releases = Fraction(1, 100), 0
    try:
        while releases < 500:
            budget = accountant.charge(Cost.selection(epsilon))
            measure(PrivateDemand(two, []), HistogramQuery(worlds.finest(two)), epsilon, budget)
            releases += 1
    except (mdp.InputError, mdp.BudgetError):
        pass
    assert releases * epsilon**2 / 2 <= accountant.rho


# The frame can fail


def claiming(factor, name="a mechanism"):
    """A case that spends `factor` times what it charges, by asking a second ledger."""

    def call(demand, ledger):
        paid = ledger.charge("1/2").epsilon
        query, spent = HistogramQuery(worlds.finest(demand.universe)), paid * factor
        return measure(demand, query, spent, mdp.Ledger(9).charge(spent))

    return Case(name, worlds.worlds()["two points"], call, worlds.demands(2, 2), "add-remove")


def test_twice_the_claim_is_refuted_exactly_and_once_is_not():
    assert examine(claiming(1)).passed
    found = examine(claiming(2))
    assert (found.passed, found.excess) == (False, pytest.approx(2))
    assert not examine(claiming(Fraction(1001, 1000))).passed


def test_a_case_that_is_examined_until_it_is_refuted_says_the_same_of_what_is_not():
    whole, until = examine(claiming(1)), examine(claiming(1), runner.REFUTED)
    assert whole == until and until.passed
    found = examine(claiming(2), runner.REFUTED)
    assert not found.passed and runner.REFUTED < found.excess <= examine(claiming(2)).excess


@cases(
    "name",
    "HistogramQuery, two points, add-remove, users of 2",
    "HistogramQuery, Gaussian, two points, add-remove",
    "selections until a zCDP accountant is spent, two points, add-remove",
    "CoverQuery, two points, add-remove",
    "covering loop, whole-loop bound, add-remove",
)
def test_what_is_right_is_looked_at_in_full_also_where_mutants_are_stopped(name):
    found = [runner.perform(CHECKS[name], True, refute) for refute in (False, True)]
    assert {(f.found, f.claim, f.passed) for f in found} == {(found[0].found, found[0].claim, True)}


def test_a_check_that_finds_far_too_little_does_not_pass():
    found = examine(claiming(Fraction(1, 2)))
    assert not found.passed
    assert "too blind" in found.found
    assert found.excess < 1


@cases(
    ("leak", "channel"),
    (lambda release, n: object.__setattr__(release, "exact", n), "pickle"),
    (lambda release, n: __import__("sys").stdout.write(str(n)), "stdout"),
    (lambda release, n: __import__("sys").stderr.write(str(n)), "stderr"),
    (lambda release, n: __import__("logging").getLogger("x").debug("%s", n), "log"),
    (lambda release, n: __import__("warnings").warn(f"{n} records", stacklevel=1), "warnings"),
    (lambda release, n: 1 / (n - 1), "exception"),
)
def test_whatever_shows_is_noticed(leak, channel):
    def call(demand, ledger):
        release = measure(demand, CountQuery(), 1, ledger.charge(1))
        leak(release, len(_vault._open(demand)))
        return release

    two = worlds.worlds()["two points"]
    found = examine(Case("a leak", two, call, worlds.demands(2, 2), "add-remove"))
    assert not found.passed
    # there all that is returned is missing, too
    assert channel in found.found or channel == "exception"
    assert found.excess == math.inf


def test_every_step_of_a_bar_shows_and_the_bar_s_label():
    with observe.watched() as seen:
        assert list(progress.progress(range(2), label="x")) == [0, 1]
        with progress.progress(total=9, label="y") as bar:
            bar.update(4)
        with progress.silent(), progress.progress(total=7, label="z") as bar:
            bar.update(1)
    assert seen["stderr"].splitlines()[:3] == ["x 0/2", "x 1/2", "x 2/2"]
    assert "y 4/9" in seen["stderr"] and "z" not in seen["stderr"]


def test_noise_that_is_not_recorded_is_noticed():
    def call(demand, ledger):
        ledger.charge(1)
        return len(_vault._open(demand)) + int(np.random.default_rng().laplace(0, 100) * 1000)

    two = worlds.worlds()["two points"]
    found = examine(Case("own noise", two, call, worlds.demands(2, 1), "add-remove")).excess
    assert found == math.inf


def test_a_check_that_breaks_down_fails_but_catches_nothing():
    check = runner.Check("broken", True, raising(RuntimeError("no")))
    finding = runner.perform(check, quick=True)
    assert not finding.passed
    assert "RuntimeError: no" in finding.found
    bug = planted.Bug("b", "", ("broken",), lambda: patched(planted, "bugs", None))
    caught = runner.catch(bug, [check], quick=True)
    assert caught.evidence is None
    last = report.as_text([finding], [caught], 1).splitlines()[-4:-2]
    assert last[0].startswith("broken: RuntimeError: no")
    assert last[1].startswith("b: not caught; broken: RuntimeError: no")


def test_what_the_short_form_misses_the_long_check_may_find():
    found = report.refuted("late", "", "wrong", "exact distribution", True)
    check = runner.Check("late", True, lambda quick: found, lambda: replace(found, excess=0.0))
    assert runner.catch(planted.Bug("b", "", ("late",), nullcontext), [check], quick=True).evidence


def test_a_bug_whose_place_is_gone_is_reported_and_not_caught():
    who = ("CountQuery, two points, add-remove",)
    bug = planted.Bug("gone", "", who, lambda: replaced(planted, "no_such_function", None))
    caught = runner.catch(bug, list(CHECKS.values()), quick=True)
    assert caught.evidence is None
    assert "AttributeError" in caught.note
    assert not report.clean([], [caught])
    with pytest.raises(AttributeError), patched(planted, "no_such_name", 1):
        pass


# Lower bounds from outputs alone


def discrete(scale, n, at, rng):
    """Discrete Laplace noise: the difference of two geometric variables."""
    q = -math.expm1(-1 / scale)
    return (at + rng.geometric(q, n) - rng.geometric(q, n))[:, None]


def test_black_box_refutes_twice_the_claim_and_never_the_claim():
    rng = np.random.default_rng(5)
    bounds = []
    for _ in range(40):  # false alarms: probability below 40 · 10^-6, and the seed is fixed
        p, q = (discrete(1.0, 3000, at, rng) for at in (0, 1))
        bounds.append(blackbox.lower_bound(p, q)[0])
    assert max(bounds) <= 1.0 and min(bounds) > 0.6
    p, q = (discrete(0.5, 3000, at, rng) for at in (0, 1))
    assert not blackbox.judged("half the noise", p, q, 1.0).passed
    pair = (discrete(1.0, 3000, at, rng) for at in (0, 1))
    assert blackbox.judged("the claim", *pair, 1.0).passed


def test_black_box_bounds_are_not_optimistic_even_at_a_loose_alarm():
    rng = np.random.default_rng(8)
    pairs = ([discrete(1.0, 400, at, rng) for at in (0, 1)] for _ in range(200))
    alarms = sum(blackbox.lower_bound(*pair, alarm=0.2)[0] > 1.0 for pair in pairs)
    assert binom.sf(alarms - 1, 200, 0.2) > 1e-9


@cases(
    ("kind", "make"),
    ("low bits", lambda at, rng: at + 2 * discrete(20.0, 4000, 0, rng)),
    (
        "atom",
        lambda at, rng: np.where(
            rng.random((4000, 1)) < 0.4, 7 * (1 - at) + 3 * at, rng.integers(0, 11, (4000, 1))
        ),
    ),
    ("threshold", lambda at, rng: discrete(0.2, 4000, at, rng)),
    (
        "likelihood ratio",
        lambda at, rng: np.hstack(
            [discrete(1.5, 4000, s * at, rng) for s in (1, -1, 1, -1, 1, -1)]
        ),
    ),
)
def test_every_kind_of_event_earns_its_place(kind, make):
    rng = np.random.default_rng(3)
    found, best = blackbox.lower_bound(make(0, rng), make(1, rng))
    assert found > 1
    assert best == kind or kind in ("atom", "threshold")


def test_delta_is_taken_off():
    p, q = np.array([[1]] * 50 + [[0]] * 950).repeat(4, axis=0), np.zeros((4000, 1), int)
    order = np.random.default_rng(0).permutation(4000)
    assert blackbox.lower_bound(p[order], q)[0] > 1
    assert blackbox.lower_bound(p[order], q, delta=0.06)[0] < 0.1


@pytest.mark.parametrize(("n", "alpha"), [(10, 0.05), (57, 0.01), (200, 1e-4)])
def test_clopper_pearson_covers_at_every_probability(n, alpha):
    bounds = [blackbox.clopper_pearson(k, n, alpha) for k in range(n + 1)]
    for p in np.linspace(0.001, 0.999, 211):
        weight = binom.pmf(np.arange(n + 1), n, p)
        assert weight[[low > p for low, _ in bounds]].sum() <= alpha * (1 + 1e-9)
        assert weight[[high < p for _, high in bounds]].sum() <= alpha * (1 + 1e-9)
    assert bounds[0][0] == 0 and bounds[-1][1] == 1


# Laws and divergences


def test_distributions_are_normalized():
    z = np.arange(-4000, 4001)
    for scale in (0.3, 2.0, 50.0):
        assert np.exp(distributions.log_laplace(z, scale)).sum() == pytest.approx(1, abs=1e-12)
        assert np.exp(distributions.log_gaussian(z, scale)).sum() == pytest.approx(1, abs=1e-12)
    rng = np.random.default_rng(2)
    for n in (1, 2, 5, 12):
        scores = rng.integers(-9, 9, n) * 10**15
        for distribution in distributions.DISTRIBUTIONS.values():
            found = np.exp(distribution(scores, Fraction(1, 10**15))).sum()
            assert found == pytest.approx(1, abs=1e-12)


def test_permute_and_flip_is_the_mechanism_itself():
    """Against the definition: all orders, coin by coin."""
    scores, eta = [0, 2, 3], Fraction(2, 3)
    p = [math.exp(float(eta) * (s - 3)) for s in scores]
    distribution = np.zeros(3)
    for order in itertools.permutations(range(3)):
        left = 1 / 6
        for i in order:
            distribution[i] += left * p[i]
            left *= 1 - p[i]
    found = np.exp(distributions.log_permute_and_flip(scores, eta))
    np.testing.assert_allclose(found, distribution, rtol=1e-12)


def test_divergences_of_known_pairs():
    p, q = np.log([0.75, 0.25]), np.log([0.25, 0.75])
    assert distributions.log_ratio(p, q) == pytest.approx(math.log(3))
    assert distributions.hockey_stick(p, q, math.log(2)) == pytest.approx(0.25)
    assert distributions.renyi(p, q, 2) == pytest.approx(math.log(0.75**2 / 0.25 + 0.25**2 / 0.75))
    z = np.arange(-60, 61)
    gauss = [distributions.log_gaussian(z - at, 2.0) for at in (0, 1)]
    assert distributions.needed_rho(*gauss) == pytest.approx(1 / 8, rel=1e-6)
    assert distributions.log_ratio(np.array([0.0, -np.inf]), np.array([-np.inf, 0.0])) == math.inf


def test_randomized_response_reaches_its_claims_of_rho_and_epsilon():
    epsilon = 0.3
    one = distributions.log_exponential_mechanism([1, 0], Fraction(3, 10))
    other = distributions.log_exponential_mechanism([0, 1], Fraction(3, 10))
    assert distributions.log_ratio(one, other) == pytest.approx(epsilon)
    assert distributions.needed_rho(one, other) > 0.95 * epsilon**2 / 2


# The recording


def test_scripts_walk_through_every_choice_also_where_draws_depend_on_draws():
    def run(script):
        reel = recording.Recording(script)
        first = reel.selection([np.zeros(2, np.int64)], Fraction(1), "exponential mechanism")
        for _ in range(first):
            reel.selection([np.zeros(3, np.int64)], Fraction(1), "permute-and-flip")
        return reel

    found = list(recording.scripts(run))
    assert found == [(0,), (1, 0), (1, 1), (1, 2)]
    assert sum(math.exp(run(script).log_p) for script in found) == pytest.approx(1)


def test_patterns_tell_any_two_coordinates_apart():
    for n in (1, 2, 3, 4, 5, 16, 33):
        far = recording.patterns(n)[:-1] > 0
        pairs = {(i, j) for row in far for i in range(n) for j in range(n) if row[i] and not row[j]}
        assert len(pairs) == n * (n - 1)
        assert far.all(axis=1).any() and (~far).all(axis=1).any()


def test_coins_keep_every_choice_of_records_equally_often():
    user, m = (0, 0, 1), 2
    kept = [tuple(sorted(np.argsort(ranks)[:m])) for ranks in worlds.coins((user,), m)]
    assert sorted(kept) == [(0, 1), (0, 2), (1, 2)]
    assert len(worlds.coins(((0, 1), (0, 0, 1)), 1)) == 6


def test_neighbors_by_the_definition():
    assert worlds.neighbors(((0,),), ((0,), (1,)), "add-remove")
    assert not worlds.neighbors(((0,),), ((1,),), "add-remove")
    assert worlds.neighbors(((0,), (1,)), ((0,), (0, 1)), "replace-one")
    assert not worlds.neighbors(((0,), (1,)), ((0,), (1,)), "replace-one")
    assert not worlds.neighbors(((0,), (0,)), ((1,), (1,)), "replace-one")


def test_a_function_is_replaced_wherever_it_was_imported_to_and_put_back():
    real = gate.measure

    def answer():
        return mdp.privacy.measure(None, None, 1, None)

    with pytest.raises(ZeroDivisionError), replaced(gate, "measure", lambda *asked: 7):
        assert answer() == 7
        raise ZeroDivisionError
    assert gate.measure is mdp.privacy.measure is real
    refuses("", answer)


# Samplers' tests, canaries


def test_chi_square_is_uniform_under_the_right_distribution():
    rng = np.random.default_rng(1)
    distribution = np.r_[np.full(10, 0.0999), 1e-4, 9e-4]
    distribution /= distribution.sum()
    draws = (rng.multinomial(3000, distribution) for _ in range(400))
    p_values = [samplers.p_value(drawn, distribution) for drawn in draws]
    assert 0.3 < np.mean(p_values) < 0.7
    assert min(p_values) > 1e-5
    assert samplers.p_value(np.array([1, 5]), np.array([0.0, 1.0])) == 0.0


def test_canaries_sing():
    for text in ("CANARY-48611-3", "48611", "48,611 records", "[48611]", "24306 kept", "n=24,306"):
        assert canaries.sings(text)
    for text in ("0.48611", "1248611", "486110", "148,611", "243.06"):
        assert not canaries.sings(text)


def test_a_canary_leaks_where_it_is_shown_each_time():
    noisy = iter(["a, 24306", "24,306 rows", "24305"])
    shown = [("name", "Ann"), ("total", "24306"), ("result", b"n=24306")]
    assert canaries.leaks(lambda: iter(shown)) == ("total", 2)
    assert canaries.leaks(lambda: iter([shown[0], ("n", next(noisy))])) == ("", 2)


def test_hidden_numbers_are_found_in_what_a_pickle_holds():
    secrets = [np.arange(9)]
    for value in ({"n": 48_611}, [np.arange(9.0)], (24_306.0,), {1: [{2: np.arange(9)}]}):
        assert canaries._hidden(pickle.loads(pickle.dumps(value)), secrets)
    assert not canaries._hidden([1, "a", np.arange(8), {2.5}], secrets)


def test_a_demand_of_canaries_is_what_it_says():
    _, places, demand = canaries.scene()
    assert (len(places), len(_vault._open(demand))) == (canaries.NUMBER, canaries.KEPT)
    assert isinstance(demand, PrivateDemand)


# The command


def test_the_command_prints_a_table_and_its_status(capsys):
    assert main(["--quick", "--only", "CountQuery, two points, add-remove"]) == 0
    out = capsys.readouterr().out
    assert "mechanism" in out and "verdict" in out
    assert "2 of 2 checks passed" in out.splitlines()[-1]
    assert main(["--quick", "--only", "half the noise"]) == 0
    assert "ε ≥ 1.4" in capsys.readouterr().out


def test_the_command_prints_json(capsys):
    assert main(["--quick", "--json", "--only", "budget spent"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["passed"] and shown["planted"][0]["caught"]
    assert shown["planted"][0]["evidence"]["excess"] == pytest.approx(1.5)


def test_a_bug_in_the_package_makes_status_1(capsys):
    with BUGS["half the noise"].plant():
        assert main(["--quick", "--only", "HistogramQuery, two points, add-remove"]) == 1
    assert "FAIL" in capsys.readouterr().out


def test_a_bug_that_nothing_catches_makes_status_1(capsys, monkeypatch):
    claims = ("CountQuery, two points, add-remove",)
    harmless = planted.Bug("harmless", "", claims, lambda: patched(planted, "bugs", planted.bugs))
    monkeypatch.setattr(planted, "bugs", lambda: iter([harmless]))
    assert main(["--quick", "--only", "harmless"]) == 1
    assert "NOT CAUGHT" in capsys.readouterr().out


def test_a_name_that_nothing_has_is_bad_input(capsys):
    assert refuses("", main, ["--only", "no such thing"], error=SystemExit).code == 2
    assert "no check and no planted bug" in capsys.readouterr().err


def test_processes_find_what_one_finds_in_the_same_order(monkeypatch):
    monkeypatch.setattr(runner, "_WORTH_A_PROCESS", 1)
    only = "CountQuery, two points"
    one, two = runner.audit(True, only), runner.audit(True, only, processes=2)
    assert len(one[0]) > 1
    assert [f.mechanism for f in one[0]] == [f.mechanism for f in two[0]]
    assert all(f.passed for f in two[0])


def test_what_py4j_says_of_collected_objects_is_not_reported():
    with observe.watched() as seen:
        logging.getLogger("py4j.clientserver").debug("Command to send: %s", "m\nd\no95\ne\n")
        logging.getLogger("py4j.clientserver").debug("Command to send: %s", "c\no95\nfirst\ne\n")
        logging.getLogger("elsewhere").debug("Answer received: !yv")
    expected = [*("Command to send: c", "o95", "first", "e", ""), "Answer received: !yv"]
    assert seen["log"].splitlines() == expected
