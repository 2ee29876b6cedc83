"""Private coresets: RecConcave, the rounds, what is saved, what is refused."""

import json
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

import metricdp as mdp
from metricdp.errors import InputError, MissingExtraError
from metricdp.methods.asking import driven
from metricdp.methods.box.coreset import Coreset, paper_cells
from metricdp.methods.box.rec_concave import (
    published_promise,
    rec_concave,
    records_needed,
    selections_of,
)
from metricdp.methods.box.small_ball import reduced, sizes
from metricdp.partitions.box.chunks import Chunks
from metricdp.privacy import _vault
from metricdp.records.sums.peeling import (
    radii_of,
)

PLANE = mdp.EuclideanSpace([0, 0], [1, 1])


def clusters(n=20_000, k=4, seed=0, spread=0.02):
    rng = np.random.default_rng(seed)
    middle = np.array([[0.2, 0.2], [0.8, 0.3], [0.5, 0.8], [0.15, 0.75]])[:k]
    return np.clip(middle[rng.integers(k, size=n)] + spread * rng.normal(size=(n, 2)), 0, 1), middle


# RecConcave


@pytest.mark.parametrize("size", [10, 33, 200, 1000])
@pytest.mark.parametrize("where", [0.0, 0.01, 0.3, 1.0])
def test_rec_concave_finds_good_solutions(size, where):
    quality, asked = 60 - 3 * np.abs(np.arange(size) - int(where * (size - 1))), []

    def choose(views):
        asked.append(views)
        scores = quality
        for view in views:
            scores = view(scores)
        return int(np.argmax(scores))

    found = driven(rec_concave(lambda views: views, size, 60), choose)
    assert quality[found] >= 30 and len(asked) == selections_of(size)


def test_the_published_promise_is_out_of_reach():
    assert published_promise(1000, 1.0, 1e-6) > 1e6
    assert records_needed(1, 1.0, 1e-6, 2) > 5e8
    assert (
        records_needed(10, 0.5, 1e-6, 2)
        > records_needed(5, 0.5, 1e-6, 2)
        > records_needed(5, 1.0, 1e-6, 2)
    )


# The method


def test_sizes_of_rounds():
    for n, k in ((100_000, 5), (5000, 1), (10**12, 300)):
        numbers = sizes(n, k)
        assert (
            sum(numbers) <= n
            and n - sum(numbers) <= 0.05 * n
            and numbers == sorted(numbers, reverse=True)
        )
        assert len(numbers) <= 1100
    assert sizes(0, 3) == sizes(1, 3) == []
    assert [paper_cells(n, 2) for n in (0, 3, 100_000, 10**6, 10**9)] == [
        1,
        4,
        512**2,
        1024**2,
        2048**2,
    ]
    assert radii_of((512, 512))[:8] == (0, 1, 2, 3, 4, 6, 8, 11) and radii_of((1,)) == (0, 1)


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize(
    ("delta", "options"),
    [(0, {"cells": 900}), (1e-6, {"cells": 900}), (0, {"cells": 400, "chunk": 10_000})],
)
def test_published_rounds_find_the_clusters(relation, delta, options):
    points, middle = clusters()
    demand, ledger = mdp.PrivateDemand(PLANE, points), mdp.Ledger(8, 1e-6, neighboring=relation)
    result = mdp.k_means(
        PLANE,
        demand,
        4,
        epsilon=8,
        delta=delta,
        ledger=ledger,
        method=Coreset(published=True, **options),
    )
    assert all(np.linalg.norm(result.centers - m, axis=1).min() < 0.1 for m in middle)
    points, weights = result.release.coreset()
    assert (
        0.9 * 20_000 < weights.sum() <= 20_400
        and (weights > 0).all()
        and len(points) <= 10 * 4 * (2 if "chunk" in options else 1)
    )
    assert result.receipt.epsilon <= ledger.spent <= 8 and result.receipt.neighboring == relation
    assert (result.receipt.bound == "zCDP") == bool(delta)
    exact = relation == "replace-one"
    assert ("exact" in {m.name for m in result.receipt.mechanisms}) == exact
    spent = ledger.spent
    assert result.release.k_median(2).centers.shape == (2, 2) and ledger.spent == spent


def test_rec_concave_with_constants_given():
    points, _ = clusters(5000, 2)
    demand = mdp.PrivateDemand(PLANE, points)
    method = Coreset(published=True, radius="rec-concave", promise=200, cells=40**2, left_over=0.4)
    result = mdp.k_means(PLANE, demand, 1, epsilon=20, method=method)
    asked = [
        sum(step in m.query for m in result.receipt.mechanisms)
        for step in ("levels", "intervals", "only", "ball of")
    ]
    assert asked == [2, 4, 2, 2]  # two rounds
    assert np.linalg.norm(result.centers[0] - points.mean(axis=0)) < 0.3


