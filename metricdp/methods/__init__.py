"""Methods, one file each; `metricdp.methods.catalogue` lists them. Loaded on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from metricdp.methods.catalogue import LISTED

if TYPE_CHECKING:
    from metricdp.methods.box.projection import Projected as Projected
    from metricdp.methods.catalogue import *  # noqa: F403
    from metricdp.methods.finite.regional import Regional as Regional
    from metricdp.methods.method import Method as Method
    from metricdp.methods.registry import BY_NAME as BY_NAME
    from metricdp.methods.registry import METHODS as METHODS
    from metricdp.methods.registry import method_of as method_of

_HOMES = {entry.kind: entry.home for entry in LISTED.values()} | {
    "BY_NAME": "registry",
    "METHODS": "registry",
    "Method": "method",
    "method_of": "registry",
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
