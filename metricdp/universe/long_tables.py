"""Tables of travel costs, long or as a matrix, from frames and files."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from metricdp.arguments import file_path, floats, listed, shown
from metricdp.arrays import Floats, Ints
from metricdp.errors import InputError
from metricdp.options import check_distinct, hashable

ENDS = (
    ("site", "client"),
    ("facility", "client"),
    ("from_id", "to_id"),
    ("origin_id", "destination_id"),
    ("origin", "destination"),
    ("from_index", "to_index"),
    ("source_index", "target_index"),
    ("source", "target"),
    ("source", "destination"),
    ("from", "to"),
    ("o", "d"),
    ("name", "destinationname"),
)
"""Pairs of columns taken for origins and destinations, in this order, when none are named."""
COSTS = ("cost", "travel_time", "duration", "time", "distance", "length", "weight")
"""Columns taken for costs if only one of them is there."""


class LongTable(NamedTuple):
    """Origins, destinations and costs; or a matrix that a frame was.

    `sites`, `clients`: each once; `rows`, `columns` (n_pairs,): places in these; `costs`
    (n_pairs,).
    """

    sites: list[Hashable]
    clients: list[Hashable]
    rows: Ints
    columns: Ints
    costs: Floats

    @classmethod
    def read(cls, source: Any, sites: Any, clients: Any, cost: str | None) -> LongTable:
        """Of a frame or a file; `sites` and `clients` are names of columns, or the ids to keep."""
        columns, id_column = _columns(source)
        found = _ends(columns, sites, clients)
        pandas = hasattr(source, "index") and hasattr(source, "to_numpy")
        if found is None and pandas and (sites is not None or not _first_holds_ids(source)):
            return cls._wide(source, sites, clients)
        if found is None and sites is None and clients is None:
            wide = _matrix_of(columns, id_column)
            if wide is not None:
                return wide
        if found is None:
            raise InputError(
                f"no columns are known as origins and destinations; columns: "
                f"{', '.join(map(str, columns))}; name two of them (sites=, clients=), and the "
                f"one of costs (cost=) unless it is the only other one of numbers"
            )
        prices = _numbers(columns[_cost_column(columns, found, cost)])
        if prices is None:
            raise InputError("the column of costs must hold numbers")
        keys = [_ids(id_column(name)) for name in found]
        kept = [_given(x) for x in (sites, clients)]
        names = [
            list(dict.fromkeys(key)) if keep is None else keep for key, keep in zip(keys, kept)
        ]
        lookups = [{name: i for i, name in enumerate(own)} for own in names]
        rows, cols = (
            np.array([lookup.get(key, -1) for key in own], np.int64)
            for own, lookup in zip(keys, lookups)
        )
        inside = (rows >= 0) & (cols >= 0)
        pairs = rows[inside] * len(names[1]) + cols[inside]
        different, counts = np.unique(pairs, return_counts=True)
        if len(different) < len(pairs):
            site, client = divmod(int(different[counts > 1][0]), len(names[1]))
            raise InputError(
                f"a pair of origin and destination is given more than once: that of the site "
                f"{shown(names[0][site])} and the client {shown(names[1][client])}"
            )
        return cls(names[0], names[1], rows[inside], cols[inside], prices[inside])

    @classmethod
    def _wide(cls, frame: Any, sites: Any, clients: Any) -> LongTable:
        """A frame of pandas that is a matrix."""
        matrix = floats(frame.to_numpy(), "costs must be numbers")
        rows, columns = np.divmod(np.arange(matrix.size), matrix.shape[1])
        own = (list(frame.index), list(frame.columns))
        names = [_given(given) or ids for ids, given in zip(own, (sites, clients))]
        return cls(names[0], names[1], rows, columns, matrix.ravel())

    def matrix(self) -> tuple[Floats, list[Hashable], list[Hashable]]:
        """Costs, NaN where a pair is missing, and ids of rows and columns."""
        out = np.full((len(self.sites), len(self.clients)), np.nan)
        out[self.rows, self.columns] = self.costs
        return out, self.sites, self.clients


def _first_holds_ids(frame: Any) -> bool:
    """Whether a frame without an index holds the sites in its first column."""
    plain = [type(labels).__name__ == "RangeIndex" for labels in (frame.index, frame.columns)]
    if plain != [True, False]:
        return False
    first = frame.columns[0]
    known = {name for ends in ENDS for name in ends} | {"id", "vertex"}
    values = np.asarray(frame[first])
    if values.dtype.kind not in "iuf" or str(first).strip().lower() in known:
        return True
    if values.dtype.kind == "f" or len(values) < 2 or len(np.unique(values)) < len(values):
        return False
    raise InputError(
        f"the first column, {shown(first)}, may hold the ids of the sites, or costs: for ids "
        f"give frame.set_index({shown(first)}), for costs the ids of the rows (sites=)"
    )


def _matrix_of(columns: dict[str, Any], id_column: Callable[[str], Any]) -> LongTable | None:
    """A matrix: sites in the first column, then numbers for each client; else None."""
    first, *clients = columns
    costs = [_numbers(columns[name]) for name in clients]
    if len(clients) < 2 or any(column is None for column in costs):
        return None
    matrix = np.stack(costs, axis=1)  # type: ignore[arg-type]
    rows, places = np.divmod(np.arange(matrix.size), matrix.shape[1])
    return LongTable(list(_ids(id_column(first))), list(clients), rows, places, matrix.ravel())


def _given(ids: Any) -> list[Hashable] | None:
    """Ids to keep, if they are given rather than a column's name."""
    if isinstance(ids, str | None):
        return None
    kept = list(listed(ids, "ids"))
    if not all(map(hashable, kept)):
        raise InputError("ids of sites and clients must be hashable; at least one is not")
    check_distinct(kept, "ids of sites and clients must be distinct")
    return kept


