"""Execute the notebooks of this folder, and check that what is saved in them is what running them
in order gives.

    python notebooks/run.py             execute each notebook in a new kernel; fail on an error or
                                        on stale saved outputs
    python notebooks/run.py --write     the same, and save the new outputs

Noise is fresh in every run, so outputs are compared by kind (text, picture, table), not by value.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

FOLDER = Path(__file__).resolve().parent
SECONDS_PER_CELL = 300
LARGEST = 1_000_000
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
COLOR = re.compile(r"\x1b\[[0-9;]*m")
MACHINE_PATH = re.compile(r"/(?:home|root|tmp|usr|opt|Users)/|[A-Z]:\\\\")


def main(arguments: list[str] | None = None) -> int:
    """Run all notebooks, or those named; return the number of notebooks with problems."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("notebooks", nargs="*", type=Path, help="default: all in this folder")
    parser.add_argument(
        "--write", action="store_true", help="save the new outputs instead of checking the old ones"
    )
    options = parser.parse_args(arguments)
    paths = options.notebooks or sorted(FOLDER.glob("*.ipynb"))
    if not paths:
        print("no notebooks found")
        return 1
    failed = 0
    for path in paths:
        start = time.perf_counter()
        problems = run(path, write=options.write)
        print(
            f"{path.name}: {'; '.join(problems) or 'fine'} ({time.perf_counter() - start:.0f} s)",
            flush=True,
        )
        failed += bool(problems)
    return failed


def run(path: Path, *, write: bool = False) -> list[str]:
    """Execute one notebook and return what is wrong with it; with `write`, save it if nothing
    is.
    """
    saved = nbformat.read(path, as_version=4)
    fresh = nbformat.from_dict({**saved, "cells": [_without_outputs(cell) for cell in saved.cells]})
    client = NotebookClient(
        fresh,
        timeout=SECONDS_PER_CELL,
        kernel_name=KERNEL["name"],
        record_timing=False,
        coalesce_streams=True,
        extra_arguments=["--IPKernelApp.log_level=ERROR"],
        resources={"metadata": {"path": str(path.parent)}},
    )
    try:
        client.execute()
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        return [f"does not run: {COLOR.sub('', str(error))}"]
    if write:
        fresh.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
        saved = fresh
    problems = saved_problems(saved) + differences(saved, fresh)
    if write and not problems:
        nbformat.write(fresh, path)
    return problems


def saved_problems(notebook: nbformat.NotebookNode) -> list[str]:
    """What is wrong with the saved outputs: not run in order from 1, errors, warnings, paths of the
    machine that ran it.
    """
    try:
        nbformat.validate(notebook)
    except nbformat.ValidationError as error:
        return [f"is no valid notebook: {error.message}"]
    code = code_cells(notebook)
    counts = [cell.execution_count for cell in code]
    problems = (
        []
        if counts == list(range(1, len(code) + 1))
        else [f"was not saved after one run in order: execution counts {counts}"]
    )
    for number, cell in enumerate(code, 1):
        if any(o.output_type == "error" for o in cell.outputs):
            problems.append(f"cell {number} was saved with an error")
        if any(o.get("name") == "stderr" for o in cell.outputs):
            problems.append(f"cell {number} was saved with text on stderr")
        if MACHINE_PATH.search(_text(cell)):
            problems.append(f"cell {number} shows a path of the machine that ran it")
    size = len(nbformat.writes(notebook))
    return problems + (
        [f"is large: {size:,} characters, at most {LARGEST:,}"] if size > LARGEST else []
    )


def differences(saved: nbformat.NotebookNode, fresh: nbformat.NotebookNode) -> list[str]:
    """Cells whose saved outputs are of other kinds than those of a new run: an output is missing,
    or is too many.
    """
    pairs = enumerate(zip(code_cells(saved), code_cells(fresh), strict=True), 1)
    return [
        f"cell {number} was saved with {' + '.join(old) or 'no output'}, running it gives "
        f"{' + '.join(new) or 'none'}"
        for number, (one, other) in pairs
        if (old := kinds(one)) != (new := kinds(other))
    ]


def kinds(cell: nbformat.NotebookNode) -> list[str]:
    """Kinds of a cell's outputs in order; text written in several pieces is one."""
    found: list[str] = []
    for output in cell.outputs:
        data = output.get("data", {})
        kind = output.get("name") or next(
            (k for k in ("image/png", "text/html", "text/plain") if k in data), output.output_type
        )
        if found[-1:] != [kind] or kind not in ("stdout", "stderr"):
            found.append(kind)
    return found


def code_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """Code cells that are not empty."""
    return [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]


def _without_outputs(cell: nbformat.NotebookNode) -> nbformat.NotebookNode:
    if cell.cell_type != "code":
        return cell
    return nbformat.from_dict({**cell, "outputs": [], "execution_count": None, "metadata": {}})


def _text(cell: nbformat.NotebookNode) -> str:
    shown = []
    for output in cell.outputs:
        shown += [
            output.get("text", ""),
            *(v for k, v in output.get("data", {}).items() if k.startswith("text/")),
        ]
    return "\n".join(shown)


if __name__ == "__main__":
    sys.exit(main())
