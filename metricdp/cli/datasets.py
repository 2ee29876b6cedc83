"""``metricdp datasets``: public graphs and points by name, where they are and on what terms."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from metricdp import datasets
from metricdp.cli import streams

if TYPE_CHECKING:
    from metricdp.datasets import DatasetInfo


def run(args: Namespace) -> None:
    """Print what is known, after fetching if asked."""
    infos = [datasets.describe(name) for name in args.names or datasets.names()]
    paths = [
        str((datasets.fetch if args.fetch else datasets.locate)(info.name) or "") or None
        for info in infos
    ]
    found = list(zip(infos, paths))
    if args.json:
        text = streams.to_json({"datasets": [_facts(info, path) for info, path in found]})
    elif args.names:
        text = "\n".join(_told(info, path) for info, path in found)
    else:
        text = _listed(found)
    streams.show_result(text)


def _facts(info: DatasetInfo, path: str | None) -> dict[str, Any]:
    """All that is known, JSON-ready."""
    facts = {name: getattr(info, name) for name in info.__dataclass_fields__}
    return facts | {
        "sha256": list(info.sha256),
        "read": dict(info.read),
        "best": dict(info.best),
        "path": path,
    }


def _told(info: DatasetInfo, path: str | None) -> str:
    """All about one set, a line a fact."""
    facts = {
        "title": info.title,
        "size": (f"{_counted(info)}; lengths: {info.lengths}; {_size(info)} unpacked"),
        "problem": None if info.k is None else f"k = {info.k}, proven optimum {info.optimum}",
        "read with": ", ".join(info.read),
        "license": info.license,
        "citation": info.citation,
        "page": info.page,
        "file": info.url,
        "here": path or "no (--fetch downloads it)",
    }
    return f"{info.name}\n" + "".join(
        f"  {key:<10} {value}\n" for key, value in facts.items() if value
    )


def _counted(info: DatasetInfo) -> str:
    if info.edges == 0:
        return f"{info.vertices:,} points"
    return f"{info.vertices:,} vertices, {info.edges:,} edges"


def _listed(found: list[tuple[DatasetInfo, str | None]]) -> str:
    """One line a set, under its collection."""
    width = max(len(info.name) for info, _ in found)
    collection = ""
    lines: list[str] = []
    for info, path in found:
        if info.collection != collection:
            collection = info.collection
            lines += [*[""] * bool(lines), f"{collection}. License: {info.license}"]
            lines.append(_LINE.format("name", width, "vertices", "edges", "size", "k", "here"))
        k = "" if info.k is None else str(info.k)
        lines.append(
            _LINE.format(
                info.name,
                width,
                f"{info.vertices:,}",
                f"{info.edges:,}" if info.edges else "points",
                _size(info),
                k,
                "yes" if path else "no",
            )
        )
    return "\n".join(line.rstrip() for line in lines) + "\n"


_LINE = "  {:<{}}  {:>8}  {:>8}  {:>8}  {:>4}  {:>4}"


def _size(info: DatasetInfo) -> str:
    return f"{info.bytes / 1e6:.1f} MB" if info.bytes >= 1e6 else f"{info.bytes / 1e3:.0f} kB"
