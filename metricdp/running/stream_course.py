"""What a ledger knows of a stream: what was charged, in which period, and which day was released
last.

A stream's file can be copied, and copies would release the same days with different noise. So each
counted day has a random mark, and is released once the ledger has noted it. A copy that lags behind
or has another mark is refused.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from metricdp.accounting import Cost, Ledger
from metricdp.accounting.binding import Protection
from metricdp.errors import InputError
from metricdp.privacy.continual import Counting


class ChargedStream(NamedTuple):
    """A stream as its ledgers know it.

    `name`: in all of them; `ledgers`: at most one of this process alone, and one on disk if the
    stream has a file.
    """

    name: str
    ledgers: tuple[Ledger, ...]
    cost: Cost
    protects: Protection

    def pay(self) -> None:
        """Before a day is read: charge the whole stream, once in each period in which it reads."""
        for ledger in self.ledgers:
            ledger.charge_once(self.name, self.cost, "stream", self.protects)

    def follow(self, day: int, mark: str) -> None:
        """Before a day is reported: note it, once."""
        for ledger in self.ledgers:
            ledger.follow(self.name, day, mark)


def ledgers_of(
    path: Path, named: Path | None, ledger: Ledger | None, counting: Counting, *, new: bool
) -> tuple[tuple[Ledger, ...], Path]:
    """The ledgers of a stream with a file, and the journal that keeps them.

    The one that was given, if it has a journal; else the one that the file names; else one of its
    own beside the file, of just what the stream costs.
    """
    if ledger is not None and ledger.journal is not None:
        if named is not None and named.exists() and not named.samefile(ledger.journal):
            raise InputError(f"{path}: its ledger is {named}, not {ledger.journal}")
        return (ledger,), ledger.journal
    journal = path.with_name(path.name + ".ledger") if named is None else named
    if named is not None and not journal.exists():
        raise InputError(
            f"{path}: its ledger {journal}, which knows the days that were reported, is gone: give "
            f"ledger= (--ledger), with the journal where it is now"
        )
    cost, relation = counting.cost, counting.neighboring
    own = Ledger(cost.epsilon, cost.delta, relation, journal) if named is None else None
    kept = own or Ledger.open(journal)
    if kept.neighboring != relation:
        raise InputError(f"{path}: is a stream of {relation} neighbors, unlike its ledger")
    if new and kept.entries:
        raise InputError(
            f"{journal}: is the ledger of a stream whose file {path.name} is gone: remove it too "
            f"to begin another one"
        )
    return ((kept,) if ledger is None else (ledger, kept)), journal


def noted_path(journal: Path, path: Path) -> str:
    """How a stream's file names its journal: from its own folder, so that both can be moved."""
    return os.path.relpath(os.path.realpath(journal), path.parent)
