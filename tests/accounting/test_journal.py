"""The journal never counts less than was granted: crashes, damage, full disks, many writers."""

import errno
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
from fractions import Fraction
from pathlib import Path

import pytest

from metricdp.accounting import journal
from metricdp.errors import BudgetError, JournalError
from metricdp.privacy import Ledger
from metricdp.running.history import History
from tests import cases, granted_to_threads, raising, refuses

pytestmark = pytest.mark.skipif(journal.fcntl is None, reason="no file locks on this platform")
TENTH = Fraction(1, 10)


@pytest.fixture
def path(tmp_path):
    """Where a ledger is kept."""
    return tmp_path / "ledger.jsonl"


def filled(path, n=3):
    ledger = Ledger(1, journal=path)
    for i in range(n):
        ledger.charge(TENTH, purpose=f"call {i}, naïve \n line")
    return path.read_bytes()


BEGUN = """
import os, resource, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import metricdp as mdp
from metricdp.errors import BudgetError, JournalError
"""


def python(code, *args):
    command = [sys.executable, "-c", BEGUN + textwrap.dedent(code), *map(str, args)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def test_another_process_goes_on_from_the_file(path):
    filled(path)
    again = Ledger(1.0, journal=str(path))
    assert (again.spent, len(again.entries)) == (3 * TENTH, 3)
    assert again.entries[2].purpose == "call 2, naïve \n line"
    again.charge(0.7)
    refuses("", lambda: Ledger(1, journal=path).charge(1e-9), error=BudgetError)
    assert path.stat().st_mode & 0o777 == 0o600 and len(path.read_bytes().splitlines()) == 5


def test_two_ledgers_on_one_file_see_each_other(path):
    one, other = Ledger(1, journal=path), Ledger(1, journal=path)
    one.charge(0.6)
    assert other.quote(0.5).fits is False
    refuses(r"asked epsilon 0.5, spent 0.6, left 0.4", other.charge, 0.5, error=BudgetError)
    other.charge(0.4)
    assert not one.quote(0.1).fits and one.spent == other.spent == 1


@cases("other", {"epsilon": 2}, {"delta": 1e-6}, {"neighboring": "replace-one"}, ids=str)
def test_another_budget_is_refused(path, other):
    before = filled(path)
    asked = {"epsilon": 1, "journal": path, **other}
    refuses("is of another ledger", lambda: Ledger(**asked), error=JournalError)
    assert path.read_bytes() == before


def test_a_crash_at_any_byte_of_the_last_line(path):
    whole = filled(path, 2)
    last = whole.rindex(b"\n", 0, -1) + 1
    for cut in range(last, len(whole) + 1):
        path.write_bytes(whole[:cut])
        ledger = Ledger(1, journal=path)
        complete = cut >= len(whole) - 1  # with or without its line end
        assert ledger.spent == (2 if complete else 1) * TENTH
        assert path.read_bytes() == (whole if complete else whole[:last])
        ledger.charge(TENTH)
        assert Ledger(1, journal=path).spent == ledger.spent


def test_a_crash_while_the_file_was_made(path):
    header = filled(path, 0)
    for cut in range(len(header)):
        path.write_bytes(header[:cut])
        assert Ledger(1, journal=path).spent == 0
        assert path.read_bytes() == header


def budget_of(path):
    return Ledger(1, journal=path)


@pytest.mark.parametrize("read", [budget_of, History])
def test_any_changed_byte_is_noticed(path, read):
    whole = filled(path, 2)
    for at in range(len(whole)):
        for change in (1, 0x20):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ change]) + whole[at + 1 :])
            refuses(r"damaged|another ledger|not .* journal", read, path, error=JournalError)


@pytest.mark.parametrize("read", [budget_of, History])
def test_lost_and_moved_lines_are_noticed(path, read):
    head, one, two, three = filled(path).splitlines(keepends=True)
    orders = [[head, two, three], [head, one, three], [head, two, one], [head, one, one]]
    orders += [[one, two], [head, b"\n", one], [head, one, two[:-1], three]]
    for lines in orders:
        path.write_bytes(b"".join(lines))
        refuses("", read, path, error=JournalError)
    for torn in (b"", head[:30]):  # a budget begins a file anew
        path.write_bytes(torn)
        refuses("", History, path, error=JournalError)


