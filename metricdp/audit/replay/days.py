"""Streams: noise of a sum over days is drawn before its records come.

A first pass gives each draw another multiple of a large number in place of noise. What the stream
reports, modulo that number, shows which exact sum each draw will hide. The replay on a neighbor
must return the same bytes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import metricdp as mdp
from metricdp.audit.patch import all_patched, patched
from metricdp.audit.replay.transcript import Transcript, recorded

DAYS = 4
HORIZON = 3
PLACES = (0, 10)
EACH_DAY = list(itertools.product((None, *PLACES), repeat=DAYS))[1:]
"""Where a unit may be on each day, if anywhere."""
TAG = 10**6


def at_once(by_user: bool, universe: Any, rows: list[Any], users: list[str]) -> list[Any]:
    """One demand a day."""
    found = []
    for day in range(DAYS):
        there = [(row[day], user) for row, user in zip(rows, users) if row[day] is not None]
        named = [user for _, user in there] if by_user else None
        found.append(mdp.PrivateDemand(universe, [place for place, _ in there], user=named))
    return found


def stepped(universe: Any, options: dict[str, Any], demand: list[Any], ledger: Any) -> Any:
    """What a stream tells on all days, by small trees of sums; beyond its horizon it refuses."""
    with _small_trees():
        stream = mdp.Stream(universe, epsilon=1, ledger=ledger, parts=4, **options)
        sums = [form for day in demand for form in _day(stream, day)]
        return [*sums, stream.receipt]


def _day(stream: Any, demand: Any) -> list[Any]:
    try:
        return [stream.step(demand), stream.k_median(1)]
    except mdp.InputError as refused:
        return [str(refused)]


@contextmanager
def _small_trees() -> Iterator[None]:
    """The best trees for so few days would be days alone."""
    shapes = import_module("metricdp.running.days")
    blocks = import_module("metricdp.accounting.continual")
    best = ("best_for_totals", "best_for_windows")
    small = [(shapes, name, lambda days, gaussian: (2, 2)) for name in best]
    with all_patched(small), patched(blocks, "FIRST", 2):
        yield


def beneath(universe: Any, options: dict[str, Any], demand: list[Any], ledger: Any) -> list[Any]:
    """The exact sum that each draw of a stream will hide; 0 where none is released."""
    sums: dict[int, Any] = {}
    with recorded(Transcript(universe, tag=TAG)) as tagged, _small_trees():
        stream = mdp.Stream(universe, epsilon=1, ledger=ledger, parts=4, **options)
        for day in demand:
            _day(stream, day)
            for released in stream._state.released.values():
                sums[int(released.min()) // TAG - 1] = released % TAG
    return [sums.get(at, 0) for at in range(len(tagged.draws))]
