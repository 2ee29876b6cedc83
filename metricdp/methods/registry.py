"""All methods by name, what `method=` accepts, and which methods answer in which universe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from metricdp.arguments import chosen
from metricdp.errors import InputError
from metricdp.methods.baselines import Lloyd as Lloyd
from metricdp.methods.baselines import LSHCoreset as LSHCoreset
from metricdp.methods.box.coreset import Coreset as Coreset
from metricdp.methods.box.default import RoundsMethod
from metricdp.methods.box.halved import MOST_DIMENSIONS, Halved
from metricdp.methods.box.quadtree import Quadtree as Quadtree
from metricdp.methods.expected import Expected, ExpectedPoints
from metricdp.methods.finite.hst import DPHST as DPHST
from metricdp.methods.finite.local_search import LocalSearch as LocalSearch
from metricdp.methods.finite.max_coverage import MaxCoverage as MaxCoverage
from metricdp.methods.finite.partition import Partition as Partition
from metricdp.methods.finite.uniform import Uniform as Uniform
from metricdp.methods.method import Method as Method
from metricdp.metrics.base import Metric
from metricdp.metrics.space import EuclideanSpace
from metricdp.protocols import Kind

_IN_FINITE: tuple[type[Method], ...] = (Partition, Uniform, DPHST, LocalSearch, MaxCoverage)
_IN_BOXES_ALONE: tuple[type[Method], ...] = (Quadtree, Coreset, Lloyd, LSHCoreset)
BY_NAME = {kind.name: kind for kind in (*_IN_FINITE, *_IN_BOXES_ALONE)}
"""All methods, in the order of `metricdp.methods.catalogue`."""
METHODS = tuple(BY_NAME)
"""Names for `method`; the first is the default."""


def method_of(method: Any) -> Method:
    """The method given, or named, with its defaults.

    Examples
    --------
    >>> mdp.methods.method_of("uniform")
    Uniform(records_hint=None)
    """
    return method if isinstance(method, Method) else BY_NAME[chosen(method, METHODS, "method")]()


def default_of(
    universe: Metric | EuclideanSpace, records_hint: float | None = None
) -> Partition | Halved | RoundsMethod:
    """The default method of a universe, of a box of few dimensions, or of one of many."""
    found: Partition | Halved | RoundsMethod = _DEFAULTS[universe.kind](universe)(
        records_hint=records_hint
    )
    return found


def _of_box(space: EuclideanSpace) -> type[Halved] | type[RoundsMethod]:
    return Halved if space.dimension <= MOST_DIMENSIONS else RoundsMethod


_DEFAULTS: dict[Kind, Callable[[Any], Any]] = {"finite": lambda _: Partition, "box": _of_box}


def answering(
    method: Any, universe: Metric | EuclideanSpace, records_hint: float | None = None
) -> Method:
    """The method, given or named, that answers in a universe; refused where it cannot."""
    recipe = method_of(method).with_hint(records_hint)
    answers, needs, answering_there = _ANSWERS[universe.kind]
    if not getattr(recipe, answers):
        raise InputError(f"the method {recipe.name} needs {needs}")
    if universe.directed and not recipe.one_way:
        raise InputError(
            f"the method {recipe.name} needs distances that are the same in both directions; where "
            f"they are not, use partition, hst or uniform, or metric.symmetric, a symmetric bound "
            f"of them, as the universe"
        )
    return answering_there(recipe, universe)


def expecting(recipe: Method, universe: Metric | EuclideanSpace, expected: Any) -> Method:
    """The method with public weights of expected demand, if any are given."""
    if expected is None:
        return recipe
    known = _EXPECTED[universe.kind](universe, expected)
    if not isinstance(recipe, (Partition, Halved)):
        raise InputError(
            f"expected= is for the default method, in boxes of up to {MOST_DIMENSIONS} dimensions, "
            f"not for {recipe.name} in {universe.name}"
        )
    return replace(recipe, expected=known)


_EXPECTED: dict[Kind, Callable[[Any, Any], Any]] = {"finite": Expected.of, "box": ExpectedPoints.of}


def _in_box(recipe: Method, space: EuclideanSpace) -> Method:
    """The method that answers in a box in place of this one."""
    if isinstance(recipe, Partition):
        return default_of(space, recipe.records_hint)
    if isinstance(recipe, Coreset):
        source = answering(recipe.source or "partition", space, recipe.records_hint)
        if not isinstance(source, Halved | RoundsMethod):
            raise InputError(f"source of a coreset must be the default method, got {source.name}")
        return replace(recipe, source=source)
    return recipe.within(space)


_ANSWERS: dict[Kind, tuple[str, str, Callable[[Method, Any], Method]]] = {
    "finite": (
        "in_finite",
        "a box, mdp.EuclideanSpace(lower, upper), not a finite universe",
        lambda recipe, _: recipe,
    ),
    "box": ("in_space", "a finite universe (a metric), not a box", _in_box),
}
"""For each kind of universe: the attribute that says whether a method answers there, what the
method needs otherwise, and the function to the method that answers in its place.
"""
