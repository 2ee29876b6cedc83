"""The least epsilon for a target: what it follows from, and how often it is enough."""

import json
from fractions import Fraction

import numpy as np
import pytest

import metricdp as mdp
from metricdp.running.planning import LADDER, checked_target, needed
from tests import cases, grid_metric, refuses

EPSILONS = tuple(Fraction(e) for e in LADDER)
SIZES = np.array([float(e) for e in EPSILONS])
SHAPES = np.repeat([-1.0, -0.3, 0.3, 0.8, 1.0], 6)


def excess(epsilon, coins):
    """Of runs of five shapes, six demands each, whose logarithms are normal around a power
    distribution."""
    return 0.01 / epsilon**0.8 * np.exp(0.5 * SHAPES + 0.5 * coins.normal(size=len(SHAPES)))


def test_in_nine_of_ten_plans_nine_runs_in_ten_stay_within():
    right = 0
    for i in range(100):
        coins = np.random.default_rng(i)
        reported = needed(EPSILONS, np.array([excess(e, coins) for e in SIZES]), 1.03)
        assert reported.estimate <= reported.epsilon <= 4 * reported.estimate
        fresh = np.concatenate([excess(reported.epsilon, coins) for _ in range(100)])
        right += np.quantile(fresh, 0.9) <= 0.03
    assert right >= 90


@cases(
    ("levels", "target", "epsilon"),
    ([0.4, 0.1, 0.025], 1.05, 2.0),
    ([0.4, 0.1, 0.025], 1.1, 1.0),
    ([0.4, 0.1, 0.025], 2.0, 0.25),
    ([0.4, 0.1, 0.025], 1.01, None),
    ([0.01, 0.1, 0.025], 1.05, 2.0),  # a larger budget is never worse: chance
    ([np.inf, 0.0, 0.0], 1.05, 1.0),
    ([0.2, 0.0, 0.0], 1.1, 0.35),
)
def test_the_quantile_is_interpolated_in_logarithms(levels, target, epsilon):
    budgets = (Fraction(1, 4), Fraction(1), Fraction(4))
    expected = epsilon, epsilon
    assert needed(budgets, np.repeat(np.array(levels)[:, None], 7, axis=1), target) == expected


def test_uneven_runs_need_more_than_the_best_guess():
    reported = needed(EPSILONS, 0.03 / SIZES[:, None] * np.linspace(0.5, 1.5, 15), 1.03)
    assert reported.estimate == 1.5 and reported.epsilon >= reported.estimate


def test_what_a_target_may_be():
    assert checked_target(" 2.5 % ") == 1.025 and checked_target("1.2") == 1.2
    for wrong in (1, "0%", "-3%", "much", None, True, float("nan"), float("inf")):
        refuses("target must be", checked_target, wrong)


def test_a_plan_tells_the_least_epsilon(capsys, tmp_path):
    metric = grid_metric(6, 6)
    plain = mdp.plan(metric, records=3000, k=2, epsilons=[1], repeats=1)
    with pytest.raises(mdp.InputError, match="target"):
        plain.epsilon  # noqa: B018
    reported = mdp.plan(metric, records=100_000, k=2, target="40%", repeats=1)
    assert reported.epsilon == 0.05 and len(reported.epsilons) == 8  # sure with so many records
    assert reported.to_dict()["target"] == {"cost": 1.4, "epsilon": 0.05, "estimate": 0.05}
    assert "epsilon 0.05" in str(reported)
    hard = mdp.plan(metric, records=10, k=6, target=1.0001, epsilons=["0.01"], repeats=1)
    assert hard.epsilon is None and "No epsilon" in hard.remark()


def test_too_few_made_up_demands_tell_nothing():
    metric = grid_metric(6, 6)
    reported = mdp.plan(metric, records=100_000, k=2, target="40%", repeats=2, time_limit=1e-6)
    assert 0 < reported.runs < 5
    assert reported.epsilon is None and reported.needed.estimate == 0.05
    assert "Too few made-up demands" in str(reported)


def test_the_command(capsys, tmp_path):
    from metricdp.cli import main

    graph = tmp_path / "g.csv"
    graph.write_text("source,target,length\n" + "".join(f"v{i},v{i + 1},1\n" for i in range(30)))
    asked = ["plan", str(graph), "--records", "50000", "-k", "2", "--repeats", "1", "--json"]
    assert main([*asked, "--target", "40%", "--epsilons", "1,2", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["target"]["epsilon"] == 1.0
    assert main([*asked, "--goal", "40%", "--epsilons", "1,2", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["target"]["epsilon"] == 1.0
    for option in ("--goal", "--target"):
        assert main([*asked, option, "0%"]) == 2
        assert "target must be" in capsys.readouterr().err
    columns = ["--source", "source", "--target", "target", "--epsilons", "1", "--quiet"]
    assert main([*asked, *columns]) == 0  # a column, not a goal
    assert "target" not in json.loads(capsys.readouterr().out)
