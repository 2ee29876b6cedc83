"""The terms of ``metricdp bench paper1``: its methods, and what is measured of them."""

from __future__ import annotations

from dataclasses import dataclass

PLAIN = "kmed++"
TREE = "HST"
UNIFORM = "uniform"
DEFAULT = "partition"
PRIVATE = (TREE, "HST-tree", "lsh", "lloyd", "k-variates", "balcan")
METHODS = (PLAIN, *PRIVATE, "quadtree", DEFAULT, UNIFORM)
STARTS = 2
"""Of the reference, beside the runs of `kmed++`."""
STEPS = 10
"""Of Lloyd's in `kmed++`, as in the paper."""


@dataclass(frozen=True)
class Cell:
    """One repetition of one set, k and epsilon."""

    name: str
    k: int
    epsilon: str
    repeat: int


@dataclass(frozen=True)
class Plan:
    """What is measured; see `run` for the fields."""

    delta: str
    power: int
    seed: int
    records: int | None
    methods: tuple[str, ...]
