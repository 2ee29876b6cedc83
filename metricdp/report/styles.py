"""QGIS styles (QML) of the layers of a plan."""

import io
import json
import zipfile
from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from metricdp.arguments import Floats
from metricdp.report.assets import asset, filled
from metricdp.report.colors import ink_on

HEAD = "<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>\n"


def qml(layer: str, frame: Any) -> str:
    """The style of a layer, given its GeoDataFrame."""
    if layer == "demand":
        disk = {"color": "90,90,90,90", "outline_color": "60,60,60,160", "outline_width": "0.1"}
        size = f'max(0.4, 6 * sqrt("demand" / {max(frame["demand"], default=1.0) or 1.0:.9g}))'
        # an area proportional to the demand
        return _whole(_symbol("marker", _options(**disk, size="2") + _defined("size", size)))
    if layer == "spider":
        return _whole(_symbol("line", _line("90,90,90,140", "0.18")))
    if layer == "sites":
        disk = {"color": "0,0,0,255", "outline_color": "255,255,255,255", "outline_width": "0.5"}
        marker = _options(**disk, size="5") + _defined("fillColor", '"color"')
        return _whole(_symbol("marker", marker), _labels(list(frame["color"])))
    return colored("line", "0.3") if layer == "streets" else colored("fill", alpha=0.3)


def colored(kind: str, width: str = "0.5", alpha: float = 0.6) -> str:
    """The style of points, lines or areas (fill, so opaque) that have a column ``color``."""
    plain = {
        "marker": _options(color="0,0,0,255", outline_style="no", size="1.6"),
        "fill": _options(color="0,0,0,255", outline_style="no", style="solid"),
        "line": _line("0,0,0,255", width),
    }[kind]
    by = _defined("outlineColor" if kind == "line" else "fillColor", '"color"')
    return _whole(_symbol(kind, plain + by, alpha if kind == "fill" else 1))


def style_body(style: str) -> str:
    """The content of a style's root element, which a project repeats in its layer's element."""
    return style[style.index(">", style.index("<qgis")) + 1 : -len("</qgis>")]


def _whole(symbol: str, labels: str = "") -> str:
    """A style with one symbol for all features."""
    on = ' labelsEnabled="1"' if labels else ""
    kinds = 'version="3.22" styleCategories="Symbology|Labeling"'
    renderer = '<renderer-v2 type="singleSymbol" enableorderby="0" forceraster="0"><symbols>'
    return f"{HEAD}<qgis {kinds}{on}>{renderer}{symbol}</symbols></renderer-v2>{labels}</qgis>"


_CLASSES = {"marker": "SimpleMarker", "line": "SimpleLine", "fill": "SimpleFill"}


def _symbol(kind: str, options: str, alpha: float = 1) -> str:
    return (
        f'<symbol name="0" type="{kind}" alpha="{alpha}" clip_to_extent="1" force_rhr="0">'
        f'<layer class="{_CLASSES[kind]}" enabled="1" locked="0" pass="0">{options}</layer>'
        "</symbol>"
    )


def _line(color: str, width: str) -> str:
    return _options(line_color=color, line_width=width, line_width_unit="MM")


def _options(**values: str) -> str:
    """Options of a symbol; markers with a size are circles, in millimeters."""
    values |= {"name": "circle", "size_unit": "MM"} if "size" in values else {}
    both = "".join(
        f'<Option type="QString" name="{name}" value="{value}"/>' for name, value in values.items()
    )
    plain = "".join(f'<prop k="{name}" v="{value}"/>' for name, value in values.items())
    return f'<Option type="Map">{both}</Option>{plain}'


def _defined(name: str, expression: str) -> str:
    """A data-defined property of a symbol: its expression is evaluated for each feature."""
    return f"<data_defined_properties>{_property(name, expression)}</data_defined_properties>"


def _labels(colors: list[str]) -> str:
    """Labels with ranks, in black on light colors."""
    light = ", ".join(f"'{c}'" for c in sorted(set(colors)) if ink_on(c) != "#ffffff")
    chosen = f"if(\"color\" in ({light}), '#000000', '#ffffff')" if light else "'#ffffff'"
    return filled(asset("labels.qml"), {"COLOR": _property("Color", chosen)})


def _property(name: str, expression: str) -> str:
    """A property with an expression."""
    return filled(asset("property.qml"), {"NAME": name, "EXPRESSION": quoteattr(expression)})


_GEOMETRY = {"territories": "Polygon", "streets": "Line", "spider": "Line"}
_GEOMETRY |= {"bands": "Polygon", "band_streets": "Line"}
_MARGIN = 0.04
"""Margin of the first view around the layers, as a share of their extent."""


def project_row(
    file: str, styles: Sequence[tuple[str, str]], box: Floats, crs: str | None
) -> tuple[str, str, str]:
    """Name, metadata and content of a row of ``qgis_projects``."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        entry = zipfile.ZipInfo("metricdp.qgs")  # without the time: the same plan, the same file
        entry.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(entry, _project(file, styles, box, crs))
    facts = {"last_modified_time": "", "last_modified_user": "metricdp"}
    return "metricdp", json.dumps(facts), packed.getvalue().hex()


def _project(file: str, styles: Sequence[tuple[str, str]], box: Floats, crs: str | None) -> str:
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
    pieces = {"SYSTEM": system, "TREE": tree, "EXTENT": extent, "LAYERS": layers, "ORDER": order}
    return HEAD + filled(asset("project.qgs"), pieces | {"PROJECTED": str(int(crs is not None))})


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
