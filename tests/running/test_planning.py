"""The plan: what it says of made-up demand is true, nothing but public coins and the real release
is drawn, and what the least epsilon for a target follows from.
"""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import metricdp as mdp
from metricdp.methods.remarks import percent
from metricdp.running import made_up
from metricdp.running.made_up import SHAPES, Shape, searched
from metricdp.running.planning import LADDER, AreaCosts, checked_epsilons, checked_target, needed
from tests import cases, grid_metric, path_metric, refuses

GRID = grid_metric(9, 9)
FEW = (Shape("even", 0, 1.0), Shape("spots", 3, 0.1))


@pytest.fixture(scope="module")
def reported():
    return mdp.plan(GRID, records=800, k=4, epsilons=["0.02", 4], repeats=3, shapes=FEW)


def test_more_privacy_costs_more_accuracy_and_any_data_is_better_than_none(reported):
    weak, strong = reported.forecast(1), reported.forecast(0)
    assert 0 <= weak.median < strong.median and weak.high <= strong.high
    assert reported.forecast(1, 1).median < reported.forecast(None, 1).median
    assert weak.mean_distance < strong.mean_distance and weak.runs == 6


def test_figures_are_those_of_the_runs(reported):
    """A reference implementation of `Plan.forecast`: sort all runs and count to the share."""
    for i in range(2):
        for shape in (None, 0, 1):
            rows = [(s, r) for s in range(2) for r in range(3) if shape in (None, s)]
            runs = [reported.cost[i, s, r] / reported.reference[s, r] - 1 for s, r in rows]
            runs.sort()
            found = reported.forecast(i, shape)
            assert found.median == pytest.approx(runs[-(-(len(runs) - 1) // 2)])
            assert found.high == pytest.approx(runs[-(-9 * (len(runs) - 1) // 10)])
            assert sum(v <= found.high + 1e-12 for v in runs) >= 0.9 * len(runs)
    assert (reported.cost >= reported.reference).all()


def test_costs_are_exact_costs_of_made_up_demand():
    """The same public coins draw the same demand; its cost is a sum of distances."""
    reported = mdp.plan(GRID, records=60, k=2, epsilons=[1], repeats=1, shapes=FEW[1:], seed=5)
    world = made_up.FiniteWorld(GRID, 2, 1, 5)
    ids = [GRID.ids[i] for i in world.draw(FEW[1], 60, np.random.default_rng([5, 0, 0]))]
    cost = sum(min(abs(a - x) + abs(b - y) for x, y in reported.example[0].centers) for a, b in ids)
    assert reported.cost[0, 0, 0] == cost
    blind = world.blind()
    found = reported.blind[0, 0]
    assert found == sum(min(abs(a - x) + abs(b - y) for x, y in blind) for a, b in ids)


def test_the_real_mechanism_runs_with_the_price_and_unit_asked_for(monkeypatch):
    units = {"neighboring": "replace-one", "max_contributions": 3, "repeats": 1, "shapes": FEW}
    reported = mdp.plan(GRID, records=90, k=3, epsilons=["1/3", 2], **units)
    for epsilon, result in zip((Fraction(1, 3), Fraction(2)), reported.example):
        assert result.receipt.epsilon == epsilon
        assert (result.receipt.unit, result.receipt.neighboring) == ("user", "replace-one")
        # two sides of an exchange, three records each
        assert max(m.sensitivity for m in result.receipt.mechanisms) == 6
    assert reported.to_dict()["max_contributions"] == 3


def test_shapes_concentrate_as_their_share_says():
    world, rng = made_up.FiniteWorld(GRID, 2, 1, 0), np.random.default_rng(0)
    near = {}
    for share in (0.5, 0.15, 0.05):
        made = [world.draw(Shape("s", 3, share), 4000, rng) for _ in range(5)]
        counts = [np.sort(np.bincount(m, minlength=81))[::-1] for m in made]
        near[share] = np.mean([count[:12].sum() / 4000 for count in counts])
    assert near[0.5] < near[0.15] < near[0.05]
    assert abs(np.bincount(world.draw(SHAPES[0], 81_000, rng), minlength=81) - 1000).max() < 200
    box = made_up.BoxWorld(mdp.EuclideanSpace([0, 0], [4, 1]), 2, 2, 0)
    assert box.draw(SHAPES[0], 1000, rng).max(axis=0) == pytest.approx([4, 1], rel=0.02)
    assert np.ptp(box.draw(Shape("t", 1, 0.001), 500, rng), axis=0).max() < 0.6


def test_where_no_cost_is_left_figures_stay_finite_or_say_so():
    metric = mdp.EuclideanMetric([[0.0], [1.0], [2.0]])
    free = mdp.plan(metric, records=10, k=3, epsilons=[1], repeats=1, shapes=FEW[:1])
    assert free.forecast(0).median == 0 and free.forecast(None).high == 0
    worse = replace(free, cost=np.ones((1, 1, 1)))
    assert worse.forecast(0).high == np.inf and worse.to_dict()["levels"][0]["median"] is None
    assert percent(np.inf) in str(worse) and json.dumps(worse.to_dict(), allow_nan=False)


def test_tables_say_what_was_simulated(reported):
    again = json.loads(json.dumps(reported.to_dict(), allow_nan=False))
    assert again["levels"][0]["epsilon_exact"] == "1/50"
    basis = "no data", "made-up records", "nothing private took part"
    terms = "add-remove neighbors", "even, spots", "9 in 10 below"
    for shown in (str(reported).lower(), reported._repr_html_().lower()):
        assert [said for said in (*basis, *terms) if said not in shown] == []
    assert len(reported.rows()) == 4 and repr(reported).startswith("Plan(800 records, k=4")
    made = mdp.plan(
        GRID, records=9, k=1, epsilons=[1], repeats=1, shapes=[Shape("<script>", 0, 1.0)]
    )
    assert "<script" not in made._repr_html_()


def test_a_box_is_planned_too():
    space = mdp.EuclideanSpace([0, 0], [2, 1])
    asked = {"epsilons": ["0.01", 2], "repeats": 1, "objective": "k-means", "shapes": FEW}
    reported = mdp.plan(space, records=600, k=3, **asked)
    assert reported.forecast(1).median <= reported.forecast(0).median
    assert reported.rows()[0][-1] == "rms distance"
    points = np.random.default_rng(0).random((50, 2))
    assert searched(points[:2], 3, 1, 0).shape == (3, 2)
    found = sorted(searched(np.vstack([points, points + 9]), 2, 2, 0)[:, 0])
    assert found == pytest.approx([points[:, 0].mean(), points[:, 0].mean() + 9])


def test_there_is_no_place_for_private_data():
    demand = mdp.PrivateDemand(GRID, [(0, 0)])
    refuses("", mdp.plan, GRID, demand, error=TypeError, records=1, k=1)
    refuses("", mdp.plan, GRID, error=TypeError, demand=demand, records=1, k=1)
    refuses("", lambda: mdp.plan(GRID, records=1, k=1, ledger=mdp.Ledger(1)), error=TypeError)


@pytest.mark.parametrize("universe", [GRID, mdp.EuclideanSpace([0, 0], [9, 9])])
def test_heavy_points_and_unequal_spots(universe):
    made_of = made_up.FiniteWorld if universe is GRID else made_up.BoxWorld
    world, rng = made_of(universe, 2, 1, 0), np.random.default_rng(0)
    drawn = [world.draw(Shape("h", 3, 0.4, heavy=h), 3000, rng) for h in (0.0, 0.6)]
    heavy = [np.unique(points, axis=0, return_counts=True)[1] for points in drawn]
    assert np.sort(heavy[1])[-3:].sum() > 1700 > 2 * np.sort(heavy[0])[-3:].sum()
    for seed in range(20):
        drawn = world.draw(Shape("u", 4, 0.2, True), 500, np.random.default_rng(seed))
        assert len(drawn) == 500 and (universe is not GRID or drawn.max() < len(GRID))


def test_the_range_is_that_of_the_easiest_and_the_hardest_shape(reported):
    low, high = reported.extremes(0)
    medians = [reported.forecast(0, j).median for j, _ in enumerate(reported.shapes)]
    assert (low, high) == (min(medians), max(medians))
    assert reported.to_dict()["levels"][0]["range"] == [low, high]
    assert reported.rows()[0][3] == "medians by shape" and percent(high) in reported.rows()[1][3]


def test_what_epsilon_buys_is_said_where_a_sentence_says_it():
    many = mdp.plan(GRID, records=200_000, k=4, epsilons=["0.5", 4], repeats=1, shapes=FEW)
    assert many.remark().startswith("At this size epsilon buys almost nothing")
    assert many.remark() in str(many) and many.remark() in many._repr_html_()
    blind = replace(many, cost=np.array([many.blind, many.blind]))  # as if nothing were learned
    assert blind.remark().startswith("Too few records for this k")
    assert mdp.plan(GRID, records=800, k=4, epsilons=[1], repeats=1, shapes=FEW).remark() == ""


def test_a_limited_time_suffices_for_one_demand_at_least():
    """That of the shape whose page is shown; the others are tried first of all where there is more
    time, and what was not is not counted.
    """
    seen = []
    reported = mdp.plan(
        GRID, records=500, k=3, epsilons=["0.5", 4], repeats=3, shapes=FEW, time_limit=1e-9,
        watch=lambda *row: seen.append(row),
    )  # fmt: skip
    assert [row[:2] for row in seen] == [("spots", Fraction(1, 2)), ("spots", 4)]
    assert all(excess >= 0 for *_, excess in seen)
    assert (reported.runs, reported.forecast(0).runs, reported.forecast(0, 0).runs) == (1, 1, 0)
    assert reported.forecast(1).median == reported.forecast(1, 1).median
    assert [row[4] for row in reported.rows()[1:]] == ["–"] * 3
    assert "even" not in reported.caption() and "over 1 runs" in reported.caption()
    json.dumps(reported.to_dict(), allow_nan=False)
    assert len(mdp.Exploration.of_plan(reported).levels) == 2
    ample = mdp.plan(GRID, records=500, k=3, epsilons=[4], repeats=2, shapes=FEW, time_limit=1e6)
    assert ample.runs == 4


def test_the_best_known_are_chosen_from_all_that_was_found():
    """Center by center: no run alone has them."""
    world = made_up.FiniteWorld(path_metric(40), 2, 1, 0)
    made = np.repeat([3, 36], 50)
    halves = [[3, 20], [19, 36]]
    assert all(world.costs(made, one).sum() > 0 for one in halves)
    assert world.costs(made, world.refined(made, halves)).sum() == 0
    box = made_up.BoxWorld(mdp.EuclideanSpace([0], [1]), 1, 2, 0)
    assert box.refined(np.array([[0.2], [0.4]]), [np.array([[0.9]]), np.array([[0.3]])]) == 0.3


@pytest.mark.extended
def test_shorter_searches_of_a_plan_cost_little():
    """On a network too large for a table of distances, against ten times the time: less than 5 %
    more (0.5 % is usual); public coins, so nothing here is by chance.
    """
    large = grid_metric(75, 75)
    world = made_up.FiniteWorld(large, 9, 1, 0)
    made = world.draw(SHAPES[1], 4000, np.random.default_rng(3))
    counts = np.bincount(made, minlength=len(large)).astype(float)
    long = world.costs(made, mdp.k_median(large, k=9, weights=counts, seed=1).centers).sum()
    short = world.search(made)
    assert world.costs(made, short).sum() < 1.05 * long
    assert world.costs(made, world.refined(made, [short, world.blind()])).sum() < 1.02 * long


def test_areas_bear_the_noise_of_their_own_records():
    """Of two areas: their costs are those of all records; the sum is the whole cost."""
    halves = {point: "west" if point[0] < 4 else "east" for point in GRID.ids}
    reported = mdp.plan(
        GRID, records=300, k=3, epsilons=["0.05", 5], repeats=2, shapes=FEW, by=halves
    )
    assert reported.areas.names == ("east", "west")
    np.testing.assert_allclose(reported.areas.private.sum(-1), reported.cost)
    assert (reported.areas.noiseless.sum(-1) >= reported.reference - 1e-9).all()
    ratios = reported.areas.private[0, ..., 1] / reported.areas.noiseless[..., 1] - 1
    median = np.quantile(ratios, 0.5, method="higher")
    assert reported.areas.excess(0)["west"][0] == pytest.approx(median)
    name = max(reported.areas.excess(0), key=lambda one: reported.areas.excess(0)[one][0])
    assert f"Of 2 areas {name} loses most at epsilon 0.05" in reported.remark()
    assert set(reported.to_dict()["levels"][1]["by_area"]) == {"east", "west"}
    assert mdp.plan(GRID, records=300, k=3, epsilons=[1], repeats=1, shapes=FEW).areas is None


def test_of_equal_medians_the_area_of_the_longer_tail_is_named(reported):
    """Medians were 0 in all areas, and the first was said to lose most."""
    private = np.ones((2, 2, 3, 2))
    private[:, 1, :1, 1] = 3.0  # one run in six
    areas = AreaCosts(("calm", "wild"), private, np.ones((2, 3, 2)))
    assert "wild loses most" in replace(reported, areas=areas).remark()


EPSILONS = tuple(Fraction(e) for e in LADDER)
SIZES = np.array([float(e) for e in EPSILONS])
TOWNS = np.repeat([-1.0, -0.3, 0.3, 0.8, 1.0], 6)


def excess(epsilon, coins):
    """Of runs of five shapes, six demands each, whose logarithms are normal around a power
    distribution."""
    return 0.01 / epsilon**0.8 * np.exp(0.5 * TOWNS + 0.5 * coins.normal(size=len(TOWNS)))


@pytest.mark.extended
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


def test_what_epsilons_and_a_target_may_be():
    assert checked_epsilons(["1/3", 0.1, 2]) == (Fraction(1, 10), Fraction(1, 3), Fraction(2))
    assert checked_epsilons("0.5") == (Fraction(1, 2),)
    assert checked_target(" 2.5 % ") == 1.025 and checked_target("1.2") == 1.2
    for wrong in (1, "0%", "-3%", "much", None, True, float("nan"), float("inf")):
        refuses("target must be", checked_target, wrong)


def test_a_plan_tells_the_least_epsilon(capsys, tmp_path):
    metric = grid_metric(6, 6)
    plain = mdp.plan(metric, records=3000, k=2, epsilons=[1], repeats=1, shapes=FEW)
    with pytest.raises(mdp.InputError, match="target"):
        plain.epsilon  # noqa: B018
    reported = mdp.plan(metric, records=100_000, k=2, target="40%", repeats=1)
    assert reported.epsilon == 0.05 and len(reported.epsilons) == 8  # sure with so many records
    assert reported.to_dict()["target"] == {"cost": 1.4, "epsilon": 0.05, "estimate": 0.05}
    assert "epsilon 0.05" in str(reported)
    hard = mdp.plan(metric, records=10, k=6, target=1.0001, epsilons=["0.01"], repeats=1)
    assert hard.epsilon is None and "No epsilon" in hard.remark()
    # too few made-up demands tell nothing
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
    columns = ["--source", "source", "--target", "target", "--epsilons", "1", "--quiet"]
    assert main([*asked, *columns]) == 0  # a column, not a goal
    assert "target" not in json.loads(capsys.readouterr().out)
