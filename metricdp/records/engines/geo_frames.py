"""GeoDataFrames: tables of pandas with a column of geometries, and the system that they declare."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from metricdp.records.engines.frames import Frame
from metricdp.records.engines.local import LocalFrame
from metricdp.records.engines.memory import AtOnce
from metricdp.records.engines.registry import Engine
from metricdp.records.ingestion import geometry
from metricdp.records.ingestion.geometry import AXES


class Places(LocalFrame):
    """A GeoDataFrame, or a GeoSeries made one: one block."""

    geometry = True

    def __init__(self, native: Any) -> None:
        super().__init__(native)
        self.crs = native.crs

    @property
    def columns(self) -> Sequence[Any]:
        """Names of the columns, and of the place."""
        return [*self.native.columns, *AXES]

    def batches(self, names: Sequence[str]) -> Generator[Any, None, None]:
        """The table."""
        place = any(name in AXES for name in names)
        places = geometry.of_shapes(self.native.geometry.array) if place else {}
        plain = {name: self.native[name] for name in names if name not in AXES}
        yield geometry.block(places, plain, names)


class GeoFrames(Engine):
    """Tables of geopandas that have geometries."""

    libraries = ("geopandas",)

    def takes(self, table: Any) -> bool:
        """A series, or a table whose geometry is set."""
        if not super().takes(table):
            return False
        return not hasattr(table, "columns") or table._geometry_column_name is not None

    def table(self, table: Any) -> Frame:
        """A frame of it."""
        return AtOnce(Places(table if hasattr(table, "columns") else table.to_frame("geometry")))


ENGINE = GeoFrames()
