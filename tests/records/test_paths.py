"""All cells of a quadtree from one reading, beside reading level by level."""

import pickle

import numpy as np
import pytest

import metricdp as mdp
from metricdp.errors import ReadingError
from metricdp.methods import Quadtree
from metricdp.partitions.box.quadtree import ShiftedQuadtree
from metricdp.privacy import HistogramQuery, PrivateDemand, _vault, measure, preaggregated
from metricdp.records.engines.sources import Gathered, Listed, Source
from metricdp.records.exact import combined
from metricdp.records.paths import Paths
from tests import refuses

BOX = mdp.EuclideanSpace([0.0, -3.0, 5.0], [1.0, 3.0, 5.5])


class Counting(Source):
    """Blocks of an array, and how often they were read."""

    def __init__(self, points, step=100):
        self.points, self.step, self.readings = points, step, 0

    def sums(self, answer):
        self.readings += 1
        starts = range(0, max(len(self.points), 1), self.step)
        return combined((0, answer(self.points[i : i + self.step])) for i in starts)

    def mapped(self, step):
        return Counting(step(self.points), self.step)

    def subsampled(self, share):
        return self.points


def clusters(n, seed):
    """Points in a few spots of very different sizes, several of them at one place."""
    rng = np.random.default_rng(seed)
    spots = BOX.lower + rng.random((4, 3)) * (BOX.upper - BOX.lower)
    width = 10.0 ** -rng.integers(0, 13, 4)
    at = rng.integers(0, 4, n)
    return BOX.clip(spots[at] + width[at, None] * rng.normal(size=(n, 3)))


@pytest.mark.parametrize("seed", range(8))
def test_counts_are_those_of_reading_at_every_opening(seed):
    points, rng = clusters(700, seed), np.random.default_rng(seed)
    tree, source = ShiftedQuadtree(BOX, seed=seed), Counting(clusters(700, seed))
    paths, cells = Paths(source, tree), tree.root_cell()
    while cells.level.max() < tree.depth and cells.n_parts < 400:
        expected = HistogramQuery(cells).exact(points)
        assert paths.counted(cells).tolist() == expected.tolist()
        full = cells.leaves[expected > rng.integers(1, 60)]
        if not len(full):
            break
        cells = cells.split(full)
    if cells.level.max() <= 64:
        assert source.readings == 1


def test_deep_cells_take_one_reading_for_each_64_levels():
    rng = np.random.default_rng(0)
    box = mdp.EuclideanSpace([0.0] * 6, [1.0] * 6)
    points = (0.1 + 0.8 * rng.random((3, 6)))[rng.integers(0, 3, 500)] + 1e-9 * rng.random((500, 6))
    tree, source = ShiftedQuadtree(box, seed=4), Counting(points)
    paths, cells = Paths(source, tree), tree.root_cell()
    for level in range(160):
        expected = HistogramQuery(cells).exact(points)
        assert paths.counted(cells).tolist() == expected.tolist()
        assert source.readings <= 1 + level // 62
        cells = cells.split(cells.leaves[expected > 60])
    assert cells.level.max() > 130
    assert source.readings == 3


@pytest.mark.parametrize(("bits", "readings"), [(3, 7), (4, 4), (9, 1)])
def test_keys_of_few_bits_take_more_readings_and_none_in_vain(bits, readings, monkeypatch):
    """Three spots, so up to three ways go on below the levels that were read."""
    monkeypatch.setattr("metricdp.records.paths.KEY_BITS", bits)
    box = mdp.EuclideanSpace([0.0, 0.0], [1.0, 1.0])
    points = np.repeat([[0.11, 0.2], [0.6, 0.95], [0.61, 0.3]], [5, 4, 2], axis=0)
    tree, source = ShiftedQuadtree(box, 9, seed=2), Counting(points)
    paths, cells, opened = Paths(source, tree), tree.root_cell(), []
    for _ in range(10):
        opened.append(cells)
        expected = HistogramQuery(cells).exact(points)
        assert paths.counted(cells).tolist() == expected.tolist()
        cells = cells.split(cells.leaves[(expected > 0) & (cells.level[cells.leaves] < tree.depth)])
    assert cells.level.max() == tree.depth == 9 and source.readings == readings
    deepest = Paths(again := Counting(points), tree)
    for cells in opened[::-1]:
        assert (deepest.counted(cells) == HistogramQuery(cells).exact(points)).all()
    assert again.readings == readings


