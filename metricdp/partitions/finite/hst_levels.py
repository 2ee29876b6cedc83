"""The 2-HST of a universe: cached, or given and checked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from metricdp.errors import InputError
from metricdp.metrics.base import Metric
from metricdp.metrics.identity_cache import IdentityCache
from metricdp.partitions.finite.hst import HST, build_hst

_trees = IdentityCache()


def kept_hst(metric: Metric, seed: int = 0) -> HST:
    """The universe's 2-HST for this seed: built once, and cached as long as the universe lives."""
    known: dict[int, Any] = _trees.of(metric)
    if seed not in known:
        # without the universe: a value of the cache must not keep its key alive
        known[seed] = replace(build_hst(metric, seed), universe=None)  # type: ignore[arg-type]
    return replace(known[seed], universe=metric)


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
