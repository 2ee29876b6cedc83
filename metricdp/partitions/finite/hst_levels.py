"""The tree of a universe: built once, or that of the very universe."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from metricdp.errors import InputError
from metricdp.metrics.base import Metric
from metricdp.metrics.kept import Kept
from metricdp.partitions.finite.hst import HST, build_hst

_trees = Kept()


def kept_hst(metric: Metric, seed: int = 0) -> HST:
    """The universe's 2-HST for this seed: built once, kept as long as the universe is."""
    known: dict[int, dict[str, Any]] = _trees.of(metric)
    if seed not in known:
        tree = build_hst(metric, seed)
        known[seed] = {
            f.name: getattr(tree, f.name) for f in fields(tree) if f.name != "universe"
        }  # else the table keeps its own key
    return HST(metric, **known[seed])


def checked_tree(tree: Any) -> HST | None:
    """The tree given, or None."""
    if tree is not None and not isinstance(tree, HST):
        raise InputError(
            f"tree must be a 2-HST, mdp.build_hst(metric) or mdp.HST.load(path, metric); got "
            f"{type(tree).__name__}"
        )
    return tree


def tree_for(tree: HST | None, metric: Metric, seed: int) -> HST:
    """The tree given, if it is of this very universe; else the universe's own for this seed."""
    if tree is not None and tree.universe is not metric:
        raise InputError(
            "the tree is of another universe: build it of, or load it for, the very metric object "
            "that is asked about"
        )
    return kept_hst(metric, seed) if tree is None else tree