def is_frame(value: Any) -> bool:
    """Whether a value is a data frame or an Arrow table."""
    return hasattr(value, "column_names") or (hasattr(value, "columns") and hasattr(value, "shape"))


def _columns(source: Any) -> tuple[dict[str, Any], Callable[[str], Any]]:
    """Columns by name, and what gives those of ids."""
    if not isinstance(source, str | PathLike):
        names = getattr(source, "column_names", None) or list(source.columns)
        columns = {name: source[name] for name in names}
        return columns, columns.__getitem__
    from metricdp.universe.tables import read_table

    table = read_table(file_path(source, "costs"))
    if not table.has_header:
        raise InputError(f"{source}: a table of costs needs a header line that names its columns")
    return {name: table[name] for name in table.names}, table.ids


def _ends(columns: dict[str, Any], sites: Any, clients: Any) -> tuple[str, str] | None:
    """Columns of sites and clients."""
    named = [x if isinstance(x, str) else None for x in (sites, clients)]
    for name in named:
        if name is not None and name not in columns:
            raise InputError(f"no column {name!r}; columns: {', '.join(map(str, columns))}")
    if named[0] is not None and named[1] is not None:
        return named[0], named[1]
    folded = {str(name).strip().lower(): name for name in columns}
    for first, second in ENDS:
        if first in folded and second in folded:
            pair = folded[first], folded[second]
            if named[0] == pair[1] or named[1] == pair[0]:
                return pair[1], pair[0]
            return named[0] or pair[0], named[1] or pair[1]
    return None


def _cost_column(columns: dict[str, Any], ends: tuple[str, str], cost: str | None) -> str:
    if cost is not None:
        if not isinstance(cost, str) or cost not in columns:
            raise InputError(f"no column {shown(cost)}; columns: {', '.join(map(str, columns))}")
        return cost
    others = [name for name in columns if name not in ends and _numbers(columns[name]) is not None]
    usual = [
        name
        for name in others
        if str(name).strip().lower() in COSTS or str(name).lower().startswith("travel_time")
    ]
    best = others if len(others) == 1 else usual
    if len(best) != 1:
        raise InputError(
            f"{'no' if not others else 'not one'} column is known as costs; numeric ones: "
            f"{', '.join(map(shown, others)) or 'none'}; name one (cost=)"
        )
    return best[0]


def _numbers(column: Any) -> Floats | None:
    """A column of numbers, NaN where a cell is empty; None if it holds anything else."""
    if hasattr(column, "to_pylist"):
        column = column.to_pylist()
    values = np.asarray(column)
    if values.dtype.kind in "iuf":
        return values.astype(np.float64)
    try:
        return np.array([np.nan if cell in ("", None) else float(cell) for cell in column])
    except (TypeError, ValueError):
        return None


def _ids(column: Any) -> Sequence[Hashable]:
    values: Any = column.to_pylist() if hasattr(column, "to_pylist") else column
    return list(values.tolist() if hasattr(values, "tolist") else values)
