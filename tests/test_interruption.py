"""Ctrl-C comes when what was paid for is saved, and the command says where."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import metricdp as mdp
from metricdp.atomic import durable_file, whole_file
from metricdp.audit.patch import patched
from metricdp.interruption import held
from metricdp.records.trouble import Trouble, kind
from tests import cases, raising
from tests.cli_world import run

pytestmark = pytest.mark.usefixtures("ctrl_c_is_heeded")


@cases(("times", "expected"), (1, ["reported", "saved"]), (2, ["reported"]))
def test_an_interruption_waits_for_the_end_of_the_block_and_a_second_one_does_not(times, expected):
    before = signal.getsignal(signal.SIGINT)  # another library may have set its own
    done = []
    with pytest.raises(KeyboardInterrupt), held(lambda: done.append("reported")):
        for _ in range(times):
            signal.raise_signal(signal.SIGINT)
        done.append("saved")
    assert done == expected
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("write", [whole_file, durable_file])
def test_no_draft_is_left_where_one_was_just_made(tmp_path, write):
    made = os.open

    def stopped(*args):
        os.close(made(*args))
        raise KeyboardInterrupt

    with patched(os, "open", stopped), pytest.raises(KeyboardInterrupt), write(tmp_path / "a"):
        pass
    assert not list(tmp_path.iterdir())


def test_errors_of_the_block_go_on_and_threads_are_left_alone():
    with pytest.raises(ValueError, match="mine"), held():
        signal.raise_signal(signal.SIGINT)
        raise ValueError("mine")
    found = []

    def work():
        with held() as stop:
            found.append(stop.asked)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [False]


def test_what_duckdb_makes_of_it_is_an_interruption():
    assert kind(pytest.importorskip("duckdb").InterruptException("x")) is Trouble.INTERRUPTED


def test_the_release_is_beside_the_ledger_by_default(world, capsys):
    ask = "cluster roads.csv --demand homes.csv -k 2 --epsilon 1/2 --ledger l --epsilon-budget 2"
    assert run(capsys, *ask.split()).status == 0 and run(capsys, *ask.split()).status == 0
    assert run(capsys, *ask.split(), "--save-release", "no").status == 0
    assert sorted(p.name for p in world.glob("l*")) == ["l", "l.1.release", "l.2.release"]
    again = run(capsys, *["cluster", "roads.csv", "-k", "1", "--from-release", "l.1.release"])
    assert again.status == 0 and again.json["receipt"]["epsilon_exact"] == "1/2"


def test_an_interrupted_search_names_what_was_saved(world, monkeypatch, capsys):
    monkeypatch.setattr("metricdp.cli.cluster._question", raising(KeyboardInterrupt))
    ran = run(capsys, *"cluster roads.csv --demand homes.csv -k 2 --epsilon 1 --ledger l".split())
    assert ran.status == 130
    assert "l.1.release holds the release that was paid for" in ran.lines[-1]
    assert mdp.Release.load("l.1.release", mdp.read_graph("roads.csv")).k_median(k=1).k == 1


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_interrupted_at_any_moment_it_is_saved_or_not_paid(world):
    """`benchmarks/interrupts.py` does this 200 times."""
    code = (
        "import sys; from metricdp.cli import main; import metricdp, metricdp.cli.cluster\n"
        "print('ready', flush=True); sys.exit(main(sys.argv[1:]))"
    )
    ask = "cluster roads.csv --demand homes.csv -k 2 --epsilon 1 --ledger l"
    own = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    call, given = [sys.executable, "-c", code, *ask.split()], {"cwd": world, "env": own}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(call, **given, **pipes)
    assert process.stdout is not None
    process.stdout.readline()
    until = time.monotonic() + 60
    while not (world / "l").exists() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    journal = world / "l"
    charged = journal.exists() and mdp.Ledger.open(journal).spent > 0
    assert charged == (world / "l.1.release").exists(), said
    assert process.returncode in (0, 130), said


def test_what_may_be_left_out_is_ended_and_the_block_goes_on():
    with held(deliver=False) as stop:
        found = stop.optional(lambda: signal.raise_signal(signal.SIGINT))
        again = stop.optional(lambda: "not begun")
        bought = "a release"
    assert (found, again, bought, stop.asked) == (None, None, "a release", True)
    with held() as stop:
        assert stop.optional(lambda: "whole") == "whole"


def test_a_block_within_another_tells_it():
    done = []
    with pytest.raises(KeyboardInterrupt), held():
        with held(deliver=False) as inner:
            signal.raise_signal(signal.SIGINT)
            done.append("inner")
        done.append("outer")
    assert done == ["inner", "outer"] and inner.asked


def test_an_interrupted_exploration_writes_its_page_and_says_so(world, monkeypatch, capsys):
    def stopped(*_, **__):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("metricdp.report.explore.front.plan", stopped)
    asked = "explore roads.csv --demand homes.csv -k 2 --epsilons 1/2,1 --ledger l --output p.html"
    ran = run(capsys, *asked.split())
    assert ran.status == 130
    assert "p.html holds all levels that were paid for" in ran.lines[-1]
    assert len(ran.json["levels"]) == 2
    assert (world / "p.html").read_text("utf-8").rstrip().endswith("</html>")


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_what_libraries_make_of_it_is_an_interruption_and_an_end_is_an_end(world):
    """An import in C that is interrupted is an ImportError, and finalizers that are cut off
    complain; once the status is known nothing changes it.
    """
    code = (
        "import signal, sys, metricdp.cli as cli\n"
        "class Torn:\n"
        "    def __del__(self): raise AttributeError('torn')\n"
        "def build():\n"
        "    try: signal.raise_signal(signal.SIGINT)\n"
        "    except KeyboardInterrupt: pass\n"
        "    Torn()\n"
        "    raise ImportError('numpy.core.multiarray failed to import')\n"
        "cli.build_parser = build\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "status = cli.program()\n"
        "signal.raise_signal(signal.SIGINT)\n"
        "sys.exit(status)"
    )
    own = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    ask = [sys.executable, "-c", code]
    ran = subprocess.run(ask, env=own, capture_output=True, text=True, timeout=120, check=False)
    assert (ran.returncode, ran.stdout) == (130, "")
    assert ran.stderr == "metricdp: interrupted\n"
