"""How large the house is, and how far a number travels in it: one table, or two trees side by side.

    python tools/house.py                    # this tree
    python tools/house.py ../before .        # two checkouts, each measured in a process of its own
    python tools/house.py --markdown ../before .

Everything is counted from sources and from one run of `k_median`; nothing is written.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ASKS = {"Metric", "EuclideanSpace", "Finite", "Box"}
"""Classes by which code asks whether a space is finite or a box."""
BESIDE = ("audit", "testing", "bench")
"""Folders that are no part of what a user's call runs."""


def lines_of(source: str) -> tuple[int, int, int]:
    """Lines of code, of docstrings (and text that stands for one), and of comments alone."""
    text = set[int]()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str):
            text |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    code, comments = set[int](), set[int]()
    skipped = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            comments.add(token.start[0])
        elif token.type not in (*skipped, tokenize.ENDMARKER):
            code |= set(range(token.start[0], token.end[0] + 1))
    return len(code - text), len(text), len(comments - code)


def weights(root: Path) -> dict[str, tuple[int, int, int]]:
    """The same by folder of the package, and in all."""
    found = Counter[str](), Counter[str](), Counter[str]()
    for path in (root / "metricdp").rglob("*.py"):
        parts = path.relative_to(root / "metricdp").parts
        folder = parts[0] if len(parts) > 1 else "."
        for counts, n in zip(found, lines_of(path.read_text("utf-8"))):
            counts[folder] += n
            counts["all"] += n
    return {name: tuple(c[name] for c in found) for name in sorted(found[0])}  # type: ignore[misc]


def trees(root: Path) -> Iterator[tuple[str, ast.Module]]:
    """Files of the package, by their path in it, that a user's call may run."""
    for path in sorted((root / "metricdp").rglob("*.py")):
        name = path.relative_to(root / "metricdp").as_posix()
        if name.split("/")[0] not in BESIDE:
            yield name, ast.parse(path.read_text("utf-8"))


def asks(tree: ast.Module) -> int:
    """Places that ask by type whether a space is finite or a box."""
    return sum(
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == "isinstance"
        and bool({n.id for n in ast.walk(call.args[1]) if isinstance(n, ast.Name)} & ASKS)
        for call in ast.walk(tree)
    )


def untyped(tree: ast.Module) -> tuple[int, int]:
    """Parameters that are `Any` or `object`, and all."""
    every = [
        argument
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        for argument in (*node.args.args, *node.args.kwonlyargs, *node.args.posonlyargs)
        if argument.annotation is not None
    ]
    vague = [a for a in every if isinstance(a.annotation, ast.Name) and a.annotation.id in _VAGUE]
    return len(vague), len(every)


_VAGUE = ("Any", "object")


def hidden(tree: ast.Module) -> int:
    """Modules asked for by a text, or put into a class."""
    return sum(
        (isinstance(n, ast.Call) and getattr(n.func, "id", "") in ("import_module", "__import__"))
        or (isinstance(n, ast.Attribute) and n.attr == "modules")
        for n in ast.walk(tree)
    )


def counted(root: Path) -> dict[str, object]:
    """Everything of one tree."""
    files = dict(trees(root))
    classes = Counter(
        n.name for tree in files.values() for n in ast.walk(tree) if isinstance(n, ast.ClassDef)
    )
    vague = [untyped(tree) for tree in files.values()]
    by_folder = weights(root)
    lazy = ["lazy.py", *(n for n in files if n.endswith("__init__.py"))]
    return {
        "modules": len(list((root / "metricdp").rglob("*.py"))),
        "lines of code": by_folder["all"][0],
        "lines of docstrings": by_folder["all"][1],
        "comments on lines of their own": by_folder["all"][2],
        "classes named Release": sum(n for name, n in classes.items() if name.endswith("Release")),
        "class names defined more than once": sum(n > 1 for n in classes.values()),
        "places that ask finite or box": sum(map(asks, files.values())),
        "modules named by a text, beside lazy packages": sum(
            hidden(tree) for name, tree in files.items() if name not in lazy
        ),
        "parameters Any or object, of all": f"{sum(v for v, _ in vague)} of "
        f"{sum(n for _, n in vague)}",
        **json.loads(_in(root, "--walk")),
        "code by folder": {name: row[0] for name, row in by_folder.items()},
        "docstrings by folder": {name: row[1] for name, row in by_folder.items()},
    }