def test_ways_that_were_read_to_different_depths_are_distinguished(monkeypatch):
    """Some leaves with records stay where they are, above what is read."""
    monkeypatch.setattr("metricdp.records.paths.KEY_BITS", 3)
    box = mdp.EuclideanSpace([0.0, 0.0], [1.0, 1.0])
    spots = np.array([[0.11, 0.2], [0.6, 0.95], [0.61, 0.3], [0.9, 0.1], [0.3, 0.8]])
    points = np.repeat(spots, [9, 7, 5, 3, 3], axis=0)
    tree, source = ShiftedQuadtree(box, 12, seed=2), Counting(points)
    paths = Paths(source, tree)
    for number, level in ((0, 12), (1, 5), (2, 7), (1, 12), (3, 2), (0, 3)):
        cells = tree.root_cell()
        while cells.level.max() < level:
            cells = cells.split(cells.leaves[[int(cells.encode(spots[number : number + 1])[0])]])
            if number != 1:  # else asked when the whole way is known
                assert (paths.counted(cells) == HistogramQuery(cells).exact(points)).all()
        assert (paths.counted(cells) == HistogramQuery(cells).exact(points)).all()
    assert source.readings == 9


@pytest.mark.parametrize("seed", range(4))
def test_any_order_of_questions_is_answered(seed):
    points, rng = clusters(300, seed), np.random.default_rng(seed)
    tree = ShiftedQuadtree(BOX, seed=seed)
    paths, asked = Paths(Listed(points), tree), []
    for _ in range(6):
        cells = tree.root_cell()
        for _ in range(int(rng.integers(1, 90))):  # a way down one side, and a few cells besides
            at = cells.leaves[np.argsort(-HistogramQuery(cells).exact(points))]
            cells = cells.split(at[: 1 + int(rng.random() < 0.2)])
        asked.append(cells)
    for cells in asked:
        assert (paths.counted(cells) == HistogramQuery(cells).exact(points)).all()
    assert paths.counted(None).tolist() == [300]
    assert paths.counted(ShiftedQuadtree(BOX, seed=seed).root_cell()) is None


@pytest.mark.parametrize(
    "method",
    [Quadtree(depth=60), Quadtree(rounds=24, budget="uniform", estimate="own")],
    ids=["rounds", "by levels"],
)
def test_a_method_reads_the_records_once(method, monkeypatch):
    """All of its noisy counts, and at least one is asked of more than one level."""
    source = Counting(clusters(2000, 1))
    demand = PrivateDemand(BOX, [[0.5, 0.0, 5.2]])
    monkeypatch.setitem(_vault._RECORDS, demand, source)
    result = mdp.k_median(BOX, demand, 4, epsilon=8, method=method)
    assert len(result.receipt.mechanisms) > 1 and result.release.cells.level.max() <= 64
    assert source.readings == 1


def test_the_demand_preaggregated_is_paid_as_before_and_keeps_its_unit():
    points = clusters(200, 3)
    demand = PrivateDemand(BOX, points, user=list(range(100)) * 2, max_contributions=2)
    tree, ledger = ShiftedQuadtree(BOX), mdp.Ledger(1)
    assert _vault._open(preaggregated(demand, tree)) is not None
    ahead = preaggregated(demand, tree)
    assert (ahead.unit, ahead.max_contributions) == (demand.unit, 2)
    measure(ahead, HistogramQuery(tree.root_cell()), 1, ledger.charge(1))
    assert ledger.left == 0
    for bad in ((3, tree), (demand, 3), (demand, ShiftedQuadtree(mdp.EuclideanSpace([0], [1])))):
        refuses("", preaggregated, *bad)
    refuses("", lambda: pickle.dumps(Paths(Listed(points), tree)), error=TypeError)


def test_keys_that_are_lost_on_their_way_are_noticed():
    class Elsewhere(Counting):
        def sums(self, answer):
            copy = Gathered(answer._of)  # what another process would work on
            return super().sums(copy)

    with pytest.raises(ReadingError, match="lost"):
        Paths(Elsewhere(clusters(50, 0)), ShiftedQuadtree(BOX)).counted(None)
