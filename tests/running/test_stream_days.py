"""What a day may be called: one day has one name."""

from datetime import UTC, date, datetime

import numpy as np
import pytest

import metricdp as mdp
from metricdp.running.stream import _day_name
from tests import cases, path_metric, refuses

PATH = path_metric(3)


@cases(
    "day",
    date(2026, 11, 23),
    datetime(2026, 11, 23),
    np.datetime64("2026-11-23"),
    np.datetime64("2026-11-23", "ns"),
    " 2026-11-23\n",
)
def test_a_day_has_one_name(day):
    """Blanks and midnight made another day of it, which was counted twice."""
    assert _day_name(day) == "2026-11-23"


@cases(
    "day",
    datetime(2026, 11, 23, 0, 0, 1),
    datetime(2026, 11, 23, tzinfo=UTC),
    np.datetime64("2026-11-23T01"),
    np.datetime64("NaT", "s"),
    1.0,
    b"1",
    "",
    " ",
    "a\tb",
    "1" * 101,
)
def test_a_moment_is_no_day(day):
    refuses(r"^day must be a", _day_name, day)


def test_a_retry_at_another_hour_counts_nothing():
    stream = mdp.Stream(PATH, epsilon=1, horizon=2)
    demand = mdp.PrivateDemand(PATH, [1])
    stream.step(demand, day="Montage\u0301")
    for day in ("Montag\u00e9", " Montag\u00e9 "):
        assert stream.step(demand, day=day).day == 1
    refuses("got a moment", lambda: stream.step(demand, day=datetime(2026, 11, 23, 4)))
    assert stream.days == 1
    assert _day_name(7) == _day_name(np.int64(7)) == "7"


def test_pandas_days():
    pd = pytest.importorskip("pandas")
    assert _day_name(pd.Timestamp("2026-11-23")) == "2026-11-23"
    for day in (pd.NaT, pd.Timestamp("2026-11-23T00:00:00.000000001"), pd.Timestamp.now()):
        refuses("", _day_name, day)
