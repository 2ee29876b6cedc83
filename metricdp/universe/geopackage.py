"""Reading GeoPackage by Python's SQLite, without conversions or virtual tables."""

import sqlite3
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, TypeVar

from metricdp.errors import GraphFileError
from metricdp.universe.crs import crs_text

T = TypeVar("T")
_DAMAGED = "is not a geographic file that can be read: no GeoPackage, damaged, or in use elsewhere"
_BOXES = (0, 32, 48, 48, 64)
"""Bytes of the envelope before a geometry, by the code in its flags."""
_LAYERS = """
    SELECT g.table_name, g.column_name, g.geometry_type_name, g.srs_id
    FROM gpkg_contents AS c JOIN gpkg_geometry_columns AS g USING (table_name)
    JOIN sqlite_master AS m ON m.name = g.table_name
    WHERE c.data_type = 'features' AND m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL%'
    ORDER BY c.rowid
"""


def layers(path: str | Path) -> dict[str, tuple[str, str, int]]:
    """Layers that are ordinary tables, each with its geometry column, geometry type and system.

    Views are left out: their rows may be made of several records, or of a virtual table.
    """

    def listed(file: sqlite3.Connection) -> Any:
        encoding = file.execute("PRAGMA encoding").fetchone()[0]
        return encoding, file.execute(_LAYERS).fetchall()

    encoding, rows = _asked(path, listed)
    if encoding != "UTF-8":  # SQLite would change unpaired surrogates of UTF-16
        raise GraphFileError(path, "is a GeoPackage in UTF-16; save it anew, in UTF-8")
    return {name: (shape, kind, srs) for name, shape, kind, srs in rows}


def columns(path: str | Path, layer: str) -> dict[str, str]:
    """Declared types of a layer's columns, without its key and its geometry."""
    shape = layers(path)[layer][0]
    query = f"SELECT name, type, pk FROM pragma_table_info({_text(layer)})"
    rows = _asked(path, lambda file: file.execute(query).fetchall())
    return {name: kind for name, kind, key in rows if not key and name != shape}


def system(path: str | Path, layer: str) -> str | None:
    """The coordinate reference system that a layer declares."""
    query = (
        "SELECT organization, organization_coordsys_id, definition FROM gpkg_spatial_ref_sys "
        f"WHERE srs_id = {int(layers(path)[layer][2])}"
    )
    found = _asked(path, lambda file: file.execute(query).fetchone())
    if found is None:
        return None
    organization, code, definition = found
    if str(organization).upper() == "EPSG":
        return crs_text(f"EPSG:{code}")
    if str(definition).upper().startswith(("UNDEFINED", "LOCAL_CS", "ENGCRS")):
        return None
    return crs_text(definition)


def rows(
    path: str | Path, layer: str, names: Sequence[str], size: int
) -> Generator[tuple[dict[str, list[Any]], list[bytes | None]], None, None]:
    """Blocks of rows: columns of cells as SQLite stores them, and geometries as well-known binary.

    Invalid UTF-8 in text becomes replacement characters; 0 and 1 in a column declared ``BOOLEAN``
    become truth values.
    """
    kinds = columns(path, layer)
    chosen = ", ".join(f"t.{_name(name)}" for name in [layers(path)[layer][0], *names])
    truths = [kinds[name].upper() == "BOOLEAN" for name in names]
    broken = False
    with closing(_connected(path)) as file:
        try:
            found = file.execute(f"SELECT {chosen} FROM {_name(layer)} AS t")
            while some := found.fetchmany(size):
                shapes, *cells = zip(*some)
                held = [list(map(_truth, c)) if t else list(c) for c, t in zip(cells, truths)]
                yield dict(zip(names, held)), [well_known(shape) for shape in shapes]
        except sqlite3.Error:  # which may quote a cell
            broken = True
    if broken:
        raise GraphFileError(path, _DAMAGED)


def well_known(cell: Any) -> bytes | None:
    """The well-known binary of a geometry cell; None if it is invalid or empty."""
    if not isinstance(cell, bytes) or len(cell) < 8 or cell[:2] != b"GP":
        return None
    flags = cell[3]
    if flags & 0x30 or flags >> 1 & 7 >= len(_BOXES):  # empty, or an extension's own
        return None
    return cell[8 + _BOXES[flags >> 1 & 7] :]


def _truth(cell: Any) -> Any:
    return bool(cell) if isinstance(cell, int) and cell in (0, 1) else cell


def _connected(path: str | Path) -> sqlite3.Connection:
    file = sqlite3.connect(f"{Path(path).resolve().as_uri()}?mode=ro", uri=True)
    file.text_factory = lambda data: data.decode("utf-8", "replace")
    return file


def _asked(path: str | Path, question: Callable[[sqlite3.Connection], T]) -> T:
    with suppress(sqlite3.Error), closing(_connected(path)) as file:
        return question(file)
    raise GraphFileError(path, _DAMAGED)


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
