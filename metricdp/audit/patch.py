"""Temporarily replaces an attribute or a function of the running package."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from importlib import import_module
from typing import Any
from unittest.mock import patch

Noise = Callable[[Any, str, float, list[int]], list[int]]
_MADE: dict[tuple[str, float], Any] = {}
"""OpenDP's measurements, cached by kind and scale."""


def patched(owner: Any, name: str, value: Any) -> AbstractContextManager[Any]:
    """Give an existing attribute another value in a block."""
    return patch.object(owner, name, value)


@contextmanager
def all_patched(places: Iterable[tuple[Any, str, Any]]) -> Iterator[None]:
    """Replace several attributes in a block, given as (owner, name, value)."""
    with ExitStack() as stack:
        for place in places:
            stack.enter_context(patched(*place))
        yield


class _Answered:
    """An OpenDP measurement whose noise comes from `answer`; its privacy map is the original."""

    def __init__(self, answer: Noise, real: Any, kind: str, scale: float) -> None:
        self.map = real.map
        self._answer = partial(answer, real, kind, scale)

    def __call__(self, values: list[int]) -> list[int]:
        return self._answer(values)


@contextmanager
def noise_from(answer: Noise) -> Iterator[None]:
    """Let all noise in a block come from ``answer(measurement, kind, scale, values)``."""
    measurements = import_module("opendp.measurements")

    def maker(kind: str) -> Callable[..., _Answered]:
        make = getattr(measurements, f"make_{kind}")

        def made(*key: Any, scale: float) -> _Answered:
            if (kind, scale) not in _MADE:
                _MADE[kind, scale] = make(*key, scale=scale)
            return _Answered(answer, _MADE[kind, scale], kind, scale)

        return made

    kinds = ("laplace", "gaussian")
    with all_patched((measurements, f"make_{kind}", maker(kind)) for kind in kinds):
        yield


@contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Replace a function of a module in a block, also in all modules that imported it."""
    before = getattr(owner, name)
    homes = [m for key, m in list(sys.modules.items()) if key.split(".")[0] == "metricdp"]
    named = ((m, known, there) for m in homes for known, there in list(vars(m).items()))
    with all_patched((m, known, value) for m, known, there in named if there is before):
        yield
