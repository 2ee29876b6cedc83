"""Intervals and summaries of releases and results, fresh and read from a file, and how sure centers
are, by demand drawn from a release.
"""

import json
from html import escape

import networkx as nx
import numpy as np
import pytest
from scipy.spatial import cKDTree

import metricdp as mdp
from metricdp.methods.box import quadtree
from metricdp.solvers.objectives import medians
from tests import cases, grid_metric, path_metric, refuses

o = mdp.objectives
TOWN = mdp.GraphMetric(nx.relabel_nodes(nx.grid_2d_graph(12, 12), str), weight=None)


@pytest.fixture(scope="module")
def result():
    homes = [TOWN.ids[i] for i in np.random.default_rng(0).integers(0, 144, 3000)]
    return mdp.k_median(TOWN, mdp.PrivateDemand(TOWN, homes), k=4, epsilon=1)


def test_a_result_has_an_interval_and_a_summary(result):
    reported = result.interval
    assert reported.low <= reported.estimate <= reported.high and reported == result.interval
    summary = result.summary(stability=True)
    assert summary.mean == reported and summary.centers == result.centers
    assert abs(summary.loads.estimate.sum() - 3000) < 300
    assert (summary.stability.moves >= 0).all()
    plain = json.loads(json.dumps(summary.to_dict()))
    assert plain["mean"]["low"] == reported.low and len(plain["stability"]["stays"]) == 4
    assert result.centers[0] in str(summary)
    assert "credible" in str(summary)


def test_shares_within_a_distance(result):
    near = result.release.interval(result.centers, within=2)
    assert near.estimate < result.release.interval(result.centers, within=100).estimate == 1
    assert result.release.interval(result.centers, within=2, level=0.5).half_width < near.half_width


def test_demand_may_be_on_one_point_of_a_large_part():
    star = mdp.GraphMetric(nx.star_graph(300), weight=None)
    release = mdp.release(star, mdp.PrivateDemand(star, [5] * 1000), epsilon="0.1")
    # of a part of many leaves a third has a center; true is 0, and an even part would have a third
    assert release.interval(range(3, 300, 3), within=0.5).low == 0


def test_what_has_no_model_says_so(monkeypatch):
    monkeypatch.setattr(quadtree, "POINTS", 64)
    public = mdp.k_median(TOWN, k=2)
    assert public.interval is None
    refuses("evaluate", public.summary)
    space = mdp.EuclideanSpace([0, 0], [1, 1])
    points = mdp.PrivateDemand(space, np.random.default_rng(0).random((500, 2)))
    boxed = mdp.k_median(space, points, k=2, epsilon=1, method="quadtree")
    assert boxed.interval is None
    refuses(r"'quadtree': metricdp\.evaluate", boxed.release.interval, boxed.centers)


@pytest.fixture(scope="module")
def homes_in_a_box():
    rng = np.random.default_rng(1)
    middles = rng.random((6, 2)) * [4, 1]
    places = middles[rng.integers(0, 6, 20_000)] + 0.05 * rng.standard_normal((20_000, 2))
    return mdp.EuclideanSpace([0, 0], [4, 1]), places.clip(0, [4, 1])


@pytest.mark.parametrize("known", [False, pytest.param(True, marks=pytest.mark.extended)])
def test_a_box_has_intervals_of_pieces_of_its_cells(homes_in_a_box, known, tmp_path):
    space, places = homes_in_a_box
    expected = (places[::40], np.ones(500)) if known else None
    release = mdp.release(space, mdp.PrivateDemand(space, places), epsilon=2, expected=expected)
    centers = np.array([[0.5, 0.5], [2.0, 0.4], [3.4, 0.8]])  # not found by this noise
    away = np.linalg.norm(places[:, None] - centers, axis=2)
    truth, loads = away.min(axis=1), np.bincount(away.argmin(axis=1), minlength=3)
    reported = release.summary(centers)
    # four half widths of 95 %: 8 standard deviations of the noise
    assert abs(reported.mean.estimate - truth.mean()) < 4 * reported.mean.half_width < 0.2
    assert (np.abs(reported.loads.estimate - loads) < 4 * reported.loads.half_width).all()
    near = release.interval(centers, within=0.5)
    assert abs(near.estimate - (truth <= 0.5).mean()) < 4 * near.half_width < 0.4
    assert release.k_median(k=3).interval.low > 0 and release.k_means(k=3).interval.low > 0
    refuses("not for a box", release.summary, centers, stability=True)
    release.save(tmp_path / "box.release")
    loaded = mdp.Release.load(tmp_path / "box.release", space)
    assert loaded.summary(centers).to_dict() == reported.to_dict()
    if known:
        return  # a solution's loads are those of its centers, whatever is expected
    plan = loaded.solve(o.MaxCoverage(k=3, limit=2))
    assert abs(plan.load_intervals().estimate.sum() - 20_000) < 500  # noise of some 40
    np.testing.assert_allclose(plan.load_intervals().estimate, plan.loads, rtol=0.1, atol=500)


