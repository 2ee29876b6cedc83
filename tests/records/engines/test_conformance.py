"""Every engine of the registry inherits the tests of `metricdp.testing.EngineTestCase`."""

import pytest

from metricdp.records.engines.opening import ENGINES
from metricdp.testing import EngineTestCase
from tests import spark

pa = pytest.importorskip("pyarrow")


class TestPandas(EngineTestCase):
    engine = "TableInMemory"
    several = 99

    def table(self, columns):
        return pytest.importorskip("pandas").DataFrame(columns)


class TestPandasObjects(EngineTestCase):
    engine = "TableInMemory"

    def table(self, columns):
        return pytest.importorskip("pandas").DataFrame(columns, dtype=object)


class TestPolars(EngineTestCase):
    engine = "TableInMemory"
    several = 99

    def table(self, columns):
        return pytest.importorskip("polars").DataFrame(columns, strict=False)


class TestArrow(EngineTestCase):
    engine = "TableInMemory"
    several = 99

    def table(self, columns):
        return pa.table(columns)


class TestPolarsLazy(EngineTestCase):
    engine = "PolarsFrame"

    def table(self, columns):
        return pytest.importorskip("polars").LazyFrame(columns, strict=False)


class TestArrowDataset(EngineTestCase):
    engine = "ArrowData"

    def table(self, columns):
        pytest.importorskip("duckdb")
        return pytest.importorskip("pyarrow.dataset").dataset(pa.table(columns))


class TestDuckDB(EngineTestCase):
    engine = "Relation"

    def table(self, columns):
        return pytest.importorskip("duckdb").connect().from_arrow(pa.table(columns))


class TestIbis(EngineTestCase):
    engine = "IbisFrame"

    def table(self, columns):
        return pytest.importorskip("ibis").memtable(pa.table(columns))


class TestDask(EngineTestCase):
    engine = "DaskFrame"
    several = 3

    def table(self, columns):
        pytest.importorskip("distributed")
        frames, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
        return frames.from_pandas(pd.DataFrame(columns), npartitions=2)


@pytest.mark.extended
class TestSpark(EngineTestCase):
    engine = "SparkFrame"
    several = 1

    def table(self, columns):
        return spark.session().createDataFrame(pa.table(columns))


def test_every_engine_is_one_class_that_needs_no_library_before_it_counts():
    assert len(set(ENGINES)) == len(ENGINES)
    for engine in ENGINES:
        assert not engine.takes(object())


def test_every_engine_has_a_case():
    """But those that read points or paths alone: `tests/records/doors.py` has them."""
    cases = {case.engine for case in EngineTestCase.__subclasses__() if case.__module__ == __name__}
    engines = {engine.__name__ for engine in ENGINES}
    assert cases == engines - {"ArrayFile", "Places"}