def test_rec_concave_as_printed_is_refused_and_says_what_it_needs(monkeypatch):
    monkeypatch.setattr(_vault, "_open", lambda holder: pytest.fail("private data was read"))
    demand, ledger = mdp.PrivateDemand(PLANE, [[0.5, 0.5]]), mdp.Ledger(1, 1e-6)
    method = Coreset(published=True, radius="rec-concave")
    with pytest.raises(InputError, match=r"needs at least [\d.]+e\+\d+ records at k = 5"):
        mdp.k_means(PLANE, demand, 5, epsilon=1, delta=1e-6, ledger=ledger, method=method)
    with pytest.raises(InputError, match="needs a delta"):
        mdp.k_means(PLANE, demand, 5, epsilon=1, ledger=ledger, method=method)
    assert ledger.spent == 0


@pytest.mark.parametrize(
    "options",
    [
        {"radius": "exact"},
        {"published": "yes"},
        {"cells": 100},
        {"published": True, "cells": 0},
        {"published": True, "promise": -1},
        {"published": True, "left_over": 1.0},
        {"published": True, "chunk": 1.5},
        {"published": True, "promise": 1e30},
        {"records_hint": 0},
    ],
)
def test_bad_options_are_refused(options):
    with pytest.raises(InputError):
        Coreset(**options)


@pytest.mark.parametrize("published", [False, True])
def test_few_records_and_users(published):
    method = Coreset(published=published)
    for records, user, k in (
        ([], None, 3),
        ([[0.3, 0.3]], None, 2),
        ([[0.3, 0.3]] * 9, [1, 1, 1, 2, 2, 2, 3, 3, 3], 1),
    ):
        bound = {"user": user, "max_contributions": 2} if user else {}
        demand = mdp.PrivateDemand(PLANE, records, **bound)
        for epsilon, delta in ((1, 0), (1, 1e-6)):
            result = mdp.k_means(PLANE, demand, k, epsilon=epsilon, delta=delta, method=method)
            assert len(np.unique(result.centers, axis=0)) == k
            assert result.release.coreset().weights.min(initial=1) > 0
    line = mdp.EuclideanSpace([0], [1])
    assert mdp.k_median(
        line, mdp.PrivateDemand(line, [[0.5]] * 500), 1, epsilon=1, method=method
    ).centers.shape == (1, 1)
    with pytest.raises(InputError, match="needs a box"):
        metric = mdp.EuclideanMetric([[0.0], [1.0]])
        mdp.k_median(metric, mdp.PrivateDemand(metric, [0]), 1, epsilon=1, method="coreset")


@pytest.mark.parametrize("d", [3, 4])
def test_more_dimensions(d):
    rng = np.random.default_rng(d)
    space = mdp.EuclideanSpace([0.0] * d, [1.0] * d)
    demand = mdp.PrivateDemand(space, np.clip(rng.normal(0.3, 0.03, (3000, d)), 0, 1))
    for method in (Coreset(), Coreset(published=True, left_over=0.3)):
        result = mdp.k_means(space, demand, 1, epsilon=20, delta=1e-6, method=method)
        assert np.linalg.norm(result.centers[0] - 0.3) < 0.15


def test_the_default_is_close_to_the_best_and_never_worse_than_the_published_rounds():
    points, middle = clusters(spread=0.05)
    demand = mdp.PrivateDemand(PLANE, points)

    def cost(centers):
        return ((points[:, None] - centers) ** 2).sum(axis=2).min(axis=1).sum()

    best = cost(middle)
    errors = [
        cost(mdp.k_means(PLANE, demand, 4, epsilon=0.5, delta=1e-6, method=m).centers) / best - 1
        for m in ("coreset", Coreset(published=True, cells=64**2))
    ]
    assert errors[0] < 0.05 and errors[0] <= errors[1]


def test_chunks_depend_on_the_record_alone():
    points = clusters(4000)[0]
    chunks = Chunks(PLANE, 4)
    parts = chunks.encode(points)
    order = np.random.default_rng(0).permutation(4000)
    assert (chunks.encode(points[order]) == parts[order]).all() and (
        chunks.encode(points[:7]) == parts[:7]
    ).all()
    assert np.bincount(parts, minlength=4).min() > 850
    assert (chunks.encode(np.array([[-0.0, 0.5]])) == chunks.encode(np.array([[0.0, 0.5]]))).all()


# What is released