def test_pieces_of_cells_tell_distances_as_even_demand_has_them():
    space = mdp.EuclideanSpace([0, 0], [1, 1])
    places = np.random.default_rng(2).random((5000, 2))
    release = mdp.release(space, mdp.PrivateDemand(space, places), epsilon=4)
    middles = release.universe.points[::2]  # at a distance of 0 from the middles of half the cells
    truth = cKDTree(middles).query(places)[0].mean()
    reported = release.interval(middles).estimate / truth
    # .90, as demand is taken to cluster around centers; of middles alone .71
    assert 0.8 < reported < 1


METRIC = path_metric(60)


def test_centers_of_clear_demand_are_sure_and_others_are_not():
    plan = mdp.k_median(METRIC, mdp.PrivateDemand(METRIC, [5] * 3000 + [50] * 3000), k=2, epsilon=4)
    firm = plan.stability()
    surely = [25 / 26] * 2  # rule of succession: 24 of 24 draws
    assert firm.near.tolist() == surely and firm.n_draws == 24 and firm.gain.max() < 0.02
    assert firm.sentence("m").startswith("2 of 2 centers are sure") and "96 %" in firm.of_site(1)
    few = mdp.PrivateDemand(METRIC, [int(i) for i in np.linspace(0, 59, 40)])
    shaky = mdp.k_median(METRIC, few, k=3, epsilon=0.3).stability(within=0)
    assert shaky.near.min() < 0.96 and shaky.within == 0
    assert shaky.near == pytest.approx((24 * shaky.stays + 1) / 26)
    far = mdp.k_median(METRIC, few, k=3, epsilon=0.3).stability(within=60)
    assert far.near.tolist() == [25 / 26] * 3
    assert plan.summary(stability=True).to_dict()["stability"]["near"] == surely


def test_sites_of_any_objective_are_found_anew_by_it_and_no_bound_is_proved(monkeypatch):
    release = mdp.release(METRIC, mdp.PrivateDemand(METRIC, [5] * 3000 + [50] * 3000), epsilon=4)
    firm = release.solve(o.MaxCoverage(k=2, limit=3)).stability(within=6)
    assert firm.near.tolist() == [25 / 26] * 2 and 0 <= firm.gain.max() < 0.1
    assert release.k_means(2).stability(within=3).near.tolist() == [25 / 26] * 2
    plan = release.solve(o.KMedian(2))
    monkeypatch.setattr(medians, "certify", None)
    assert plan.bound is not None and plan.stability(within=6).n_draws == 24


