"""Every public name shows how it is used: its docstring has an example, which is run as a test."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MODULES = re.findall(r"^   (metricdp\S*)$", (ROOT / "docs/api.rst").read_text("utf-8"), re.M)


def offered(name):
    """Classes and functions that a page of the reference is made of."""
    module = importlib.import_module(name)
    listed = getattr(module, "__all__", None)
    own = [n for n, v in vars(module).items() if getattr(v, "__module__", "") == name]
    names = listed if listed is not None else [n for n in own if not n.startswith("_")]
    values = ((n, getattr(module, n)) for n in names)
    return [(n, v) for n, v in values if inspect.isclass(v) or inspect.isfunction(v)]


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_has_an_example(module):
    assert offered(module)
    without = [name for name, value in offered(module) if ">>>" not in (value.__doc__ or "")]
    assert not without
