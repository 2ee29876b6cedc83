"""Streams that are cut short at every line of a step, and what the next process finds."""

import gc
import shutil
import subprocess
import sys

import metricdp as mdp
from metricdp import atomic
from metricdp.accounting import journal, ledger
from metricdp.audit.patch import patched
from metricdp.privacy import continual
from metricdp.privacy.noise import Noise
from metricdp.running import stream, stream_file
from tests import path_metric

PATH = path_metric(9)
MODULES = (stream, stream_file, continual, atomic, ledger, journal)
STEPS = {module.__file__ for module in MODULES}


class Crash(BaseException):
    pass


def copied(first, name):
    """A stream with its ledger in a folder of its own, as if nothing had happened elsewhere."""
    folder = first.parent.parent / name
    shutil.copytree(first.parent, folder)
    return folder / first.name


def stepped(where, places, day):
    """One step of a process of its own: what it told."""
    held = mdp.Stream.open(where, PATH)
    return held.step(mdp.PrivateDemand(PATH, places), day=day).counts.tolist()


def lines_of(where, act, stop=None):
    """How many lines of the step's own files `act` ran, and what it gave; at line `stop` it ends as
    if the process had: nothing is cleaned up behind it.
    """
    n = 0

    def traced(frame, event, _):
        nonlocal n
        if frame.f_code.co_filename not in STEPS:
            return None
        if event == "line":
            n += 1
            if n == stop:
                raise Crash
        return traced

    kept = patched(atomic.Path, "unlink", lambda *_, **__: None)
    before = sys.gettrace()
    sys.settrace(traced)
    try:
        if stop is None:
            return n, act(), n
        with kept:
            return None, act(), n
    finally:
        sys.settrace(before)


def test_a_step_that_ends_at_any_of_its_lines_counts_its_day_once(tmp_path):
    with patched(Noise, "__call__", lambda self, values: values):
        first = tmp_path / "first" / "a.stream"
        first.parent.mkdir()
        begun = mdp.Stream(PATH, epsilon=1, horizon=9, parts=9, path=first)
        begun.step(mdp.PrivateDemand(PATH, [1, 1]), day="a")
        whole = copied(first, "whole")
        _, expected, n_lines = lines_of(whole, lambda: stepped(whole, [7] * 3, "b"))
        assert sum(expected) == 5 and n_lines > 100
        cut = 0
        for stop in range(1, n_lines + 1, 29):
            where = copied(first, str(stop))
            try:
                lines_of(where, lambda w=where: stepped(w, [7] * 3, "b"), stop)
            except (Crash, mdp.InputError):  # the gate makes one of what ends a read
                cut += 1
            gc.collect()  # what the process held goes with it
            again = mdp.Stream.open(where, PATH)
            assert again.days in (1, 2)
            if again.days == 1:  # not counted: the day is repeated
                assert stepped(where, [7] * 3, "b") == expected
            assert stepped(where, [0] * 50, "b") == expected
            assert sum(stepped(where, [2], "c")) == 6
            assert [p.name for p in where.parent.iterdir() if p.name.endswith(".part")] == []
            assert mdp.Ledger.open(f"{where}.ledger").ever_spent == 1
        assert cut > 30


LEFT = """
import os, sys, networkx as nx, metricdp as mdp
metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
stream = mdp.Stream.open(sys.argv[1], metric)
os.fsync = lambda _: os.kill(os.getpid(), 9)
stream.step(mdp.PrivateDemand(metric, [3]), day="b")
"""


def test_what_a_killed_writer_left_is_removed_by_the_next_process(tmp_path):
    path = tmp_path / "a.stream"
    mdp.Stream(PATH, epsilon=1, horizon=9, path=path).step(mdp.PrivateDemand(PATH, [1]), day="a")
    neighbor = tmp_path / ".a.stream.x.abcdefgh.part"  # of another stream, a.stream.x
    neighbor.write_bytes(b"")
    assert subprocess.run([sys.executable, "-c", LEFT, str(path)], check=False).returncode == -9
    parts = [p for p in tmp_path.iterdir() if p.name.endswith(".part") and p != neighbor]
    assert len(parts) == 1 and parts[0].stat().st_mode & 0o777 == 0o600
    assert mdp.Stream.open(path, PATH).days == 1
    assert not parts[0].exists() and neighbor.exists()
