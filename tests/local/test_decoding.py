"""From messages to estimates and centers: unbiased to the last digit, equal to slow reference
implementations, on graphs and in boxes of few and of many dimensions.
"""

import base64
import io
import json
from fractions import Fraction
from itertools import product
from random import Random

import numpy as np
import pytest

import metricdp as mdp
from benchmarks.methods.printed_local import simulated_sketch
from metricdp.kernels.local_sketch import walsh
from metricdp.local import oracles, streams
from metricdp.local.ball import build_tree, compute_threshold, lattice_children, prefix_children
from metricdp.local.items import NetItems, items_of
from metricdp.local.randomizers import KRR, LocalHashing, SubsetSelection, TopVectors
from metricdp.local.setup import level_sizes, simulated_messages
from metricdp.partitions.finite.ward import hierarchy
from metricdp.solvers.kmedian import solve
from tests import cases, each, grid_metric, refuses, road_like
from tests import naive_local as naive
from tests.cli_world import run, works

LINE = mdp.EuclideanMetric(np.arange(60.0)[:, None])
SMALL = [
    KRR(Fraction(1), 5),
    LocalHashing(Fraction(1), 5, 1),
    LocalHashing(Fraction(3, 2), 6, 2),
    SubsetSelection(Fraction(1), 6, 2),
]


def columns(randomizer, outputs):
    if isinstance(randomizer, SubsetSelection):
        packed = np.frombuffer(b"".join(randomizer.pack(o) for o in outputs), np.uint8)
        return [packed.reshape(len(outputs), -1)]
    return [np.array(column, np.uint64) for column in zip(*outputs)]


def sketched(randomizer, outputs):
    oracle = oracles.oracle_of(randomizer)
    array = np.zeros(oracle.shape, np.int64)
    oracle.add(array, columns(randomizer, outputs))
    return array


@pytest.mark.parametrize("randomizer", SMALL, ids=repr)
def test_counts_are_unbiased_with_the_stated_variance_and_no_message_has_more_than_its_share(
    randomizer,
):
    oracle = oracles.oracle_of(randomizer)
    every = product(*map(range, randomizer.limits))
    outputs = [o for o in every if naive.report_chance(randomizer, 0, o)]
    estimates = np.array([oracle.counts(sketched(randomizer, [o]), 1) for o in outputs])
    for value in range(randomizer.domain):
        chance = np.array([float(naive.report_chance(randomizer, value, o)) for o in outputs])
        mean = chance @ estimates
        assert mean == pytest.approx(np.eye(randomizer.domain)[value], abs=1e-9)
        others = np.delete(chance @ estimates**2 - mean**2, value)
        assert others == pytest.approx(oracle.variance, rel=1e-6)
    assert np.abs(estimates).max() <= oracle.share * (1 + 1e-12)
    assert np.abs(estimates).max() > 0.99 * oracle.share


def test_local_hashing_agrees_with_hashing_every_value():
    randomizer, rng = LocalHashing(Fraction(2), 13, 3), np.random.default_rng(0)
    functions, hashes = rng.integers(0, randomizer.limits[0], 200), rng.integers(0, 8, 200)
    array = sketched(randomizer, list(zip(functions.tolist(), hashes.tolist())))
    found = oracles.oracle_of(randomizer).supports(array).tolist()
    assert found == naive.hash_counts(randomizer, functions, hashes)
    table = rng.integers(-9, 9, (16, 1))
    expected = naive.walsh(table[:, 0])
    walsh(table)
    assert (table[:, 0] == expected).all()


@cases(
    ("epsilon", "domain"), ("1/2", 40), (1, 90), (1, 160), (2, 5000), (4, 100), (4, 10**7), (8, 10)
)
def test_the_randomizer_of_least_variance_is_chosen(epsilon, domain):
    found = oracles.best_frequency_randomizer(Fraction(epsilon), domain)
    hashes = [LocalHashing(Fraction(epsilon), domain, b) for b in (1, 2, 3, 6)]
    others = [KRR(Fraction(epsilon), domain), *hashes]
    assert found.n_bytes <= 12
    if domain < 10**6:
        expected = min(oracles.oracle_of(other).variance for other in others) * (1 + 1e-12)
        assert oracles.oracle_of(found).variance <= expected


