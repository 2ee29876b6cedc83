"""Methods, one file each, loaded on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metricdp.lazy import on_first_use

if TYPE_CHECKING:
    from metricdp.methods.finite.regional import Regional as Regional
    from metricdp.methods.registry import *  # noqa: F403

_HOME = {
    "finite.regional": ("Regional",),  # has no defaults to be named by
    "registry": (
        *("BY_NAME", "Coreset", "DPHST", "LSHCoreset", "Lloyd", "LocalSearch", "METHODS"),
        *("MaxCoverage", "Method", "Partition", "Quadtree", "Uniform", "method_of"),
    ),
}
__getattr__, __dir__, __all__ = on_first_use(__name__, _HOME)
