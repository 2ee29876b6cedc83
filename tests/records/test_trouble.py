"""What goes wrong while records are in hand: distinguished, told without them, and nothing left
behind.
"""

import errno
import os
import stat
import subprocess
import sys
import traceback
from pathlib import Path

import numpy as np
import pytest

from metricdp.errors import InputError, ReadingError, ResourceError
from metricdp.metrics import EuclideanSpace, PrecomputedMetric
from metricdp.privacy import CountQuery, HistogramQuery, Ledger, PrivateDemand, measure
from metricdp.records import trouble
from metricdp.records.engines import embedded, spilling
from tests import cases, raising, refuses

pd, pa = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
duckdb = pytest.importorskip("duckdb")
CANARY = 48611.25
BOX = EuclideanSpace([0], [1e5])
THREE = PrecomputedMetric(1.0 - np.eye(3), ids=list("abc"))


class Failing:
    """A partition that ends in some way on records."""

    universe, n_parts = BOX, 1

    def __init__(self, error):
        self.error = error

    def encode(self, records):
        seen = records.copy()  # what the frame below holds
        if len(seen):
            raise self.error
        return np.zeros(0, np.int64)


WAYS = [
    (KeyboardInterrupt(str(CANARY)), KeyboardInterrupt),
    (SystemExit(CANARY), SystemExit),
    (MemoryError(str(CANARY)), ResourceError),
    (OSError(errno.ENOSPC, f"disk full at {CANARY}"), ResourceError),
    (OSError(errno.EACCES, str(CANARY)), InputError),
    (ValueError(str(CANARY)), InputError),
]


@cases(
    ("name", "expected"),
    ("InterruptException", trouble.Trouble.INTERRUPTED),
    ("OutOfMemoryException", trouble.Trouble.RESOURCES),
    ("ArrowMemoryError", trouble.Trouble.RESOURCES),
    ("Exception", trouble.Trouble.FAULT),
)
def test_exceptions_of_libraries_go_by_their_names(name, expected):
    base = type(name, (Exception,), {})
    assert trouble.kind(base()) == trouble.kind(type("Derived", (base,), {})()) == expected


def test_programs_end_as_failed():
    assert refuses("", trouble.raised, trouble.Trouble.ENDED, error=SystemExit).code == 1
    assert trouble.to_error(trouble.Ended(trouble.Trouble.ENDED), "").code == 1


def held(error):
    """Everything that a debugger or a crash report finds from an exception on."""
    found = "".join(traceback.format_exception(error))
    at = error.__traceback__
    while at is not None:
        if "metricdp" in at.tb_frame.f_code.co_filename:
            found += repr(list(at.tb_frame.f_locals.values()))
        at = at.tb_next
    return found


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(("error", "reported"), WAYS, ids=lambda w: getattr(w, "__name__", ""))
def test_nothing_leads_from_an_exception_to_a_record(
    error, reported, streamed, tmp_path, monkeypatch
):
    if streamed:
        monkeypatch.setattr(embedded, "AT_ONCE", -1)
        (tmp_path / "rows.csv").write_text(f"x\n{CANARY}\n")
        demand = PrivateDemand.from_frame(BOX, tmp_path / "rows.csv", columns=["x"])
    else:
        demand = PrivateDemand(BOX, [[CANARY]])
    budget = Ledger(1).charge(1)
    with pytest.raises(BaseException) as caught:
        measure(demand, HistogramQuery(Failing(error)), 1, budget)
    assert type(caught.value) is reported
    assert caught.value.__context__ is caught.value.__cause__ is None
    assert str(CANARY) not in held(caught.value)
    assert caught.value is not error


def test_a_second_interruption_while_the_first_is_reported_changes_nothing(monkeypatch):
    monkeypatch.setattr(trouble, "kind", raising(KeyboardInterrupt))
    assert trouble.attempt(lambda: 1 / 0) == trouble.Ended(trouble.Trouble.INTERRUPTED)


@pytest.mark.parametrize("error", [RuntimeError(str(CANARY)), duckdb.Error(str(CANARY))])
def test_a_fault_of_an_engine_is_no_bad_record(error, monkeypatch, tmp_path):
    from metricdp.records.engines.tables import Relation

    def broken(self, names):
        yield from ()
        raise error

    table = duckdb.connect().from_arrow(pa.table({"vertex": ["a"], "user": [CANARY]}))
    for options in ({}, {"user": "user"}):
        monkeypatch.setattr(Relation, "batches", broken)
        with pytest.raises(ReadingError, match="not for a record that breaks a rule") as caught:
            PrivateDemand.from_frame(THREE, table, **options)
        assert str(CANARY) not in "".join(traceback.format_exception(caught.value))
        monkeypatch.undo()
        with pytest.raises(InputError, match="at least one is not"):
            PrivateDemand.from_frame(THREE, table, node="user", **options)


