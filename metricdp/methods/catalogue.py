"""One line on each method, by its name, in the order in which they are listed.

This module loads none of them, so that ``--help`` is fast; their classes are in
`metricdp.methods.registry`.
"""

OF_FINITE_UNIVERSES = {
    "partition": "noisy counts of public parts",
    "uniform": "ignores the demand and costs nothing",
    "hst": "noisy counts of the nodes of a public tree",
    "local-search": "private swaps of centers, drawn by cost",
    "max-coverage": "noisy counts of parts, finer in private balls (give it a delta)",
}
OF_BOXES_ALONE = {
    "quadtree": "noisy counts of a box's cells, split where demand is",
    "coreset": "weighted points to publish, from noisy counts",
    "lloyd": "Lloyd's steps on noisy counts and sums",
    "lsh": "noisy averages of the nodes of a tree of hash prefixes",
}
