"""Records by key, on every engine: the same as NumPy's count, one reading each, and nothing said of
a bad row.
"""

import numpy as np
import pytest

import metricdp as mdp
from metricdp.errors import InputError
from metricdp.partitions.box.quadtree import ShiftedQuadtree
from metricdp.privacy import HistogramQuery, PrivateDemand, _vault
from metricdp.records.paths import Paths
from tests import spark

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
