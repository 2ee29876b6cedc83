"""Tests of metricdp."""

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from metricdp.errors import InputError


def named(value: object) -> str:
    """Name of a parameter in the ids of tests: the same in every process, as those that share the
    tests compare them.
    """
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))


def each(**options: list[Any]) -> list[dict[str, Any]]:
    """One option at a time, with each of its values."""
    return [{name: value} for name, values in options.items() for value in values]


def wrong(rule: str, /, **options: list[Any]) -> list[tuple[dict[str, Any], str]]:
    """The same, and the rule that a refusal of it names."""
    return [(option, rule) for option in each(**options)]


def cases(names: str | tuple[str, ...], *rows: Any, ids: Any = None) -> pytest.MarkDecorator:
    """Decorate a test that runs once for each row of a table: pytest's ``parametrize``."""
    return pytest.mark.parametrize(names, rows, ids=ids)


Errors = type[BaseException] | tuple[type[BaseException], ...]


def refuses(
    words: str, call: Callable[..., object], /, *args: Any, error: Errors = InputError, **more: Any
) -> Any:
    """Hold that a call is refused, with a message that has these words (a regular expression); the
    error.
    """
    __tracebackhide__ = True
    with pytest.raises(error, match=words or None) as refused:
        call(*args, **more)
    return refused.value


def loaded(script: Path) -> ModuleType:
    """A script that stands in no package, as a module."""
    spec = importlib.util.spec_from_file_location(script.stem, script)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