def walk() -> dict[str, object]:
    """How far epsilon and a record travel: functions of ours that hold them in an argument, from
    `k_median` to the noise, and from `PrivateDemand` to the vault.
    """
    import networkx as nx
    from perimeter import lines_of as read
    from perimeter import perimeter

    import metricdp as mdp
    from metricdp.accounting import Ledger

    ours = str(Path(mdp.__file__).parent)
    stays, since, ledgers = set(), set(), []
    canary, way = "canary-0", set()
    first = Ledger.__init__
    Ledger.__init__ = lambda self, *a, **k: (ledgers.append(1), first(self, *a, **k))[1]

    def holds(value: object) -> bool:
        price = getattr(value, "__dict__", {}).get("epsilon", value)
        return type(price).__name__ in ("Fraction", "float") and price == 7.5

    def seen(frame, event, argument) -> None:  # type: ignore[no-untyped-def]
        if event != "call" or not frame.f_code.co_filename.startswith(ours):
            return
        code = frame.f_code
        values = [frame.f_locals.get(n) for n in code.co_varnames[: code.co_argcount + 9]]
        at = code.co_filename[len(ours) + 1 :], code.co_qualname
        if any(map(holds, values)):
            since.add(at)
        if at[0] == "privacy/noise.py":  # what holds it after the last noise is not on the way
            stays.update(since)
        if any(type(v) is list and v and isinstance(v[0], str) and v[0] == canary for v in values):
            way.add(at[0])

    metric = mdp.GraphMetric(nx.path_graph([f"canary-{i}" for i in range(60)]), weight=None)
    mdp.k_median(metric, mdp.PrivateDemand(metric, ["canary-3"] * 900), k=2, epsilon=7)
    ledgers.clear()
    sys.setprofile(seen)
    demand = mdp.PrivateDemand(metric, [canary] * 9000)
    mdp.k_median(metric, demand, k=2, epsilon=7.5)
    sys.setprofile(None)
    parts = perimeter()
    gate = sum(map(read, parts["the gate"]))
    total = sum(read(f) for files in parts.values() for f in files)
    return {
        "lines to read to believe the guarantee": total,
        "of these, the gate": gate,
        "functions that hold epsilon, k_median to noise": len(stays),
        "files that they are in": len({file for file, _ in stays}),
        "ledgers made for one call": len(ledgers),
        "files that hold a record in hand, before the vault": len(way),
    }


def _in(root: Path, option: str) -> str:
    """What this script says in another tree."""
    code = [sys.executable, str(Path(__file__).resolve()), option]
    return subprocess.run(
        code,
        cwd=root,
        env={"PYTHONPATH": str(root.resolve()), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trees", nargs="*", type=Path, default=[Path()])
    parser.add_argument("--walk", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--markdown", action="store_true")
    asked = parser.parse_args()
    if asked.walk:
        print(json.dumps(walk()))
        return
    columns = [counted(root) for root in asked.trees]
    bar = " | " if asked.markdown else "  "
    for name in columns[0]:
        if not isinstance(columns[0][name], dict):
            print(bar.join([f"{name:54}", *(f"{column[name]!s:>14}" for column in columns)]))
    for name in ("code by folder", "docstrings by folder"):
        print(f"\n{name}")
        for folder in sorted({f for column in columns for f in column[name]}):
            row = [f"{column[name].get(folder, 0):>14,}" for column in columns]
            print(bar.join([f"{folder:54}", *row]))


if __name__ == "__main__":
    main()
