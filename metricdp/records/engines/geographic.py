"""Geographic files of private rows: GeoPackage by SQLite, Shapefiles byte by byte, FlatGeobuf
through GDAL, GeoParquet through Arrow, GeoJSON as JSON.

Only public facts are taken from a file's name and header: kind, layers, columns with declared
types, coordinate system. Types are never inferred, and extents never read. GDAL's log is disabled
while rows are read, as it may quote a cell.
"""

import json
import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

from metricdp.arguments import shown
from metricdp.errors import GraphFileError, InputError, MissingExtraError
from metricdp.records.engines.embedded import at_once, chunks
from metricdp.records.engines.frames import Frame, LocalFrame
from metricdp.records.engines.tables import Columns, Placed, Rows
from metricdp.records.ingestion import geometry
from metricdp.records.ingestion.encoders import VALUES
from metricdp.records.ingestion.geometry import AXES
from metricdp.records.ingestion.shapefile import KINDS, shapefile
from metricdp.records.trouble import Ended, attempt, to_error
from metricdp.universe import geopackage
from metricdp.universe.geo import (
    GEOJSON,
    LAYERED,
    PARQUET,
    chosen_layer,
    file_kind,
    geojson_crs,
    geoparquet_column,
    layers_of,
)

_ROWS = VALUES // 8
_TIMES = ("datetime64[ms", "datetime64[us", "datetime64[ns")
_MILLISECONDS = "is a date with a time, of which milliseconds are read only: write it as text"
_NO_KIND = "is neither text nor number nor date: write it as text, or the file as GeoPackage"


def is_geographic(path: str) -> bool:
    """Whether a path names a geographic file: by its ending, or Parquet whose header says so."""
    bare = path.lower().removesuffix(".gz")
    if bare.endswith((*LAYERED, *GEOJSON)):
        return True
    return bare.endswith(PARQUET) and _is_geoparquet(path)


def _is_geoparquet(path: str) -> bool:
    if "://" in path or not Path(path).is_file():
        return False
    try:
        return geoparquet_column(path) is not None
    except (MissingExtraError, GraphFileError):
        return False


def geographic_file(path: str, layer: str | None = None) -> Frame:
    """A frame of a geographic file, which is read at once if it is small."""
    if not Path(path).is_file():
        raise GraphFileError(path, "no such file")
    kind = file_kind(path, _start(path))
    if kind in LAYERED:
        return at_once(_LAYERS[kind](path, layer))
    if layer is not None:
        raise InputError(f"{path}: has no layers; leave layer= (--demand-layer) out")
    return at_once(_geojson(path) if kind == ".geojson" else GeoParquet(path))


def _start(path: str) -> bytes:
    """The first bytes of a file, decompressed."""
    start = b""
    with suppress(OSError, EOFError), closing(chunks(path, 64)) as parts:
        start = next(parts, b"")
    return start


def of_arrow(batch: Any, plain: Sequence[str], shapes: str | None) -> tuple[Columns, Columns]:
    """Coordinates from the column `shapes`, if one is named, and columns `plain` of a batch."""
    places = {} if shapes is None else geometry.of_wkb(batch.column(shapes))
    return places, {name: batch.column(name) for name in plain}


class Layer(Placed):
    """A layer of a file with layers; its columns are those that the header declares."""

    def __init__(self, path: str, layer: str | None) -> None:
        with quiet_gdal():
            self._layer, facts = chosen_layer(path, layer, layers_of(path))
        super().__init__(None, [*facts.names, *AXES], path)
        self.crs = facts.crs
        self._kinds = dict(zip(facts.names, facts.kinds))


class GeoPackage(Layer):
    """A layer of a GeoPackage: each cell is what SQLite stored, whatever its column declares."""

    def rows(self, plain: list[str], place: bool) -> Rows:
        """Rows by Python's SQLite."""
        for cells, shapes in geopackage.rows(str(self.path), self._layer, plain, _ROWS):
            yield geometry.of_wkb(shapes) if place else {}, cells


