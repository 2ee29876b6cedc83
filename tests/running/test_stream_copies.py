"""Copies and older states of a stream's file, and periods of its ledger: one course, paid where it
reads.
"""

import shutil
from fractions import Fraction
from pathlib import Path

import pytest

import metricdp as mdp
from metricdp.accounting.continual import DayBlock, squared
from metricdp.audit.patch import patched
from metricdp.running.days import LeastNoise as Schedule
from tests import path_metric, refuses

PATH = path_metric(9)


def demand(*places):
    return mdp.PrivateDemand(PATH, list(places))


def test_of_copies_of_one_state_one_goes_on(tmp_path):
    """A copy under another name tells no day that another copy told, whoever pays."""
    for ledger in (None, mdp.Ledger(1), mdp.Ledger(1, journal=tmp_path / "study.ledger")):
        folder = tmp_path / str(id(ledger))
        folder.mkdir()
        first = folder / "0.stream"
        mdp.Stream(PATH, epsilon=1, horizon=9, ledger=ledger, path=first)
        copies = [folder / f"{i}.stream" for i in range(1, 6)]
        for copy in copies:
            shutil.copy(first, copy)
        held = [mdp.Stream.open(copy, PATH) for copy in copies]
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

    def crash(*_, **__):
        raise KeyboardInterrupt

    begun = {"epsilon": 1, "horizon": 9, "ledger": mdp.Ledger(2, journal=tmp_path / "study.ledger")}
    with patched(mdp.Ledger, "charge_once", crash), pytest.raises(KeyboardInterrupt):
        mdp.Stream(PATH, path=tmp_path / "a", **begun)
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


def test_squares_of_a_user_who_is_there_every_day_count_the_length_of_a_run():
    """By brute force: all of a user's records, m on each day, in every node of every level."""
    for days, base, levels, m in ((7, 2, 3, 1), (9, 3, 3, 2), (5, 5, 2, 3)):
        schedule, block = Schedule(days), DayBlock(0, days, base, levels)
        most = 0
        for level in range(levels):
            size = base**level
            runs = [min(size, days - start) for start in range(0, days, size)]
            most += sum((m * run) ** 2 for run in runs)
        assert squared(schedule, block, "user", m * m) >= most
        assert squared(schedule, block, "user", m * m) > days * levels * m * m
        assert squared(schedule, block, "event", m * m) == levels * m * m
