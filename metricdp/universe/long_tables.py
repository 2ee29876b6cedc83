"""Tables of travel costs, long or as a matrix, from frames and files."""

from collections.abc import Callable, Hashable
from itertools import chain
from os import PathLike
from typing import Any

import numpy as np

from metricdp.arguments import Floats, file_path, floats, listed, shown
from metricdp.errors import InputError
from metricdp.options import check_distinct, hashable
from metricdp.universe.text import comma_in

ENDS: tuple[tuple[str, str], ...] = (("site", "client"), ("facility", "client"))
ENDS += (("from_id", "to_id"), ("origin_id", "destination_id"), ("origin", "destination"))
ENDS += (("from_index", "to_index"), ("source_index", "target_index"), ("source", "target"))
ENDS += (("source", "destination"), ("from", "to"), ("o", "d"), ("name", "destinationname"))
"""Pairs of columns taken for origins and destinations, in this order, if none are named."""
COSTS = ("cost", "travel_time", "duration", "time", "distance", "length", "weight")
"""Columns taken for costs, if only one of them exists."""


Costs = tuple[Floats, list[Hashable], list[Hashable]]
"""A matrix, NaN where a pair is missing, and the ids of its rows and columns."""


def read_costs(source: Any, sites: Any, clients: Any, cost: str | None) -> Costs:
    """Costs from a frame or a file; `sites` and `clients`: names of columns, or ids to keep."""
    pandas = hasattr(source, "index") and hasattr(source, "to_numpy")
    if pandas:
        source = _with_named_levels(source)
    columns, id_column = _columns(source)
    found = _ends(columns, sites, clients)
    kept = [_given(x) for x in (sites, clients)]
    if found is None and pandas and (sites is not None or not _first_holds_ids(source)):
        for axis, own in enumerate(kept):  # names that the frame has are found, not given anew
            names = source.axes[axis]
            plain = type(names).__name__ == "RangeIndex" or not names.is_unique
            if own is not None and not plain and set(own) <= set(names):
                source = source.reindex(own, axis=axis)
        matrix = floats(source.to_numpy(), "costs must be numbers")
        return matrix, kept[0] or list(source.index), kept[1] or list(source.columns)
    if found is None and sites is None and clients is None:
        first, *others = columns
        numbers = [column for name in others if (column := _numbers(columns[name])) is not None]
        if 1 < len(numbers) == len(others):
            return np.column_stack(numbers), _ids(id_column(first)), list[Hashable](others)
    if found is None:
        raise InputError(
            f"no columns are known as origins and destinations; columns: "
            f"{', '.join(map(str, columns))}; name two of them (sites=, clients=), and the "
            f"one of costs (cost=) unless it is the only other one of numbers{_commas(columns)}"
        )
    prices = _numbers(columns[_cost_column(columns, found, cost)])
    if prices is None:
        raise InputError(f"the column of costs must hold numbers{_commas(columns)}")
    keys = [_ids(id_column(name)) for name in found]
    names = [list(dict.fromkeys(key)) if keep is None else keep for key, keep in zip(keys, kept)]
    lookups = [{name: i for i, name in enumerate(own)} for own in names]
    each = zip(keys, lookups)
    rows, cols = (np.array([at.get(key, -1) for key in own], np.int64) for own, at in each)
    inside = (rows >= 0) & (cols >= 0)
    pairs = rows[inside] * len(names[1]) + cols[inside]
    different, counts = np.unique(pairs, return_counts=True)
    if len(different) < len(pairs):
        site, client = divmod(int(different[counts > 1][0]), len(names[1]))
        raise InputError(
            f"a pair of origin and destination is given more than once: that of the site "
            f"{shown(names[0][site])} and the client {shown(names[1][client])}"
        )
    matrix = np.full((len(names[0]), len(names[1])), np.nan)
    matrix[rows[inside], cols[inside]] = prices[inside]
    return matrix, names[0], names[1]


def _with_named_levels(frame: Any) -> Any:
    """The frame; the levels of its index as columns, if they are origins or destinations."""
    levels = {str(name).strip().lower() for name in frame.index.names}
    others = {str(name).strip().lower() for name in frame.columns}
    ends = any(levels <= set(pair) <= levels | others for pair in ENDS)
    return frame.reset_index() if ends and not levels & others else frame


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


def _given(ids: Any) -> list[Hashable] | None:
    """The ids to keep; None if a column's name is given instead."""
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
    """Columns by name, and a function from a name to a column of ids."""
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
    """Names of the columns of sites and clients; None if there are no such columns."""
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
    folded = {name: str(name).strip().lower() for name in others}
    usual = [n for n, text in folded.items() if text in COSTS or text.startswith("travel_time")]
    best = others if len(others) == 1 else usual
    if len(best) != 1:
        raise InputError(
            f"{'no' if not others else 'not one'} column is known as costs; numeric ones: "
            f"{', '.join(map(shown, others)) or 'none'}; name one (cost=){_commas(columns)}"
        )
    return best[0]


def _commas(columns: dict[str, Any]) -> str:
    """A remark on decimal commas, if there are any."""
    return comma_in(chain.from_iterable(columns.values()))


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


def _ids(column: Any) -> list[Hashable]:
    values: Any = column.to_pylist() if hasattr(column, "to_pylist") else column
    return list(values.tolist() if hasattr(values, "tolist") else values)