@pytest.mark.parametrize("read", [budget_of, History])
def test_a_file_of_someone_else_is_left_alone(tmp_path, read):
    path = tmp_path / "notes.txt"
    for text in (b"my notes", b"my notes\n", b'{"a": 1}\n', b"\0\0\0"):
        path.write_bytes(text)
        refuses("", read, path, error=JournalError)
        assert path.read_bytes() == text


def test_a_file_cut_or_removed_under_a_running_ledger(path):
    filled(path)
    ledger = Ledger(1, journal=path)
    path.write_bytes(b"")
    refuses("shorter", ledger.charge, TENTH, error=JournalError)
    path.unlink()
    refuses("cannot open", ledger.charge, TENTH, error=JournalError)
    assert not path.exists()
    assert ledger.spent == 3 * TENTH


@pytest.mark.parametrize("where", [".", "missing/ledger.jsonl"])
def test_unusable_paths(tmp_path, where):
    refuses("cannot open the journal", Ledger, 1, error=JournalError, journal=tmp_path / where)


@pytest.mark.parametrize("call", ["write", "short write", "fsync"])
def test_full_disk_grants_nothing_and_restores_the_file(path, monkeypatch, call):
    before = filled(path)
    ledger = Ledger(1, journal=path)
    with monkeypatch.context() as patch:
        real, calls = os.write, []

        def no_space(file, data=b""):
            calls.append(data)
            if call == "short write" and len(calls) == 1:
                return real(file, data[:7])
            raise OSError(errno.ENOSPC, "No space left on device")

        patch.setattr(journal.os, "fsync" if call == "fsync" else "write", no_space)
        words = r"cannot write the journal .*No space left on device; nothing charged"
        refuses(words, ledger.charge, TENTH, error=JournalError)
    assert path.read_bytes() == before
    assert ledger.spent == 3 * TENTH
    ledger.charge(TENTH)
    assert Ledger(1, journal=path).spent == 4 * TENTH


@cases(
    ("call", "torn", "reported"),
    ("fsync", b"", "make"),
    ("ftruncate", b'{"li', "make"),
    ("write", b"", "write"),
    ("pread", None, "read"),
    ("ftruncate", b'{"li', "mend"),
)
def test_a_full_disk_is_reported_as_what_failed(path, monkeypatch, call, torn, reported):
    """One while the file was made said that it could not be read."""
    before = filled(path) if reported in ("read", "mend") else b""
    path.write_bytes(before + (torn or b""))
    with monkeypatch.context() as patch:
        full = OSError(errno.ENOSPC, "No space left on device")
        patch.setattr(journal.os, call, lambda *_: (_ for _ in ()).throw(full))
        with pytest.raises(JournalError, match=f"cannot {reported} the journal .*No space left"):
            Ledger(1, journal=path)
    assert Ledger(1, journal=path).spent == (3 * TENTH if before else 0)


def test_a_turn_that_was_left_before_its_end_locks_nobody_out(tmp_path, monkeypatch):
    """As an interruption may, whose traceback still holds the file."""
    real = journal.fcntl.flock
    monkeypatch.setattr(
        journal.fcntl, "flock", lambda file, how: real(file, how | journal.fcntl.LOCK_NB)
    )
    ledger = Ledger(1, journal=tmp_path / "ledger.jsonl")
    left = ledger._journal.locked()
    left.__enter__()
    ledger.charge(TENTH)
    assert ledger.spent == TENTH and left is not None


def test_without_file_locks_there_is_no_journal(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "fcntl", None)
    refuses("needs file locks", Ledger, 1, error=JournalError, journal=tmp_path / "ledger.jsonl")
    assert not list(tmp_path.iterdir())


def test_a_device_is_no_journal():
    """It may be read without an end."""
    with pytest.raises(JournalError, match="is no file"):
        Ledger(1, journal="/dev/full" if Path("/dev/full").exists() else "/dev/null")