def test_simulated_messages_are_those_of_devices_with_these_coins(known):
    space = mdp.EuclideanSpace([-1] * 5, [1] * 5)
    points = np.random.default_rng(0).uniform(-1, 1, (40, 5))
    for parameters, items in (
        (mdp.local.public_parameters(LINE, 2, users=10**5), list(LINE.ids)),
        (known[1], known[0].ids[:40]),
        (mdp.local.public_parameters(space, 3, k=2), points),
    ):
        encoder, below = mdp.local.Encoder(parameters), Random(7).randrange
        made = [encoder._encode(item, below) for item in items]
        found = mdp.local.simulated_messages(parameters, items, seed=7)
        assert [bytes(row) for row in found] == made
        assert mdp.local.simulated_messages(parameters, items[:0]).shape == (0, len(made[0]))
    refuses("points must be finite", mdp.local.simulated_messages, parameters, points[:, :2])


def test_the_kernel_makes_the_vectors_of_the_device_and_sums_are_unbiased_over_characters():
    randomizer = TopVectors(Fraction(1), 7, 32, 8, 3)
    outputs = [(c, 2**64 - 1 - 7 * c, (3 * c) % 32) for c in range(8)]
    rows = np.array([streams.vector(nonce, index, 7) for _, nonce, index in outputs])
    expected = np.zeros((8, 7), np.int64)
    for (character, _, _), row in zip(outputs, rows):
        expected[character] += np.rint(row).astype(np.int64)
    found = sketched(randomizer, outputs)
    assert (found == expected).all()
    oracle = oracles.oracle_of(randomizer)
    signs = np.array([[(-1) ** (b & c).bit_count() for c in range(8)] for b in range(8)])
    assert oracle.sums(found) == pytest.approx(signs @ rows / 1024 / oracle.scale)
    sums = oracle.sums(sketched(randomizer, outputs[:1]))
    assert np.linalg.norm(sums, axis=1).max() <= oracle.share
    assert oracles.top_mean(2, 1) == pytest.approx(np.pi**-0.5, abs=1e-6)
    assert oracles.best_vector_randomizer(Fraction(8), 100, 10).candidates == 4096


@pytest.fixture(scope="module")
def collection():
    parameters = mdp.local.public_parameters(LINE, 2, users=3000, parts=12)
    encoder = mdp.local.Encoder(parameters)
    return parameters, [encoder.encode(i) for i in [3] * 600 + [50] * 400]


def test_sketches_add_up_in_any_grouping(collection):
    parameters, messages = collection
    decoder = mdp.local.Decoder(parameters)
    a, b = decoder.sketch(messages[:100]), decoder.sketch(messages[100:101])
    c = decoder.sketch(iter(messages[101:]))
    whole = decoder.sketch(messages)
    for joined in ((a + b) + c, a + (b + c), c + a + b, decoder.empty() + whole):
        assert joined.n_messages == 1000
        for mine, theirs in zip(joined.arrays, whole.arrays):
            assert all((x == y).all() for x, y in zip(mine, theirs))
    other = mdp.local.Decoder(mdp.local.public_parameters(LINE, 2, users=3000, parts=13))
    for wrong in (lambda: a + other.empty(), lambda: other.decode(a)):
        refuses(r"different public parameters|other public parameters", wrong)


def test_messages_come_in_many_forms(collection, tmp_path):
    parameters, messages = collection
    decoder = mdp.local.Decoder(parameters)
    expected = decoder.fit(messages).counts
    lines = [json.dumps({"message": base64.b64encode(m).decode()}) + "\n" for m in messages]
    (tmp_path / "m.jsonl").write_text("".join(lines))
    forms = [
        tmp_path / "m.jsonl",
        str(tmp_path / "m.jsonl"),
        io.StringIO("".join(lines)),
        io.BytesIO("".join(lines).encode()),
        lines,
        [json.dumps(base64.b64encode(m).decode()) for m in messages],
        map(bytearray, messages),
        np.frombuffer(b"".join(messages), np.uint8).reshape(len(messages), -1),
    ]
    for form in forms:
        estimate = decoder.fit(form)
        assert (estimate.counts == expected).all() and estimate.rejected == 0
    for wrong in (b"".join(messages), 7, None):
        refuses("messages must be", decoder.fit, wrong)


