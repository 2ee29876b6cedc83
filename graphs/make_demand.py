"""Make coquimbo_demand.csv.gz: 5,000 SYNTHETIC locations on the Coquimbo road network. No real
person stands behind any row.

Eight hot spots are drawn uniformly from the vertices; each location is then a vertex drawn with
probability proportional to exp(-10 * distance to the nearest hot spot / the largest such distance).
Repeats are normal.

    python graphs/make_demand.py
"""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from metricdp.universe import read_graph_file

SIZE, SPOTS, CONCENTRATION, SEED = 5000, 8, 10.0, 7
HERE = Path(__file__).parent


def main() -> None:
    """Draw the locations and write them, one vertex id a row."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, default=HERE, help="folder to write to")
    arguments = parser.parse_args()
    graph = read_graph_file(HERE / "coquimbo.csv.gz", symmetrize=True, largest_component=True)
    n = len(graph)
    rng = np.random.default_rng(SEED)
    spots = rng.choice(n, SPOTS, replace=False)
    lengths = csr_array((graph.lengths, graph.indices, graph.indptr), shape=(n, n))
    distance = dijkstra(lengths, indices=spots, min_only=True)
    density = np.exp(-CONCENTRATION * distance / distance.max())
    drawn = rng.choice(n, SIZE, p=density / density.sum())
    text = "\n".join(["vertex", *(str(graph.ids[v]) for v in drawn)]) + "\n"
    path = arguments.output / "coquimbo_demand.csv.gz"
    path.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))


if __name__ == "__main__":
    main()
