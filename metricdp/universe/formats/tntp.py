"""Transportation Networks for Research (https://github.com/bstabler/TransportationNetworks):
``_net.tntp`` files, directed.
"""

import numpy as np

from metricdp.errors import GraphFileError
from metricdp.universe.edges import UNIT, EdgeData, index_endpoints
from metricdp.universe.formats.format import Columns, File, Format
from metricdp.universe.text import numeric_rows

STANDARD: tuple[str, ...] = ("init_node", "term_node", "capacity", "length", "free_flow_time", "b")
STANDARD += ("power", "speed", "toll", "link_type")


def read_tntp(file: File, columns: Columns) -> EdgeData:
    """Parse a network file; ids are the node numbers that occur in links.

    Zones are vertices like any other: the rule that paths must not pass through them (``FIRST THRU
    NODE``) is not a metric and not applied.
    """
    path, weight = file.path, columns.weight
    promised: int | None = None
    names: list[str] = []
    rows: list[tuple[int, list[str]]] = []
    for number, raw in enumerate(file.text.split("\n"), 1):
        line = raw.strip()
        if line.startswith("<"):
            tag, _, value = line.partition(">")
            if tag == "<NUMBER OF LINKS" and value.strip().isdecimal():
                promised = int(value)
        elif line.startswith("~"):
            names = names or _columns(line)
        elif line:
            rows.append((number, line.rstrip(";").split()))
    names = names or list(STANDARD)
    if not rows:
        raise GraphFileError(path, "has no links")
    table = numeric_rows(path, rows, len(names), f"{len(names)} numbers: {', '.join(names)}")
    if promised is not None and promised != len(rows):
        reason = f"the metadata promises {promised:,} links, the file has {len(rows):,}"
        raise GraphFileError(path, reason)
    named = weight or "length"
    if weight != UNIT and named not in names:
        raise GraphFileError(path, f"no column {named!r}; columns: {', '.join(names)}")
    lengths = None if weight == UNIT else table[:, names.index(named)].copy()
    if not ((table[:, :2] == np.floor(table[:, :2])) & (np.abs(table[:, :2]) < 2**53)).all():
        raise GraphFileError(path, "node numbers must be whole numbers below 2^53")
    ends = table[:, :2].astype(np.int64)
    tails, heads, ids = index_endpoints(ends[:, 0], ends[:, 1])
    return EdgeData(tails, heads, lengths, ids, True)


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
    read=read_tntp,
    options=frozenset({"weight"}),
    certain=lambda file: file.head.startswith(b"<NUMBER OF"),
    nodes_beside=(("_net.tntp", "_node.tntp"),),
    nodes_endings=(".tntp",),
    nodes=_as_table,
)