def test_what_is_spilled_is_private_and_goes(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(spilling.tempfile, "tempdir", None)
    monkeypatch.chdir(tmp_path)
    seen = []
    for fails in (False, True):
        try:
            with spilling.connected() as connection:
                [(folder,)] = connection.sql("SELECT current_setting('temp_directory')").fetchall()
                seen.append(Path(folder))
                assert stat.S_IMODE(Path(folder).stat().st_mode) == 0o700
                assert Path(folder).stat().st_uid == os.getuid()
                if fails:
                    connection.sql("SELECT error('stop')").fetchall()
        except duckdb.Error:
            assert fails
    assert len(set(seen)) == 2
    assert not any(folder.exists() for folder in seen)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["tmp"]


SPILLS = """
import os, signal, sys
import numpy as np, pyarrow as pa, duckdb
from metricdp.records.engines import frames, spilling
from metricdp.privacy import PrivateDemand
from metricdp.metrics import EuclideanSpace
spilling.MEMORY = "30MB"
n = 400_000
rows = pa.table({"x": np.arange(n) / 7.0, "who": np.arange(n) // 3})
from pathlib import Path
import tempfile
def watch():
    seen = set()
    for folder in Path(tempfile.gettempdir()).glob("metricdp-spill-*"):
        seen |= {p.name for p in folder.rglob("*")}
    return seen
inner, seen = frames.whole_users, set()
def watched(batches):
    for block in inner(batches):
        seen.update(watch())
        if sys.argv[1] == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        yield block
frames.whole_users = watched
import pyarrow.dataset as ds
PrivateDemand.from_frame(EuclideanSpace([0], [1e6]), ds.dataset(rows), columns=["x"], user="who")
print(len(seen - {"lock"}))
"""


def test_a_killed_process_leaves_nothing_to_the_next_one(tmp_path):
    places = {**os.environ, "TMPDIR": str(tmp_path / "tmp"), "PYTHONPATH": str(Path.cwd())}
    (tmp_path / "tmp").mkdir()
    (tmp_path / "here").mkdir()
    for way in ("killed", "lives"):
        call, where = [sys.executable, "-c", SPILLS, way], {"cwd": tmp_path / "here", "env": places}
        done = subprocess.run(call, capture_output=True, text=True, check=False, **where)
        left = list((tmp_path / "tmp").glob("metricdp-spill-*"))
        assert bool(left) == (way == "killed"), done.stderr
    assert int(done.stdout) > 0, "nothing was spilled"
    assert not list((tmp_path / "here").iterdir())


def test_a_mistake_of_the_caller_s_own_iterable_is_no_traceback_to_records():
    def users():
        yield CANARY
        raise RuntimeError(str(CANARY))

    assert refuses("", lambda: PrivateDemand(THREE, ["a"], user=users())).__context__ is None
    assert measure(PrivateDemand(THREE, ["a"]), CountQuery(), 1, Ledger(1).charge(1))


@cases(
    ("name", "content"),
    ("rows.csv", f"x,x\n{CANARY},1\n"),
    ("rows.csv", f'x,"y\n{CANARY},1\n'),
    ("rows.csv", f"x,\0y\n{CANARY},1\n"),
    ("*.csv", f"y\n{CANARY}\n"),
    ("rows.geojson", f'{{"features": [{{"properties": {{"x": {CANARY}}}}}, }}'),
    ("rows.geojson", f'{{"features": [{{"properties": {{"x": {CANARY}, "y": 1e{9**20}}}}}]}}'),
    ("rows.geojson", f'{{"features": {{"x": {CANARY}}}}}'),
    ("rows.geojson", f'{{"features": [{{"properties": {{"x": {CANARY}}}}}], "crs": 1}}'),
)
@pytest.mark.parametrize("engine", ["embedded", "dask"])
def test_nothing_leads_from_a_file_that_is_refused_to_its_rows(tmp_path, name, content, engine):
    if engine == "dask":
        pytest.importorskip("dask.dataframe")
    (tmp_path / "a.csv").write_text(f"x\n{CANARY}\n")
    (tmp_path / name.replace("*", "b")).write_text(content)
    path = str(tmp_path / name)
    caught = refuses("", PrivateDemand.from_frame, BOX, path, columns=["x"], engine=engine)
    assert caught.__context__ is caught.__cause__ is None
    assert str(CANARY) not in held(caught)


@pytest.mark.filterwarnings("error")
def test_numpy_warns_of_no_record():
    """Casts that overflow: of ids in 16 bits always, of coordinates if one record is large."""
    PrivateDemand(PrecomputedMetric(1.0 - np.eye(3)), np.array([1, 2], np.float16))
    refuses("finite numbers", PrivateDemand, BOX, np.full((1, 1), 2.0, np.longdouble) ** 5000)
    refuses("finite numbers", lambda: PrivateDemand(BOX, np.array([[5]], "M8[ns]")))
