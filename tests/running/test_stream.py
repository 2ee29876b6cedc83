"""Streams: exact sums under exact noise, days paid and counted once, whatever happens, also to
copies and older states of a stream's file, and in periods of its ledger.
"""

import builtins
import copy
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metricdp as mdp
from metricdp import atomic
from metricdp.audit.patch import patched
from metricdp.privacy import continual
from metricdp.privacy.noise import Noise
from metricdp.report import days_page
from metricdp.running.stream import _day_name
from tests import cases, each, one_way_metric, path_metric, raising, refuses
from tests.cli_world import build_road, fails, run, works
from tests.report.map.test_map import data_of

PATH = path_metric(9)


def demand(*places):
    return mdp.PrivateDemand(PATH, list(places))


def silent():
    """No noise: what is released is what was counted."""
    return patched(Noise, "__call__", lambda self, values: values)


@settings(max_examples=12)
@given(
    st.lists(st.lists(st.integers(0, 8), max_size=5), min_size=1, max_size=12),
    st.sampled_from([{"horizon": 12}, {"window": 3}, {}, {"horizon": 30, "delta": "1e-6"}]),
)
def test_without_noise_the_counts_are_those_of_the_present(days, options):
    with silent():
        stream = mdp.Stream(PATH, epsilon=1, parts=9, **options)
        for t, places in enumerate(days):
            release = stream.step(demand(*places))
            some = days[max(0, t - 2) : t + 1] if "window" in options else days[: t + 1]
            at = [p for day in some for p in day]
            expected = np.bincount(release.partition.encode(np.array(at, np.int64)), minlength=9)
            assert release.counts.tolist() == expected.tolist()


def test_a_half_life_fades():
    with silent():
        stream = mdp.Stream(PATH, epsilon=1, parts=1, half_life=1)
        totals = [stream.step(demand(*[3] * n)).counts[0] for n in (8, 0, 4)]
    assert totals == [8, 4, 6]


def test_noise_has_the_scale_that_is_paid_for():
    stream = mdp.Stream(PATH, epsilon="1/2", horizon=365, parts=9)
    release = [stream.step(demand()) for _ in range(3)][-1]
    assert release.receipt.mechanisms[0].scale == 4  # two levels
    assert release.deviation == pytest.approx(np.sqrt(3 * 2 * 16))
    user = mdp.Stream(PATH, epsilon=1, horizon=7, unit="user", max_contributions=3)
    assert user.receipt.mechanisms[0].scale == 7 * 3
    assert "user level" in user.receipt.bound and "event level" in release.receipt.bound
    exchanged = mdp.Stream(PATH, epsilon=1, horizon=7, neighboring="replace-one")
    assert exchanged.receipt.mechanisms[0].scale == 2


def test_the_budget_is_charged_once_and_the_horizon_holds():
    ledger = mdp.Ledger(1)
    stream = mdp.Stream(PATH, epsilon=1, horizon=3, ledger=ledger)
    for _ in range(3):
        stream.step(demand(1))
    assert ledger.left == 0 and ledger.protects.unit == "record"
    refuses("horizon of 3 days is over", lambda: stream.step(demand(1)))
    mdp.Stream(PATH, epsilon=1, window=400, horizon=5, records_hint=1000).step(demand(1))  # longer
    refuses("", mdp.Stream, PATH, error=mdp.BudgetError, epsilon=1, horizon=3, ledger=ledger)


def test_users_and_events_are_not_confused():
    users = mdp.PrivateDemand(PATH, [1, 2], user=["a", "b"])
    shares = mdp.PrivateDemand(PATH, [1, 2], user=["a", "b"], weighting="share")
    for wrong in (users, shares):
        refuses("unit='event' protects each record", mdp.Stream(PATH, epsilon=1).step, wrong)
    for wrong in (demand(1), shares):
        with pytest.raises(mdp.InputError, match="unit='user' protects each user"):
            mdp.Stream(PATH, epsilon=1, horizon=2, unit="user").step(wrong)
    assert mdp.Stream(PATH, epsilon=1, horizon=2, unit="user").step(users).receipt.unit == "user"
    refuses("give horizon=", mdp.Stream, PATH, epsilon=1, unit="user")


