"""Records of which only sums are asked: counted ones, parts of them, and samples of them."""

import numpy as np
import pytest

import metricdp as mdp
from metricdp.errors import InputError
from metricdp.partitions.box.quadtree import ShiftedQuadtree
from metricdp.privacy import HistogramQuery, PrivateDemand, _vault
from metricdp.records.engines import Tally, sources, tables
from metricdp.records.paths import Paths
from tests import refuses, spark

AT = np.array([4, 1, 4, 0, 4, 1])
COUNTED = sources.Tally(AT, np.ones(6, np.int64))


def parts_of(points):
    return points % 3


@pytest.mark.parametrize("records", [AT, COUNTED], ids=["listed", "counted"])
def test_records_of_parts(records):
    held = sources.placed(records, parts_of, 4)
    found = np.bincount(held, minlength=4) if records is AT else sources.total(held, counts_of(4))
    assert found.tolist() == [1, 5, 0, 0]
    each = sources.divided(records, parts_of, 4)
    reported = [sources.total(one, counts_of(5)).tolist() for one in each]
    assert reported == [[1, 0, 0, 0, 0], [0, 2, 0, 0, 3], [0] * 5, [0] * 5]
    assert sources.size(records) == 6 and sources.size(each[1]) == 5
    later = sources.mapped(records, lambda at: at[at > 0], lambda at: at[at < 4])
    assert sources.total(later, counts_of(5)).tolist() == [0, 2, 0, 0, 0]


def counts_of(n):
    return sources.Tallied(lambda at: at, n)


class Elsewhere(sources.Source):
    """Of which nothing is known here."""

    def sums(self, answer):
        return sources.sums(AT, answer)

    mapped = subsampled = sums


def test_what_is_known_of_counted_records():
    assert sources.size(Elsewhere()) is None and sources.size(AT[:0]) == 0
    points, counts = np.unique(COUNTED, return_counts=True)
    assert (points.tolist(), counts.tolist()) == ([0, 1, 4], [1, 2, 3])
    for asked in ({}, {"return_counts": True, "axis": 0}, {"return_index": True}):
        refuses("", np.unique, COUNTED, error=TypeError, **asked)
    refuses("", np.concatenate, [COUNTED], error=TypeError)
    keys, counts = Elsewhere().grouped(lambda at: at[at != 1].astype(np.uint64))
    assert (keys.tolist(), counts.tolist()) == ([0, 4], [1, 3])


def test_a_record_stays_if_32_fresh_bits_are_below_its_share(monkeypatch):
    words = np.array([0, 2**31 - 1, 2**31, 2**32 - 1], np.uint32)
    asked = []
    monkeypatch.setattr(sources.os, "urandom", lambda n: asked.append(n) or words.tobytes()[:n])
    for share, kept in ((0.0, []), (0.5, [0, 1]), (2**-32, [0]), (1.0, [0, 1, 2, 3])):
        assert sources.subsampled(np.arange(4), share).tolist() == kept
    assert asked == [16] * 4 and sources.subsampled(np.zeros((2, 3)), 0.5).shape == (2, 3)


def test_tables_in_memory_are_those_that_are_there_already():
    table = pytest.importorskip("polars").DataFrame({"x": [1.0]})
    assert tables.TableInMemory.takes(table) and not tables.TableInMemory.takes(table.lazy())
    assert not tables.TableInMemory.takes([1.0])


def test_counts_are_subsampled_by_256_fresh_bits(monkeypatch):
    for share, kept in ((0.0, [0, 0, 0]), (1.0, [1, 2, 3])):
        assert sources.subsampled(COUNTED, share).counts.tolist() == kept
    asked = []
    monkeypatch.setattr(sources.os, "urandom", lambda n: asked.append(n) or bytes(n))
    first, second = (Tally(AT, np.full(6, 10**6)).subsampled(0.5).counts for _ in range(2))
    assert asked == [32, 32] and (first == second).all()


# Records by key, on every engine: the same as NumPy's count, one reading each, and nothing said
# of a bad row


pd, pa = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
BOX, N = mdp.EuclideanSpace([0, 0], [10, 4]), 3000
TREE = ShiftedQuadtree(BOX, seed=2)
ENGINES = ("polars", "duckdb", "dask", "spark")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    return pd.DataFrame({"x": rng.normal(5, 2, N), "y": np.round(rng.normal(2, 1, N), 2)})


def given(engine, rows):
    """The rows as a table of an engine that streams."""
    if engine == "polars":
        return pytest.importorskip("polars").from_pandas(rows).lazy()
    if engine == "duckdb":
        return pytest.importorskip("duckdb").connect().from_arrow(pa.Table.from_pandas(rows))
    if engine == "dask":
        return pytest.importorskip("dask.dataframe").from_pandas(rows, npartitions=11)
    columns = {name: rows[name].tolist() for name in rows}
    cells = list(zip(*columns.values()))
    return spark.session().createDataFrame(cells, list(columns)).repartition(5)


@pytest.mark.parametrize("engine", ENGINES)
def test_cells_of_all_levels_are_counted_as_in_memory(engine, rows):
    demand = PrivateDemand.from_frame(BOX, given(engine, rows), x="x", y="y")
    paths = Paths(_vault._open(demand), TREE)
    points, cells = BOX.clip(rows.to_numpy()), TREE.root_cell()
    for _ in range(12):
        expected = HistogramQuery(cells).exact(points)
        assert paths.counted(cells).tolist() == expected.tolist()
        cells = cells.split(cells.leaves[expected > 20])
    assert len(paths._segments) == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_a_bad_row_is_no_key_and_is_not_reported(engine, rows):
    bad = rows.copy()
    bad.loc[1234, "y"] = float("inf")
    with pytest.raises(InputError) as refused:
        demand = PrivateDemand.from_frame(BOX, given(engine, bad), x="x", y="y")
        Paths(_vault._open(demand), TREE).counted(None)
    assert "1234" not in str(refused.value)
    assert "inf" not in str(refused.value)
