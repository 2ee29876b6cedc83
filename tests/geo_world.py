"""A projected street grid, homes about it in every geographic format, and a table of them."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

for _name in ("pyogrio", "pyproj", "shapely", "pyarrow"):
    pytest.importorskip(_name)
gpd, pd = pytest.importorskip("geopandas"), pytest.importorskip("pandas")


UTM = "EPSG:32719"
SIDE, STEP = 6, 200.0
EAST, NORTH = 280_000.0, 6_690_000.0  # La Serena


def street_graph() -> nx.MultiDiGraph:
    """As OSMnx holds a projected graph: x, y in meters, `crs`, lengths of both directions."""
    graph = nx.MultiDiGraph(crs=UTM)
    for i in range(SIDE):
        for j in range(SIDE):
            graph.add_node(100 + i * SIDE + j, x=EAST + j * STEP, y=NORTH + i * STEP)
    for u in list(graph):
        i, j = divmod(u - 100, SIDE)
        for v in [u + 1] * (j + 1 < SIDE) + [u + SIDE] * (i + 1 < SIDE):
            graph.add_edge(u, v, length=STEP, osmid=u)
            graph.add_edge(v, u, length=STEP, osmid=u)
    return graph


def edge_frame() -> Any:
    from shapely import LineString

    graph = street_graph()
    at = {v: (d["x"], d["y"]) for v, d in graph.nodes(data=True)}
    pairs = [(u, v) for u, v in graph.edges() if u < v]
    lines = [LineString([at[u], at[v]]) for u, v in pairs]
    ends = {"u": [u for u, _ in pairs], "v": [v for _, v in pairs]}
    return gpd.GeoDataFrame({**ends, "length": STEP}, geometry=lines, crs=UTM)


def node_frame() -> Any:
    graph = street_graph()
    xy = np.array([(d["x"], d["y"]) for _, d in graph.nodes(data=True)])
    return gpd.GeoDataFrame({"osmid": list(graph)}, geometry=gpd.points_from_xy(*xy.T), crs=UTM)


def homes(n: int = 400, crs: str = "EPSG:4326", **columns: Any) -> Any:
    """Within 60 m of two corners, by turns, as points of longitude and latitude."""
    rng = np.random.default_rng(5)
    corner = np.where(np.arange(n)[:, None] % 2 == 0, 0.0, (SIDE - 1) * STEP)
    xy = np.array([EAST, NORTH]) + corner + rng.uniform(-40, 40, (n, 2))
    return gpd.GeoDataFrame(columns, geometry=gpd.points_from_xy(*xy.T), crs=UTM).to_crs(crs)


def write(frame: Any, path: Path) -> Path:
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_file(path)
    return path


def _written(ending: str) -> Any:
    def content(folder: Path, users: list[str]) -> bytes:
        return write(homes(len(users), user=users), folder / f"of-a-kind.{ending}").read_bytes()

    return content


def vrt(folder: Path, users: list[str]) -> bytes:
    """Tells GDAL to read another file."""
    table = folder / "other.csv"
    lines = [f"LINESTRING ({EAST + i} {NORTH}, {EAST + i + 1} {NORTH})" for i in range(len(users))]
    table.write_text("\n".join(["wkt;user", *map(";".join, zip(lines, users))]) + "\n")
    return (
        f'<OGRVRTDataSource><OGRVRTLayer name="other"><SrcDataSource>{table}</SrcDataSource>'
        '<GeometryType>wkbLineString</GeometryType><GeometryField encoding="WKT" field="wkt"/>'
        "</OGRVRTLayer></OGRVRTDataSource>"
    ).encode()


CONTENTS = {ending: _written(ending) for ending in ("gpkg", "shp", "fgb", "geojson", "parquet")}
CONTENTS |= {"vrt": vrt, "text": lambda folder, users: b"x,y,user\n1,2,a\n"}
"""Files' content by their kind: from a folder and users to bytes."""


def as_table(frame: Any) -> Any:
    return pd.DataFrame({"lon": frame.geometry.x, "lat": frame.geometry.y})


QGIS = shutil.which("qgis_process.bin") or shutil.which("qgis_process")
"""Debian's wrapper passes an option that the program does not know."""


def _environment(home: Path) -> dict[str, str]:
    """That of QGIS: its Python finds its home by the first python3 of PATH, which must not be that
    of a virtual environment.
    """
    assert QGIS is not None
    kept = {name: x for name, x in os.environ.items() if not name.startswith("PYTHON")}
    path = os.pathsep.join([str(Path(QGIS).parent), os.environ.get("PATH", "")])
    return {**kept, "PATH": path, "QT_QPA_PLATFORM": "offscreen", "HOME": str(home)}


def qgis(algorithm: str, parameters: dict[str, Any], home: Path) -> Any:
    """Run an algorithm of QGIS with a profile of its own."""
    assert QGIS is not None
    ask = [QGIS, "--json", "run", algorithm, "--", *(f"{k}={v}" for k, v in parameters.items())]
    return subprocess.run(ask, capture_output=True, text=True, env=_environment(home), timeout=600)


def profile(home: Path, plugins: Path) -> Path:
    """A profile of QGIS in which the plugin is on."""
    assert QGIS is not None
    os.environ["QGIS_PLUGINPATH"] = str(plugins)
    ask = [QGIS, "plugins", "enable", "metricdp_qgis"]
    own = _environment(home)
    subprocess.run(ask, capture_output=True, text=True, env=own, timeout=600, check=True)
    return home