@cases(
    "options",
    {"window": 3, "half_life": 2},
    *each(horizon=[0, 2.5], window=[-1], half_life=[0], unit=["person"], max_contributions=[2]),
    *each(parts=[0], recourse=[-1], records_hint=[0], epsilon=[0, None], delta=[1], seed=[-1]),
    {"ledger": 3},
)
def test_bad_arguments_charge_nothing(options, tmp_path):
    ledger = mdp.Ledger(9, "1/10")
    with pytest.raises(mdp.InputError):
        mdp.Stream(PATH, **{"epsilon": 1, "ledger": ledger, "path": tmp_path / "s", **options})
    assert ledger.spent == 0 and not (tmp_path / "s").exists()


def test_the_same_day_again_is_reported_again_and_not_counted(tmp_path):
    stream = mdp.Stream(PATH, epsilon=1, horizon=9, path=tmp_path / "a.stream")
    first = stream.step(demand(*[1] * 500), day="2026-11-22")
    again = stream.step(demand(*[7] * 500), day="2026-11-22")
    assert (first.weights == again.weights).all() and stream.days == 1
    stream.step(demand(), day="2026-11-23")
    refuses("late records", lambda: stream.step(demand(), day="2026-11-22"))
    other = mdp.Stream.open(tmp_path / "a.stream", PATH)
    assert (other.release.weights == stream.release.weights).all()
    stream.release.save(tmp_path / "second.day")
    kept = mdp.Release.load(tmp_path / "second.day", PATH)
    assert (kept.day, kept.label) == (2, "2026-11-23")
    assert (tmp_path / "a.stream").stat().st_mode & 0o777 == 0o600
    # two objects of one file take turns
    other.step(demand(2), day="c")
    assert stream.step(demand(3), day="d").day == 4


@pytest.mark.parametrize("call", ["replace", "fsync", "write"])
def test_a_disk_that_fails_at_any_call_refuses_the_day(tmp_path, call):
    path = tmp_path / "a.stream"
    held = mdp.Stream(PATH, epsilon=1, horizon=9, path=path)
    held.step(mdp.PrivateDemand(PATH, [1]), day=1)
    before = path.read_bytes()
    full = raising(OSError(28, "No space left on device"))

    class Full:
        def __init__(self, path, mode, opener):
            self.handle = opener(path, os.O_CREAT | os.O_WRONLY)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            os.close(self.handle)

        write = full

    places = {"fsync": (os, "fsync", full), "write": (builtins, "open", Full)}
    place = places.get(call, (atomic.Path, "replace", full))
    with patched(*place), pytest.raises(OSError, match="No space"):
        held.step(mdp.PrivateDemand(PATH, [2]), day=2)
    assert path.read_bytes() == before and held.days == 1
    assert held.step(mdp.PrivateDemand(PATH, [2]), day=2).day == 2
    kept = {"a.stream", "a.stream.lock", "a.stream.ledger"}
    assert {p.name for p in tmp_path.iterdir()} == kept


def test_damaged_and_other_files_are_refused(tmp_path):
    path = tmp_path / "a.stream"
    mdp.Stream(PATH, epsilon=1, horizon=9, path=path).step(demand(1))
    refuses("with horizon 9, not 10", mdp.Stream, PATH, epsilon=1, horizon=10, path=path)
    refuses("another universe", mdp.Stream.open, path, path_metric(8))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    refuses("damaged", mdp.Stream.open, path, PATH)
    refuses("no such stream", mdp.Stream.open, tmp_path / "none", PATH)


def test_a_crash_between_file_and_ledger_is_paid_once(tmp_path):
    path = tmp_path / "a.stream"
    journal = tmp_path / "a.ledger"

    begun = {"epsilon": 1, "horizon": 9, "path": path}
    for moment in ("charge_once", "follow"):
        ledger = mdp.Ledger(3, journal=journal)
        with patched(mdp.Ledger, moment, raising(KeyboardInterrupt)):
            refuses("", mdp.Stream, PATH, ledger=ledger, **begun, error=KeyboardInterrupt)
        assert path.exists() and ledger.spent == (moment == "follow")
    for _ in range(2):
        mdp.Stream(PATH, ledger=mdp.Ledger(3, journal=journal), **begun)
    assert mdp.Ledger.open(journal).spent == 1