class ShapefileTable(Layer):
    """A Shapefile: each field is what its own bytes say."""

    def __init__(self, path: str, layer: str | None) -> None:
        super().__init__(path, layer)
        self._file = shapefile(path)
        fields = self._file.fields
        self.columns = [*(field.name for field in fields), *AXES]
        self.refused = {field.name: _NO_KIND for field in fields if field.kind not in KINDS}

    def rows(self, plain: list[str], place: bool) -> Rows:
        """Rows from the three files."""
        for cells, at in self._file.rows(plain, _ROWS):
            yield dict(zip(AXES, at.T)), cells


class FlatGeobuf(Layer):
    """A FlatGeobuf file read by GDAL in Arrow batches, with the types of its header."""

    def __init__(self, path: str, layer: str | None) -> None:
        super().__init__(path, layer)
        times = [name for name, kind in self._kinds.items() if kind.startswith(_TIMES)]
        self.refused = dict.fromkeys(times, _MILLISECONDS)

    def rows(self, plain: list[str], place: bool) -> Rows:
        """Coordinates from well-known binary, and other columns unchanged."""
        from pyogrio.raw import open_arrow

        wanted = {"layer": self._layer, "columns": plain, "read_geometry": place}
        with (
            quiet_gdal(),
            open_arrow(self.path, **wanted, use_pyarrow=True, batch_size=_ROWS) as (facts, reader),
        ):
            held = facts.get("geometry_name") or "wkb_geometry"
            for batch in reader:
                yield of_arrow(batch, plain, held if place else None)


_LAYERS: dict[str, Callable[[str, str | None], LocalFrame]] = {
    ".gpkg": GeoPackage,
    ".shp": ShapefileTable,
    ".fgb": FlatGeobuf,
}
"""Frame class of each kind of file with layers."""


class GeoParquet(Placed):
    """A Parquet file whose header names a column of geometries."""

    def __init__(self, path: str) -> None:
        import pyarrow.parquet as pq

        found = geoparquet_column(path)
        assert found is not None
        self._shapes, self.crs = found
        super().__init__(None, [*pq.read_schema(path).names, *AXES], path)

    def rows(self, plain: list[str], place: bool) -> Rows:
        """Row groups in batches."""
        import pyarrow.parquet as pq

        held = self._shapes if place else None
        wanted = list(dict.fromkeys([*plain, *([self._shapes] if place else [])]))
        with pq.ParquetFile(self.path) as file:
            for batch in file.iter_batches(_ROWS, columns=wanted):
                yield of_arrow(batch, plain, held)


class Features(Placed):
    """Features of a GeoJSON file. A feature without a property has a missing cell."""

    def __init__(self, features: list[Any], path: str) -> None:
        super().__init__(features, AXES, path)  # properties are the features' own

    def check(self, names: Sequence[Any]) -> None:
        """Raise InputError unless all names are text: any text may name a property."""
        bad = [name for name in names if not isinstance(name, str)]
        if bad:
            raise InputError(f"a property's name is text, not {shown(bad[0])}")

    def rows(self, plain: list[str], place: bool) -> Rows:
        """Blocks of features."""
        for start in range(0, len(self.native), _ROWS):
            some = self.native[start : start + _ROWS]
            yield geometry.of_geojson(some), geometry.properties(some, plain)


def _geojson(path: str) -> Features:
    """The features of a FeatureCollection, numbers with all digits; no error leads to content."""
    done = attempt(lambda: _collection(path))
    if isinstance(done, Ended):
        raise to_error(done, f"{path}: is not a readable GeoJSON FeatureCollection", None)
    frame, declared = done
    frame.crs = geojson_crs(declared, path)
    return frame


def _collection(path: str) -> tuple[Features, dict[str, Any]]:
    """A frame of the features, and the member that declares their coordinate system."""
    content = json.loads(b"".join(chunks(path)), parse_float=Decimal)
    if not isinstance(content["features"], list):
        raise InputError("features must be a list")
    return Features(content["features"], path), {"crs": content.get("crs")}


@contextmanager
def quiet_gdal() -> Iterator[None]:
    """Disable logs and warnings of pyogrio, which may quote cells."""
    names = [n for n in logging.Logger.manager.loggerDict if n.partition(".")[0] == "pyogrio"]
    logs = [logging.getLogger(name) for name in {*names, "pyogrio", "pyogrio._io"}]
    before = [log.level for log in logs]
    for log in logs:
        log.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for log, level in zip(logs, before):
            log.setLevel(level)
