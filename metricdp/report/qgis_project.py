"""The QGIS project of a GeoPackage: layers and styles, in its table ``qgis_projects``."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from numpy.typing import NDArray

from metricdp.report.styles import HEAD, style_body

_GEOMETRY = {"territories": "Polygon", "streets": "Line", "spider": "Line"}
_GEOMETRY |= {"bands": "Polygon", "band_streets": "Line"}
_MARGIN = 0.04
"""How much wider than the layers the first view is."""


def project_row(
    file: str, styles: Sequence[tuple[str, str]], box: NDArray[np.float64], crs: str | None
) -> tuple[str, str, str]:
    """Name, metadata and content of a row of ``qgis_projects``."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        entry = zipfile.ZipInfo("metricdp.qgs")  # without the time: the same plan, the same file
        entry.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(entry, _project(file, styles, box, crs))
    told = {"last_modified_time": "", "last_modified_user": "metricdp"}
    return "metricdp", json.dumps(told), packed.getvalue().hex()


def _project(
    file: str, styles: Sequence[tuple[str, str]], box: NDArray[np.float64], crs: str | None
) -> str:
    system = _system(crs)
    sources = [escape(f"./{file}|layername={name}") for name, _ in styles]
    tree = "".join(
        f'<layer-tree-layer id="metricdp_{name}" name="{name}" providerKey="ogr" '
        f'source={quoteattr(f"./{file}|layername={name}")} checked="Qt::Checked" expanded="0">'
        "<customproperties/></layer-tree-layer>"
        for name, _ in styles
    )
    layers = "".join(
        f'<maplayer type="vector" geometry="{_GEOMETRY.get(name, "Point")}"{_labeled(style)}>'
        f"<id>metricdp_{name}</id><datasource>{source}</datasource>"
        f'<layername>{name}</layername><srs>{system}</srs><provider encoding="UTF-8">ogr'
        f"</provider>{style_body(style)}</maplayer>"
        for (name, style), source in zip(styles, sources)
    )
    order = "".join(f'<layer id="metricdp_{name}"/>' for name, _ in styles)
    pad = _MARGIN * float(max(box[2] - box[0], box[3] - box[1]))
    corners = zip(("xmin", "ymin", "xmax", "ymax"), box + np.array([-pad, -pad, pad, pad]))
    extent = "".join(f"<{name}>{value:.12g}</{name}>" for name, value in corners)
    return (
        f'{HEAD}<qgis projectname="metricdp" version="3.22.0">'
        f"<title>metricdp</title><projectCrs>{system}</projectCrs>"
        f"<layer-tree-group><customproperties/>{tree}</layer-tree-group>"
        f'<mapcanvas name="theMapCanvas"><extent>{extent}</extent><rotation>0</rotation>'
        f"<destinationsrs>{system}</destinationsrs></mapcanvas>"
        f"<projectlayers>{layers}</projectlayers><layerorder>{order}</layerorder>"
        "<properties><SpatialRefSys>"
        f'<ProjectionsEnabled type="int">{int(crs is not None)}</ProjectionsEnabled>'
        '</SpatialRefSys><Paths><Absolute type="bool">false</Absolute></Paths></properties></qgis>'
    )


def _labeled(style: str) -> str:
    return ' labelsEnabled="1"' if "<labeling" in style else ""


def _system(crs: str | None) -> str:
    """A coordinate reference system as QGIS writes it."""
    if crs is None:
        return "<spatialrefsys/>"
    import pyproj

    system = pyproj.CRS.from_user_input(crs)
    authority = system.to_authority()
    named = "" if authority is None else f"<authid>{':'.join(authority)}</authid>"
    return f"<spatialrefsys><wkt>{escape(system.to_wkt())}</wkt>{named}</spatialrefsys>"
