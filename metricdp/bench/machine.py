"""On what was measured: processor, memory, system, versions. Public facts of this machine."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("metricdp", "numpy", "scipy", "numba", "networkx", "opendp", "igraph", "scikit-learn")


def facts() -> dict[str, str]:
    """Name and value of each, JSON-ready, in the order in which a report tells them.

    Examples
    --------
    >>> facts()["Python"].count(".")
    2
    """
    found = {
        "day (UTC)": datetime.now(UTC).date().isoformat(),
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "processor": _processor(),
        "processors": str(os.cpu_count() or "unknown"),
        "threads of kernels": os.environ.get("NUMBA_NUM_THREADS", "as many as processors"),
        "memory": _memory(),
        "load at the start": _load(),
        "Python": platform.python_version(),
    }
    return found | {name: _installed(name) for name in PACKAGES}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or "unknown"


def _memory() -> str:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return "unknown"
    return f"{size / 2**30:.1f} GiB"


def _load() -> str:
    """Of others: figures of time from a busy machine are those of a busy machine."""
    try:
        return f"{os.getloadavg()[0]:.1f}"
    except (AttributeError, OSError):
        return "unknown"


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
