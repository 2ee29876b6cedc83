"""Streams: the noise of a sum over days is drawn before its records come, and hides their counts
all the same.

So a first pass gives every draw another multiple of a large number in place of noise: what the
stream then tells shows, modulo that number, which exact sum each draw will hide. The transcript has
these sums as the hidden answers of the draws, and their noisy values as the outputs, which a replay
makes by handing the stream what is left for its own sums. That a released number is its draw and
its sum together, and no draw hides two sums, follows from replays that return the same bytes.
"""

from __future__ import annotations

import itertools
from typing import Any

import metricdp as mdp
from metricdp.audit.replay.transcript import Transcript, recorded

DAYS = 3
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
    """What a stream tells on all days."""
    stream = mdp.Stream(universe, epsilon=1, ledger=ledger, parts=4, **options)
    told = [[stream.step(day), stream.k_median(1)] for day in demand]
    return [form for day in told for form in day] + [stream.receipt]


def beneath(universe: Any, options: dict[str, Any], demand: list[Any], ledger: Any) -> list[Any]:
    """The exact sum that each draw of a stream will hide; 0 where none is told."""
    sums: dict[int, Any] = {}
    with recorded(Transcript(universe, tag=TAG)) as tagged:
        stream = mdp.Stream(universe, epsilon=1, ledger=ledger, parts=4, **options)
        for day in demand:
            stream.step(day)
            for told in stream._state.released.values():
                sums[int(told.min()) // TAG - 1] = told % TAG
    return [sums.get(at, 0) for at in range(len(tagged.draws))]
