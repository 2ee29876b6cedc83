"""The file of a stream between days: private (0600), written atomically, under a lock.

- *A crash* leaves either the former state or the new one. If the same day is stepped again after
  it was counted, nothing is read and the same release is returned.
- *Two processes* take turns under the lock. *A full disk* leaves the file as it was.
- *Charge*: the file is written first, with a name; the ledger's entry has the same name.
- *A copy*, or an older state, is refused by the ledger (`ChargedStream`).
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metricdp.accounting import Cost, Ledger
from metricdp.accounting.binding import Protection
from metricdp.accounting.continual import Node
from metricdp.archives import read_archive
from metricdp.arguments import Ints
from metricdp.atomic import durable_file, taking_turns
from metricdp.errors import InputError
from metricdp.metrics.base import Metric
from metricdp.privacy.continual import Counter, Counting, restored, stored

FORMATS = ("metricdp stream, 1", "metricdp stream, 2")
"""Versions that are read. The first names no ledger, and its days have no marks."""


class StreamState(NamedTuple):
    """The state of a stream after a day.

    `name`: its name on ledgers; `mark`: a random number of the last day; `label`: the last day's
    name; `labels`: the names of all days; `answers`: centers that were reported, by k and day.
    """

    name: str
    mark: str
    counter: Counter
    released: dict[Node, Ints]
    label: str | None
    labels: tuple[str, ...]
    answers: dict[str, list[dict[str, Any]]]

    @classmethod
    def first(cls, name: str, counter: Counter) -> StreamState:
        """The state before the first day."""
        return cls(name, "", counter, {}, None, (), {})


class StreamFile:
    """The file of one stream.

    `ledger`: path of the journal that the file names, relative to the file's folder.
    """

    def __init__(self, path: Path, universe: Metric) -> None:
        self.path = Path(os.path.realpath(path))
        self._universe = universe.checksum()
        self.ledger: str | None = None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock beside the file."""
        with taking_turns(self.path):
            yield

    def write(self, state: StreamState, settings: dict[str, Any]) -> None:
        """Write the state atomically."""
        nodes = list(state.released)
        header = {
            "format": FORMATS[-1],
            "universe": self._universe,
            "settings": settings,
            "name": state.name,
            "mark": state.mark,
            "ledger": self.ledger,
            "days": state.counter.days,
            "open": [list(node) for node in state.counter.nodes],
            "released": [list(node) for node in nodes],
            "label": state.label,
            "labels": list(state.labels),
            "answers": state.answers,
        }
        n_parts = state.counter.counting.query.n_parts
        values = [state.released[node] for node in nodes]
        facts = np.array(values, np.int64).reshape(len(nodes), n_parts)
        content = BytesIO()
        np.savez(
            content, header=np.array(json.dumps(header)), open=stored(state.counter), told=facts
        )
        data = content.getvalue()
        with durable_file(self.path) as file:
            file.write(data + zlib.crc32(data).to_bytes(4, "big"))

    def named_ledger(self) -> Path | None:
        """The journal that the file on disk names, if any."""
        name = stream_contents(self.path)[0].get("ledger") if self.path.exists() else None
        return None if name is None else self.path.parent / name

    def read(self, counting: Counting, settings: dict[str, Any]) -> StreamState | None:
        """The state on disk, or None; raises InputError if settings or universe differ."""
        if not self.path.exists():
            return None
        header, arrays = stream_contents(self.path)
        if header.get("universe") != self._universe:
            raise InputError(f"{self.path}: is a stream of another universe")
        for name, value in settings.items():
            if header["settings"].get(name) != value:
                raise InputError(
                    f"{self.path}: is a stream with {name} {header['settings'].get(name)}, not "
                    f"{value}"
                )
        nodes = tuple(Node(*node) for node in header["open"])
        counter = restored(counting, int(header["days"]), nodes, arrays["open"])
        keys = [Node(*node) for node in header["released"]]
        return StreamState(
            header["name"],
            header.get("mark", ""),
            counter,
            dict(zip(keys, arrays["told"])),
            header["label"],
            tuple(header["labels"]),
            header["answers"],
        )

    def remove(self) -> None:
        """Delete the file."""
        with suppress(FileNotFoundError):
            self.path.unlink()


def public_facts(path: Path) -> dict[str, Any]:
    """The public part of a stream's file, JSON-ready."""
    header = stream_contents(path)[0]
    centers = {
        k: [{name: answer[name] for name in ("day", "moved", "alarm")} for answer in answers]
        for k, answers in header["answers"].items()
    }
    facts = {name: header.get(name) for name in ("days", "label", "ledger")}
    return {**facts, "settings": header["settings"], "centers": centers}


def stream_contents(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of a stream's file."""
    if not path.exists():
        raise InputError(f"{path}: no such stream: begin one with `metricdp stream init`")
    data = path.read_bytes()
    whole, check = data[:-4], data[-4:]
    found = None
    if zlib.crc32(whole).to_bytes(4, "big") == check:
        found = read_archive(BytesIO(whole), lambda _: dict.fromkeys(("open", "told"), len(whole)))
    if found is None or found[0].get("format") not in FORMATS or len(found[1]) != 2:
        raise InputError(f"{path}: is not the file of a stream, or is damaged")
    return found


class ChargedStream(NamedTuple):
    """A stream's entries on its ledgers.

    `name`: the same on all of them; `ledgers`: at most one in memory, and one on disk if the stream
    has a file.
    """

    name: str
    ledgers: tuple[Ledger, ...]
    cost: Cost
    protects: Protection

    def pay(self) -> None:
        """Charge the whole stream, before a day is read; once in each period in which one is."""
        for ledger in self.ledgers:
            ledger.charge_once(self.name, self.cost, "stream", self.protects)

    def follow(self, day: int, mark: str) -> None:
        """Record a day and its mark, before it is reported."""
        for ledger in self.ledgers:
            ledger.follow(self.name, day, mark)


def ledgers_of(
    path: Path, named: Path | None, ledger: Ledger | None, counting: Counting, *, new: bool
) -> tuple[tuple[Ledger, ...], Path]:
    """The ledgers of a stream with a file, and the journal that keeps its days.

    That is the given ledger, if it has a journal; else the one that the file names; else a new one
    beside the file, whose budget is the stream's cost.
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
    """The journal's path relative to the stream's folder, so that both can be moved together."""
    return os.path.relpath(os.path.realpath(journal), path.parent)