def test_the_map_and_files_tell_how_firm_centers_are(tmp_path):
    metric = grid_metric(6, 6, step=1.0)
    homes = mdp.PrivateDemand(metric, [(0, 0)] * 3000 + [(5, 5)] * 3000)
    private = mdp.k_median(metric, homes, k=2, epsilon=4)
    public = mdp.k_median(metric, k=2, weights=np.arange(36.0))
    for plan, column in ((private, "sure"), (public, "removal")):
        firm = plan.stability()
        page = plan.save(tmp_path / "plan.html", stability=True).read_text("utf-8")
        assert escape(firm.sentence("hops")) in page and "the wider, the less sure" in page
        shown = json.loads(page.split('id="map-data">')[1].split("</script>")[0])
        marks = shown["levels"][0]["centers"]
        assert [mark["doubt"] for mark in marks] == pytest.approx(firm.doubt.tolist())
        assert [mark["firm"] for mark in marks] == [firm.of_site(i) for i in range(2)]
        assert "doubt" not in plan.page().split('id="map-data">')[1].split("</script>")[0]
        reported = json.loads(plan.save(tmp_path / "p.json", stability=True, bands=[2]).read_text())
        assert reported["stability"] == firm.to_dict() and reported["bands"]["band"] == [1, 2]
        gpd = pytest.importorskip("geopandas")
        path = plan.save(tmp_path / "plan.gpkg", stability=True, bands=[2, 40])
        sites = gpd.read_file(path, layer="sites")
        assert sites[column].tolist() == pytest.approx(firm.to_columns()[column])
        bands = gpd.read_file(path, layer="bands")
        assert bands["to"].tolist() == [2, 40] and len(set(bands["color"])) == 2
        assert "band_streets" in set(gpd.list_layers(path)["name"])


def brute_force(metric, objective, weights, sites, within):
    """What `SiteCosts` says, by `Solution.compare` of every choice."""
    plan = mdp.solve(metric, objective, weights=weights)
    sign = -1 if objective.maximized else 1

    def worse(chosen):
        return sign * (plan.compare(chosen)["other"] - plan.value)

    removal, moving = [], []
    for site in sites:
        others = [one for one in sites if one != site]
        away = metric.distances([site])[0]
        near = sorted((d, i) for i, d in zip(metric.ids, away) if d > within and i not in sites)
        removal.append(worse(others))
        moving.append(min(worse([*others, i]) for _, i in near[:24]))
    return removal, moving


@cases("objective", o.KMedian(k=3), o.KMeans(k=3), o.MaxCoverage(k=3, limit=2), o.PCenter(k=3))
@pytest.mark.parametrize("table", [False, True])
def test_public_sites_cost_what_doing_without_them_and_moving_them_costs(objective, table):
    rng = np.random.default_rng(4)
    graph = nx.random_regular_graph(3, 30, seed=4)
    lengths = rng.permutation(1000)[: graph.number_of_edges()] / 100.0  # no two places are as far
    nx.set_edge_attributes(graph, dict(zip(graph.edges, lengths.tolist())), "length")
    metric = mdp.GraphMetric(graph)
    metric = mdp.PrecomputedMetric(metric.distances(range(30))) if table else metric
    weights = rng.integers(0, 5, 30).astype(float)
    plan = mdp.solve(metric, objective, weights=weights)
    firm = plan.stability(within=4)
    removal, moving = brute_force(metric, objective, weights, plan.centers, 4)
    assert firm.removal == pytest.approx(removal) and firm.moving == pytest.approx(moving)
    for i, place in enumerate(firm.places):
        others = [one for one in plan.centers if one != plan.centers[i]]
        known = plan.compare([*others, place])["other"]
        assert abs(known - plan.value) == pytest.approx(abs(firm.moving[i]))
    assert plan.stability().within == pytest.approx(0.5 * plan.mean)
    assert f"Without center {int(np.argmax(removal)) + 1} " in firm.sentence()
    assert firm.doubt.min() >= 0 and firm.doubt.max() <= 1


def test_one_center_has_no_other_and_unknown_weights_no_costs():
    alone = mdp.k_median(METRIC, k=1).stability()
    assert alone.removal.tolist() == [np.inf] and alone.doubt.tolist() == [0.0]
    assert alone.sentence() == "There is no other center."
    cover = mdp.solve(METRIC, o.SetCover(limit=1)).stability()
    assert cover.sentence() == "No center can be left out."
    assert cover.of_site(0) == "it cannot be left out"
    table = mdp.CostTable(np.arange(6.0).reshape(2, 3), sites=["a", "b"])
    assert mdp.k_median(table, k=2).stability().moving is None
    homes = mdp.PrivateDemand(METRIC, [5] * 300)
    alone = mdp.k_median(METRIC, homes, k=1, epsilon=4, method="local-search")
    refuses("no weights are known", alone.stability)
    refuses("within", lambda: mdp.k_median(METRIC, k=2).stability(within=-1))