def test_a_disk_on_which_nothing_works_counts_too_much_rather_than_too_little(path, monkeypatch):
    filled(path)
    ledger = Ledger(1, journal=path)
    with monkeypatch.context() as patch:
        for name in ("fsync", "ftruncate"):
            patch.setattr(journal.os, name, raising(OSError(errno.EIO, "I/O error")))
        refuses("", ledger.charge, TENTH, error=JournalError)
    assert Ledger(1, journal=path).spent == 4 * TENTH
    ledger.charge(TENTH)
    assert ledger.spent == Ledger(1, journal=path).spent == 5 * TENTH


def test_interrupted_between_write_and_sync(path, monkeypatch):
    before = filled(path)
    ledger = Ledger(1, journal=path)
    synced = []

    def interrupted(file):
        synced.append(file)
        if len(synced) == 1:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(journal.os, "fsync", interrupted)
        refuses("", ledger.charge, TENTH, error=KeyboardInterrupt)
    assert path.read_bytes() == before
    assert ledger.charge(TENTH).epsilon == TENTH


def test_a_real_limit_on_the_file_size(path):
    code = """
        ledger = mdp.Ledger(1, journal=sys.argv[1])
        ledger.charge("1/10")
        resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))
        try:
            ledger.charge("1/10", purpose="x" * 200)
        except JournalError as error:
            print(error, ledger.spent)
    """
    out, _ = python(code, path).communicate(timeout=60)
    assert b"File too large; nothing charged 1/10" in out
    assert Ledger(1, journal=path).spent == TENTH


@pytest.mark.extended
def test_kill_9_while_writing(tmp_path):
    code = """
        ledger = mdp.Ledger(1000, journal=sys.argv[1])
        while True:
            ledger.charge("1/1000", purpose="p" * 3000)
            os.write(1, b".")
    """
    for round_ in range(4):
        path = tmp_path / f"{round_}.jsonl"
        child = python(code, path)
        granted = len(child.stdout.read(20 + 13 * round_))
        child.send_signal(signal.SIGKILL)
        granted += len(child.stdout.read())
        child.wait()
        ledger = Ledger(1000, journal=path)
        assert granted <= len(ledger.entries) <= granted + 1
        ledger.charge("1/1000")


@pytest.mark.extended
def test_kill_9_during_private_calls(path):
    """Whatever a killed call had released, or read, stands in the journal."""
    code = """
        metric = mdp.PrecomputedMetric([[float(i != j) for i in range(40)] for j in range(40)])
        demand = mdp.PrivateDemand(metric, list(range(40)) * 100)
        ledger = mdp.Ledger(100, journal=sys.argv[1])
        os.write(1, b"!")
        while True:
            mdp.k_median(metric, demand, k=3, epsilon="1/100", ledger=ledger)
            os.write(1, b".")
    """
    child = python(code, path)
    done = len(child.stdout.read(6))
    child.send_signal(signal.SIGKILL)
    done += len(child.stdout.read()) - 1
    child.wait()
    ledger = Ledger(100, journal=path)
    assert done >= 5 and done <= len(ledger.entries) <= done + 1
    assert ledger.spent == len(ledger.entries) * Fraction(1, 100)


def test_eight_threads_of_fifty_charges(path):
    ledgers = [Ledger(1, journal=path) for _ in range(2)]  # two openings of one file, shared

    def charge(number):
        ledgers[number % 2].charge("1/390", purpose=f"charge {number}")

    granted, ledger = granted_to_threads(charge, 400), Ledger(1, journal=path)
    assert granted == len(ledger.entries) == len({e.purpose for e in ledger.entries}) == 390
    assert ledger.left == 0


def test_a_disk_that_is_really_full(tmp_path):
    """On a file system of 64 kB, made in a mount namespace of its own."""
    code = """
        path = Path(sys.argv[1]) / "ledger.jsonl"
        ledger, granted = mdp.Ledger(1000, journal=path), 0
        try:
            while True:
                ledger.charge("1/1000", purpose="p" * 900)
                granted += 1
        except JournalError as error:
            assert "nothing charged" in str(error), error
        again = mdp.Ledger(1000, journal=path)
        assert again.spent == ledger.spent
        assert len(again.entries) == granted > 20
        print("never under-counted")
    """
    script = 'mount -t tmpfs -o size=64k none "$0" || exit 77; exec "$1" -c "$2" "$0"'
    command = "unshare --user --map-root-user --mount sh -c".split()
    command += [script, tmp_path, sys.executable, BEGUN + textwrap.dedent(code)]
    try:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60)
    except FileNotFoundError:
        pytest.skip("no unshare command")
    if done.returncode and ("unshare" in done.stderr or done.returncode == 77):
        pytest.skip("no right to mount a small file system")
    assert done.stdout == "never under-counted\n", done.stderr


