"""How the tests are shared out, if pytest-xdist does it (``-n auto``)."""

from __future__ import annotations

import os

import pytest

MOST_PROCESSES = 6
"""Each may need half a gigabyte."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Processes for ``-n auto``: one for each processor this one may use, within reason."""
    usable = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    return min(usable, MOST_PROCESSES)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes go by their number in the ids of tests: those of archives hold the time of day, which
    differs between processes.
    """
    return f"{argname} of {len(val)} bytes" if isinstance(val, bytes) else None
