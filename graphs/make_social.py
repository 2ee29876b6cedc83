"""Make generated_social.csv.gz, a graph with the degrees and communities of a social network, every
edge 1 long.

LFR benchmark graph (A. Lancichinetti, S. Fortunato, F. Radicchi, "Benchmark graphs for testing
community detection algorithms", Physical Review E 78 (2008) 046110): power-law degrees (exponent 3,
mean about 10, at most 100) and community sizes (exponent 1.5, from 30), a share 0.15 of each
vertex's edges leaving its community; the largest component of 2,000 vertices. Made with networkx
3.6.1; another version may draw another graph.

    python graphs/make_social.py
"""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path

import networkx as nx

SEED = 11


def main() -> None:
    """Draw the graph and write its edges, each once, ascending."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--output", type=Path, default=Path(__file__).parent, help="folder to write to"
    )
    arguments = parser.parse_args()
    graph = nx.LFR_benchmark_graph(
        2000,
        3.0,
        1.5,
        0.15,
        average_degree=10,
        max_degree=100,
        min_community=30,
        max_community=200,
        seed=SEED,
    )
    kept = max(nx.connected_components(graph), key=len)
    edges = sorted((min(u, v), max(u, v)) for u, v in graph.subgraph(kept).edges if u != v)
    text = "\n".join(["source,target", *(f"{u},{v}" for u, v in edges)]) + "\n"
    (arguments.output / "generated_social.csv.gz").write_bytes(
        gzip.compress(text.encode(), compresslevel=9, mtime=0)
    )


if __name__ == "__main__":
    main()