def test_malformed_messages_are_left_out_and_hostile_ones_have_their_share(collection):
    parameters, messages = collection
    decoder, good = mdp.local.Decoder(parameters), messages[0]
    bad = [
        b"",
        good[:-1],
        good + b"\0",
        bytes([9]) + good[1:],
        good[:1] + b"??" + good[3:],
        good[:3] + b"\1" + good[4:],
        b"\xff" * len(good),
        good[:4] + b"\xff" * (len(good) - 4),
        None,
        3,
        "x",
        "{",
        '{"message": 5}',
        "[" * 5000,
        '"%%%"',
        [],
        {},
    ]
    estimate, alone = decoder.fit([*messages, *bad]), decoder.fit(messages)
    assert estimate.rejected == len(bad) and (estimate.counts == alone.counts).all()
    rng = np.random.default_rng(0)
    tails = rng.integers(0, 256, (500, len(good) - 4), dtype=np.uint8)
    noise = [good[:4] + tail.tobytes() for tail in tails]
    for hostile in ([good] * 40, noise):
        moved = decoder.fit([*messages, *hostile])
        shift = np.abs(moved.counts - alone.counts).max()
        assert shift <= (moved.n_messages - alone.n_messages) * alone.share * (1 + 1e-9)


def test_nothing_but_rejected_messages_still_gives_an_answer(collection):
    estimate = mdp.local.Decoder(collection[0]).fit([b"junk"] * 3)
    assert (estimate.n_messages, estimate.rejected) == (0, 3)
    assert len(estimate.k_median(4, metric=LINE).centers) == 4


def test_every_message_of_every_universe_and_option_is_valid():
    rng = np.random.default_rng(0)
    for d, options in (
        (3, {"tree": "net", "depth": 3}),
        (5, {"trust": "one_round_shuffle"}),
        (5, {"depth": 3}),
    ):
        space, points = mdp.EuclideanSpace([-1] * d, [1] * d), rng.uniform(-1, 1, (40, d))
        are_valid(mdp.local.public_parameters(space, 3, k=2, **options), points)


def are_valid(parameters, points):
    """What devices encode and what is simulated is decoded, with nothing left out."""
    assert max(role.epsilon for role in parameters.roles) <= parameters.epsilon
    plain = parameters.to_json()
    encoder, decoder = mdp.local.Encoder(plain), mdp.local.Decoder(plain)
    for made in (
        [encoder.encode(x) for x in points],
        mdp.local.simulated_messages(parameters, points, seed=0),
    ):
        estimate = decoder.fit(made)
        assert (estimate.n_messages, estimate.rejected) == (len(points), 0)
        assert estimate.k_means(3).centers.shape == (3, points.shape[1])


# Levels of a hierarchy that share the users: what the parameters say, what devices send, and that
# the decoder puts it together
@pytest.fixture(scope="module")
def known():
    metric = road_like(40)
    return metric, mdp.local.public_parameters(metric, 2, users=2000, k=3)


def test_every_id_has_its_part_at_every_level(known):
    metric, parameters = known
    sizes = level_sizes(2000, parameters.epsilon)
    items = items_of(parameters.items)
    assert parameters.items["kind"] == "hierarchy" and items.domains == tuple(sizes)
    assert [role.share for role in parameters.roles] == [2, 3, 5]
    assert {role.epsilon for role in parameters.roles} == {parameters.epsilon}
    views = np.array([items.values(i)[0] for i in metric.ids])
    for level, m in enumerate(sizes):
        cut = hierarchy(metric).cut(m)
        assert len({*zip(views[:, level].tolist(), cut.labels.tolist())}) == m
    again = mdp.local.PublicParameters.of(parameters.to_json())
    assert again == parameters and items_of(again.items).domains == items.domains


def test_messages_are_decoded_to_where_users_are(known):
    metric, parameters = known
    rng = np.random.default_rng(0)
    away = metric.nearest_to(np.array([5]))[1]
    density = np.exp(-8 * away / away.max())
    users = rng.choice(len(metric), 2000, p=density / density.sum())
    encoder, decoder = mdp.local.Encoder(parameters), mdp.local.Decoder(parameters)
    own = decoder.fit(encoder.encode(metric.ids[i]) for i in users.tolist())
    messages = simulated_messages(parameters, [metric.ids[i] for i in users], seed=1)
    made = decoder.fit(messages)
    weights = np.bincount(users, minlength=len(metric)).astype(float)
    best = mdp.k_median(metric, k=3, weights=weights).centers
    for estimate in (own, made):
        assert estimate.n_messages == 2000 and estimate.rejected == 0
        assert abs(estimate.release(metric).weights.sum() - 2000) < 20
        centers = estimate.k_median(metric=metric, k=3).centers
        cost = [float(weights @ metric.nearest(at)[1]) for at in (centers, best)]
        # 200 draws: 1.09 (sd .05), 1.23 at the most; 1.96 without data
        assert cost[0] < 1.6 * cost[1]
        assert estimate.counts.shape == (parameters.items["parts"],)
        assert estimate.deviation > 0 and estimate.receipt.epsilon == parameters.epsilon