KILLED = """
import sys, networkx as nx, metricdp as mdp
metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
stream = mdp.Stream.open(sys.argv[1], metric)
print("ready", flush=True)
for day in range(max(stream.days - 1, 0), 10**6):
    release = stream.step(mdp.PrivateDemand(metric, [day % 9] * 3), day=day)
    print(day, release.counts.tolist(), flush=True)
"""


@pytest.mark.parametrize("delay", [0.0, 0.003, 0.02, 0.09])
def test_kill_at_any_moment_loses_and_repeats_nothing(tmp_path, delay):
    path = tmp_path / "a.stream"
    mdp.Stream(PATH, epsilon=1, parts=4, path=path)
    reported = {}
    for _ in range(2):
        call = [sys.executable, "-c", KILLED, str(path)]
        child = subprocess.Popen(call, stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None and child.stdout.readline() == "ready\n"
        first = child.stdout.readline()
        time.sleep(delay)
        os.kill(child.pid, signal.SIGKILL)
        for line in [first, *child.communicate()[0].splitlines()]:
            day, _, counts = line.strip().partition(" ")
            if counts.endswith("]"):
                assert reported.setdefault(int(day), counts) == counts
    stream = mdp.Stream.open(path, PATH)
    assert stream.days >= max(reported) + 1 >= stream.days - 1
    assert sorted(reported) == list(range(max(reported) + 1))
    if stream.days - 1 in reported:
        assert str(stream.release.counts.tolist()) == reported[stream.days - 1]
    assert stream.label == str(stream.days - 1)


def test_centers_move_little_and_an_alarm_says_when_that_is_not_enough():
    with silent():
        stream = mdp.Stream(PATH, epsilon=1, parts=9, window=1, recourse=1)
        stream.step(demand(*[0] * 50, *[1] * 50, *[2] * 50))
        assert sorted(stream.k_median(3).centers) == [0, 1, 2]
        stream.step(demand(*[0] * 50, *[1] * 50, *[2] * 50, *[3] * 1))
        same = stream.k_median(3)
        assert same.moved == 0 or not same.alarm
        stream.step(demand(*[6] * 50, *[7] * 50, *[8] * 50))
        found = stream.k_median(3)
        assert found.moved == 1 and found.alarm
        assert stream.k_median(3).centers == found.centers
        assert [past.day for past in stream.history(3)] == [1, 2, 3]


def test_nothing_private_shows(tmp_path):
    stream = mdp.Stream(PATH, epsilon=1, path=tmp_path / "a.stream")
    stream.step(demand(*[4] * 48611))
    shown = repr(stream) + repr(stream._state.counter) + str(stream.to_dict())
    assert not re.search(r"\b48,?611\b", shown)  # digits within a digest are chance
    refuses("", stream._state.counter.__reduce_ex__, 2, error=TypeError)


def test_what_is_kept_of_a_day_under_way_has_its_noise(tmp_path):
    """The file never holds exact counts: 40 sums of 0 would all be 0 with probability 1e-30."""
    stream = mdp.Stream(PATH, epsilon="1/10", horizon=365, parts=9, path=tmp_path / "a")
    stream.step(demand())
    assert (continual.stored(stream._state.counter) != 0).any()


def test_the_command_line(here, capsys):
    build_road(here, 30)
    for name, place in (("mon", 7), ("tue", 20)):
        (here / f"{name}.csv").write_text("vertex\n" + "\n".join([str(place)] * 9000) + "\n")
    begin = ("stream", "init", "s.stream", "roads.csv", "--epsilon", "1", "--horizon", "30")
    paid = ("--ledger", "s.ledger", "--epsilon-budget", "2")
    ran = run(capsys, *begin, *paid)
    assert ran.status == 0 and ran.json["settings"]["horizon"] == 30, ran.err
    assert mdp.Ledger.open("s.ledger").spent == 1
    assert run(capsys, *begin, *paid).status == 0 and mdp.Ledger.open("s.ledger").spent == 1
    step = ("stream", "step", "s.stream", "roads.csv", "-q")
    ran = run(capsys, *step, "--demand", "mon.csv", "--day", "mon", "-k", "2")
    reported = ran.json
    receipt = reported["receipt"]
    assert 7 in reported["centers"] and reported["days"] == 1 and receipt["epsilon"] == 1
    assert run(capsys, *step, "--demand", "mon.csv", "--day", "mon", "-k", "2").out == ran.out
    kept = ("--save-release", "tue.release")
    ran = works(capsys, *step, "--demand", "tue.csv", "--day", "tue", "-k", "2", *kept)
    assert sorted(ran.json["centers"]) == [7, 20] and Path("tue.release").exists()
    shown = run(capsys, "stream", "show", "s.stream").json
    assert shown["days"] == 2 and shown["label"] == "tue" and "told" not in str(shown)
    refused = run(capsys, *step, "--demand", "mon.csv", "--day", "x", "--user", "vertex")
    assert refused.status == 2 and "protects records" in refused.err
    page = ("s.stream", "roads.csv", "--html", "days.html")
    assert works(capsys, "stream", "show", *page).json["days"] == 2
    days = data_of(Path("days.html").read_text("utf-8"))["levels"]
    assert [day["name"] for day in days] == ["mon", "tue"]
    for wrong, why in (
        (("none.stream",), "no such stream"),
        (("s.stream", "--html", "b.html"), "GRAPH"),
        (page[:2], "--html"),
        ((*page, "-k", "5"), "2"),
    ):
        fails(capsys, why, "stream", "show", *wrong)


def test_a_stream_is_never_there_twice(tmp_path):
    """Two that go on from one state would tell a day twice with the same noise."""
    stream = mdp.Stream(PATH, epsilon=1, horizon=9)
    for twice in (copy.copy, copy.deepcopy, pickle.dumps):
        refuses("cannot be copied", twice, stream, error=TypeError)
    with patched(os, "getpid", lambda: -1), pytest.raises(mdp.InputError, match="path="):
        stream.step(demand(1))
    assert stream.step(demand(1)).day == 1


def test_threads_take_turns():
    stream = mdp.Stream(PATH, epsilon=1, horizon=40)
    with silent(), ThreadPoolExecutor(4) as pool:
        days = list(pool.map(lambda _: stream.step(demand(1)).day, range(20)))
        assert sorted(days) == list(range(1, 21)) and stream.release.counts.sum() == 20


# What a day may be called: one day has one name
def test_a_day_has_one_name():
    """Blanks and midnight made another day of it, which was counted twice."""
    name = "2026-11-23"
    days = date(2026, 11, 23), datetime(2026, 11, 23), np.datetime64(name), f" {name}\n"
    for day in (*days, np.datetime64(name, "ns"), pd.Timestamp(name)):
        assert _day_name(day) == name


def test_a_retry_at_another_hour_counts_nothing():
    stream = mdp.Stream(PATH, epsilon=1, horizon=2)
    demand = mdp.PrivateDemand(PATH, [1])
    stream.step(demand, day="Montage\u0301")
    for day in ("Montag\u00e9", " Montag\u00e9 "):
        assert stream.step(demand, day=day).day == 1
    refuses("got a moment", lambda: stream.step(demand, day=datetime(2026, 11, 23, 4)))
    assert stream.days == 1
    assert _day_name(7) == _day_name(np.int64(7)) == "7"


# Streams and synthetic points in every finite universe: ids in, ids (or sites) out
N = 40
PLACES = np.random.default_rng(5).random((N, 2))


UNIVERSES = {
    "plane": lambda: mdp.EuclideanMetric(PLACES, ids=[f"v{i}" for i in range(N)]),
    "space": lambda: mdp.ManhattanMetric(np.random.default_rng(6).random((N, 3))),
    "chebyshev": lambda: mdp.ChebyshevMetric(PLACES),
    "globe": lambda: mdp.HaversineMetric(PLACES),
    "matrix": lambda: mdp.PrecomputedMetric(np.abs(np.arange(N)[:, None] - np.arange(float(N)))),
    "one-way roads": lambda: one_way_metric(N),
    "one point": lambda: mdp.PrecomputedMetric([[0.0]]),
    "table of costs": lambda: mdp.CostTable(
        np.random.default_rng(7).random((9, N)),
        sites=[f"s{i}" for i in range(9)],
        clients=[f"c{i}" for i in range(N)],
    ),
}


@cases(("name", "unit"), *zip(UNIVERSES, 4 * ["event", "user"]))
def test_days_are_reported_in_the_universes_own_ids(name, unit, tmp_path):
    metric = UNIVERSES[name]()
    path = tmp_path / "days.stream"
    stream = mdp.Stream(metric, epsilon=4, horizon=3, unit=unit, path=path, recourse=1)
    k = min(2, len(metric))
    for day, size in (("monday", 300), ("tuesday", 0), ("wednesday", 50)):
        ids = [metric.ids[i % len(metric)] for i in range(size)]
        whose = {"user": list(range(size))} if unit == "user" else {}
        release = stream.step(mdp.PrivateDemand(metric, ids, **whose), day=day)
        found = stream.k_median(k)
        assert len(set(found.centers)) == k and set(found.centers) <= set(metric.sites)
        assert found.moved <= 1
    again = mdp.Stream.open(path, metric)
    reported = again.history(k)
    assert [list(day.centers) for day in reported][-1] == list(found.centers)
    assert [day.label for day in reported] == ["monday", "tuesday", "wednesday"]
    assert len(found.result.labels) == len(metric)
    assert found.result.to_columns()["center"] == list(found.centers)
    assert set(release.sample(20, seed=1)) <= set(metric.ids)
    if metric.sites is metric.ids:
        assert "wednesday" in days_page(metric, reported, receipt=again.receipt)
    else:
        refuses("have no places", days_page, metric, reported)


def test_of_copies_of_one_state_one_goes_on(tmp_path):
    """A copy under another name tells no day that another copy told, whoever pays."""
    for ledger in (None, mdp.Ledger(1), mdp.Ledger(1, journal=tmp_path / "study.ledger")):
        folder = tmp_path / str(id(ledger))
        folder.mkdir()
        first = folder / "0.stream"
        mdp.Stream(PATH, epsilon=1, horizon=9, ledger=ledger, path=first)
        copies = [folder / f"{i}.stream" for i in range(1, 6)]
        for twin in copies:
            shutil.copy(first, twin)
        held = [mdp.Stream.open(twin, PATH) for twin in copies]
        held[2].step(demand(1))
        for other in (*held[:2], *held[3:]):
            refuses("day 1 was reported, of another copy", other.step, demand(1))
        refuses("day 1 was reported, of another copy", mdp.Stream.open, first, PATH)
        older = copies[2].read_bytes()
        held[2].step(demand(2))
        copies[2].write_bytes(older)
        refuses("day 2 was reported, of another copy", mdp.Stream.open, copies[2], PATH)
        assert ledger is None or ledger.spent == 1


def test_a_copy_of_what_was_not_paid_is_not_free(tmp_path):
    """Cut short between file and ledger, in two copies: one stream, charged once, told once."""

    begun = {"epsilon": 1, "horizon": 9, "ledger": mdp.Ledger(2, journal=tmp_path / "study.ledger")}
    with patched(mdp.Ledger, "charge_once", raising(KeyboardInterrupt)):
        refuses("", mdp.Stream, PATH, path=tmp_path / "a", **begun, error=KeyboardInterrupt)
    shutil.copy(tmp_path / "a", tmp_path / "b")
    one, other = (mdp.Stream.open(tmp_path / name, PATH) for name in "ab")
    one.step(demand(1))
    refuses("of another copy", lambda: other.step(demand(1)))
    assert mdp.Ledger.open(tmp_path / "study.ledger").spent == 1


def test_a_stream_whose_ledger_is_gone_is_refused(tmp_path):
    path, elsewhere = tmp_path / "a.stream", tmp_path / "kept.ledger"
    mdp.Stream(PATH, epsilon=1, horizon=9, path=path).step(demand(1))
    (tmp_path / "a.stream.ledger").rename(elsewhere)
    refuses("is gone: give ledger=", mdp.Stream.open, path, PATH)
    assert mdp.Stream.open(path, PATH, ledger=mdp.Ledger.open(elsewhere)).step(demand(1)).day == 2
    assert mdp.Stream.open(path, PATH).days == 2


@pytest.mark.parametrize("where", [None, "a.stream"])
def test_a_stream_is_charged_in_each_period_and_ends_with_its_ledger(tmp_path, monkeypatch, where):
    now = {"day": "2030-12-31"}
    monkeypatch.setattr("metricdp.accounting.ledger.today", lambda: now["day"])
    journal = None if where is None else tmp_path / "a.ledger"
    ledger = mdp.Ledger(1, journal=journal, renews="yearly", expires="2032-12-31")
    path = None if where is None else tmp_path / where
    stream = mdp.Stream(PATH, epsilon="3/4", horizon=9, ledger=ledger, path=path)
    stream.step(demand(1), day="a")
    now["day"] = "2031-01-01"
    assert ledger.left == 1
    stream.step(demand(1), day="b")
    stream.step(demand(1), day="c")
    assert ledger.left == Fraction(1, 4)
    now["day"] = "2032-01-01"
    ledger.charge("1/2")
    refuses("", lambda: stream.step(demand(1), day="d"), error=mdp.BudgetError)
    now["day"] = "2033-01-01"
    refuses("expired", lambda: stream.step(demand(1), day="d"))
    now["day"] = "2032-12-31"
    refuses("expired", lambda: stream.step(demand(1), day="d"))
    assert stream.step(demand(1), day="c").day == 3 and stream.release.day == 3  # told, and free


def test_a_day_of_another_relation_is_refused():
    """Records that may be left out have no proof for neighbors by exchange."""
    plane = mdp.EuclideanMetric([[0.0, 0.0], [9.0, 0.0]], ids=["a", "b"])
    snapped = mdp.PrivateDemand.from_coordinates(plane, [[0, 1], [9, 99]], max_snap=5)
    mdp.Stream(plane, epsilon=1, horizon=2).step(snapped)
    with pytest.raises(mdp.InputError, match="add-remove neighbors"):
        mdp.Stream(plane, epsilon=1, horizon=2, neighboring="replace-one").step(snapped)


OLD = Path(__file__).parents[1] / "data" / "streams" / "0.1.0.stream"


@pytest.mark.parametrize("paid_by", [None, "a ledger"])
def test_a_stream_of_0_1_0_is_gone_on_from(tmp_path, paid_by):
    """Its file named no ledger: from its next day on it has one."""
    path = tmp_path / "old.stream"
    path.write_bytes(OLD.read_bytes())
    journal = tmp_path / "study.ledger"
    ledger = None if paid_by is None else mdp.Ledger(4, journal=journal)
    stream = mdp.Stream.open(path, PATH, ledger=ledger)
    assert (stream.days, stream.label) == (2, "2026-03-02")
    # noise of scale 1/4 on each of two days
    assert stream.release.counts == pytest.approx([0, 200_000, 0, 100_000], abs=20)
    assert [day.centers for day in stream.history(k=1)] == [[3], [3]]
    refuses("is over", lambda: stream.step(demand(1), day="2026-03-01"))
    assert stream.step(mdp.PrivateDemand(PATH, [7] * 10**5), day="2026-03-03").day == 3
    kept = mdp.Ledger.open(journal if ledger else tmp_path / "old.stream.ledger")
    assert kept.spent == 4  # once, and whole
    assert mdp.Stream.open(path, PATH).release.counts[3] == pytest.approx(200_000, abs=20)
    path.write_bytes(OLD.read_bytes())
    refuses("day 3 was reported", mdp.Stream.open, path, PATH, ledger=ledger)
