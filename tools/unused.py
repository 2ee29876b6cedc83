"""Functions, classes and methods of the package that nothing but its tests and ``__all__`` names.

    python tools/unused.py

A definition counts as used where its name stands a second time in the code of the package, or in a
measurement, a notebook, a page or a tool. What a library's base class calls is listed all the same.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACES = ("benchmarks/**/*.py", "tools/*.py", "qgis/**/*.py", "docs/**/*.py", "notebooks/*.ipynb")
PAGES = ("*.md", "docs/**/*.md", "docs/*.rst", "benchmarks/*.md")
CALLED_BY_OTHERS = re.compile(r"__\w+__|visit_\w+|pytest_\w+|test_\w+")
"""Names that Python, pytest or a base class of a library calls."""


def code(text: str) -> str:
    """A module's source without docstrings, comments and its ``__all__``."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            kept = [n for n in body if not _is_text(n) and not _is_all(n)]
            node.body = kept or [ast.Pass()]
    return ast.unparse(tree)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_all(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"


def unused() -> list[tuple[str, int, str]]:
    """File, line and name of each."""
    modules = {path: path.read_text("utf-8") for path in sorted(ROOT.glob("metricdp/**/*.py"))}
    others = [path.read_text("utf-8") for place in PLACES for path in ROOT.glob(place)]
    pages = [path.read_text("utf-8") for place in PAGES for path in ROOT.glob(place)]
    counts: Counter[str] = Counter()
    for text in [*map(code, modules.values()), *others, *pages]:
        counts.update(re.findall(r"\w+", text))
    found = []
    for path, text in modules.items():
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
                continue
            if counts[node.name] <= 1 and not CALLED_BY_OTHERS.fullmatch(node.name):
                found.append((path.relative_to(ROOT).as_posix(), node.lineno, node.name))
    return found


if __name__ == "__main__":
    for file, line, name in unused():
        print(f"{file}:{line}: {name}")
