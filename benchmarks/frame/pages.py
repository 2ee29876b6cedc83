"""Reports of several suites as pages: HTML in one file, and Markdown beside its pictures."""

from __future__ import annotations

import base64
import os
import platform
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
.wide { overflow-x: auto; }
pre { font-size: 0.8rem; line-height: 1.3; }
table { border-collapse: collapse; font-size: 0.85rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.15rem 0.7rem; border-bottom: 1px solid #8884; text-align: left; }
td.n, th.n { text-align: right; }
img { max-width: 100%; background: white; }
code { font-size: 0.9em; }
.left-out { color: #b45309; }
"""


def html_page(
    parts: Sequence[Any], machine: dict[str, str], settings: dict[str, Any], unfinished: str
) -> str:
    """One file without references to others; text that came from outside is escaped.

    Examples
    --------
    >>> "<h1>" in html_page([], {"Python": "3.12"}, {"short": True}, "")
    True
    """
    body = ["<h1>metricdp measured</h1>"]
    body += [f"<p>{escape(line)}</p>" for line in reported(settings, unfinished)]
    body += [_table(["", ""], machine.items(), set())]
    for part in parts:
        body += [f"<h2>{escape(part.title)}</h2>", f"<p><code>{escape(part.command)}</code></p>"]
        if part.report is None:
            body += [f'<p class="left-out">{escape(part.problem)}</p>']
            continue
        if part.report.columns:
            body += [_table(*_cells(part.report))]
            body += [f"<p>{escape(line)}</p>" for line in _summary(part)]
        else:
            body += [f'<pre class="wide">{escape(_text(part))}</pre>']
        for picture in part.pictures:
            data = base64.b64encode(picture.read_bytes()).decode()
            body += [f'<img alt="{escape(picture.stem)}" src="data:image/png;base64,{data}">']
    head = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8">{head}'
        f"<title>metricdp measured</title><style>{_STYLE}</style>" + "\n".join(body) + "</html>\n"
    )


def markdown_page(
    parts: Sequence[Any],
    machine: dict[str, str],
    settings: dict[str, Any],
    unfinished: str,
    folder: Path,
) -> str:
    """The same in Markdown; pictures are linked, relative to `folder`."""
    lines = ["# metricdp measured", "", *reported(settings, unfinished), ""]
    lines += [*_rows(["", ""], machine.items(), set()), ""]
    for part in parts:
        lines += [f"## {part.title}", "", f"`{part.command}`", ""]
        if part.report is None:
            lines += [part.problem, ""]
            continue
        if part.report.columns:
            lines += [*_rows(*_cells(part.report)), ""]
            lines += [text for line in _summary(part) for text in (line, "")]
        else:
            lines += ["```text", _text(part), "```", ""]
        for picture in part.pictures:
            lines += [f"![{picture.stem}]({picture.relative_to(folder).as_posix()})", ""]
    return "\n".join(lines)


def reported(settings: dict[str, Any], unfinished: str) -> list[str]:
    """What kind of run it was."""
    short = (
        "Small instances and few repetitions: a look, not a result. " if settings["short"] else ""
    )
    if settings.get("middle"):
        short = "Of middle size: smaller instances and fewer repetitions than the papers'. "
    lines = [
        f"{short}Public coins: seed {settings.get('seed', 0)}; noise has no seed, so private "
        "figures differ from run to run."
    ]
    return lines + ([f"The run was {unfinished}."] if unfinished else [])


def _summary(part: Any) -> list[str]:
    found = [line for line in part.report.lines if line.strip()]
    found = [line for line in found if not line.startswith("wrote ")]
    return [*found, f"{part.seconds:,.0f} s in all."]


def _text(part: Any) -> str:
    """Of a report that lays out its own tables."""
    lines = part.report.table().rstrip().splitlines()
    return "\n".join([line for line in lines if not line.startswith("wrote ")])


def _cells(report: Any) -> tuple[list[str], list[list[str]], set[int]]:
    """Headings, rows as text, and which columns are numbers."""
    rows = [[column.cell(row) for column in report.columns] for row in report.rows]
    numbers = {i for i, column in enumerate(report.columns) if column.form}
    return [column.heading for column in report.columns], rows, numbers


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: set[int]) -> str:
    def line(cells: Sequence[str], tag: str) -> str:
        kinds = [' class="n"' if i in numbers else "" for i in range(len(cells))]
        shown = (f"<{tag}{kind}>{escape(str(c))}</{tag}>" for kind, c in zip(kinds, cells))
        return f"<tr>{''.join(shown)}</tr>"

    head = line(heads, "th") if any(heads) else ""
    return (
        f'<div class="wide"><table>{head}{"".join(line(row, "td") for row in rows)}</table></div>'
    )


def _rows(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: set[int]) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"

    rule = "| " + " | ".join("---:" if i in numbers else "---" for i in range(len(heads))) + " |"
    return [line(heads), rule, *map(line, rows)]


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
