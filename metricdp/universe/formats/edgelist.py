"""Edge lists: CSV, TSV, blank-separated text, Parquet and Matrix Market."""

from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from metricdp.errors import GraphFileError
from metricdp.universe.convert import edges_from
from metricdp.universe.edges import LENGTH_NAMES, UNIT, EdgeData, index_endpoints, only_length
from metricdp.universe.formats.format import Columns, File, Format
from metricdp.universe.tables import Table, read_table
from metricdp.universe.text import check_promise, comma_in, is_number, whole_numbers

ENDPOINT_NAMES: tuple[tuple[str, str], ...] = (("source", "target"), ("from", "to"), ("u", "v"))
ENDPOINT_NAMES += (("a_node", "b_node"), ("node_1", "node_2"), ("node1", "node2"))
ENDPOINT_NAMES += (("tail", "head"), ("from_node", "to_node"), ("fromnodeid", "tonodeid"))
ENDPOINT_NAMES += (("from_node_id", "to_node_id"), ("init_node", "term_node"), ("start", "end"))
ENDPOINT_NAMES += (("src", "dst"), ("i", "j"))
"""Pairs of columns taken for endpoints, in this order, if the caller names none."""

NEVER_LENGTHS: tuple[str, ...] = ("id", "edge_id", "link_id", "edge", "link", "key", "osmid")
NEVER_LENGTHS += ("osm_id", "direction", "oneway", "reversed", "fid")
"""Numeric columns that are never taken for lengths."""

_ONEWAY = {
    **dict.fromkeys(("0", "0.0", "false", "f", "no", "n", ""), 0),
    **dict.fromkeys(("1", "1.0", "true", "t", "yes", "y"), 1),
    **dict.fromkeys(("-1", "-1.0", "reverse"), -1),
}
# How a column `direction` says forward (1), backward (-1) and both (0).
_DIRECTION = {
    **dict.fromkeys(("0", "0.0", "both"), 0),
    **dict.fromkeys(("1", "1.0", "forward"), 1),
    **dict.fromkeys(("-1", "-1.0", "backward"), -1),
}


def read_edgelist(file: File, columns: Columns) -> EdgeData:
    """Parse an edge list."""
    path, weight = file.path, columns.weight
    if file.data[:14].lower() == b"%%matrixmarket":
        return _read_matrix_market(path, file.data, weight)
    table = read_table(path, min_fields=2, data=file.data)
    named = columns.source is not None
    u, v = known_ends(table, columns) or _endpoint_columns(table)
    tails, heads, ids = index_endpoints(*same_kind(table, u, v))
    column = _length_column(table, weight, (u, v), guess_third=not named)
    lengths = None if column is None else table.numbers(column)
    measured = "hops" if column is None else f"column {column!r}"
    edges = EdgeData(tails, heads, lengths, ids, False, measured=measured)
    return with_directions(table, edges, columns)


def known_ends(table: Table, columns: Columns) -> tuple[str, str] | None:
    """The columns of endpoints: those named, or of usual names; None without any."""
    if columns.source is not None and columns.target is not None:
        return columns.source, columns.target
    for pair in ENDPOINT_NAMES if table.has_header else ():
        u, v = (table.find(name) for name in pair)
        if u is not None and v is not None:
            return u, v
    return None


def _endpoint_columns(table: Table) -> tuple[str, str]:
    """The first two columns of a table without a header."""
    if not table.has_header:
        if len(table.names) < 2:
            raise GraphFileError(table.path, "an edge list needs two columns, found one")
        if len(table.names) > 3:
            unnamed = (
                f"has {len(table.names)} columns and no header line; name the endpoint columns"
            )
            reason = f"{unnamed} by number (source=, target=; --source, --target)"
            raise GraphFileError(table.path, reason)
        return "1", "2"
    raise GraphFileError(
        table.path,
        f"no known pair of endpoint columns; columns: {', '.join(table.names)}; "
        "name two of them (source= and target=; --source and --target), or add a header line if "
        "the first line is an edge; costs between sites and clients are no graph: mdp.CostTable, "
        "--format costs",
    )


def same_kind(table: Table, u: str, v: str) -> tuple[Any, Any]:
    """Both endpoint columns as integers, or both as text, as they share one set of ids."""
    tails = table.ids(u)
    heads = table.ids(v)
    for name, column in ((u, tails), (v, heads)):
        if isinstance(column, list) and not isinstance(table[name], list):
            raise GraphFileError(
                table.path, f"column {name!r} must hold vertex ids, integers or text, not fractions"
            )
    if isinstance(tails, list) != isinstance(heads, list):
        return table.strings(u), table.strings(v)
    return tails, heads


