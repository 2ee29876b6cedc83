"""What every engine must do, as a class of tests to inherit."""

from __future__ import annotations

from typing import Any, ClassVar
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from metricdp.arrays import Ints
from metricdp.errors import InputError, ReadingError
from metricdp.methods.caps import Caps
from metricdp.metrics import EuclideanMetric, EuclideanSpace, PrecomputedMetric
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
"""Texts that readers mistake: as many users as stripped texts."""
_IDS = PrecomputedMetric(1.0 - np.eye(3), ids=["a", "7", "b c"])
_BOX = EuclideanSpace([0, 0], [10, 10])
_PLANE = EuclideanMetric([[1.0, 1.0], [9.0, 1.0], [5.0, 9.0]])


class EngineTestCase:
    """Tests that an engine counts as a list in memory does, for pytest.

    Inherit it, and give `table`.

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
    """The class of `opening.ENGINES` that is to take the table; "" for any."""
    several: ClassVar[int] = 5
    """How many of `USERS` are added alone, one by one."""

    def table(self, columns: dict[str, list[Any]]) -> Any:
        """A table of the engine with these columns: texts, None, or floating-point numbers."""
        raise NotImplementedError("give a table: def table(self, columns): return …")

    def demand(self, universe: Any, rows: dict[str, list[Any]], **options: Any) -> Any:
        """A demand of such a table."""
        return PrivateDemand.from_frame(universe, self.table(rows), **options)

    def rows(self) -> dict[str, list[Any]]:
        """Some rows: ids, places and users."""
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
        """As many as they have, up to m; and another sample for another demand."""
        rows = self.rows()
        _, of_each = np.unique(rows["who"], return_counts=True)
        for m in (1, 3):
            ids = self.demand(_IDS, rows, user="who", max_contributions=m)
            assert sum(counted(ids)) == np.minimum(of_each, m).sum()
        one, other = (self.demand(_BOX, rows, x="x", y="y", user="who") for _ in range(2))
        cells = HistogramQuery(_Cells())
        assert exact(one, cells) == exact(one, cells) != exact(other, cells)

    def test_shares_are_those_of_a_list(self) -> None:
        """One unit of weight a user, bit by bit, on points and in a box."""
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
        """Users by their number of records, for a private choice of how many to keep."""
        rows = self.rows()
        there, here = contributors(self.table(rows), "who"), contributors(rows["who"])
        assert counted(there) == counted(here) and sum(counted(here)) == len(set(rows["who"]))
        table = self.table({**rows, "who": ["48611", None, *rows["who"][2:]]})
        said = refusal(lambda: contributors(table, "who"))
        assert type(said) is InputError and "48611" not in str(said), said

    def test_users_are_as_many_as_their_texts(self) -> None:
        """No text is taken for another one, or for a number."""
        users = [*USERS, *USERS]
        demand = self.demand(_IDS, {"vertex": ["a"] * len(users), "who": users}, user="who")
        assert sum(counted(demand)) == len({user.strip() for user in USERS})

    def test_one_user_more_adds_that_user_alone(self) -> None:
        """Whatever the user is called."""
        others = [str(_BIG + i) for i in range(1, 40)]
        rows = {"vertex": ["a"] * 39 + ["7"] * 3}
        for user in USERS[:: -(-len(USERS) // self.several)]:
            demand = self.demand(_IDS, {**rows, "who": others + [user] * 3}, user="who")
            assert counted(demand) == [39, 1, 0], user

    def test_a_bad_row_is_refused_by_its_rule(self) -> None:
        """And nothing of it is said."""
        for columns, asked in (
            ({"vertex": ["a", "48611"]}, {}),
            ({"vertex": ["a", "07"]}, {}),
            ({"vertex": ["a", None]}, {}),
            ({"vertex": ["a", "a"], "who": ["48611", None]}, {"user": "who"}),
            ({"vertex": ["a", "a"], "who": ["48611", "  "]}, {"user": "who"}),
            ({"x": [48611.0, float("nan")], "y": [1.0, 2.0]}, {"columns": ["x", "y"]}),
            ({"x": ["48611", "1_0"], "y": ["1", "2"]}, {"columns": ["x", "y"]}),
        ):
            said = refusal(lambda c=columns, a=asked: self.demand(_universe(a), c, **a))
            assert type(said) is InputError, said
            assert "at least one is not" in str(said), said
            assert "48611" not in str(said), said
            assert said.__context__ is said.__cause__ is None

    def test_a_fault_of_the_engine_is_no_bad_row(self) -> None:
        """What the engine raises, whatever it is, is reported as its fault."""
        frame = opened(self.table(self.rows()))
        for name in ("add", "by_user", "batches"):
            setattr(frame, name, _failing)
        said = refusal(lambda: _read(frame))
        assert type(said) is ReadingError, said
        assert "48611" not in str(said)


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
    """A demand of a frame that was opened already."""
    from metricdp.privacy import demand as door

    with patch.object(door, "opened", lambda *_: frame):
        return PrivateDemand.from_frame(_IDS, None, user="who")


def refusal(make: Any) -> Exception:
    """What a call raises."""
    try:
        make()
    except Exception as error:
        return error
    raise AssertionError("it was not refused")


def exact(demand: Any, query: Any) -> list[int]:
    """The exact answer, as the gate computes it before it adds noise: of made-up records alone."""
    return gate._noisy(demand, query, None).tolist()


def counted(demand: Any) -> list[int]:
    """Records at each point."""
    n = len(demand.universe)

    class Finest:
        universe = demand.universe
        n_parts = n

        def encode(self, records: NDArray[Any]) -> NDArray[Any]:
            return records

    return exact(demand, HistogramQuery(Finest()))
