"""Transportation Networks for Research (https://github.com/bstabler/TransportationNetworks):
``_net.tntp`` files, directed.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from metricdp.errors import GraphFileError
from metricdp.universe.edges import UNIT, EdgeData, index_endpoints
from metricdp.universe.formats.format import File, Format
from metricdp.universe.text import is_number

STANDARD = (
    "init_node",
    "term_node",
    "capacity",
    "length",
    "free_flow_time",
    "b",
    "power",
    "speed",
    "toll",
    "link_type",
)


def read_tntp(path: str | Path, text: str, weight: str | None = None) -> EdgeData:
    """Parse a network file; ids are the node numbers that occur in links.

    Zones are vertices like any other: the rule that paths must not pass through them (``FIRST THRU
    NODE``) is not a metric and not applied.
    """
    promised: int | None = None
    names: list[str] = []
    rows: list[list[str]] = []
    at: list[int] = []
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if line.startswith("<"):
            tag, _, value = line.partition(">")
            if tag == "<NUMBER OF LINKS" and value.strip().isdecimal():
                promised = int(value)
        elif line.startswith("~"):
            names = names or _columns(line)
        elif line:
            rows.append(line.rstrip(";").split())
            at.append(number)
    names = names or list(STANDARD)
    if not rows:
        raise GraphFileError(path, "has no links")
    bad = next(
        (i for i, row in enumerate(rows) if len(row) != len(names) or not all(map(is_number, row))),
        None,
    )
    if bad is not None:
        raise GraphFileError(path, f"expected {len(names)} numbers: {', '.join(names)}", at[bad])
    if promised is not None and promised != len(rows):
        raise GraphFileError(
            path, f"the metadata promises {promised:,} links, the file has {len(rows):,}"
        )
    if weight == UNIT:
        column = None
    elif (weight or "length") in names:
        column = names.index(weight or "length")
    else:
        raise GraphFileError(path, f"no column {weight or 'length'!r}; columns: {', '.join(names)}")
    table = np.array(rows, dtype=np.float64)
    if not ((table[:, :2] == np.floor(table[:, :2])) & (np.abs(table[:, :2]) < 2**53)).all():
        raise GraphFileError(path, "node numbers must be whole numbers below 2^53")
    ends = table[:, :2].astype(np.int64)
    tails, heads, ids = index_endpoints(ends[:, 0], ends[:, 1])
    return EdgeData(tails, heads, None if column is None else table[:, column].copy(), ids, True)


def _columns(line: str) -> list[str]:
    body = line.strip("~; \t")
    cells = body.split("\t") if "\t" in body else body.split()
    return [c.strip().lower().replace(" ", "_") for c in cells if c.strip(" ;")]


def _as_table(file: File) -> File:
    """A node file without its marks."""
    rows = (line.strip(" \t~;") for line in file.text.split("\n"))
    kept = "\n".join(r.replace("\t", " ") for r in rows if r and not r.startswith("<"))
    return File(file.path, kept.encode())


FORMAT = Format(
    endings=(".tntp",),
    read=lambda file, columns: read_tntp(file.path, file.text, columns.weight),
    options=frozenset({"weight"}),
    certain=lambda file: file.head.startswith(b"<NUMBER OF"),
    nodes_beside=(("_net.tntp", "_node.tntp"),),
    nodes_endings=(".tntp",),
    nodes=_as_table,
)
