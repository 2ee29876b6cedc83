"""All methods by name: what `method=` accepts."""

from __future__ import annotations

from typing import Any

from metricdp.arguments import chosen
from metricdp.methods.baselines.balcan import Balcan
from metricdp.methods.baselines.k_variates import KVariates
from metricdp.methods.baselines.lloyd import Lloyd
from metricdp.methods.baselines.lsh import LSHCoreset
from metricdp.methods.box.coreset import Coreset
from metricdp.methods.box.quadtree import Quadtree
from metricdp.methods.finite.hst import DPHST
from metricdp.methods.finite.local_search import LocalSearch
from metricdp.methods.finite.max_coverage import MaxCoverage
from metricdp.methods.finite.partition import Partition
from metricdp.methods.finite.uniform import Uniform
from metricdp.methods.method import Method

__all__ = [
    "DPHST",
    "Balcan",
    "Coreset",
    "KVariates",
    "LSHCoreset",
    "Lloyd",
    "LocalSearch",
    "MaxCoverage",
    "Method",
    "Partition",
]
__all__ += ["Quadtree", "Uniform"]

_CLASSES: tuple[type[Method], ...] = (
    Partition,
    Uniform,
    DPHST,
    LocalSearch,
    MaxCoverage,
    Quadtree,
    Coreset,
    Lloyd,
    LSHCoreset,
    KVariates,
    Balcan,
)
BY_NAME: dict[str, type[Method]] = {kind.name: kind for kind in _CLASSES}
METHODS = tuple(BY_NAME)
"""Names for `method`; the first is the default."""


def method_of(method: Any) -> Method:
    """The method given, or named, with its defaults.

    Raises
    ------
    InputError
        It is neither a method nor the name of one.

    Examples
    --------
    >>> method_of("uniform")
    Uniform(records_hint=None)
    """
    return method if isinstance(method, Method) else BY_NAME[chosen(method, METHODS, "method")]()