@pytest.mark.extended
def test_two_processes_of_four_threads(path):
    code = """
        ledger = mdp.Ledger(1, journal=sys.argv[1])
        def work(_):
            granted = 0
            for _ in range(25):
                try:
                    ledger.charge("1/150")
                    granted += 1
                except BudgetError:
                    pass
            return granted
        with ThreadPoolExecutor(4) as pool:
            print(sum(pool.map(work, range(4))))
    """
    children = [python(code, path) for _ in range(2)]
    granted = [int(child.communicate(timeout=120)[0]) for child in children]
    ledger = Ledger(1, journal=path)
    assert sum(granted) == len(ledger.entries) == 150
    assert ledger.left == 0


def test_every_turn_is_locked_and_every_line_is_on_disk_before_it_counts(tmp_path, monkeypatch):
    """Calls of the system, in order; and no file stays open."""
    path, calls = tmp_path / "ledger.jsonl", []
    (tmp_path / "torn").write_bytes(filled(tmp_path / "whole")[:-9])

    def noted(module, name):
        real = getattr(module, name)
        reported = {"flock": lambda _, how: how, "fsync": lambda file: os.fstat(file).st_size}[name]
        monkeypatch.setattr(
            module, name, lambda *given: calls.append((name, reported(*given))) or real(*given)
        )

    def done():
        found = [name if name == "fsync" else how for name, how in calls]
        calls.clear()
        return found

    noted(journal.fcntl, "flock")
    noted(journal.os, "fsync")
    take, look = journal.fcntl.LOCK_EX, journal.fcntl.LOCK_SH
    ledger = Ledger(1, journal=path)
    assert done() == [take, "fsync", "fsync", "fsync"]  # nothing, the header, its folder
    ledger.charge(TENTH)
    assert calls[-1] == ("fsync", path.stat().st_size)
    assert done() == [take, "fsync"]
    assert ledger.spent == TENTH and "fsync" not in done()
    torn = Ledger(1, journal=tmp_path / "torn")
    assert done() == [take, "fsync"] and torn.spent == 2 * TENTH
    History(path)
    assert look in done()
    handles = Path("/proc/self/fd")
    if handles.exists():
        assert not [one for one in handles.iterdir() if tmp_path in one.resolve().parents]


def test_days_and_no_times_in_the_file(tmp_path):
    line = json.loads(filled(tmp_path / "ledger.jsonl").decode().splitlines()[1])["line"]
    assert list(line) == ["day", "delta", "epsilon", "purpose"]  # in order, whoever writes it
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", line["day"])


@pytest.mark.parametrize("line", [b"notes\n", b'{"line": {"epsilon": "1"}}\n', b"x" * (1 << 16)])
def test_what_states_no_budget_is_no_journal(path, line):
    path.write_bytes(line)
    refuses("is not the journal of a ledger", journal.stated_budget, path, error=JournalError)


def test_a_history_is_read_to_its_last_complete_line_and_no_other_file_is_one(path):
    torn = filled(path)[:-1]
    path.write_bytes(torn)  # the last line is whole, its end is not
    reported = journal.Journal(path, {})
    assert reported.verify() is False
    assert len(reported.lines) == 3 and path.read_bytes() == torn
    path.write_text('{"epsilon": 1}\n')
    refuses("is not the journal of a ledger", journal.Journal(path, {}).verify, error=JournalError)


def test_nothing_is_written_outside_of_a_turn(path):
    before = filled(path)
    with pytest.raises(JournalError, match="is not locked"):
        Ledger(1, journal=path)._journal.append({"epsilon": "1/10"})
    assert path.read_bytes() == before
