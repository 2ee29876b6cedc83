"""Methods, one file each, loaded on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metricdp.methods.box.projection import Projected as Projected
    from metricdp.methods.finite.regional import Regional as Regional
    from metricdp.methods.registry import *  # noqa: F403

_LISTED = (
    "BY_NAME",
    "Coreset",
    "DPHST",
    "LSHCoreset",
    "Lloyd",
    "LocalSearch",
    "METHODS",
    "MaxCoverage",
    "Method",
    "Partition",
    "Quadtree",
    "Uniform",
    "method_of",
)
_HOMES = dict.fromkeys(_LISTED, "registry") | {
    # what has no defaults to be named by, or is made of another method by its name
    "Projected": "box.projection",
    "Regional": "finite.regional",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"metricdp.methods.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