def test_a_small_coreset_costs_nothing_and_keeps_costs():
    points, _ = clusters(50_000, spread=0.05)
    ledger = mdp.Ledger(1)
    release = mdp.release(PLANE, mdp.PrivateDemand(PLANE, points), epsilon=1, ledger=ledger)
    full, small = release.coreset(), release.coreset(5)
    assert (
        ledger.spent == 1
        and len(small.weights) < 100 < len(full.weights)
        and (small.weights > 0).all()
    )
    assert small.weights.sum() == pytest.approx(full.weights.sum())
    rng = np.random.default_rng(0)
    for _ in range(20):
        centers = rng.random((5, 2))
        true = ((points[:, None] - centers) ** 2).sum(axis=2).min(axis=1).sum()
        for points_of, weights in (full, small):
            told = weights @ ((np.asarray(points_of)[:, None] - centers) ** 2).sum(axis=2).min(
                axis=1
            )
            assert abs(told / true - 1) < 0.15
    few = reduced(np.array([[0.0, 0.0], [1.0, 1.0], [0.5, 0.5]]), np.array([1.0, 0.0, 3.0]), 2)
    assert few[0].tolist() == [[0, 0], [0.5, 0.5]] and few[1].tolist() == [1, 3]
    with pytest.raises(InputError, match="three dimensions"):
        reduced(np.zeros((2, 4)), np.ones(2), 1)


def test_the_default_coreset_holds_lone_records_too():
    """A tenth of the records alone in wide cells: they cost most, and no cell of theirs stands
    out.
    """
    points, middle = clusters(20_000)
    points[::10] = np.random.default_rng(1).random((2000, 2))
    wholes = [
        mdp.k_means(
            PLANE, mdp.PrivateDemand(PLANE, points), 4, epsilon=0.2, method="coreset"
        ).release
        for _ in range(8)
    ]

    def error(releases, centers):
        true = ((points[:, None] - centers) ** 2).sum(axis=2).min(axis=1).sum()
        told = [
            (((c.points[:, None] - centers) ** 2).sum(axis=2).min(axis=1) @ c.weights)
            for c in (r.coreset() for r in releases)
        ]
        return abs(np.mean(told) / true - 1)  # a single one's standard deviation is about .1

    for centers in (middle, middle + 0.05):
        assert error(wholes, centers) < 0.25 < error([whole.standing for whole in wholes], centers)
    whole = wholes[0]
    assert abs(whole.coreset().weights.sum() - 20_000) < 2000
    assert (whole.k_means(3, seed=5).centers == whole.standing.k_means(3, seed=5).centers).all()


def town(**attributes):
    graph = nx.grid_2d_graph(4, 4)
    graph = nx.relabel_nodes(graph, {node: f"{node[0]}-{node[1]}" for node in graph})
    if attributes:
        graph.graph["crs"] = "EPSG:4326"
        nx.set_node_attributes(
            graph, {node: {"x": float(node[0]), "y": float(node[2])} for node in graph}
        )
    return mdp.GraphMetric(graph, weight=None)


def test_coresets_of_a_graph_are_saved(tmp_path):
    metric = town(located=True)
    release = mdp.release(
        metric, mdp.PrivateDemand(metric, ["0-0"] * 300 + ["3-3"] * 200), epsilon=1
    )
    coreset = release.coreset()
    ids, weights = coreset
    assert (
        set(ids) <= set(metric.ids)
        and weights.tolist() == release.weights[release.weights > 0].tolist()
    )
    pq = pytest.importorskip("pyarrow.parquet")
    for name in ("core.csv", "core.geojson", "core.parquet"):
        coreset.save(tmp_path / name)
    rows = (tmp_path / "core.csv").read_text().splitlines()
    assert (
        rows[0] == "vertex,weight"
        and [float(r.split(",")[1]) for r in rows[1:]] == weights.tolist()
    )
    features = json.loads((tmp_path / "core.geojson").read_text())["features"]
    assert [f["properties"]["vertex"] for f in features] == ids and features[0]["geometry"][
        "type"
    ] == "Point"
    assert [f["geometry"]["coordinates"] for f in features] == [
        [float(i[0]), float(i[2])] for i in ids
    ]
    table = pq.read_table(tmp_path / "core.parquet").to_pydict()
    assert table == {"vertex": ids, "weight": weights.tolist()}
    with pytest.raises(InputError, match="needs a box"):
        release.coreset(3)


