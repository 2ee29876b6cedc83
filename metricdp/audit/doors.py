"""Where records come in and go on inside the gate, held to exact laws: frames, files, engines that
bound users by SQL, counts in place of records, thinning, maps, and pages of several releases.

Users are sampled by a key on an engine, so the key is fixed: what is kept is then a function of
each user's rows, and the law must hold for every key. Cases of an engine that is not installed are
left out.
"""

from __future__ import annotations

import itertools
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.audit.exact import Case, Chance
from metricdp.audit.patch import patched
from metricdp.audit.worlds import RELATIONS, Demand, UnitCells, World, demands, finest, worlds

EPSILON = Fraction(7, 10)
LARGE = Fraction(5)
HALF = 0.5
"""Share of a thinned demand."""


def door_cases() -> Iterator[tuple[Case, bool]]:
    """(case, in the short form)."""
    yield from _put_in()
    yield from _in_file()
    yield from _tallied()
    yield from _thinned()
    yield from _mapped()
    yield from _explored()


def _counts(demand: Any, ledger: Any) -> Any:
    from metricdp.privacy import HistogramQuery, measure

    universe = demand.universe
    cells = finest(universe) if hasattr(universe, "ids") else UnitCells(universe)
    return measure(demand, HistogramQuery(cells), EPSILON, ledger.charge(EPSILON))


# Frames and files

_FIXED = {
    name: Chance(lambda demand: [()], lambda _, n_bytes, byte=byte: bytes([byte]) * n_bytes)  # type: ignore[misc]
    for name, byte in (("one key", 7), ("another key", 201))
}


def _put_in() -> Iterator[tuple[Case, bool]]:
    every = worlds()
    line = every["a line"]
    box = every["a box"]
    for kind, engine, world, hold in (
        ("from_frame, a data frame", "pandas", line, partial(_framed, "pandas")),
        ("from_frame, coordinates", "pandas", line, partial(_framed, "coordinates")),
        ("from_frame, points", "pandas", box, partial(_framed, "coordinates")),
        ("from_frame, a CSV file", "pandas", line, _filed),
        ("from_frame, Polars", "polars", line, partial(_framed, "polars")),
        ("from_frame, Polars, points", "polars", box, partial(_framed, "polars coordinates")),
        ("from_frame, DuckDB", "duckdb", line, partial(_framed, "duckdb")),
        ("from_frame, DuckDB, points", "duckdb", box, partial(_framed, "duckdb coordinates")),
    ):
        for relation in RELATIONS:
            yield (
                Case(kind, world, _counts, demands(3, 2), relation, hold=hold, reach=0.5),
                relation == "replace-one" and hold is _filed,
            )
            sql = engine in ("duckdb", "polars")
            some = [d for d in demands(3, 2, 3) if sum(map(len, d)) <= 3]
            for key, chance in _FIXED.items() if sql else [("", None)]:
                name = f"{kind}, {key}" if sql else kind
                yield (
                    Case(
                        name,
                        world,
                        _counts,
                        some,
                        relation,
                        2,
                        hold=hold,
                        chance=chance,
                        reach=0.3,
                    ),
                    kind in ("from_frame, a data frame", "from_frame, DuckDB")
                    and relation == "add-remove"
                    and key != "another key",
                )


def _table(kind: str, records: Sequence[Any], users: Any) -> tuple[Any, dict[str, Any]]:
    """A table of records, and the arguments that name its columns."""
    import pandas as pd

    if "coordinates" in kind:
        points = [
            r if isinstance(r, list) else [dict(zip("xyz", (0.0, 1.0, 2.5)))[r]] for r in records
        ]
        columns: dict[str, Any] = {"across": np.array([p[0] for p in points], dtype=float)}
        named: dict[str, Any] = {"columns": ["across"]}
    else:
        columns = {"vertex": pd.array(list(records), dtype="object")}
        named = {}
    if users is not None:
        columns["who"] = np.array(_names(records, users), dtype=object)
        named["user"] = "who"
    return pd.DataFrame(columns), named


def _names(records: Sequence[Any], users: Sequence[int]) -> list[str]:
    """A name for each record's user that says what they have, and which of those who have just that
    they are: whoever is in two neighbors has one name in both.
    """
    held = {u: str([r for r, v in zip(records, users) if u == v]) for u in users}
    order = list(held)
    twins = {u: sum(held[v] == held[u] for v in order[: order.index(u)]) for u in order}
    return [f"{held[u]} {twins[u]}" for u in users]


