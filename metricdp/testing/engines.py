"""Conformance tests of engines, to inherit."""

from __future__ import annotations

from typing import Any, ClassVar
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import Ints
from metricdp.errors import InputError, ReadingError
from metricdp.methods.caps import Caps
from metricdp.metrics import EuclideanMetric, EuclideanSpace, PrecomputedMetric
from metricdp.partitions.finite.labels import LabelParts
from metricdp.privacy import CountQuery, HistogramQuery, PrivateDemand, gate
from metricdp.records.engines.bounding import WHOLE
from metricdp.records.engines.opening import ENGINES, opened
from metricdp.running.contributions import contributors

_BIG = 1234567890123456789
USERS = (
    *("1.5", "2e3", "007", "5.0", "-0.0", "+5", "1_000", "1e400", "1e-400", str(_BIG), "9" * 40),
    *("nan", "inf", "null", "NULL", "None", "NA", "<NA>", "true", "True", "x", "é", "e\u0301"),
    *("\u0661\u0662", " 5 ", "\u00a05", "1,5", 'a"b', "#5", "%", "0x10", "1-2", "-5", "--", "a b"),
    *("-" + str(_BIG), "2020-01-01", "12:30", "1e5", "1E5", "\u0661", "\uff15", "+", "."),
)
"""Names that some readers take for other values; distinct stripped texts are distinct users."""
_IDS = PrecomputedMetric(1.0 - np.eye(3), ids=["a", "7", "b c"])
_BOX = EuclideanSpace([0, 0], [10, 10])
_PLANE = EuclideanMetric([[1.0, 1.0], [9.0, 1.0], [5.0, 9.0]])


