"""Everything that a graph's first refusal can say at once, in the shell's own words."""

from __future__ import annotations

from typing import Any

from metricdp.errors import (
    DirectedGraphError,
    DisconnectedGraphError,
    GraphFileError,
    InputError,
    ShatteredGraphError,
)
from metricdp.metrics.graph import read_graph


def all_at_once(path: str, options: dict[str, Any], first: InputError) -> InputError:
    """The refusal of a graph with all options that it needs, found by trying one more each time."""
    needed: list[str] = []
    tried = dict(options)
    error: InputError | None = first
    while error is not None and len(needed) < 4:
        mended = _mended(error, tried)
        if mended is None:
            break
        needed.append(mended)
        try:
            read_graph(path, **tried)
            error = None
        except InputError as next_one:
            error = next_one
    if len(needed) < 2:
        return first
    return GraphFileError(path, f"needs {len(needed)} more options: {'; '.join(needed)}")


def _mended(error: InputError, options: dict[str, Any]) -> str | None:
    """What would mend an error, in words, and done to the options; None if nothing known does."""
    if isinstance(error, DirectedGraphError) and not options["symmetrize"]:
        options["symmetrize"] = True
        return (
            f"--directed, or --symmetrize to use the shorter direction both ways "
            f"({error.unmatched:,} arcs are one-way)"
        )
    if isinstance(error, ShatteredGraphError):
        return None
    if isinstance(error, DisconnectedGraphError) and not options["largest_component"]:
        options["largest_component"] = True
        sizes = ", ".join(f"{size:,}" for size in error.sizes[:3])
        more = ", …" if len(error.sizes) > 3 else ""
        return f"--largest-component ({len(error.sizes):,} components of {sizes}{more} vertices)"
    said = str(error)
    if "name one (weight=" in said and options["weight"] is None:
        options["weight"] = "unit"
        columns = said.partition("; name one")[0].rpartition(": ")[2]
        return f"--weight COLUMN, one of {columns}, or unit"
    return None
