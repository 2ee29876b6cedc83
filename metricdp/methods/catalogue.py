"""One line on each method, by its name, in the order in which they are listed.

This module loads none of them, so that ``--help`` is fast; their classes are in
`metricdp.methods.registry`.
"""

from __future__ import annotations

OF_FINITE_UNIVERSES = {
    "partition": "noisy counts of public parts",
    "uniform": "ignores the demand and costs nothing",
    "hst": "noisy counts of the nodes of a public tree",
    "local-search": "swaps of centers drawn by their cost",
    "max-coverage": "counts on parts refined where private balls lie (give it a delta)",
}
OF_BOXES_ALONE = {
    "quadtree": "noisy counts of a box's cells, split where the demand is",
    "coreset": "a weighted set to publish, by noisy counts",
    "lloyd": "noisy counts and sums around centers, step after step",
    "lsh": "noisy averages of the nodes of a tree of hash prefixes",
}
