"""Methods: recipes of public structure, gate, release and solver, one file each.

Their classes stand here, with options of their own: ``from metricdp.methods import DPHST``. They
are loaded on first use, so that a recipe imports nothing but the pieces it is made of.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metricdp.methods.box.projection import Projected
    from metricdp.methods.finite.regional import Regional
    from metricdp.methods.registry import (
        BY_NAME,
        DPHST,
        METHODS,
        Balcan,
        Coreset,
        KVariates,
        Lloyd,
        LocalSearch,
        LSHCoreset,
        MaxCoverage,
        Method,
        Partition,
        Quadtree,
        Uniform,
        method_of,
    )

__all__ = [
    "BY_NAME",
    "DPHST",
    "METHODS",
    "Balcan",
    "Coreset",
    "KVariates",
    "LSHCoreset",
    "Lloyd",
    "LocalSearch",
    "MaxCoverage",
    "Method",
    "Partition",
    "Projected",
    "Quadtree",
    "Regional",
    "Uniform",
    "method_of",
]

_ELSEWHERE = {"Projected": "box.projection", "Regional": "finite.regional"}
"""What has no defaults to be named by, or is made of another method by its name."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _ELSEWHERE.get(name, "registry")
    return getattr(import_module(f"metricdp.methods.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