def _framed(kind: str, universe: Any, records: Sequence[Any], users: Any, m: int | None) -> Any:
    from metricdp.privacy import PrivateDemand

    table, named = _table(kind, records, users)
    if kind.startswith("duckdb"):
        import duckdb

        link = duckdb.connect()
        if not len(table):  # a column of no texts has no type
            table = table.astype({c: str for c in table if table[c].dtype == object})
        link.register("visits", table)
        table = link.sql("SELECT * FROM visits")
    if kind.startswith("polars"):
        import polars as pl

        table = pl.LazyFrame({name: table[name].tolist() for name in table}, schema=_typed(table))
    return PrivateDemand.from_frame(universe, table, max_contributions=m, **named)


def _typed(table: Any) -> dict[str, Any]:
    """Types of a table's columns, for Polars: texts, or numbers."""
    import polars as pl

    return {name: pl.Float64 if table[name].dtype.kind == "f" else pl.String for name in table}


def _filed(universe: Any, records: Sequence[Any], users: Any, m: int | None) -> Any:
    from metricdp.privacy import PrivateDemand

    table, named = _table("", records, users)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "visits.csv"
        table.to_csv(path, index=False)
        return PrivateDemand.from_frame(universe, str(path), max_contributions=m, **named)


def _stored(universe: Any, records: Sequence[Any], users: Any, m: int | None) -> Any:
    """Points in a file of NumPy."""
    from metricdp.privacy import PrivateDemand

    folder = tempfile.mkdtemp()
    path = Path(folder) / "points.npy"
    np.save(path, np.asarray(records, dtype=float).reshape(-1, 1))
    demand = PrivateDemand.from_frame(universe, str(path))
    weakref.finalize(demand, shutil.rmtree, folder, ignore_errors=True)  # it is read when asked
    return demand


def _in_file() -> Iterator[tuple[Case, bool]]:
    for relation in RELATIONS:
        yield (
            Case(
                "from_frame, an .npy file",
                worlds()["a box"],
                _counts,
                demands(3, 2),
                relation,
                hold=_stored,
                reach=0.5,
            ),
            relation == "add-remove",
        )


# Counts in place of records


def _as_tally(universe: Any, records: Sequence[Any], users: Any, m: int | None) -> Any:
    """Records as an engine hands them over: how many at each point."""
    from metricdp.privacy import PrivateDemand
    from metricdp.records.engines import Tally

    positions = np.array([list(universe.ids).index(r) for r in records], dtype=np.int64)
    tally = Tally(positions, np.ones(len(positions), dtype=np.int64))
    return PrivateDemand(universe, [])._restricted(tally, universe)


def _tallied() -> Iterator[tuple[Case, bool]]:
    import metricdp as mdp
    from metricdp.privacy import CostQuery, CountQuery, SwapQuery, measure, select, split

    def count(demand: Any, ledger: Any) -> Any:
        return measure(demand, CountQuery(), EPSILON, ledger.charge(EPSILON))

    def cost(demand: Any, ledger: Any) -> Any:
        return select(demand, CostQuery(demand.universe), LARGE, ledger.charge(LARGE))

    def swap(demand: Any, ledger: Any) -> Any:
        query = SwapQuery(demand.universe, [demand.universe.ids[1]])
        return select(demand, query, LARGE, ledger.charge(LARGE))

    def parts(demand: Any, ledger: Any) -> Any:
        halves = split(demand, finest(demand.universe), EPSILON, ledger)
        return [measure(part, CountQuery(), EPSILON, grant) for part, grant in halves]

    def method(name: str, demand: Any, ledger: Any) -> Any:
        return mdp.k_median(demand.universe, demand, 2, epsilon=EPSILON, ledger=ledger, method=name)

    calls: dict[str, tuple[Callable[..., Any], Fraction, float]] = {
        "HistogramQuery": (_counts, EPSILON, 0.5),
        "CountQuery": (count, EPSILON, 0.0),
        "CostQuery": (cost, LARGE, 0.2),
        "SwapQuery": (swap, LARGE, 0.05),
        "split, counts": (parts, EPSILON, 0.3),
        "k_median, partition": (partial(method, "partition"), EPSILON, 0.3),
        "k_median, max-coverage": (partial(method, "max-coverage"), EPSILON, 0.0),
    }
    world = worlds()["a path"]
    for kind, (call, _, reach) in calls.items():
        for relation in RELATIONS:
            some = demands(4, 2 if not kind.startswith("k_median") else 1)
            yield (
                Case(
                    f"a tally, {kind}",
                    world,
                    call,
                    some,
                    relation,
                    None,
                    (5, 0),
                    reach,
                    hold=_as_tally,
                ),
                relation == "add-remove" and kind in ("HistogramQuery", "CostQuery"),
            )


