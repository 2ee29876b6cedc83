"""The baselines: budgets add up, partitions see one record at a time, and without noise each is the
algorithm it says it is.
"""

from fractions import Fraction

import numpy as np
import pytest

import metricdp as mdp
from metricdp.accounting import Cost
from metricdp.audit.worlds import Labels
from metricdp.methods import baselines
from metricdp.methods.asking import Terms
from metricdp.methods.baselines import count_share
from metricdp.partitions.box.cells import VoronoiCells
from metricdp.partitions.box.simhash import HashCells, SimHash
from metricdp.privacy import HistogramQuery, PrivateDemand, _vault, gate, measure, moved, split
from tests import refuses
from tests.methods.spending import BOX, blobs, box, cost

M = mdp.methods


@pytest.fixture
def exactly(monkeypatch):
    """No noise, and the best candidate of every selection."""
    monkeypatch.setattr(gate, "_noisy", lambda demand, query, *_: query.exact(_vault._open(demand)))

    def best(blocks, eta, distribution):
        return int(np.argmax(np.concatenate([np.asarray(block) for block in blocks])))

    monkeypatch.setattr(gate, "choose", best)


@pytest.mark.parametrize(("name", "most"), [("lloyd", 30), ("lsh", 4)])
@pytest.mark.parametrize("d", [2, 5])  # on a line a SimHash has but two cells
def test_much_data_is_clustered(name, most, d):
    points, middle = blobs(20_000, d)
    space = box(d)
    demand = PrivateDemand(space, points)
    for ask, power in ((mdp.k_median, 1), (mdp.k_means, 2)):
        found = (ask(space, demand, 3, epsilon=5, method=name, seed=seed) for seed in range(2))
        least = min(cost(points, one.centers, power) for one in found)
        least /= cost(points, middle, power)
        assert least < most ** (power / 2)


def test_points_of_many_dimensions_are_not_searched_in_halves():
    space = box(64)
    demand = PrivateDemand(space, np.ones((500, 64)))
    assert mdp.k_means(space, demand, 2, epsilon=5, method="lsh").centers.shape == (2, 64)


def test_a_coreset_answers_further_questions_for_free():
    points = blobs(20_000)[0]
    ledger = mdp.Ledger(5)
    demand = PrivateDemand(BOX, points)
    release = mdp.k_means(BOX, demand, 3, epsilon=5, ledger=ledger, method="lsh").release
    assert release.k_median(7).centers.shape == (7, 2) and release.k_means(3).method == "lsh"
    held, weights = release.coreset()
    assert len(held) == len(weights) > 3 and (weights > 0).all()
    assert ledger.left == 0 and abs(weights.sum() - 20_000) < 4000


@pytest.mark.parametrize("power", [1, 2])
def test_lloyd_without_noise_is_lloyd(exactly, power):
    points, _ = blobs(500)
    found = (mdp.k_median, mdp.k_means)[power - 1](
        BOX, PrivateDemand(BOX, points), 4, epsilon=1, method=M.Lloyd(steps=5), seed=3
    ).centers
    centers = BOX.lower + np.random.default_rng([3, 5]).random((4, 2)) * (BOX.upper - BOX.lower)
    for step in range(5):
        label = np.linalg.norm(points[:, None] - centers, axis=2).argmin(axis=1)
        moved_to = centers.copy()
        for j in range(4):
            offsets = points[label == j] - centers[j]
            if len(offsets) > 1:
                length = np.linalg.norm(offsets, axis=1, keepdims=True)
                radius = BOX.diameter_bound() / 2.0 ** min(step, 4)
                kept = offsets * np.minimum(1, radius / length) if power == 1 else offsets
                moved_to[j] += kept.mean(axis=0)
        centers = moved_to
    assert found == pytest.approx(centers, abs=0.02)  # 12 bits of the diagonal


def test_lloyd_pays_counts_and_sums_by_the_published_rule():
    assert count_share(2) == Fraction(27, 100) and count_share(10) == Fraction(11, 100)
    assert count_share(100_000) == Fraction(1, 100)
    result = mdp.k_means(BOX, PrivateDemand(BOX, []), 2, epsilon=1, method=M.Lloyd(steps=4))
    found = [m.epsilon for m in result.receipt.mechanisms]
    assert found == [Fraction(27, 400), Fraction(73, 400)] * 4


