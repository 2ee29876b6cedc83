"""Public expectations of where demand is: what they are made of, and what they are good for."""

import networkx as nx
import numpy as np
import pytest

import metricdp as mdp
from metricdp.methods.expected import Expected, ExpectedPoints, street_lengths
from metricdp.running.made_up import SHAPES, BoxWorld
from metricdp.solvers.kmedian import solve
from tests import grid_metric, refuses
from tests.cli_world import build_road, fails, works


@pytest.fixture(scope="module")
def town():
    """A grid of 900 vertices, of which people live in a few: metric and population."""
    metric = grid_metric(30, 30)
    return metric, np.random.default_rng(0).lognormal(0, 2, len(metric))


def mean_distance(metric, centers, population):
    return float(population @ metric.nearest(centers)[1]) / population.sum()


def demand_of(metric, population, n, seed):
    made = np.random.default_rng(seed).choice(len(metric), n, p=population / population.sum())
    return mdp.PrivateDemand(metric, [metric.ids[i] for i in made.tolist()])


def test_a_right_expectation_gains_and_a_useless_one_is_dropped(town):
    metric, population = town
    useless = np.random.default_rng(1).permutation(population)
    costs, trusts = {}, {}
    for name, expected in (("none", None), ("right", population), ("useless", useless)):
        demands = [demand_of(metric, population, 1500, i) for i in range(14)]
        asked = {"epsilon": "0.1", "expected": expected}
        found = [mdp.release(metric, demand, **asked) for demand in demands]
        ends = [solve(metric, f.weights, 8, starts=3).centers for f in found]
        centers = [[metric.ids[i] for i in positions] for positions in ends]
        costs[name] = np.mean([mean_distance(metric, ids, population) for ids in centers])
        trusts[name] = np.mean([f.estimate.trust for f in found])
    # 40 runs: costs 4.69 (sd .18), 4.15 (.05), 4.69 (.14), trust 1, and .03 where useless: beyond
    # six deviations of means of fourteen, so false alarms are rarer than 1e-6
    assert costs["right"] < costs["none"] - 0.2 and costs["useless"] < costs["none"] + 0.5
    assert trusts["none"] == 1.0 and trusts["right"] > trusts["useless"]


def test_without_records_the_answer_is_that_of_the_expectation(town):
    metric, population = town
    expected = {vertex: float(w) for vertex, w in zip(metric.ids, population)}
    release = mdp.release(metric, mdp.PrivateDemand(metric, []), epsilon="0.01", expected=expected)
    assert (release.weights >= 0).all() and release.estimate.tree.weights is not None
    found = np.bincount(release.estimate.tree.labels, release.weights)
    np.testing.assert_allclose(found, release.estimate.mean, rtol=1e-9, atol=1e-9)


def test_sizes_are_sums_of_weights_and_numbers_those_of_points(town):
    metric, population = town
    from metricdp.partitions.finite.ward import hierarchy

    plain, tree = hierarchy(metric).cut(50), hierarchy(metric, 0, population).cut(50)
    np.testing.assert_allclose(np.bincount(tree.labels, population), tree.sizes[:50])
    np.testing.assert_array_equal(np.bincount(tree.labels), tree.numbers[:50])
    assert tree.sizes[-1] == pytest.approx(population.sum()) and tree.numbers[-1] == 900
    for each in (tree, tree.even()):
        spread = each.spread(np.arange(50.0))
        np.testing.assert_allclose(np.bincount(tree.labels, spread), np.arange(50.0))
    np.testing.assert_array_equal(tree.even().sizes, plain.sizes)
    assert tree.even().weights is None and plain.even() is plain
    assert plain.weights is None and hierarchy(metric).cut(50).numbers is None
    dense = hierarchy(metric, 0, np.where(np.arange(900) < 225, 20.0, 0.1)).cut(50)
    np.testing.assert_array_equal(dense.labels, plain.labels)  # what is expected makes no parts


