"""How private cells are read through every loader, and what an interrupted call leaves."""

from __future__ import annotations

import math
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from metricdp.audit.report import Finding, weighed
from metricdp.errors import InputError
from metricdp.metrics import EuclideanSpace, PrecomputedMetric
from metricdp.privacy import HistogramQuery, Ledger, PrivateDemand, _vault, measure
from metricdp.records.engines import total

_BIG = 1234567890123456789
CELLS = (
    "1.5",
    "2e3",
    "007",
    "5.0",
    " 5 ",
    "1e400",
    "nan",
    "NULL",
    "\u0661",
    'a"b',
    '"',
    "x",
    "-0.0",
)
"""Users that readers have taken for something else than text."""
OTHERS = tuple(str(_BIG + i) for i in range(30))
_CANARY = 48611.25


def loader_checks() -> Iterator[tuple[str, bool, Callable[[bool], Finding]]]:
    """(name, in the short form, check)."""
    yield "one user more, through every loader", True, _one_more
    yield "a line is a record", True, _lines
    yield "an interrupted call hands out nothing", True, _interrupted
    yield "what is spilled to disk", True, _spilled


def loaders() -> dict[str, tuple[str, Callable[[Path, dict[str, list[str]]], Any]]]:
    """Name to the libraries that it needs and a maker of tables."""
    return {
        "CSV": ("", lambda folder, c: _csv(folder, c, "rows.csv", ",")),
        "TSV": ("", lambda folder, c: _csv(folder, c, "rows.tsv", "\t")),
        "pandas": ("pandas", lambda _, c: __import__("pandas").DataFrame(c)),
        "pandas, objects": ("pandas", lambda _, c: __import__("pandas").DataFrame(c, dtype=object)),
        "Polars": ("polars", lambda _, c: __import__("polars").DataFrame(c)),
        "Polars, lazy": ("polars duckdb", lambda _, c: __import__("polars").LazyFrame(c)),
        "Arrow": ("pyarrow", lambda _, c: __import__("pyarrow").table(c)),
        "Parquet": ("pyarrow", _parquet),
        "DuckDB": ("duckdb pyarrow", _relation),
    }


def _csv(folder: Path, columns: dict[str, list[str]], name: str, delimiter: str) -> Path:
    def quoted(cell: str) -> str:
        return '"' + cell.replace('"', '""') + '"' if delimiter in cell or '"' in cell else cell

    rows = [columns, *zip(*columns.values())]
    text = "\n".join(delimiter.join(map(quoted, row)) for row in rows) + "\n"
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def _parquet(folder: Path, columns: dict[str, list[str]]) -> Path:
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table(columns), folder / "rows.parquet")
    return folder / "rows.parquet"


def _relation(_: Path, columns: dict[str, list[str]]) -> Any:
    import duckdb
    import pyarrow as pa

    return duckdb.connect().from_arrow(pa.table(columns))


def _kept(table: Any) -> np.ndarray:
    """Records at each of three points: what the vault holds."""
    universe = PrecomputedMetric(1.0 - np.eye(3), ids=["a", "b", "c"])
    demand = PrivateDemand.from_frame(universe, table, user="who")
    return total(_vault._open(demand), lambda block: np.bincount(block, minlength=3))


def _one_more(quick: bool) -> Finding:
    """All others keep theirs, whatever the user is called."""
    worst = 0
    ran = []
    rows = {"vertex": ["abc"[i % 3] for i in range(len(OTHERS))], "who": list(OTHERS)}
    with tempfile.TemporaryDirectory() as name:
        for loader, (needs, make) in loaders().items():
            if any(find_spec(library) is None for library in needs.split()):
                continue
            slow = "duckdb" in needs
            before = _kept(make(Path(name), rows))
            for cell in CELLS[::6] if slow else CELLS:
                more = {"vertex": [*rows["vertex"], "b"], "who": [*rows["who"], cell]}
                change = np.abs(_kept(make(Path(name), more)) - before).sum()
                worst = max(worst, int(change))
            ran.append(loader)
    return _finding(
        "one user more, through every loader",
        "one record differs",
        f"{worst} differ; {len(CELLS)} cells, by {', '.join(ran)}",
        worst,
    )


def _lines(quick: bool) -> Finding:
    """A quote that one record leaves open is refused, and swallows no other record."""
    swallowed = 0
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "rows.csv"
        between = "".join(f"a,{i}\n" for i in range(20))
        for rows in (f'a,"x\n{between}b",y\n', f'"a,x\n{between}b",y\n', f'a,"x\n{between}b"\n'):
            path.write_text(f"vertex,who\nc,z\n{rows}", encoding="utf-8")
            try:
                swallowed = max(swallowed, 23 - int(_kept(path).sum()))
            except InputError:
                continue
    return _finding(
        "a line is a record",
        "refused, or all are read",
        f"{swallowed} records swallowed",
        swallowed,
        allowed=0,
    )


class _Stopping:
    """A partition that is interrupted while it holds records."""

    n_parts = 1

    def __init__(self, universe: Any) -> None:
        self.universe = universe

    def encode(self, records: Any) -> Any:
        """Ends as Ctrl-C does."""
        kept = records.copy()
        if len(kept):
            raise KeyboardInterrupt
        return np.zeros(0, np.int64)


def _interrupted(quick: bool) -> Finding:
    """From the exception that the caller gets, no record can be reached."""
    box = EuclideanSpace([0], [1e5])
    demand = PrivateDemand(box, [[_CANARY]])
    found = "nothing"
    kind = ""
    try:
        measure(demand, HistogramQuery(_Stopping(box)), 1, Ledger(1).charge(1))
    except BaseException as error:
        kind = type(error).__name__
        at = error.__traceback__
        chained = error.__context__ is not None or error.__cause__ is not None
        while at is not None:
            held = [v for v in at.tb_frame.f_locals.values() if isinstance(v, np.ndarray)]
            if chained or any((array == _CANARY).any() for array in held if array.dtype == float):
                found = f"records, by {at.tb_frame.f_code.co_name}"
            at = at.tb_next
    bad = found != "nothing" or kind != "KeyboardInterrupt"
    return _finding(
        "an interrupted call hands out nothing",
        "a bare KeyboardInterrupt",
        f"{kind}, and {found}",
        int(bad),
        allowed=0,
    )


def _spilled(quick: bool) -> Finding:
    """The folder is fresh, for this user alone, outside the working directory, and goes."""
    from metricdp.records.engines import spilling

    problems = []
    with spilling.connected() as connection:
        [(folder,)] = connection.sql("SELECT current_setting('temp_directory')").fetchall()
        path = Path(folder)
        if not path.is_dir() or list(path.glob("*.tmp")):
            problems.append("not a fresh folder")
        elif os.name == "posix" and stat.S_IMODE(path.stat().st_mode) != 0o700:
            problems.append("readable by others")
        if path.resolve().parent == Path.cwd():
            problems.append("in the working directory")
    if path.exists():
        problems.append("left behind")
    return _finding(
        "what is spilled to disk",
        "in a fresh folder (0700), which goes",
        ", ".join(problems) or "so it is",
        len(problems),
        allowed=0,
    )


def _finding(name: str, claim: str, found: str, worst: int, allowed: int = 1) -> Finding:
    share = worst / allowed if allowed else (math.inf if worst else 0.0)
    return weighed(name, claim, found, "neighbors", share)


__all__ = ["CELLS", "loader_checks", "loaders"]
