"""A heat map as a GeoTIFF."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.atomic import drafted
from metricdp.errors import InputError, MissingExtraError
from metricdp.report.canvas.network import DrawnUniverse
from metricdp.report.layers import crs_of


def write_raster(target: Path, heat: Any) -> None:
    """Write density and standard error as two bands; a pixel has those of the point nearest to it
    along the drawing, or nothing far from all.
    """
    if find_spec("rasterio") is None:
        raise MissingExtraError("writing GeoTIFF", "geo")
    import rasterio

    drawn = DrawnUniverse(heat.universe)
    ground = drawn.ground
    if ground is None:
        raise InputError(f"{heat.universe.name} has no coordinates, and so no raster: give them")
    (left, across), (bottom, up) = (
        _affine(heat.universe.coordinates[drawn.order, axis], drawn.points[:, axis])
        for axis in (0, 1)
    )
    rows, columns = ground.owner.shape
    transform = rasterio.transform.from_origin(
        left + across * ground.x,
        bottom + up * ground.y,
        across * ground.width / columns,
        up * ground.height / rows,
    )
    doubt = heat.standard_error
    bands = [heat.density, np.full(len(heat.density), np.nan) if doubt is None else doubt]
    inside = ground.owner >= 0
    with drafted(target) as draft:
        file = rasterio.open(
            draft,
            "w",
            driver="GTiff",
            width=columns,
            height=rows,
            count=2,
            dtype="float32",
            nodata=np.nan,
            crs=crs_of(heat.universe),
            transform=transform,
            compress="deflate",
        )
        with file:
            for number, band in enumerate(bands, 1):
                shown = np.where(inside, band[drawn.order][ground.owner], np.nan)
                file.write(shown.astype(np.float32), number)
            file.descriptions = (f"demand per {heat.universe.measured}", "standard error")
            file.update_tags(**heat.facts())


def _affine(coordinates: NDArray[np.float64], drawn: NDArray[np.float64]) -> tuple[float, float]:
    """What is added and what multiplied to get coordinates from places of the drawing."""
    low, high = int(drawn.argmin()), int(drawn.argmax())
    wide = float(drawn[high] - drawn[low])
    far = float(coordinates[high] - coordinates[low])
    far += 360.0 if far < 0 else 0.0  # drawn across the antimeridian
    across = far / wide if wide > 0 else 1.0
    return float(coordinates[low]) - across * float(drawn[low]), across