@pytest.mark.filterwarnings("error")
def test_what_may_be_given(town):
    metric, population = town
    same = Expected.of(metric, population).weights
    np.testing.assert_allclose(Expected.of(metric, 7 * population).weights, same)
    assert same.mean() == pytest.approx(1.0) and (same > 0).all()
    last = mdp.release(metric, demand_of(metric, population, 500, 0), epsilon=1)
    assert Expected.of(metric, last).source == "a release"
    streets = mdp.GraphMetric(nx.Graph([(0, 1, {"w": 2.0}), (1, 2, {"w": 3.0})]), weight="w")
    assert street_lengths(streets).tolist() == [1.0, 2.5, 1.5]
    other = mdp.EuclideanMetric([[0.0], [1.0]])
    elsewhere = mdp.release(other, mdp.PrivateDemand(other, [0]), epsilon=1)
    refuses("same universe", Expected.of, metric, elsewhere)


def test_a_release_with_an_expectation_is_saved_and_tells_what_it_used(town, tmp_path):
    metric, population = town
    demand = demand_of(metric, population, 900, 2)
    release = mdp.release(metric, demand, epsilon=1, expected=population)
    reported = release.receipt.made.to_dict()["options"]["expected"]
    assert reported == {"value": "Expected(900 public weights, weights)", "default": False}
    path = tmp_path / "homes.release"
    release.save(path)
    again = mdp.Release.load(path, metric)
    np.testing.assert_array_equal(again.weights, release.weights)
    centers = release.k_median(5).centers
    assert again.estimate.trust == release.estimate.trust
    assert again.interval(centers) == release.interval(centers)
    found = release.interval(centers)
    assert found.low <= mean_distance(metric, centers, population) * 1.2
    assert found.high >= mean_distance(metric, centers, population) * 0.8


def test_a_plan_with_an_expectation(town):
    metric, population = town
    asked = {"epsilons": ["0.2"], "repeats": 1, "expected": population, "seed": 3}
    reported = mdp.plan(metric, records=400, k=4, **asked)
    plain = mdp.plan(metric, records=400, k=4, epsilons=["0.2"], repeats=1, seed=3)
    assert reported.forecast(None).mean_distance < plain.forecast(None).mean_distance


def test_the_command(here, capsys):
    build_road(here, 60, ["3"] * 400 + ["50"] * 400)
    (here / "census.csv").write_text("vertex,people\n3,10\n50,10\n20,1\n")
    nodes = "".join(f"{i},{i},0,{i}\n" for i in range(70))  # of more vertices than the graph
    (here / "nodes.csv").write_text("id,x,y,people\n" + nodes)
    asked = "cluster roads.csv -k 2 --quiet --demand homes.csv --epsilon 1 --expected "
    census = asked + "census.csv --expected-column people"
    assert sorted(works(capsys, census).json["centers"]) == [3, 50]
    works(capsys, asked + "streets")
    works(capsys, asked + "nodes.csv --nodes nodes.csv --expected-column people --map page.html")
    said = "what was expected where, which was not made of this data"
    assert said in (here / "page.html").read_text()
    fails(capsys, "'weight'", asked + "census.csv")
    fails(capsys, "--expected-column names", asked + "streets --expected-column people")
    fails(capsys, "--expected", "cluster roads.csv -k 2 --expected census.csv")
    fails(capsys, "for the method partition, not for hst", census + " --method hst")


def test_polygons_are_spread_over_the_points_in_them():
    geopandas = pytest.importorskip("geopandas")
    shapely = pytest.importorskip("shapely")
    metric = mdp.EuclideanMetric([[0.5, 0.5], [0.6, 0.5], [1.5, 0.5], [9.0, 9.0]])
    boxes = [shapely.box(i, 0, i + 1, 1) for i in range(3)]
    frame = geopandas.GeoDataFrame({"weight": [6, 4, 50]}, geometry=boxes)  # the last is empty
    found = Expected.of(metric, frame)
    np.testing.assert_allclose(found.weights, 0.95 * (np.array([3, 3, 4, 0]) / 2.5) + 0.05)
    assert found.source == "polygons"
    demand = mdp.PrivateDemand(metric, [0] * 50)
    page = mdp.explore(metric, demand, [1], 2, expected=frame, repeats=0)
    assert "polygons" in str(page.receipt.to_dict())
    for wrong, said in (
        (frame.drop(columns="weight"), "column 'weight'"),
        (frame.set_geometry(frame.centroid), "must be polygons; the geometry of 0 is Point"),
        (frame.assign(weight=-1), "at least 0"),
        (frame.assign(weight="many"), "must be numbers"),
    ):
        refuses(said, Expected.of, metric, wrong, error=mdp.errors.InputError)


