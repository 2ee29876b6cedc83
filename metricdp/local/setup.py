"""Chooses public parameters for a public universe: partition, randomizers, roles of users; and
simulates messages for experiments, whose randomness may be seeded: never use it for real users.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.accounting.cost import exact
from metricdp.arguments import Amount, chosen, count, integer, positive, shown
from metricdp.errors import InputError
from metricdp.local.encoder import Encoder
from metricdp.local.items import MOST_NET_DIMENSIONS, BallItems, bits_of, items_of
from metricdp.local.oracles import best_frequency_randomizer, best_vector_randomizer, oracle_of
from metricdp.local.parameters import TRUST, PublicParameters, Report, Role
from metricdp.local.randomizers import LEAST_EPSILON, MOST_EPSILON
from metricdp.local.shuffle import largest_local_epsilon
from metricdp.metrics.base import Metric
from metricdp.metrics.space import EuclideanSpace
from metricdp.options import Coins, coins
from metricdp.partitions.finite.ward import hierarchy
from metricdp.protocols import Kind, space_of

PARTS_FACTOR = 1.5
PARTS_EACH = 4
MOST_PARTS = 4096
"""M = 1.5 · (users / variance)^(1/3), and at least 4k: ``benchmarks/local.md``."""
LEVEL_PARTS = 0.6
LEVEL_POWER = 0.4
LEVELS = ((2, 0.25), (3, 1.0), (5, 4.0))
"""Levels of a hierarchy, used if the universe has four times as many points as the finest level has
parts: share of the users, and parts as a multiple of 0.6 · (2 · users / variance)^0.4.
"""
COUNT_SHARE = (1, 10)
"""In R^d one user in ten reports its bucket, others their vector: ``benchmarks/local.md``."""
TREES = ("simhash", "net")


def public_parameters(
    universe: Metric | EuclideanSpace,
    epsilon: Amount,
    *,
    users: int = 100_000,
    k: int = 10,
    trust: str = "one_round_local",
    delta: Amount | None = None,
    parts: int | None = None,
    tree: str | None = None,
    depth: int | None = None,
    radius: float | None = None,
    seed: int = 0,
    rng: Coins | None = None,
) -> PublicParameters:
    """Choose the public parameters of one collection.

    Parameters
    ----------
    universe : Metric or EuclideanSpace
        Where items are. In a finite universe parts are counted, and centers are points of it. In a
        box nodes of a public tree are counted and vectors summed, and centers are any points.
    epsilon : number or str
        ``trust="one_round_local"``: budget of each message. ``"one_round_shuffle"``: the guarantee
        of the shuffled messages, with `delta` (1e-6 by default); the larger local epsilon of each
        message is `PublicParameters.epsilon`.
    users : int
        A public guess of the number of users. In the shuffle model the local epsilon is chosen for
        that number; the receipt states the guarantee for the number of messages that arrived.
    k : int
        A public guess of the number of centers.
    trust : {"one_round_local", "one_round_shuffle"}
    parts : int, optional
        Finite universes: number of parts of a single partition. By default, without a shuffler and
        if the universe is large enough, users are divided among three levels of a hierarchy.
    tree : {"simhash", "net"}, optional
        Boxes: signs along random directions, or nested nets, the default in up to three dimensions.
    depth : int, optional
        Levels of the tree.
    radius : float, optional
        Boxes: items farther from the middle of the box than this public radius are projected onto
        the sphere; by default half the diagonal.
    seed, rng : int; Generator, SeedSequence or int
        Public randomness.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> pub = mdp.local.public_parameters(metric, epsilon=4, users=4000, k=2)
    >>> pub.message_bytes < 20, pub.users
    (True, 4000)
    """
    budget = exact(epsilon)
    probability = exact(delta or 0, "delta")
    chosen(trust, TRUST, "trust")
    shuffled = trust == TRUST[1]
    if shuffled and delta is None:
        probability = Fraction(1, 10**6)
    if not LEAST_EPSILON <= budget <= MOST_EPSILON:
        raise InputError(
            f"epsilon must be from {float(LEAST_EPSILON):g} to {MOST_EPSILON}, got {shown(epsilon)}"
        )
    if shuffled != (0 < probability < 1):
        raise InputError(
            "delta must be between 0 and 1 with one_round_shuffle, and is of no use with "
            "one_round_local"
        )
    n, centers = count(users, "users"), count(k, "k")
    seed = coins(seed, rng)
    of_box = {"tree": tree, "depth": depth, "radius": radius}
    asked = _Collection(trust, budget, probability, n, centers, seed)
    return _SETUPS[space_of(universe).kind](universe, asked, parts, of_box)


@dataclass(frozen=True)
class _Collection:
    """The arguments of a collection that do not depend on the kind of universe."""

    trust: str
    epsilon: Fraction
    delta: Fraction
    users: int
    k: int
    seed: int

    @property
    def shuffled(self) -> bool:
        return self.trust == TRUST[1]

    def local(self, kind: Callable[[Fraction], Any] | None = None) -> Fraction:
        """Local epsilon of a message; `kind`: from a local epsilon to the randomizer."""
        if not self.shuffled:
            return self.epsilon
        return largest_local_epsilon(
            self.users, self.epsilon, self.delta, *([kind] if kind else [])
        )

    def parameters(
        self, epsilon: Fraction, items: dict[str, Any], roles: tuple[Role, ...]
    ) -> PublicParameters:
        """Public parameters for messages of this epsilon."""
        return PublicParameters(self.trust, epsilon, self.users, self.delta, items, roles)


def _box_collection(
    space: EuclideanSpace, asked: _Collection, parts: int | None, of_box: dict[str, Any]
) -> PublicParameters:
    if parts is not None:
        raise InputError("parts are for finite universes; a box has a tree and its depth")
    tree, depth, radius = of_box.values()
    local = asked.local()
    known = chosen(tree, TREES, "tree") if tree else None
    items = _ball(space, asked.k, known, depth, radius, asked.seed)
    return asked.parameters(local, items, _ball_roles(items, local))


def _finite_collection(
    universe: Metric, asked: _Collection, parts: int | None, of_box: dict[str, Any]
) -> PublicParameters:
    if any(given is not None for given in of_box.values()):
        raise InputError("tree, depth and radius are for boxes; a finite universe has parts")
    size, n = len(universe), asked.users
    if size < 2:
        raise InputError("a universe of one point needs no messages")
    if parts is not None:
        count(parts, "parts", 2, size, "the number of points")

    def randomizer_at(local: Fraction) -> Any:
        wanted = integer(parts) or number_of_parts(n, local, asked.k, size)
        return best_frequency_randomizer(local, wanted)

    local = asked.local(randomizer_at)
    sizes, shares = [randomizer_at(local).domain], [1]
    if parts is None and not asked.shuffled:
        several = level_sizes(n, local)
        if len(set(several)) == len(several) and 4 * several[-1] <= size:
            sizes, shares = several, [share for share, _ in LEVELS]
    whole = hierarchy(universe, asked.seed)
    cuts = [whole.cut(m) for m in sizes]
    tree = whole.joined(cuts)
    items = {"kind": "hierarchy", "parts": tree.n_parts, "ids": _ids(universe)}
    items |= {"labels": tree.labels.tolist(), "children": tree.children.tolist()}
    items["levels"] = [cut.parts_in(tree).tolist() for cut in cuts[:-1]]
    domains = [cut.n_parts for cut in cuts[:-1]] + [tree.n_parts]
    reports = [Report(best_frequency_randomizer(local, m), view) for view, m in enumerate(domains)]
    roles = tuple(Role(share, (report,)) for share, report in zip(shares, reports))
    return asked.parameters(local, items, roles)


_SETUPS: dict[Kind, Callable[..., PublicParameters]] = {
    "finite": _finite_collection,
    "box": _box_collection,
}


def level_sizes(users: int, epsilon: Fraction) -> list[int]:
    """Number of parts of each level: a quarter, one and four times that of the central default."""
    variance = oracle_of(best_frequency_randomizer(epsilon, 256)).variance
    one = LEVEL_PARTS * (2 * users / variance) ** LEVEL_POWER
    return [min(max(round(times * one), 16), MOST_PARTS) for _, times in LEVELS]


def number_of_parts(users: int, epsilon: Fraction, k: int, n_points: int) -> int:
    """1.5 · (users / variance that one user adds to a count)^(1/3), and at least 4k."""
    variance = oracle_of(best_frequency_randomizer(epsilon, 256)).variance
    return min(
        n_points,
        max(PARTS_EACH * k, min(round(PARTS_FACTOR * math.cbrt(users / variance)), MOST_PARTS)),
    )


def _ids(universe: Metric) -> Any:
    """The ids of a finite universe in JSON-ready form."""
    if universe.ids == range(len(universe)):
        return {"range": len(universe)}
    return [_plain(i) for i in universe.ids]


def _plain(identifier: Any) -> Any:
    if isinstance(identifier, np.generic):
        return identifier.item()
    return [_plain(i) for i in identifier] if isinstance(identifier, tuple) else identifier


def _ball(
    space: EuclideanSpace,
    k: int,
    tree: str | None,
    depth: int | None,
    radius: float | None,
    seed: int,
) -> dict[str, Any]:
    middle = (space.lower + space.upper) / 2
    d = space.dimension
    reach = space.diameter_bound() / 2 if radius is None else positive(radius, "radius")
    kind = tree or ("net" if d <= MOST_NET_DIMENSIONS else "simhash")
    if depth is not None:
        count(depth, "depth", 1, 20)
    signs = min(14, math.ceil(2 * math.log2(max(k, 2))) + 4)
    deep = integer(depth) or (signs if kind == "simhash" else 6 if d <= 2 else 4)
    ball = {"middle": middle.tolist(), "radius": float(reach)}
    return {"kind": kind, **ball, "depth": deep, "seed": seed}


def _ball_roles(items: dict[str, Any], epsilon: Fraction) -> tuple[Role, ...]:
    """Roles in a box. Nets: each user reports its node on a random level. SimHash: its leaf, or its
    vector there.
    """
    found = items_of(items)
    views = range(found.depth)
    if items["kind"] == "simhash":
        views = views[-1:]
    counts = [Report(best_frequency_randomizer(epsilon, found.domains[v]), v) for v in views]
    if items["kind"] == "net":
        return tuple(Role(1, (count,)) for count in counts)
    bits = bits_of(found.domains[-1])
    total = Report(best_vector_randomizer(epsilon, found.dimension, bits), views[0])
    users, others = COUNT_SHARE
    return Role(users, tuple(counts)), Role(others - users, (total,))


def simulated_messages(
    parameters: PublicParameters | dict[str, Any] | str | bytes,
    items: Sequence[Any] | NDArray[Any],
    seed: int | None = None,
    *,
    rng: Coins | None = None,
) -> NDArray[np.uint8]:
    """One message for each item, shape (n, message_bytes), for `Decoder.fit`.

    Parameters
    ----------
    parameters : PublicParameters, dict, str or bytes
    items : sequence of ids, or ndarray of float64, shape (n, d)
    seed, rng : int; Generator, SeedSequence or int, optional

    Raises
    ------
    InputError
        An item is not in the universe.

    Notes
    -----
    Messages are those of `Encoder`, with randomness that may be seeded. About 200,000 messages a
    second; 10,000 of vectors, as each generates all its candidates.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> pub = mdp.local.public_parameters(metric, epsilon=4, users=4000, k=2)
    >>> mdp.local.simulated_messages(pub, [1, 7, 7], seed=0).shape[0]
    3
    """
    encoder = Encoder(parameters)
    below = Random(None if seed is rng is None else coins(seed, rng)).randrange
    each = _values(encoder, items)
    messages = b"".join(encoder._message(views, vector, below) for views, vector in each)
    size = encoder.parameters.message_bytes
    return np.frombuffer(bytearray(messages), np.uint8).reshape(-1, size)


def _values(encoder: Encoder, items: Sequence[Any] | NDArray[Any]) -> Iterator[tuple[Any, Any]]:
    """The views and vectors of many items; points are processed as one array."""
    universe = encoder._items
    if not isinstance(universe, BallItems):
        listed = items.tolist() if isinstance(items, np.ndarray) else items
        return map(universe.values, listed)
    points = np.asarray(items, np.float64)
    if points.ndim != 2 or points.shape[1] != universe.dimension or not np.isfinite(points).all():
        raise InputError(f"points must be finite, of shape (n, {universe.dimension})")
    unit = universe.unit(points)
    return zip(np.stack(universe.views(unit), axis=1).tolist(), unit)