def test_a_hash_is_of_the_point_alone():
    rng = np.random.default_rng(0)
    space = mdp.EuclideanSpace([-1.0] * 7, [1.0] * 7)
    points, hashed = rng.uniform(-1, 1, (400, 7)), SimHash(space, 12, 5)
    alone = np.concatenate([hashed.bits(point[None]) for point in points])
    assert np.array_equal(hashed.bits(points), alone)
    assert np.array_equal(hashed.bits(points, 5), alone[:, :5])
    pairs = [*zip(points[:200], points[200:])]
    share = np.array([hashed.bits(p[None]) == hashed.bits(q[None]) for p, q in pairs]).mean()
    angle = np.arccos([p @ q / np.linalg.norm(p) / np.linalg.norm(q) for p, q in pairs])
    assert share == pytest.approx(1 - angle.mean() / np.pi, abs=0.05)  # Charikar's distribution


def test_a_prefix_tree_has_the_parts_of_its_prefixes():
    points, hashed = np.random.default_rng(1).uniform(0, 10, (300, 2)), SimHash(BOX, 4, 2)
    cells = HashCells.whole(hashed)
    for _ in range(3):
        cells = cells.split(cells.leaves[:2])
    prefixes = {0: ""}
    for node, child in enumerate(cells.child):
        if child >= 0:
            prefixes[int(child)] = prefixes[node] + "0"
            prefixes[int(child) + 1] = prefixes[node] + "1"
    text = ["".join("01"[bit] for bit in row.astype(int)) for row in hashed.bits(points)]
    expected = [
        next(i for i, leaf in enumerate(cells.leaves) if t.startswith(prefixes[int(leaf)]))
        for t in text
    ]
    assert cells.encode(points).tolist() == expected and cells.n_parts == 6


def test_lsh_without_noise_is_the_means_of_the_nodes(exactly):
    points, _ = blobs(4000)
    demand = PrivateDemand(BOX, points)
    release = mdp.k_means(BOX, demand, 3, epsilon=1, method="lsh", seed=1).release
    part = release.partition.encode(points)
    counts = np.bincount(part, minlength=release.partition.n_parts)
    share = baselines.LEVELS_SHARE * (1 - baselines.COUNTS_SHARE)
    noise = Terms(Cost.of(1), "add-remove").deviation_of_sums(BOX, share)
    kept = np.flatnonzero(counts >= min(baselines.LOW_NOISE * np.sqrt(2) * noise, 4000 / 6))
    assert len(kept) > 1 and release.weights.tolist() == counts[kept].tolist()
    expected = pytest.approx(np.array([points[part == j].mean(axis=0) for j in kept]), abs=0.01)
    assert release.universe.points == expected
    inner = np.flatnonzero(release.partition.child >= 0)
    bits = release.partition.tree.bits(points)
    assert len(inner) and all(release.partition.level[inner] < bits.shape[1])
    assert counts[kept].sum() > 0.9 * 4000


# records elsewhere


def test_moved_records_are_where_their_part_is():
    points = blobs(400)[0]
    metric = mdp.EuclideanMetric(BOX.net(9).points)
    parts = VoronoiCells(BOX, metric.points)
    demand = PrivateDemand(BOX, points, user=[i // 2 for i in range(400)], max_contributions=2)
    there = moved(demand, parts, metric)
    assert there.universe is metric and there.part is None
    assert (there.unit, there.max_contributions) == ("user", 2)
    assert np.array_equal(_vault._open(there), parts.encode(points))


def test_moved_parts_are_paid_from_their_own_budget_slice():
    points, metric = blobs(100)[0], mdp.EuclideanMetric(BOX.net(2).points)
    halves = VoronoiCells(BOX, metric.points)
    (part, budget), _ = split(PrivateDemand(BOX, points), halves, 1, mdp.Ledger(1))
    there = moved(part, halves, metric)
    finest = HistogramQuery(Labels(metric, (0, 1), 2))
    refuses("budget slices that split returned", measure, there, finest, 1, mdp.Ledger(1).charge(1))
    assert len(measure(there, finest, 1, budget).values) == 2


def test_a_public_radius_means_less_noise():
    space, receipts = mdp.EuclideanSpace([-1] * 10, [1] * 10), {}
    for radius in (None, 1.0, 99.0):
        demand = PrivateDemand(space, np.zeros((5000, 10)))
        asked = {"epsilon": 0.5, "method": M.Lloyd(radius=radius, steps=1)}
        found = [mdp.k_means(space, demand, 1, **asked, seed=s).centers for s in range(40)]
        receipts[radius] = float(np.sqrt(np.mean(np.square(found))))
    # the square root of ten times less, and as much: logarithms of these ratios have deviation .08
    assert receipts[1.0] * 1.6 < receipts[None] and 0.5 < receipts[99.0] / receipts[None] < 2