# Thinning


def _tossed(demand: Demand) -> list[tuple[int, ...]]:
    """A coin for each record."""
    return list(itertools.product((0, 1), repeat=sum(map(len, demand))))


def _coin_bytes(order: tuple[int, ...], n_bytes: int) -> bytes:
    """As 32-bit numbers, small where a record stays."""
    coins = np.resize(
        np.array([0 if kept else 2**32 - 1 for kept in order] or [0], np.uint32), n_bytes // 4
    )
    return coins.tobytes()


class _Binomial:
    """A generator whose binomials count the scripted coins of each point's records in turn."""

    def __init__(self, entropy: Any) -> None:
        self._coins = iter(np.asarray(entropy) == 0)

    def binomial(self, counts: NDArray[np.int64], share: float) -> NDArray[np.int64]:
        """How many of each count stay, at a share of a half."""
        if share != HALF:
            raise AssertionError("coins are fair here")
        return np.array([sum(next(self._coins) for _ in range(c)) for c in counts], dtype=np.int64)


def _thinned() -> Iterator[tuple[Case, bool]]:
    from metricdp.privacy import thinned

    def sample(demand: Any, ledger: Any) -> Any:
        with patched(np.random, "default_rng", _Binomial):
            fewer = thinned(demand, HALF)
        return _counts(fewer, ledger)

    chance = Chance(_tossed, _coin_bytes)
    line = worlds()["a line"]
    box = worlds()["a box"]
    holds: tuple[tuple[str, World, Any], ...] = (
        ("thinned", box, None),
        ("thinned tally", line, _as_tally),
    )
    for name, world, hold in holds:
        for relation in RELATIONS:
            # a sample of half tells at most ln((1 + exp(epsilon)) / 2) of epsilon
            yield (
                Case(
                    name,
                    world,
                    sample,
                    demands(3, 2),
                    relation,
                    hold=hold,
                    chance=chance,
                    reach=0.2,
                ),
                True,
            )


# Maps and pages


class _Halved:
    """A public map: the box at half its size."""

    def __init__(self, universe: Any) -> None:
        self.universe = universe

    def encode(self, records: NDArray[Any]) -> NDArray[Any]:
        """Half of each point."""
        return records / 2


def _mapped() -> Iterator[tuple[Case, bool]]:
    import metricdp as mdp
    from metricdp.privacy import mapped

    smaller = mdp.EuclideanSpace([0.0], [1.2])

    def elsewhere(demand: Any, ledger: Any) -> Any:
        return _counts(mapped(demand, _Halved(demand.universe), smaller), ledger)

    world = worlds()["a box"]
    for relation in RELATIONS:
        for m in (None, 2):
            some = (
                demands(3, 2)
                if m is None
                else [d for d in demands(3, 2, 2) if sum(map(len, d)) <= 3]
            )
            yield (
                Case("mapped, counts", world, elsewhere, some, relation, m, reach=0.3),
                m is None,
            )


def _explored() -> Iterator[tuple[Case, bool]]:
    import metricdp as mdp

    def levels(demand: Any, ledger: Any) -> Any:
        found = mdp.explore(demand.universe, demand, ["1/5", "1/2"], 1, ledger=ledger, repeats=0)
        return [found.to_dict(), found.receipt, [level.result for level in found.levels]]

    for relation in RELATIONS:
        yield (
            Case(
                "explore",
                worlds()["two points"],
                levels,
                demands(2, 1),
                relation,
                reach=0.5,
                limit=20,
            ),
            relation == "add-remove",
        )
