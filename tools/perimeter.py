"""Which files the guarantee rests on, computed from imports and trusted classes.

    python tools/perimeter.py                          # print the list
    python tools/perimeter.py docs/what-to-read.md     # write it into the page

It is of the package that Python finds, so of another tree with its folder in PYTHONPATH.
"""

from __future__ import annotations

import ast
import sys
import textwrap
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import metricdp

ROOT = Path(metricdp.__file__).resolve().parent
"""The package's folder."""
_OUTSIDE = ("audit", "bench", "cli", "report", "local", "testing")
"""Their `encode` methods are no partitions."""

GATE = "the gate"
BOOKS = "what it costs"
RECORDS = "records, counted and read"
ENCODE = "where a record belongs, and what is near it"
BELOW = "what these import"
DEVICE = "on a user's device"


def perimeter() -> dict[str, list[str]]:
    """Files by their part in the guarantee, as paths from the package's folder."""
    gate = _inside("privacy")
    books = [*_inside("accounting"), "protocols.py", "releases.py", "unique.py"]
    records = _inside("records")
    encode = [f for f in _all() if f.split("/")[0] not in _OUTSIDE and _is_trusted(f)]
    encode = [f for f in encode if f not in {*gate, *records}]
    device = sorted({*reached(["local/encoder.py"]), "local/shuffle.py"} - {"errors.py"})
    seen = {*gate, *books, *records, *encode}
    core = [*gate, *books, *records]
    kernels = [f for file in encode for f in imports(file) if f.startswith("kernels/")]
    below = sorted(f for f in reached([*core, *kernels]) if f not in seen)
    return {
        GATE: gate,
        BOOKS: books,
        RECORDS: records,
        ENCODE: encode,
        BELOW: below,
        DEVICE: device,
    }


def lines_of(file: str) -> int:
    """Lines of a file of the package."""
    return len((ROOT / file).read_text("utf-8").splitlines())


def reached(files: Iterable[str], without: tuple[str, ...] = ()) -> list[str]:
    """The files, and all of the package's own that they import, save those of some folders."""
    found = dict[str, None]()
    todo = list(files)
    while todo:
        file = todo.pop(0)
        if file not in found:
            found[file] = None
            todo += [f for f in imports(file) if not (without and f.startswith(without))]
    return list(found)


@cache
def imports(file: str) -> tuple[str, ...]:
    """Files of the package that a file imports; ``__init__`` only for names of its own."""
    names = list[str]()
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                part = f"{node.module}.{alias.name}"
                names.append(part if _path(part) else node.module)
    own = [name for name in names if name.startswith("metricdp.")]
    return tuple(dict.fromkeys(path for name in own for path in _path(name)))


@cache
def tree(file: str) -> ast.Module:
    """The syntax of a file."""
    return ast.parse((ROOT / file).read_text("utf-8"))


def _is_trusted(file: str) -> bool:
    """Whether a class in it is registered."""
    return "\n@trusted\n" in (ROOT / file).read_text("utf-8")


def _path(name: str) -> list[str]:
    at = "/".join(name.split(".")[1:])
    if (ROOT / f"{at}.py").is_file():
        return [f"{at}.py"]
    return [f"{at}/__init__.py"] if at and (ROOT / at / "__init__.py").is_file() else []


@cache
def _all() -> tuple[str, ...]:
    return tuple(sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py")))


def _inside(folder: str) -> list[str]:
    return [file for file in _all() if file.startswith(f"{folder}/")]


BEGIN = "<!-- files table -->"
END = "<!-- end of files table -->"
"""Between these a page holds `listing`."""
_WRAP: dict[str, Any] = {
    "width": 140,
    "subsequent_indent": "  ",
    "break_long_words": False,
    "break_on_hyphens": False,
}
_WORDS = {
    GATE: "Every exact answer is computed, noised or selected here.",
    BOOKS: "Prices, composition, ledgers and their journals: public arithmetic, exact.",
    RECORDS: "Rows and cells become records; engines add them up; sums are kept between steps.",
    ENCODE: (
        "Registered classes. Of each file only what encodes, places, maps or searches sees "
        "records, and looks at one at a time."
    ),
    BELOW: "Kernels (arrays in, arrays out) and checks that the above call.",
    DEVICE: "Messages of the local model, made where the item is; the shuffler's bound.",
}


def listing() -> str:
    """The perimeter as Markdown: parts with their files and lines, and what they sum to."""
    parts = []
    total = 0
    for part, files in perimeter().items():
        n = sum(map(lines_of, files))
        total += n
        rows = (textwrap.fill(f"- {row}", **_WRAP) for row in _rows(files))
        parts += [f"## {part[0].upper()}{part[1:]}: {n:,} lines", "", _WORDS[part], "", *rows, ""]
    return "\n".join([*parts, f"In all {total:,} lines."])


def _rows(files: list[str]) -> list[str]:
    """Folders that are inside as a whole, and the files of others."""
    tops = dict.fromkeys(file.split("/")[0] for file in files)
    whole = [top for top in tops if _inside(top) and set(_inside(top)) <= set(files)]
    folders = dict[str, list[str]]()
    for file in files:
        folder, _, name = file.rpartition("/")
        if file.split("/")[0] not in whole:
            folders.setdefault(folder, []).append(f"`{name.removesuffix('.py')}`")
    rows = [f"`{top}/`: all {len(_inside(top))} files" for top in whole]
    return rows + [f"`{f or '.'}/`: {', '.join(names)}" for f, names in folders.items()]


def updated(page: str) -> str:
    """A page with today's listing between its two marks."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n\n{listing()}\n\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        Path(name).write_text(updated(Path(name).read_text("utf-8")), "utf-8")
    if not sys.argv[1:]:
        sys.stdout.write(listing() + "\n")
