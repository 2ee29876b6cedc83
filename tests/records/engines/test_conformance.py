"""Every engine of the registry passes the tests of `metricdp.testing.EngineTestCase`."""

import pytest

from metricdp.records.engines.opening import ENGINES
from metricdp.testing import EngineTestCase
from tests import spark

pa = pytest.importorskip("pyarrow")
library = pytest.importorskip


def _in_dask(columns):
    library("distributed")
    return library("dask.dataframe").from_pandas(library("pandas").DataFrame(columns), 3)


def _in_dataset(columns):
    library("duckdb")
    return library("pyarrow.dataset").dataset(pa.table(columns))


MADE = {
    "pandas": ("TableInMemory", 99, lambda c: library("pandas").DataFrame(c)),
    "pandas, objects": ("TableInMemory", 5, lambda c: library("pandas").DataFrame(c, dtype=object)),
    "Polars": ("TableInMemory", 99, lambda c: library("polars").DataFrame(c, strict=False)),
    "Arrow": ("TableInMemory", 99, pa.table),
    "Polars, lazy": ("PolarsFrame", 5, lambda c: library("polars").LazyFrame(c, strict=False)),
    "Arrow data set": ("ArrowData", 5, _in_dataset),
    "DuckDB": ("Relation", 5, lambda c: library("duckdb").connect().from_arrow(pa.table(c))),
    "Ibis": ("IbisFrame", 5, lambda c: library("ibis").memtable(pa.table(c))),
    "Dask": ("DaskFrame", 3, _in_dask),
    "Spark": ("SparkFrame", 1, lambda c: spark.session().createDataFrame(pa.table(c))),
}
"""The engine that takes a table, how many users are added one by one, and what makes it."""
STREAMING = ("Polars, lazy", "DuckDB", "Dask", "Spark")


def table_of(kind, columns):
    """A table of one of these kinds: columns as lists, or a frame of pandas."""
    *_, make = MADE[kind]
    return make({name: list(columns[name]) for name in columns})


class TestEngines(EngineTestCase):
    """Each in turn."""

    @pytest.fixture(autouse=True, params=MADE)
    def named(self, request):
        self.engine, self.several, self.make = MADE[request.param]

    def table(self, columns):
        return self.make(columns)


def test_every_engine_is_one_class_that_needs_no_library_before_it_counts():
    assert len(set(ENGINES)) == len(ENGINES)
    for engine in ENGINES:
        assert not engine.takes(object())


def test_every_engine_has_a_case():
    """But those that read points or paths alone: `tests/records/doors.py` has them."""
    engines = {engine.__name__ for engine in ENGINES}
    assert {engine for engine, *_ in MADE.values()} == engines - {"ArrayFile", "Places"}
