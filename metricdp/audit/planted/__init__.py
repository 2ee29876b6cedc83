"""Mutants in tables: what is wrong, which checks must catch it, what source is replaced."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from metricdp.audit.planted.mutating import Mutation, mutated

__all__ = ["Bug", "Mutation", "bugs"]


@dataclass(frozen=True)
class Bug:
    """One mutant: its name, what is wrong, the checks that must catch it, how it is planted."""

    name: str
    wrong: str
    caught_by: tuple[str, ...]
    plant: Callable[[], AbstractContextManager[Any]]


def bugs() -> Iterator[Bug]:
    """All planted bugs, table by table."""
    for path in sorted(files(__name__).iterdir(), key=lambda path: path.name):
        if path.name.endswith(".toml"):
            for name, row in tomllib.loads(path.read_text(encoding="utf-8")).items():
                plant = mutated([Mutation(*place) for place in row["at"]])
                yield Bug(name.replace("_", " "), row["wrong"], tuple(row["caught_by"]), plant)
