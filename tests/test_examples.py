"""Every public name shows how it is used: its docstring has an example, which is run as a test."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

from metricdp.errors import MissingExtraError

ROOT = Path(__file__).resolve().parents[1]
MODULES = re.findall(r"^   (metricdp\S*)$", (ROOT / "docs/api.rst").read_text("utf-8"), re.M)
FLOORS = (
    "metricdp.metrics",
    "metricdp.universe",
    "metricdp.accounting",
    "metricdp.privacy",
    "metricdp.releases",
    "metricdp.report",
    "metricdp.audit",
)
"""Packages that the pages name beside the reference."""


def offered(name):
    """Classes and functions that a page of the reference is made of."""
    try:
        module = importlib.import_module(name)
    except MissingExtraError as missing:
        pytest.skip(str(missing))
    listed = getattr(module, "__all__", None)
    own = [n for n, v in vars(module).items() if getattr(v, "__module__", "") == name]
    names = listed if listed is not None else [n for n in own if not n.startswith("_")]
    values = ((n, getattr(module, n)) for n in names)
    return [(n, v) for n, v in values if inspect.isclass(v) or inspect.isfunction(v)]


def lacking(values):
    """Names of those without an example. Members show theirs in that of their class, unless their
    call is not obvious.
    """
    return [name for name, value in values if ">>>" not in (value.__doc__ or "")]


@pytest.mark.parametrize("module", [*MODULES, *FLOORS])
def test_every_public_name_has_an_example(module):
    assert offered(module) and not lacking(offered(module))


def test_the_lack_of_an_example_is_seen():
    def without():
        """It does."""

    def having():
        """
        >>> 1
        """

    assert lacking([("without", without), ("having", having)]) == ["without"]
