"""``metricdp datasets``: public graphs and points by name, where they are and on what terms."""

from __future__ import annotations

from argparse import Namespace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from metricdp import datasets
from metricdp.cli import streams
from metricdp.cli.tables import grid

if TYPE_CHECKING:
    from metricdp.datasets import DatasetInfo


def run(args: Namespace) -> None:
    """Print what is known, after fetching if asked."""
    infos = [datasets.describe(name) for name in args.names or datasets.names()]
    where = datasets.fetch if args.fetch else datasets.locate
    found = [(info, str(where(info.name) or "") or None) for info in infos]
    if args.json:
        text = streams.to_json({"datasets": [_facts(info, path) for info, path in found]})
    elif args.names:
        text = "\n".join(_described(info, path) for info, path in found)
    else:
        text = _listed(found)
    streams.show_result(text)


def _facts(info: DatasetInfo, path: str | None) -> dict[str, Any]:
    """All that is known, JSON-ready."""
    plain = {"sha256": list(info.sha256), "read": dict(info.read), "best": dict(info.best)}
    return vars(info) | plain | {"path": path}


def _described(info: DatasetInfo, path: str | None) -> str:
    """All about one set, a line a fact."""
    edges = f"{info.vertices:,} vertices, {info.edges:,} edges"
    counted = edges if info.edges else f"{info.vertices:,} points"
    facts = {
        "title": info.title,
        "size": f"{counted}; lengths: {info.lengths}; {_size(info)} unpacked",
        "problem": None if info.k is None else f"k = {info.k}, proven optimum {info.optimum}",
        "read with": ", ".join(info.read),
        "license": info.license,
        "citation": info.citation,
        "page": info.page,
        "file": info.url,
        "here": path or "no (--fetch downloads it)",
    }
    lines = (f"  {key:<10} {value}\n" for key, value in facts.items() if value)
    return f"{info.name}\n" + "".join(lines)


def _listed(found: list[tuple[DatasetInfo, str | None]]) -> str:
    """One line a set, under its collection."""
    width = max(len(info.name) for info, _ in found)
    blocks = []
    for collection, group in groupby(found, lambda each: each[0].collection):
        sets = list(group)
        columns = {
            "  " + "name".ljust(width): ["  " + info.name.ljust(width) for info, _ in sets],
            "vertices": [f"{info.vertices:,}" for info, _ in sets],
            "edges": [f"{info.edges:,}" if info.edges else "points" for info, _ in sets],
            "size": [_size(info) for info, _ in sets],
            "k": ["" if info.k is None else str(info.k) for info, _ in sets],
            "here": ["yes" if path else "no" for _, path in sets],
        }
        blocks.append(f"{collection}. License: {sets[0][0].license}\n{grid(columns)}\n")
    return "\n".join(blocks)


def _size(info: DatasetInfo) -> str:
    return f"{info.bytes / 1e6:.1f} MB" if info.bytes >= 1e6 else f"{info.bytes / 1e3:.0f} kB"