def test_coresets_of_a_box_are_saved(tmp_path):
    demand = mdp.PrivateDemand(PLANE, clusters(2000)[0])
    coreset = mdp.k_means(PLANE, demand, 4, epsilon=1, method="coreset").release.coreset()
    coreset.save(tmp_path / "core.CSV")
    read = np.loadtxt(tmp_path / "core.CSV", delimiter=",", skiprows=1)
    assert (read == np.column_stack([coreset.points, coreset.weights])).all()
    with pytest.raises(InputError, match="longitude and latitude"):
        coreset.save(tmp_path / "core.geojson")
    places = mdp.EuclideanSpace([0, 0], [1, 1], crs="EPSG:4326")
    demand = mdp.PrivateDemand(places, clusters(2000)[0])
    coreset = mdp.release(places, demand, epsilon=1).coreset()
    coreset.save(str(tmp_path / "core.geojson"))
    features = json.loads((tmp_path / "core.geojson").read_text())["features"]
    assert [f["geometry"]["coordinates"] for f in features] == coreset.points.tolist()


def test_what_cannot_be_saved_leaves_nothing(tmp_path, monkeypatch):
    metric = town()
    coreset = mdp.release(metric, mdp.PrivateDemand(metric, ["0-0"] * 300), epsilon=1).coreset()
    for name, rule in (
        ("core.geojson", "coordinates"),
        ("core.txt", "must be one of .csv"),
        ("core", "must be one of"),
    ):
        with pytest.raises(InputError, match=rule):
            coreset.save(tmp_path / name)
    from metricdp.report import point_files

    monkeypatch.setattr(point_files, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="parquet"):
        coreset.save(tmp_path / "core.parquet")
    with pytest.raises(OSError):
        coreset.save(tmp_path / "nowhere" / "core.csv")
    assert not list(tmp_path.iterdir())


def test_a_pool_is_not_overspent():
    points, _ = clusters(3000)
    ledger = mdp.Ledger(1, "1/1000000", neighboring="replace-one")
    pool = ledger.charge(Coreset(published=True).price(1, "1/1000000"))
    from metricdp.methods.question import BoxQuestion
    from metricdp.running.runner import answered

    question = BoxQuestion.checked(PLANE, 3, 2)
    answered(Coreset(published=True, cells=100), mdp.PrivateDemand(PLANE, points), pool, question)
    assert Fraction(99, 100) * pool.rho < pool.spent_rho <= pool.rho


def test_the_command_line_saves_by_the_ending(tmp_path, monkeypatch, capsys):
    from metricdp.cli import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "roads.csv").write_text(
        "source,target,length\n" + "".join(f"{i},{i + 1},1\n" for i in range(9))
    )
    (tmp_path / "nodes.csv").write_text(
        "id,lon,lat\n" + "".join(f"{i},{i},{2 * i}\n" for i in range(10))
    )
    (tmp_path / "homes.csv").write_text("vertex\n" + "3\n7\n" * 200)
    call = [
        "cluster",
        "roads.csv",
        "-k",
        "2",
        "--demand",
        "homes.csv",
        "--epsilon",
        "1",
        "--quiet",
        "--ledger",
        "study.ledger",
    ]
    for name, rule in (
        ("core.xlsx", "must be one of"),
        ("core.geojson", "needs points with coordinates"),
    ):
        assert main([*call, "--coreset", name]) == 2
        assert (
            rule in capsys.readouterr().err
            and not (tmp_path / name).exists()
            and not (tmp_path / "study.ledger").exists()
        )
    assert main([*call, "--nodes", "nodes.csv", "--coreset", "core.geojson"]) == 0
    features = json.loads((tmp_path / "core.geojson").read_text())["features"]
    assert all(
        f["geometry"]["coordinates"] == [f["properties"]["vertex"], 2 * f["properties"]["vertex"]]
        for f in features
    )
    assert sum(f["properties"]["weight"] for f in features) == pytest.approx(400, abs=150)


def test_the_coreset_of_people_of_one_unit_each_weighs_as_many_as_they_are():
    """Cells that stand out were divided twice by a unit's grains."""
    points = np.repeat([[0.2, 0.2], [0.8, 0.7]], 2000, axis=0)
    space = mdp.EuclideanSpace([0, 0], [1, 1])
    user = np.repeat(np.arange(2000), 2)
    demand = mdp.PrivateDemand(space, points, user=user, weighting="share")
    release = mdp.k_means(space, demand, k=2, epsilon=4, method="coreset").release
    assert release.receipt.grains > 1
    assert release.weights.sum() == pytest.approx(2000, rel=0.1)


@pytest.mark.parametrize("method", ["partition", "coreset", "quadtree"])
def test_means_that_a_release_answers_are_means(method):
    space = mdp.EuclideanSpace([0, 0], [1, 1])
    demand = mdp.PrivateDemand(space, np.repeat([[0.2, 0.2], [0.8, 0.7]], 2000, axis=0))
    release = mdp.k_means(space, demand, k=2, epsilon=4, method=method).release
    assert (release.k_median(2).power, release.k_means(2).power) == (1, 2)