class EngineTestCase:
    """Pytest class that compares an engine's counts with those of a list in memory.

    Inherit it, and define `table`.

    Examples
    --------
    >>> import pytest
    >>> pandas = pytest.importorskip("pandas")
    >>> class TestMine(EngineTestCase):
    ...     def table(self, columns):
    ...         return pandas.DataFrame(columns)
    >>> TestMine().test_one_engine_takes_it()
    """

    engine: ClassVar[str] = ""
    """Name of the class in `opening.ENGINES` that must read the table; "" for any."""
    several: ClassVar[int] = 5
    """Number of `USERS` that are added one by one."""

    def table(self, columns: dict[str, list[Any]]) -> Any:
        """A table of the engine with these columns: texts, None, or floating-point numbers."""
        raise NotImplementedError("define the table: def table(self, columns): return …")

    def demand(self, universe: Any, rows: dict[str, list[Any]], **options: Any) -> Any:
        """A demand from such a table."""
        return PrivateDemand.from_frame(universe, self.table(rows), **options)

    def rows(self) -> dict[str, list[Any]]:
        """600 rows of ids, coordinates and users."""
        rng = np.random.default_rng(3)
        ids = [str(i) for i in rng.choice(["a", "7", "b c", " a ", "7 "], 600)]
        places = rng.normal(5, 4, (2, 600)).round(3)
        users = [f"u{i}" for i in rng.integers(0, 150, 600)]
        return {"vertex": ids, "x": places[0].tolist(), "y": places[1].tolist(), "who": users}

    def test_one_engine_takes_it(self) -> None:
        """The registry finds one engine for the table, and its frame knows the columns."""
        table = self.table(self.rows())
        took = [engine.__name__ for engine in ENGINES if engine.takes(table)]
        assert took
        assert took[0].endswith(self.engine)
        assert list(opened(table).columns) == ["vertex", "x", "y", "who"]

    def test_counts_are_those_of_a_list(self) -> None:
        """Ids, snapped places and cells of a box, bit by bit."""
        rows = self.rows()
        points = np.column_stack([rows["x"], rows["y"]])
        snapped = PrivateDemand.from_coordinates(_PLANE, points)
        assert counted(self.demand(_IDS, rows)) == counted(PrivateDemand(_IDS, rows["vertex"]))
        assert counted(self.demand(_PLANE, rows, x="x", y="y")) == counted(snapped)
        there = self.demand(_BOX, rows, columns=["x", "y"])
        for query in (CountQuery(), HistogramQuery(_Cells())):
            assert exact(there, query) == exact(PrivateDemand(_BOX, points), query)

    def test_users_keep_at_most_m_rows_the_same_in_every_reading(self) -> None:
        """Each user keeps min(m, own) records; another demand has another sample."""
        rows = self.rows()
        _, of_each = np.unique(rows["who"], return_counts=True)
        for m in (1, 3):
            ids = self.demand(_IDS, rows, user="who", max_contributions=m)
            assert sum(counted(ids)) == np.minimum(of_each, m).sum()
        one, other = (self.demand(_BOX, rows, x="x", y="y", user="who") for _ in range(2))
        cells = HistogramQuery(_Cells())
        assert exact(one, cells) == exact(one, cells) != exact(other, cells)

    def test_shares_are_those_of_a_list(self) -> None:
        """Each user has one unit of weight, bit by bit, on points and in a box."""
        rows = self.rows()
        points = np.column_stack([rows["x"], rows["y"]])
        own: Any = {"user": rows["who"], "weighting": "share"}
        ids = self.demand(_IDS, rows, user="who", weighting="share")
        assert counted(ids) == counted(PrivateDemand(_IDS, rows["vertex"], **own))
        assert sum(counted(ids)) == len(set(rows["who"])) * WHOLE
        there = self.demand(_BOX, rows, columns=["x", "y"], user="who", weighting="share")
        for query in (CountQuery(), HistogramQuery(_Cells())):
            assert exact(there, query) == exact(PrivateDemand(_BOX, points, **own), query)

    def test_caps_keep_what_a_list_keeps(self) -> None:
        """The same rows under the same key, bit by bit."""
        rows = self.rows()
        for caps in (Caps(1, 2, areas=3), Caps(2, 1, areas=3), Caps(9, 9, areas=3)):
            with patch("secrets.token_hex", lambda n: "5a" * n):
                there = self.demand(_IDS, rows, user="who", caps=caps)
                here = PrivateDemand(_IDS, rows["vertex"], user=rows["who"], caps=caps)
            assert counted(there) == counted(here), caps
        assert sum(counted(there)) == 600

    def test_users_have_as_many_records_as_in_a_list(self) -> None:
        """Numbers of records per user, for the private choice of a contribution bound."""
        rows = self.rows()
        there, here = contributors(self.table(rows), "who"), contributors(rows["who"])
        assert counted(there) == counted(here) and sum(counted(here)) == len(set(rows["who"]))
        table = self.table({**rows, "who": ["48611", None, *rows["who"][2:]]})
        error = refusal(lambda: contributors(table, "who"))
        assert type(error) is InputError and "48611" not in str(error), error

    def test_users_are_as_many_as_their_texts(self) -> None:
        """No name is taken for another one, or for a number."""
        users = [*USERS, *USERS]
        demand = self.demand(_IDS, {"vertex": ["a"] * len(users), "who": users}, user="who")
        assert sum(counted(demand)) == len({user.strip() for user in USERS})

    def test_one_user_more_adds_that_user_alone(self) -> None:
        """One more user, of any name, changes no record of others."""
        others = [str(_BIG + i) for i in range(1, 40)]
        rows = {"vertex": ["a"] * 39 + ["7"] * 3}
        for user in USERS[:: -(-len(USERS) // self.several)]:
            demand = self.demand(_IDS, {**rows, "who": others + [user] * 3}, user="who")
            assert counted(demand) == [39, 1, 0], user

    def test_a_bad_row_is_refused_by_its_rule(self) -> None:
        """A bad row is refused, and the message quotes nothing of it."""
        for columns, asked in (
            ({"vertex": ["a", "48611"]}, {}),
            ({"vertex": ["a", "07"]}, {}),
            ({"vertex": ["a", None]}, {}),
            ({"vertex": ["a", "a"], "who": ["48611", None]}, {"user": "who"}),
            ({"vertex": ["a", "a"], "who": ["48611", "  "]}, {"user": "who"}),
            ({"x": [48611.0, float("nan")], "y": [1.0, 2.0]}, {"columns": ["x", "y"]}),
            ({"x": ["48611", "1_0"], "y": ["1", "2"]}, {"columns": ["x", "y"]}),
        ):
            error = refusal(lambda c=columns, a=asked: self.demand(_universe(a), c, **a))
            assert type(error) is InputError, error
            assert "at least one is not" in str(error), error
            assert "48611" not in str(error), error
            assert error.__context__ is error.__cause__ is None

    def test_a_fault_of_the_engine_is_no_bad_row(self) -> None:
        """Any other exception of the engine is reported as a fault of the engine."""
        frame = opened(self.table(self.rows()))
        for name in ("add", "by_user", "batches"):
            setattr(frame, name, _failing)
        error = refusal(lambda: _read(frame))
        assert type(error) is ReadingError, error
        assert "48611" not in str(error)


class _Cells:
    """Four quarters of the box."""

    universe = _BOX
    n_parts = 4

    def encode(self, records: NDArray[Any]) -> Ints:
        """The quarter of each record."""
        return (records[:, 0] > 5).astype(np.int64) + 2 * (records[:, 1] > 5)


def _universe(asked: dict[str, Any]) -> Any:
    return _BOX if "columns" in asked else _IDS


def _failing(*_: Any) -> Any:
    raise RuntimeError("the record 48611 is in the way")


def _read(frame: Any) -> Any:
    """A demand from an opened frame."""
    from metricdp.privacy import demand as door

    with patch.object(door, "opened", lambda *_: frame):
        return PrivateDemand.from_frame(_IDS, None, user="who")


def refusal(make: Any) -> Exception:
    """The exception that a call raises."""
    try:
        make()
    except Exception as error:
        return error
    raise AssertionError("it was not refused")


def exact(demand: Any, query: Any) -> list[int]:
    """The exact answer of the gate before noise, for synthetic records only."""
    return gate._noisy(demand, query, None).tolist()


def counted(demand: Any) -> list[int]:
    """Number of records at each point."""
    return exact(demand, HistogramQuery(LabelParts.of(demand.universe)))
