"""From messages to centers: graphs, boxes of few and of many dimensions, trees from an oracle, and
the command line.
"""

import json

import numpy as np
import pytest

import metricdp as mdp
from benchmarks.methods.printed_local import simulated_sketch
from metricdp.local.ball import build_tree, compute_threshold, lattice_children, prefix_children
from metricdp.local.items import NetItems, items_of
from metricdp.solvers.kmedian import solve
from tests import cases, grid_metric, refuses
from tests import naive_local as naive
from tests.cli_world import run, works

GRID = grid_metric(30, 30)


def near(spots, n, seed=0):
    """Positions on the grid around some spots."""
    rng = np.random.default_rng(seed)
    at = (
        (np.array(spots)[rng.integers(0, len(spots), n)] + rng.normal(0, 1.5, (n, 2)))
        .round()
        .astype(int)
        .clip(0, 29)
    )
    return [tuple(x) for x in at.tolist()]


@cases(("trust", "epsilon"), ("one_round_local", 2), ("one_round_shuffle", "1/2"))
@pytest.mark.parametrize("power", [1, 2])
def test_graph_centers_are_near_the_best(trust, epsilon, power):
    items = near([(5, 5), (24, 8), (12, 25)], 20_000)
    users = len(items)
    parameters = mdp.local.public_parameters(GRID, epsilon, users=users, k=3, trust=trust, parts=60)
    messages = mdp.local.simulated_messages(parameters, items, seed=1)
    estimate = mdp.local.Decoder(parameters).fit(messages)
    ask = estimate.k_median if power == 1 else estimate.k_means
    result = ask(3, metric=GRID)
    weights = np.bincount(GRID.positions(items), minlength=len(GRID)).astype(float)
    cost = weights @ GRID.nearest(result.centers)[1] ** power
    assert cost < 1.15**power * solve(GRID, weights, 3, power=power).cost
    assert result.method == trust and result.receipt == estimate.receipt
    true = np.bincount(np.array(parameters.items["labels"])[GRID.positions(items)], minlength=60)
    assert np.abs(estimate.counts - true).max() < 6 * estimate.deviation + 300
    assert estimate.release(GRID).weights.sum() == pytest.approx(20_000, rel=1e-2)
    assert estimate.release(GRID, signed=True).weights.min() < 0


def test_questions_about_the_wrong_universe_are_refused():
    estimate = mdp.local.Decoder(mdp.local.public_parameters(GRID, 1, parts=9)).fit([])
    other = grid_metric(30, 31)
    for ask in (
        lambda: estimate.k_median(3),
        lambda: estimate.k_median(3, metric=other),
        lambda: estimate.release(other),
    ):
        refuses("the universe that the public parameters were made for", ask)
    refuses("finite universe", estimate.release, "x")
    box = mdp.EuclideanSpace([0, 0], [1, 1])
    estimate = mdp.local.Decoder(mdp.local.public_parameters(box, 1)).fit([])
    for ask in (
        lambda: estimate.k_means(2, metric=GRID),
        lambda: estimate.k_means(0),
        lambda: estimate.counts,
    ):
        refuses("", ask)
    assert len(np.unique(estimate.k_means(5).centers, axis=0)) == 5


def mixture(n, d, k, seed, noise=0.01):
    # a stream of its own: not that of the solver's or the simulation's coins
    rng = np.random.default_rng([seed, 1])
    centers = rng.normal(size=(k, d))
    centers *= 0.9 / np.linalg.norm(centers, axis=1, keepdims=True)
    return centers[np.arange(n) % k] + noise * rng.normal(size=(n, d)), centers


def objective(points, centers):
    return float(((points[:, None] - centers) ** 2).sum(axis=2).min(axis=1).mean())


def test_many_dimensions_by_simhash():
    points, _ = mixture(60_000, 30, 4, 0)
    space = mdp.EuclideanSpace([-1] * 30, [1] * 30)
    parameters = mdp.local.public_parameters(space, 4, users=len(points), k=4, radius=1.0, seed=0)
    estimate = mdp.local.Decoder(parameters).decode(simulated_sketch(parameters, points, seed=0))
    centers = estimate.k_means(4).centers
    assert objective(points, centers) < 0.08  # 0.81 at the middle
    assert centers.shape == estimate.k_median(4).centers.shape == (4, 30)


def test_more_clusters_than_the_noise_allows_cost_no_more_than_the_middle():
    points, _ = mixture(3000, 30, 16, 0)
    space = mdp.EuclideanSpace([-1] * 30, [1] * 30)
    parameters = mdp.local.public_parameters(space, 1, users=len(points), k=16, radius=1.0, seed=0)
    estimate = mdp.local.Decoder(parameters).decode(simulated_sketch(parameters, points, seed=0))
    assert objective(points, estimate.k_means(16).centers) <= objective(points, np.zeros((1, 30)))


@pytest.mark.parametrize("ask", ["k_means", "k_median"])
def test_few_dimensions_by_nets(ask):
    points, _ = mixture(100_000, 2, 3, 1, 0.05)
    space = mdp.EuclideanSpace([-1] * 2, [1] * 2)
    parameters = mdp.local.public_parameters(space, 4, users=len(points), k=3)
    estimate = mdp.local.Decoder(parameters).decode(simulated_sketch(parameters, points, seed=0))
    assert objective(points, getattr(estimate, ask)(3).centers) < 0.02


