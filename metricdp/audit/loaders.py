"""Checks of how each loader reads private cells, and of what an interrupted call leaves behind."""

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from metricdp.arguments import Ints
from metricdp.audit.replay.loaders import tabled
from metricdp.audit.report import Check, Finding, refuted, weighed
from metricdp.audit.worlds import Coded
from metricdp.errors import InputError
from metricdp.metrics import EuclideanSpace, PrecomputedMetric
from metricdp.privacy import HistogramQuery, Ledger, PrivateDemand, _vault, measure
from metricdp.records.engines.sources import total

_BIG = 1234567890123456789
LOADERS = ("CSV", "TSV", "pandas", "pandas, objects", "Polars", "Arrow", "Parquet")
SLOW = ("Polars, lazy", "DuckDB")
CELLS: tuple[str, ...] = ("1.5", "2e3", "007", "5.0", " 5 ", "1e400")
CELLS += ("nan", "NULL", "\u0661", 'a"b', '"', "x", "-0.0")
"""Names of users that some readers take for something else than text."""
OTHERS = tuple(str(_BIG + i) for i in range(30))
_CANARY = 48611.25
CHECK = "neighbors"


def loader_checks() -> Iterator[Check]:
    """All checks."""
    yield Check.of("one user more, through every loader", True, _one_more)
    yield Check.of("a line is a record", True, _lines)
    yield Check.of("an interrupted call hands out nothing", True, _interrupted)
    yield Check.of("what is spilled to disk", True, _spilled)


def _kept(table: Any) -> Ints:
    """Number of records in the vault at each of three points."""
    universe = PrecomputedMetric(1.0 - np.eye(3), ids=["a", "b", "c"])
    demand = PrivateDemand.from_frame(universe, table, user="who")
    return total(_vault._open(demand), lambda block: np.bincount(block, minlength=3))


def _one_more(name: str, quick: bool) -> Finding:
    """One more user, of any name, changes no record of others."""
    worst = 0
    ran = []
    rows = {"vertex": ["abc"[i % 3] for i in range(len(OTHERS))], "who": list(OTHERS)}
    with tempfile.TemporaryDirectory() as folder:
        for loader in (*LOADERS, *SLOW):
            with suppress(ImportError):
                before = _kept(tabled(loader, rows, Path(folder)))
                ran.append(loader)
                for cell in CELLS[::6] if loader in SLOW else CELLS:
                    more = {"vertex": [*rows["vertex"], "b"], "who": [*rows["who"], cell]}
                    change = np.abs(_kept(tabled(loader, more, Path(folder))) - before).sum()
                    worst = max(worst, int(change))
    found = f"{worst} differ; {len(CELLS)} cells, by {', '.join(ran)}"
    return weighed(name, "one record differs", found, CHECK, worst)


def _lines(name: str, quick: bool) -> Finding:
    """A record with an open quote is refused, and does not swallow other records."""
    swallowed = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        between = "".join(f"a,{i}\n" for i in range(20))
        for rows in (f'a,"x\n{between}b",y\n', f'"a,x\n{between}b",y\n', f'a,"x\n{between}b"\n'):
            path.write_text(f"vertex,who\nc,z\n{rows}", encoding="utf-8")
            try:
                swallowed = max(swallowed, 23 - int(_kept(path).sum()))
            except InputError:
                continue
    found = f"{swallowed} records swallowed"
    return refuted(name, "refused, or all are read", found, CHECK, swallowed > 0)


def _stopping(records: Any) -> Any:
    """Raise as Ctrl-C does, while it holds records."""
    kept = records.copy()
    if len(kept):
        raise KeyboardInterrupt
    return np.zeros(0, np.int64)


def _interrupted(name: str, quick: bool) -> Finding:
    """No record is reachable from the exception that the caller gets."""
    box = EuclideanSpace([0], [1e5])
    demand = PrivateDemand(box, [[_CANARY]])
    found = "nothing"
    kind = ""
    try:
        measure(demand, HistogramQuery(Coded(box, _stopping)), 1, Ledger(1).charge(1))
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
    return refuted(name, "a bare KeyboardInterrupt", f"{kind}, and {found}", CHECK, bad)


def _spilled(name: str, quick: bool) -> Finding:
    """The folder is new, private, outside the working directory, and removed."""
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
    claim, found = "in a fresh folder (0700), which goes", ", ".join(problems) or "so it is"
    return refuted(name, claim, found, CHECK, bool(problems))
