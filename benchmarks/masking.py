"""Masked copies of points by the package maskmypy, in whatever Python has it: reads one JSON object
on stdin (points, ways), writes one of masked points on stdout.

`benchmarks/synthetic.py` starts it. maskmypy's street mask asks OpenStreetMap for the streets; here
it is given those of the benchmark's own road network.
"""

from __future__ import annotations

import json
import sys


def streets(given):
    """The road network as osmnx has them."""
    import networkx as nx

    graph = nx.MultiDiGraph(crs="epsg:4326")
    for i, (lon, lat) in enumerate(given["vertices"]):
        graph.add_node(i, x=lon, y=lat)
    for u, v, length in given["ways"]:
        graph.add_edge(u, v, length=length)
        graph.add_edge(v, u, length=length)
    return graph


def main() -> None:
    import warnings

    warnings.simplefilter("ignore")
    try:
        import geopandas
        import maskmypy
        from shapely.geometry import Point
    except ImportError as error:
        print(json.dumps({"missing": str(error)}))
        return
    given = json.load(sys.stdin)
    graph = streets(given)
    street = sys.modules["maskmypy.masks.street"]  # the package has a function of that name
    street.graph_from_bbox = lambda **_: graph.copy()
    street.add_edge_lengths = lambda found: found
    points = geopandas.GeoDataFrame(
        geometry=[Point(*given["vertices"][i]) for i in given["at"]], crs="epsg:4326"
    ).to_crs(given["meters"])
    masked = {}
    for name, mask in (("donut", maskmypy.donut), ("street", maskmypy.street)):
        moved = mask(points, *given[name], seed=1).to_crs("epsg:4326").geometry
        masked[name] = [[p.x, p.y] for p in moved]
    print(json.dumps(masked))


if __name__ == "__main__":
    main()