def test_nets_of_many_dimensions_are_refused():
    space = mdp.EuclideanSpace([-1] * 4, [1] * 4)
    refuses("at most 3 dimensions", mdp.local.public_parameters, space, 8, tree="net")


def test_chains_of_net_points_and_children():
    plain = {"kind": "net", "middle": [0.0, 0.0], "radius": 1.0}
    items = items_of({**plain, "depth": 4, "seed": 7})
    assert isinstance(items, NetItems)
    points = np.random.default_rng(0).uniform(-1, 1, (300, 2))
    points /= np.maximum(1, np.linalg.norm(points, axis=1))[:, None]
    views = items.views(points)
    for level, view in enumerate(views):
        lattice = items.places(np.arange(items.domains[level]), level)
        below = points if level == 3 else items.places(views[level + 1], level + 1)
        assert (((below[:, None] - lattice) ** 2).sum(axis=2).argmin(axis=1) == view).all()
        # Lemma 14, i = level + 1
        assert np.linalg.norm(points - items.places(view, level), axis=1).max() <= 2.0**-level
    pair = (items.spacing[1], items.spacing[2]), (items.shifts[1], items.shifts[2])
    cells = items.cells(np.unique(views[1]), 1)
    for parent, found in zip(np.unique(views[1]), lattice_children(cells, *pair)):
        assert len(found) == 4
        inside = found[(np.abs(found) <= items.reach[2]).all(axis=1)]
        assert (items.nearest(items.places(items.number(inside, 2), 2), 1) == parent).all()
    assert items.values(points[0].tolist())[0] == tuple(int(view[0]) for view in views)


def test_thresholds_are_those_of_the_printed_algorithm_and_trees_hold_all_mass():
    rng = np.random.default_rng(1)
    for _ in range(200):
        m, k, a, most = (rng.integers(1, end) for end in (40, 4, 3, 8))
        f = rng.exponential(size=m) ** 3
        found = compute_threshold(f, int(k), int(a), int(most))
        assert found == naive.threshold(f.tolist(), int(k), int(a), int(most))
    leaves = rng.exponential(size=64) ** 4
    levels = [leaves.reshape(1 << i, -1).sum(axis=1) for i in range(1, 7)]
    tree = build_tree(lambda level, nodes: levels[level - 1][nodes], prefix_children, 6, 2, 1, 6)
    assert sum(leaf.frequency for leaf in tree) == pytest.approx(leaves.sum())
    assert len({(leaf.level, leaf.node) for leaf in tree}) == len(tree)
    deepest = max(tree, key=lambda leaf: leaf.level)
    assert deepest.level == 6 and {leaf.level for leaf in tree} != {6}


def test_the_command_line(world, capsys):
    asked = "encode roads.csv --epsilon 4 --users 2000 -k 2 --write-parameters p.json"
    done = run(capsys, asked)
    assert done.status == 0 and done.json["message_bytes"] <= 16
    (world / "items.jsonl").write_text("100\n" * 900 + '{"item": 124}\n' * 900)
    sent = run(capsys, "encode", "--parameters", "p.json", "--items", "items.jsonl")
    assert sent.status == 0 and len(sent.out.splitlines()) == 1800 and "100" not in sent.err
    (world / "m.jsonl").write_text(sent.out + "junk\n")
    asked = "decode roads.csv --parameters p.json -k 2 --messages m.jsonl --output r.json"
    result = works(capsys, asked).json
    expected = 1800, 1, "one_round_local"
    assert (result["messages"], result["rejected"], result["method"]) == expected
    assert sorted(result["centers"])[0] < 112 < sorted(result["centers"])[1]
    assert json.loads((world / "r.json").read_text()) == result
    (world / "bad.jsonl").write_text("100\n987654321\n")
    (world / "worse.jsonl").write_text("100\ncanary\n")
    for argv in (
        ["encode"],
        ["encode", "roads.csv"],
        ["encode", "roads.csv", "--epsilon", "1", "--write-parameters", "roads.csv"],
        ["encode", "--parameters", "p.json", "--items", "bad.jsonl"],
        ["encode", "--parameters", "p.json", "--items", "worse.jsonl"],
        ["encode", "--parameters", "p.json", "--items", "items.jsonl", "--most-epsilon", "1"],
        ["encode", "--parameters", "roads.csv"],
        ["decode", "--parameters", "p.json"],
        ["decode", "roads.csv"],
        ["decode", "--parameters", "missing.json", "roads.csv"],
    ):
        wrong = run(capsys, *argv)
        assert wrong.status == 2 and wrong.out == "" and "987654321" not in wrong.err
        assert "canary" not in wrong.err
    asked = "encode roads.csv --epsilon 1/2 --shuffle --users 50000 --write-parameters s.json"
    assert run(capsys, asked).json["trust"] == "one_round_shuffle"


def test_the_demonstration(capsys):
    shown = works(capsys, "decode", "--demo", "--users", "20000", "-k", "5", "--epsilon", "4")
    assert shown.json["cost_over_non_private"] < 1.3
