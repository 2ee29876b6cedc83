"""On a terminal nothing stays silent for two seconds, and nothing is left behind."""

import io
import re
import sys
import time
from types import SimpleNamespace

import pytest

from metricdp import progress as module
from metricdp.cli import streams
from metricdp.progress import Waiting, doing, progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def screen(text):
    """What a terminal shows of a text with carriage returns, line by line."""
    shown = []
    for line in text.split("\n"):
        cells = []
        for part in line.split("\r"):
            cells[: len(part)] = part
        shown.append("".join(cells).rstrip())
    return shown


def until(said, terminal):
    end = time.monotonic() + 20
    while said not in terminal.getvalue() and time.monotonic() < end:
        time.sleep(0.01)
    assert said in terminal.getvalue()


def test_silence_is_ended_and_the_line_leaves_nothing():
    terminal = Terminal()
    with Waiting(terminal, wait=0.06):
        until("metricdp: loading libraries …", terminal)
        doing("reading a very long name of a file.csv")
        until("reading a very long name of a file.csv …", terminal)
        doing("computing")
        until("metricdp: computing …", terminal)
        (line,) = screen(terminal.getvalue())
        assert re.fullmatch(r"metricdp: computing … \d s", line)
    assert screen(terminal.getvalue()) == [""]


def test_long_work_counts_its_seconds(monkeypatch):
    """From its own beginning: not one unchanging line."""
    terminal = Terminal()
    with Waiting(terminal, wait=0.06) as waiting:
        doing("reading roads.csv")
        waiting._since -= 41
        until("reading roads.csv … 41 s", terminal)
        waiting._since -= 59
        until("reading roads.csv … 100 s", terminal)
        doing("computing")
        until("computing … 0 s", terminal)


def test_a_bar_and_what_is_said_take_its_place(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with Waiting(terminal, wait=0.06):
        until("loading", terminal)
        bar = progress(total=5, label="counting")
        bar.delay, bar.mininterval = 0, 0
        bar.refresh()
        shown = terminal.getvalue()
        time.sleep(0.3)
        assert terminal.getvalue() == shown and "counting" in screen(shown)[-1]
        assert "loading" not in screen(shown)[-1]
        bar.close()
        streams.say("done")
        assert screen(terminal.getvalue())[-2] == "metricdp: done"


def test_compiling_is_said():
    pytest.importorskip("numba")
    terminal = Terminal()
    with Waiting(terminal, wait=0.06):
        until("loading", terminal)
        from numba.core import event

        with event.trigger_event("numba:compile"):
            until("compiling, once on this machine …", terminal)
        doing("computing")
        until("computing …", terminal)


@pytest.mark.parametrize("stream", [None, io.StringIO()], ids=["closed", "a file"])
def test_only_terminals_are_reported(stream):
    with Waiting(stream, wait=0.01):
        time.sleep(0.05)
    assert stream is None or stream.getvalue() == ""
    assert module._ACTIVE == []


def test_notes_wrap_at_words_on_a_terminal_alone(monkeypatch):
    text = "a footnote that is longer than the terminal is wide and has words-with-hyphens in it"
    terminal, file = Terminal(), io.StringIO()
    size = SimpleNamespace(columns=40, lines=24)
    monkeypatch.setattr(streams.shutil, "get_terminal_size", lambda: size)
    for stream in (terminal, file):
        monkeypatch.setattr(sys, "stderr", stream)
        streams.say(text, raw=True)
        streams.say("epsilon    median\n    1    2 %", raw=True)
    lines = terminal.getvalue().splitlines()
    assert max(map(len, lines)) < 40 and " ".join(" ".join(lines).split()).startswith(text)
    assert lines[-2:] == ["epsilon    median", "    1    2 %"]
    assert file.getvalue().splitlines()[0] == text
    assert "\x1b" not in terminal.getvalue()