BOX = mdp.EuclideanSpace([0, 0], [1, 1])


@pytest.fixture(scope="module")
def country():
    """Homes in a box, their weights, and records near them."""
    coins = np.random.default_rng(4)
    towns = coins.uniform(0.05, 0.95, (40, 2))
    homes = BOX.clip(np.repeat(towns, 30, axis=0) + coins.normal(0, 0.02, (1200, 2)))
    weights = np.repeat(coins.lognormal(0, 1, 40), 30)
    records = homes[coins.choice(1200, 1500, p=weights / weights.sum())]
    return homes, weights, BOX.clip(records + coins.normal(0, 0.01, records.shape))


@pytest.mark.extended
def test_a_box_believes_an_expectation_as_far_as_its_counts_agree(country):
    homes, weights, records = country
    demand = mdp.PrivateDemand(BOX, records)
    useless = np.random.default_rng(1).uniform(size=(1200, 2)), weights
    costs, trusts = {}, {}
    for epsilon in ("0.1", "0.2"):
        for name, expected in (("none", None), ("right", (homes, weights)), ("useless", useless)):
            asked = {"epsilon": epsilon, "expected": expected}
            found = [mdp.k_median(BOX, demand, 8, **asked) for _ in range(12)]
            off = [np.linalg.norm(records[:, None] - f.centers, axis=2).min(axis=1) for f in found]
            costs[epsilon, name] = np.mean(off)
            if expected is not None:
                trusts[epsilon, name] = np.mean([f.release.estimate.trust for f in found])
    # 48 runs at .1: costs .104 (sd .015), .077 (.002), .099 (.009); at .2 .081 (.003), .076 (.001),
    # .081 (.003); trust 1, and .16 where useless: beyond six deviations of means of twelve
    assert costs["0.1", "right"] < min(costs["0.1", "none"], costs["0.1", "useless"])
    assert costs["0.2", "useless"] < costs["0.2", "none"] * 1.15
    assert trusts["0.1", "right"] > trusts["0.1", "useless"]
    assert trusts["0.2", "right"] > trusts["0.2", "useless"]


@pytest.mark.filterwarnings("error")
def test_expectations_of_a_box_are_pairs_or_releases_of_it(country):
    homes, weights, records = country
    demand = mdp.PrivateDemand(BOX, records)
    release = mdp.release(BOX, demand, epsilon=1, expected=(homes, weights))
    reported = release.receipt.made.to_dict()["options"]["expected"]["value"]
    assert reported == "ExpectedPoints(1,200 public weights, weights)"
    assert abs(release.weights.sum() - 1500) < 200 and release.k_means(5).centers.shape == (5, 2)
    later = mdp.k_means(BOX, demand, 3, epsilon="0.1", expected=release)
    assert "a release" in str(later.receipt.made.to_dict()["options"]["expected"])
    empty = mdp.PrivateDemand(BOX, records[:0])
    nobody = mdp.release(BOX, empty, epsilon="0.01", expected=(homes, weights))
    assert (nobody.weights >= 0).all() and nobody.k_median(3).centers.shape == (3, 2)
    cloud = np.random.default_rng(0).uniform(size=(20_000, 2))
    many = ExpectedPoints.of(BOX, (cloud, np.ones(20_000)))
    assert len(many.points) <= ExpectedPoints.MOST and abs(many.weights.sum() - 1) < 1e-9
    asked = {"epsilons": ["5"], "repeats": 1, "shapes": SHAPES[:1], "expected": (homes, weights)}
    reported = mdp.plan(BOX, records=400, k=4, **asked)
    assert np.isfinite(reported.cost).all()
    world = BoxWorld(BOX, 3, 1, 0, ExpectedPoints.of(BOX, (homes, weights)))
    made = world.draw(SHAPES[0], 500, np.random.default_rng(0))
    assert SHAPES[0].spots == 0 and np.isin(made, homes).mean() > 0.9
    line = mdp.EuclideanSpace([0], [1])
    elsewhere = mdp.release(line, mdp.PrivateDemand(line, [[0.5]]), epsilon=1)
    refuses("same box", mdp.k_means, BOX, demand, 1, epsilon=1, expected=elsewhere)