def _length_column(
    table: Table, weight: str | None, ends: tuple[str, str], *, guess_third: bool
) -> str | None:
    """The column of lengths; None if every edge has length 1."""
    if weight is not None:
        return None if weight == UNIT and UNIT not in table else weight
    if not table.has_header:
        return "3" if guess_third and len(table.names) == 3 else None
    known = (table.find(name) for name in LENGTH_NAMES if name not in ends)
    column = only_length(table.path, [name for name in known if name is not None])
    if column is not None:
        return column
    others = (n for n in table.names if n not in ends and not n.isdecimal())
    others = (n for n in others if n.strip().lower() not in NEVER_LENGTHS)
    numeric = [n for n in others if _is_numeric(table, n)]
    if numeric:
        none = f"no column is known as a length; numeric ones: {', '.join(numeric)}"
        named = "name one (weight=, --weight), or weight='unit' for edges of length 1"
        raise GraphFileError(table.path, f"{none}; {named}")
    return None


def _is_numeric(table: Table, name: str) -> bool:
    """Whether a column seems to hold numbers, perhaps with gaps."""
    try:
        cells = table[name]
    except GraphFileError:  # a Parquet column that is neither number nor text
        return False
    first = next(filter(None, cells), "") if isinstance(cells, list) else "0"
    return is_number(first) or bool(comma_in([first]))


def with_directions(table: Table, edges: EdgeData, columns: Columns) -> EdgeData:
    """The edges, as arcs if the table has one-way rows, or says nothing and arcs are asked for."""
    column = table.find("direction", "oneway") if table.has_header else None
    if column is None:
        return replace(edges, directed=columns.directed)
    cells = [c.strip().lower() for c in table.strings(column)]
    allowed = _ONEWAY if column.strip().lower() == "oneway" else _DIRECTION
    unknown = next((c for c in cells if c not in allowed), None)
    if unknown is not None:
        ways = "0 (both ways), 1 (forward) or -1 (backward)"
        rule = "true or false" if allowed is _ONEWAY else ways
        raise GraphFileError(table.path, f"column {column!r} must hold {rule}, not {unknown!r}")
    way = np.array([allowed[c] for c in cells], dtype=np.int64)
    if not way.any():
        return edges
    forward, backward = way >= 0, way <= 0
    lengths = edges.lengths
    if lengths is not None:
        lengths = np.r_[lengths[forward], lengths[backward]]
    tails = np.r_[edges.tails[forward], edges.heads[backward]]
    heads = np.r_[edges.heads[forward], edges.tails[backward]]
    return replace(edges, tails=tails, heads=heads, lengths=lengths, directed=True)


def _read_matrix_market(path: str | Path, data: bytes, weight: str | None) -> EdgeData:
    """A coordinate matrix with its header; ids are 1..n as in the file."""
    from scipy.io import mmread

    head = data.split(b"\n", 1)[0].decode("ascii", "replace").lower()
    if "coordinate" not in head:
        raise GraphFileError(path, "only Matrix Market files in coordinate format are graphs", 1)
    size = next((line for line in BytesIO(data) if line.strip() and not line.startswith(b"%")), b"")
    promised = whole_numbers(size.decode("ascii", "replace").split())
    if len(promised) != 3 or promised[2] > data.count(b"\n"):
        reason = "expected a line 'rows columns entries', then one line for each entry"
        raise GraphFileError(path, reason)
    check_promise(path, max(promised[:2]), promised[2])
    try:
        matrix = mmread(BytesIO(data), spmatrix=False)
    except (ValueError, TypeError, OverflowError) as error:
        problem = str(error).split("\n")[0]
        raise GraphFileError(path, f"is not readable as Matrix Market ({problem})") from None
    unit = weight == UNIT or "pattern" in head
    edges = edges_from(matrix, None if unit else "length")
    return replace(edges, ids=range(1, len(edges.ids) + 1))


_TEXTS = (".csv", ".tsv", ".txt", ".edges", ".edgelist", ".el", ".dat")
FORMAT = Format(
    endings=(*_TEXTS, ".mtx", ".parquet", ".pq"),
    read=read_edgelist,
    options=frozenset({"weight", "source", "target"}),
    certain=lambda file: file.data[:4] == b"PAR1" or file.head[:14].lower() == b"%%matrixmarket",
)