def test_a_level_that_nobody_was_asked_about_does_no_harm(known):
    metric, parameters = known
    messages = simulated_messages(parameters, [metric.ids[3]] * 300, seed=2)
    decoder = mdp.local.Decoder(parameters)
    for role in range(3):
        release = decoder.fit(messages[messages[:, 3] == role]).release(metric)
        assert np.isfinite(release.weights).all() and release.weights.sum() > 0


def test_few_points_few_users_and_parts_asked_for_get_one_partition():
    metric = road_like(12)
    for options in ({"users": 10**6}, {"users": 20}, {"users": 2000, "parts": 30}):
        assert mdp.local.public_parameters(metric, 2, **options).items["levels"] == []


def test_trees_that_are_none_are_refused(known):
    plain = json.loads(known[1].to_json())
    items = plain["items"]
    children, levels = items["children"], items["levels"]
    first, rest = children[0], children[1:]
    trees = [children[:-1], [first, *children[:-1]], [[0, 0], *rest], None]
    shown = [], [levels[0][:-1], levels[1]], [[*levels[0], 10**9], levels[1]]
    for changes in each(children=trees, levels=[*shown, [levels[0], [True, *levels[1][1:]]]]):
        refuses("", mdp.local.Encoder, {**plain, "items": {**plain["items"], **changes}})


GRID = grid_metric(30, 30)


def near(spots, n, seed=0):
    """Positions on the grid around some spots."""
    rng = np.random.default_rng(seed)
    around = np.array(spots)[rng.integers(0, len(spots), n)] + rng.normal(0, 1.5, (n, 2))
    at = around.round().astype(int).clip(0, 29)
    return [tuple(x) for x in at.tolist()]


@cases(("trust", "epsilon"), ("one_round_local", 2), ("one_round_shuffle", "1/2"))
def test_graph_centers_are_near_the_best(trust, epsilon):
    items = near([(5, 5), (24, 8), (12, 25)], 20_000)
    users = len(items)
    parameters = mdp.local.public_parameters(GRID, epsilon, users=users, k=3, trust=trust, parts=60)
    messages = mdp.local.simulated_messages(parameters, items, seed=1)
    estimate = mdp.local.Decoder(parameters).fit(messages)
    weights = np.bincount(GRID.positions(items), minlength=len(GRID)).astype(float)
    for ask, power in ((estimate.k_median, 1), (estimate.k_means, 2)):
        result = ask(3, metric=GRID)
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
    return centers[np.arange(n) % k] + noise * rng.normal(size=(n, d))


def estimated(points, epsilon, k, **options):
    """What is decoded of these points' messages, in the cube that holds the unit ball."""
    d = points.shape[1]
    space = mdp.EuclideanSpace([-1] * d, [1] * d)
    parameters = mdp.local.public_parameters(space, epsilon, users=len(points), k=k, **options)
    return mdp.local.Decoder(parameters).decode(simulated_sketch(parameters, points, seed=0))


def objective(points, centers):
    return float(((points[:, None] - centers) ** 2).sum(axis=2).min(axis=1).mean())


def test_many_dimensions_by_simhash():
    points = mixture(60_000, 30, 4, 0)
    estimate = estimated(points, 4, k=4, radius=1.0, seed=0)
    centers = estimate.k_means(4).centers
    assert objective(points, centers) < 0.08  # 0.81 at the middle
    assert centers.shape == estimate.k_median(4).centers.shape == (4, 30)


def test_more_clusters_than_the_noise_allows_cost_no_more_than_the_middle():
    points = mixture(3000, 30, 16, 0)
    estimate = estimated(points, 1, k=16, radius=1.0, seed=0)
    assert objective(points, estimate.k_means(16).centers) <= objective(points, np.zeros((1, 30)))


def test_few_dimensions_by_nets():
    points = mixture(100_000, 2, 3, 1, 0.05)
    estimate = estimated(points, 4, k=3)
    for ask in (estimate.k_means, estimate.k_median):
        assert objective(points, ask(3).centers) < 0.02


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
