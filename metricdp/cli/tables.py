"""Shows results: tables on a terminal, JSON elsewhere."""

import shutil
import sys
import textwrap
from argparse import Namespace
from collections.abc import Callable
from decimal import ROUND_CEILING, Decimal
from functools import partial
from typing import Any

from metricdp.cli import streams
from metricdp.columns import aligned
from metricdp.errors import one_line
from metricdp.metrics.units import in_words, unit_shown

_LISTED = 6
"""Longest list that is shown in a table of facts."""


def show(
    args: Namespace,
    value: dict[str, Any],
    table: Callable[[], str] | None = None,
    written: str | None = None,
) -> None:
    """Print a result, on a terminal as `table` (by default its facts); `written`: a JSON file."""
    text = streams.to_json(value)
    shown = (table or partial(of_facts, value))() if on_terminal(args) else text
    streams.show_result(shown)
    streams.write_text(written, text)


def grid(columns: dict[str, list[str]], last_left: bool = False) -> str:
    """A table of named columns, aligned right except, with `last_left`, the last."""
    left = [len(columns) - 1] * last_left
    return "\n".join(aligned([list(columns), *zip(*columns.values())], left))


def on_terminal(args: Namespace) -> bool:
    """Whether stdout is a terminal, and ``--json`` was not given."""
    return sys.stdout is not None and sys.stdout.isatty() and not getattr(args, "json", False)


def of_centers(result: Any, summary: Any = None) -> str:
    """A table of the centers of a `Solution`, with loads and the receipt."""
    unit = unit_shown(result.universe)
    found = result.to_columns()
    columns: dict[str, list[str]] = {"": [str(rank) for rank in found["rank"]]}
    columns["center"] = [one_line(str(center)) for center in found["center"]]
    for axis, name in (("lon", "longitude"), ("lat", "latitude"), ("x", "x"), ("y", "y")):
        if axis in found:
            digits = 5 if name != axis else 1
            columns[name] = [f"{at:.{digits}f}" for at in found[axis]]
    if "demand" in found:
        noisy = result.receipt is not None
        name = "records (noisy)" if noisy else "demand"
        columns[name] = [f"{weight:,.0f}" for weight in found["demand"]]
        means = found["mean_distance"]
        columns["mean distance"] = ["" if m is None else in_words(m, unit) for m in means]
    lines = [_fitting(columns)]
    if result.gap is not None or result.objective.name not in ("k-median", "k-means"):
        lines += ["", f"{result.objective.name}: {result.value:,.6g}; {proof(result.gap)}"]
    if summary is not None:
        lines += ["", *_folded(str(summary).splitlines()[0])]
    if result.receipt is not None:
        lines += ["", _receipt(result.receipt)]
    return "\n".join(lines) + "\n"


def of_plan(plan: Any) -> str:
    """The table of a `Plan`, in pieces that fit the terminal, and its texts."""
    wide = shutil.get_terminal_size().columns
    head, *rows = plan.rows()
    table = _fitting({name: [row[i] for row in rows] for i, name in enumerate(head)})
    texts = [text for text in (plan.remark(), plan.caption()) if text]
    return "\n\n".join([table, *(textwrap.fill(text, wide) for text in texts)]) + "\n"


def of_levels(exploration: Any) -> str:
    """Tables of the levels of an `Exploration` and of its predictions, and the receipt."""
    unit = unit_shown(exploration.universe)
    columns: dict[str, list[str]] = {"level": [], "epsilon": []}
    for level in exploration.levels:
        columns["level"].append(level.name)
        columns["epsilon"].append(f"{float(level.epsilon):g}")
        mean = level.result.interval
        if mean is not None:
            ends = (in_words(end, unit) for end in (mean.estimate, mean.low, mean.high))
            for name, end in zip(("mean distance", "likely from", "to"), ends):
                columns.setdefault(name, []).append(end)
    tables = [_fitting(columns)]
    if exploration.plan is not None:
        tables.append(of_plan(exploration.plan).rstrip())
    return "\n\n".join([*tables, _receipt(exploration.receipt)]) + "\n"


def _receipt(receipt: Any) -> str:
    """The receipt, wrapped, with a line for each mechanism."""
    lines = f"receipt: {receipt}".splitlines()
    return "\n".join(folded for line in lines for folded in _folded(line))


def _folded(line: str) -> list[str]:
    """A line, wrapped to the terminal's width."""
    wide = shutil.get_terminal_size().columns
    return textwrap.wrap(line, wide, subsequent_indent="    ", break_on_hyphens=False)


def _fitting(columns: dict[str, list[str]]) -> str:
    """The columns in as few tables as fit the terminal; each begins with the first column."""
    wide = shutil.get_terminal_size().columns
    first, *others = columns
    each = {name: max(map(len, [name, *cells])) for name, cells in columns.items()}
    pieces = [{first: columns[first]}]
    used = each[first]
    for name in others:
        if used + 2 + each[name] > wide and len(pieces[-1]) > 1:
            pieces.append({first: columns[first]})
            used = each[first]
        pieces[-1][name] = columns[name]
        used += 2 + each[name]
    return "\n\n".join(map(grid, pieces))


def proof(gap: float | None) -> str:
    """A text on how far an answer can be from the optimum."""
    if gap is None:
        return "nothing is proven"
    return f"within {_rounded_up(100 * gap)} % of the best, proven" if gap else "proven optimal"


def _rounded_up(percent: float) -> str:
    """A percentage with two digits, rounded up."""
    if percent <= 0:
        return "0"
    step = Decimal(1).scaleb(Decimal(percent).adjusted() - 1)
    return f"{Decimal(percent).quantize(step, ROUND_CEILING):f}"


def of_facts(value: dict[str, Any]) -> str:
    """A line for each fact; long values are only in the JSON."""
    facts = dict(_flat(value))
    width = max(map(len, facts), default=0)
    return "".join(f"{name:<{width}}  {text}\n" for name, text in facts.items())


def _flat(value: dict[str, Any], within: str = "") -> list[tuple[str, str]]:
    lines: list[tuple[str, str]] = []
    for key, item in value.items():
        name = f"{within}{key}".replace("_", " ")
        if isinstance(item, dict):
            lines += _flat(item, f"{key} ") if len(item) <= 2 * _LISTED else [(name, _many(item))]
        elif isinstance(item, list):
            plain = len(item) <= _LISTED and not any(isinstance(x, dict | list) for x in item)
            lines.append((name, ", ".join(map(_text, item)) if plain else _many(item)))
        else:
            lines.append((name, _text(item)))
    return lines


def _many(items: Any) -> str:
    return f"{len(items):,}, see --json"


def _text(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.6g}"
    return one_line(str(value))
