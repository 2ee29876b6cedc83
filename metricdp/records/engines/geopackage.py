"""Cells of a GeoPackage as it stores them: SQLite keeps whatever was written, and GDAL makes 0 of a
text in a column of numbers, 1 of 1.5, and leaves out the high bits of a number that is too large
for its column, so that two users would become one. Such cells are refused.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from metricdp.errors import InputError


def check_cells(path: str, layer: str, kinds: dict[str, str], names: Sequence[str]) -> None:
    """Refuse a file of which some named cell is not of its column's type.

    Parameters
    ----------
    path, layer : str
    kinds : dict of str to str
        Types of NumPy of the columns, as pyogrio reads them.
    names : sequence of str
        Those to be read.

    Raises
    ------
    InputError
        One is not, or the file cannot be read: no cell is told.
    """
    sound = None
    try:
        with closing(sqlite3.connect(f"{Path(path).resolve().as_uri()}?mode=ro", uri=True)) as file:
            sound = all(
                not file.execute(
                    f"SELECT EXISTS(SELECT 1 FROM {_quoted(layer)} WHERE {_quoted(name)} IS NOT "
                    f"NULL AND ({_rule(kinds[name], _quoted(name))}) IS NOT 1)"
                ).fetchone()[0]
                for name in names
            )
    except sqlite3.Error:  # which may quote a cell
        sound = None
    if not sound:
        raise InputError("a cell is not of its column's type")


def _rule(kind: str, cell: str) -> str:
    """What a cell that is there must be, in SQL.

    Examples
    --------
    >>> _rule("int8", '"n"')
    'typeof("n") = \\'integer\\' AND "n" BETWEEN -128 AND 127'
    """
    plain = np.dtype(kind)
    if plain.kind in "iu":
        bounds = np.iinfo(plain)
        return f"typeof({cell}) = 'integer' AND {cell} BETWEEN {bounds.min} AND {bounds.max}"
    if plain.kind == "b":
        return f"typeof({cell}) = 'integer' AND {cell} BETWEEN 0 AND 1"
    if plain.kind == "f":
        return f"typeof({cell}) IN ('real', 'integer')"
    if plain.kind == "M":
        return f"typeof({cell}) = 'text' AND date({cell}) = {cell}"
    return f"typeof({cell}) = 'text'"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
