"""Which methods there are: a line registers each.

It loads none of them, so that ``--help`` and whatever else lists them answers at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # what type checkers know of `metricdp.methods`
    from metricdp.methods.baselines.balcan import Balcan as Balcan
    from metricdp.methods.baselines.k_variates import KVariates as KVariates
    from metricdp.methods.baselines.lloyd import Lloyd as Lloyd
    from metricdp.methods.baselines.lsh import LSHCoreset as LSHCoreset
    from metricdp.methods.box.coreset import Coreset as Coreset
    from metricdp.methods.box.quadtree import Quadtree as Quadtree
    from metricdp.methods.finite.hst import DPHST as DPHST
    from metricdp.methods.finite.local_search import LocalSearch as LocalSearch
    from metricdp.methods.finite.max_coverage import MaxCoverage as MaxCoverage
    from metricdp.methods.finite.partition import Partition as Partition
    from metricdp.methods.finite.uniform import Uniform as Uniform


class Entry(NamedTuple):
    """A method.

    `home`: its module below `metricdp.methods`: in ``finite`` if it answers in finite universes;
    `kind`: its class there; ``kind.name`` is the name by which it is listed; `summary`: what it
    does, in a line.
    """

    home: str
    kind: str
    summary: str


LISTED = {
    "partition": Entry("finite.partition", "Partition", "noisy counts of public parts"),
    "uniform": Entry("finite.uniform", "Uniform", "ignores the demand and costs nothing"),
    "hst": Entry("finite.hst", "DPHST", "noisy counts of the nodes of a public tree"),
    "local-search": Entry(
        "finite.local_search", "LocalSearch", "swaps of centers drawn by their cost"
    ),
    "max-coverage": Entry(
        "finite.max_coverage",
        "MaxCoverage",
        "counts on parts refined where private balls lie (give it a delta)",
    ),
    "quadtree": Entry(
        "box.quadtree", "Quadtree", "noisy counts of a box's cells, opened where the demand is"
    ),
    "coreset": Entry(
        "box.coreset", "Coreset", "a weighted set to publish: noisy counts, or private balls"
    ),
    "lloyd": Entry(
        "baselines.lloyd", "Lloyd", "noisy counts and sums around centers, step after step"
    ),
    "lsh": Entry(
        "baselines.lsh", "LSHCoreset", "noisy averages of the nodes of a tree of hash prefixes"
    ),
    "k-variates": Entry(
        "baselines.k_variates", "KVariates", "k-means++ seeding on noisy averages of hashed nodes"
    ),
    "balcan": Entry(
        "baselines.balcan", "Balcan", "candidates by projection and grids, and private local search"
    ),
}
"""By name, in the order in which they are listed; the first is the default."""


def of_finite_universes() -> dict[str, str]:
    """What each method of finite universes does, by name."""
    return {
        name: entry.summary for name, entry in LISTED.items() if entry.home.startswith("finite.")
    }
