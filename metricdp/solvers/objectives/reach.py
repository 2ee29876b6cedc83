"""Who is within reach of which sites: balls around single points and lists of the sites near demand
points (bounded searches on graphs, rows of distances elsewhere), column dominance of these lists
(sites that reach no more than another are dropped), distances to the nearest of a growing set of
sites, and what the searches for the p-center share (`CenterSearch`).
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from metricdp.arguments import Ints
from metricdp.kernels.covering import maximal_columns
from metricdp.kernels.shortest_paths import FAR, add_sources, bounded_search, workspace
from metricdp.solvers.objectives.instance import WITHIN, Floats, Instance, Positions, costs_between
from metricdp.solvers.programs import fewest_columns

CLOSE = 0.003
"""Relative gap at which searches in large universes end."""
_NONE = np.empty(0, np.int64)


class ReachLists:
    """For demand points that were listed, the sites within a radius that can only shrink.

    `clients`: positions of the demand points that may be listed; `numbers`: those that are, as
    indices into `clients`.
    """

    def __init__(self, instance: Instance, clients: Positions) -> None:
        self.instance, self.clients = instance, clients
        self.radius = np.inf
        self.balls = Balls(instance, to_point=True)
        self.numbers: list[int] = []
        self._lists: list[tuple[Positions, Floats]] = []
        n = len(instance.metric.sites)
        self._index: NDArray[Any] = np.full(n, -1, np.int32)
        self._index[instance.allowed] = np.arange(len(instance.allowed))

    def __len__(self) -> int:
        return len(self._lists)

    @property
    def entries(self) -> int:
        """Pairs of client and site in memory."""
        return sum(len(sites) for sites, _ in self._lists)

    def __getitem__(self, j: int) -> tuple[Positions, Floats]:
        """Indices into the allowed sites, and costs of serving the j-th listed client from them."""
        return self._lists[j]

    def add(self, which: list[int]) -> None:
        """List more clients (indices into `clients`)."""
        have = set(self.numbers)
        new = [i for i in which if i not in have]
        self.numbers += new
        for i in new:
            self._lists.append(self.near(i))

    def shorten(self, radius: float) -> None:
        """Shrink the radius. Lists are cut where that saves memory."""
        if radius >= self.radius:
            return
        before, self.radius = self.radius, radius
        if before == np.inf or radius < 0.9 * before or len(self.instance.allowed) < 20_000:
            for j, (sites, distance) in enumerate(self._lists):
                near = distance <= radius * (1 + WITHIN)
                self._lists[j] = (sites[near], distance[near])

    def values(self, low: float, high: float) -> Floats:
        """Distinct listed distances from `low` to below `high`."""
        found = [d[(d >= low) & (d < high * (1 - WITHIN))] for _, d in self._lists]
        return np.unique(np.concatenate(found))

    def within_reach_of(self, sites: Positions, radius: float) -> list[bool]:
        """Whether each listed client is within a radius of any of these sites (indices)."""
        if len(sites) == 0:
            return [False] * len(self)
        return [bool(np.isin(at[d <= radius], sites).any()) for at, d in self._lists]

    def near(self, i: int) -> tuple[Positions, Floats]:
        """Allowed sites (indices) within the radius of one of `clients`, and costs; not cached."""
        places, away = self.balls(int(self.clients[i]), self.radius)
        at = self._index[places]
        inside = at >= 0
        return at[inside], away[inside]


class Balls:
    """All within a radius of a point.

    `to_point`: sites that can serve the point, rather than points that a site can serve;
    `searched`: work so far, in searches of the whole universe.
    """

    def __init__(self, instance: Instance, to_point: bool = False) -> None:
        self.instance, self.to_point, self.searched = instance, to_point, 0.0
        self._place = np.full(len(instance.metric), -1, np.int64)
        self._place[instance.demand] = np.arange(len(instance.demand))
        self._space: Any = None

    def __call__(self, position: int, radius: float) -> tuple[Positions, Floats]:
        """Positions (without a graph and `to_point`, of allowed sites) within the radius, and
        costs.
        """
        metric, network = self.instance.metric, self.instance.metric.network
        if network is None:
            one, self.searched = np.array([position]), self.searched + 1.0
            if self.to_point:
                row = costs_between(metric, self.instance.allowed, one)[:, 0]
            else:
                row = metric.distance_rows(one)[0]
            near = np.flatnonzero(row <= radius * (1 + WITHIN))
            return self.instance.allowed[near] if self.to_point else near, row[near]
        indptr, indices, lengths = network.csr
        if self._space is None:
            self._space = workspace(len(metric), len(indices)), np.empty(len(metric), np.int64)
        space, reached = self._space
        steps = int(min(radius * (1 + WITHIN) / network.unit, 2.0**60))
        graph = (indptr, indices, network.back if self.to_point else lengths)
        count = bounded_search(graph, int(network.rank[position]), steps, reached, space)
        self.searched += count / len(metric)
        return network.order[space.touched[:count]], reached[:count] * network.unit

    def demand(self, site: int, radius: float) -> Positions:
        """Indices of the demand points within a radius of a site's position."""
        found = self._place[self(site, radius)[0]]
        return found[found >= 0]


class Undominated:
    """Sites that reach a maximal set of listed clients.

    Equal sites are found by XOR sums of 128 random bits of their clients: different ones are
    mistaken for equal with a probability of 2**-128 a pair.
    """

    def __init__(self, lists: ReachLists, n_sites: int, rng: np.random.Generator) -> None:
        self.lists, self.n_sites, self._rng = lists, n_sites, rng
        self._marks = np.empty((0, 2), np.uint64)
        self._place = np.full(n_sites, -1, np.int32)

    def columns(self, listed: list[int], radius: float) -> tuple[Ints, csr_array]:
        """Undominated sites (indices) near listed clients, and the 0-1 matrix clients × sites."""
        while len(self._marks) < len(self.lists):
            fresh = self._rng.integers(0, 2**64, (64, 2), np.uint64)
            self._marks = np.concatenate([self._marks, fresh])
        marks = np.zeros((self.n_sites, 2), np.uint64)
        for j in listed:
            at, distance = self.lists[j]
            marks[at[distance <= radius]] ^= self._marks[j]  # a list has each site once
        reaching = np.flatnonzero(marks.any(axis=1))
        order = np.lexsort((reaching, marks[reaching, 1], marks[reaching, 0]))
        sorted_marks = marks[reaching[order]]
        new = np.r_[True, (sorted_marks[1:] != sorted_marks[:-1]).any(axis=1)]
        sites = np.sort(reaching[order[new]]) if len(reaching) else reaching
        self._place[sites] = np.arange(len(sites))
        rows = []
        for j in listed:
            at, distance = self.lists[j]
            found = self._place[at[distance <= radius]]
            rows.append(found[found >= 0])
        self._place[sites] = -1
        covers = matrix_of(rows, len(sites))
        kept = maximal(csr_array(covers.T.tocsr()))
        return sites[kept], csr_array(covers[:, kept])


def matrix_of(rows: Sequence[NDArray[np.integer]], n_columns: int) -> csr_array:
    """The 0-1 matrix with ones at these columns of each row."""
    starts = np.r_[0, np.cumsum([len(row) for row in rows])].astype(np.int64)
    entries = np.concatenate(rows) if rows else np.empty(0, np.int32)
    return csr_array((np.ones(len(entries)), entries, starts), shape=(len(rows), n_columns))


def maximal(columns: csr_array, first: Ints = _NONE) -> Ints:
    """Columns (given as the rows of a matrix) that no other contains, one of equal ones; those of
    `first` are preferred.
    """
    columns.sort_indices()
    size = np.diff(columns.indptr)
    order = np.argsort(-size, kind="stable")[: int((size > 0).sum())]
    order = np.r_[first[size[first] > 0], order]  # what comes again is inside itself
    arrays = (columns.indptr.astype(np.int64), columns.indices.astype(np.int64))
    return np.flatnonzero(maximal_columns(*arrays, columns.shape[1], order))


class Nearness:
    """Distance of every point from the nearest of some sites, to which sites are added one by one.

    `distance` (n_points,); `searched`: work so far, in searches of the whole universe; `seconds`:
    longest processor time of an addition.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance, self.searched, self.seconds = instance, 0.0, 0.0
        self.network = instance.metric.network
        n = len(instance.metric)
        self.distance = np.full(n, np.inf)
        self._label: Positions | None = None
        if self.network is not None:
            capacity = len(self.network.csr[1]) + 1
            self._steps, self._labels = np.full(n, FAR), np.zeros(n, np.int64)
            self._space = np.empty(capacity, np.int64), np.empty(capacity, np.int64)

    def add(self, site: int) -> None:
        """Add the site at a position."""
        start = time.process_time()
        network = self.network
        if network is None:
            self.distance = self.distance_with(site)
            self.searched += 1.0
        else:
            inner = network.rank[[site]]
            entered = add_sources(network.csr, inner, 0, self._steps, self._labels, self._space)
            self.searched += entered / len(self.distance)
            self.distance = self._steps[network.rank] * network.unit
        self.seconds = max(self.seconds, time.process_time() - start)

    def distance_with(self, site: int) -> Floats:
        """`distance` if this site were added."""
        network = self.network
        if network is None:
            row = self.instance.metric.distance_rows(np.array([site]))[0]
            return np.asarray(np.minimum(self.distance, row), np.float64)
        steps, inner = self._steps.copy(), network.rank[[site]]
        add_sources(network.csr, inner, 0, steps, self._labels.copy(), self._space)
        return np.asarray(steps[network.rank] * network.unit, np.float64)

    def site_of(self, client: int, chosen: list[int]) -> int:
        """Position of the best site for a client that is not among those chosen."""
        instance = self.instance
        points_are_sites = instance.metric.sites is instance.metric.ids
        if points_are_sites and len(instance.allowed) == len(instance.metric):
            if client not in chosen:
                return client
        elif self.network is not None:
            if self._label is None:
                self._label = instance.metric.nearest_to(instance.allowed)[0]
                self.searched += 1.5
            site = int(instance.allowed[self._label[client]])
            if site not in chosen:
                return site
        row = costs_between(instance.metric, instance.allowed, np.array([client]))[:, 0]
        if len(chosen) < len(instance.allowed):
            row[np.isin(instance.allowed, chosen)] = np.inf
        return int(instance.allowed[np.argmin(row)])


def sites_filled(instance: Instance, sites: Positions, more: Positions, k: int) -> Positions:
    """k distinct sites: these, then others from `more`."""
    sites = np.unique(sites)
    others = np.setdiff1d(np.r_[more, instance.allowed[: 2 * k]], sites)
    return np.r_[sites, others[: k - len(sites)]].astype(np.int64)


class CenterSearch:
    """k sites that reach all clients within `upper`, and a radius `lower` that no k sites can beat.

    `clients`: positions of the demand that counts; `lists`: sites near some of them; `best` (k,):
    positions of the best sites.
    """

    def __init__(self, instance: Instance, clients: Positions, k: int) -> None:
        self.instance, self.clients, self.k = instance, clients, k
        self.lists = ReachLists(instance, clients)
        self.best, self.upper, self.lower = np.empty(0, np.int64), np.inf, 0.0
        self._rng = np.random.default_rng(instance.seed)
        self._fixed = np.searchsorted(instance.allowed, instance.opened)
        self._n_free = k - len(self._fixed)
        self._undominated = Undominated(self.lists, len(instance.allowed), self._rng)

    def _nearest(self, sites: Positions) -> tuple[Positions, Floats]:
        """For each client the index of the nearest of these sites, and its distance."""
        self.lists.balls.searched += 1.0 if len(sites) == 1 else 1.5
        label, distance = self.instance.metric.nearest_to(sites)
        return label[self.clients], distance[self.clients]

    def _evaluate(self, sites: Positions) -> tuple[Positions, Floats]:
        """The same as `_nearest`; keeps the sites if they are the best."""
        label, distance = self._nearest(sites)
        if distance.max() < self.upper:
            self.best, self.upper = sites, float(distance.max())
        return label, distance

    def _farthest(self, near: Nearness, within: float = 0.0) -> Iterator[tuple[int, int]]:
        """Farthest-first traversal (Gonzalez 1985): clients, each with the site near it that is
        added then. Starts from the required sites; ends when all clients are `within` a radius,
        after one at least.
        """
        chosen = [int(site) for site in self.instance.opened]
        for site in chosen:
            near.add(site)
        done = np.zeros(len(self.clients), bool)
        while True:
            distance = np.where(done, -1.0, near.distance[self.clients])
            client = int(np.argmax(distance))
            if distance[client] <= within and done.any():
                return
            done[client] = True
            chosen.append(near.site_of(int(self.clients[client]), chosen))
            near.add(chosen[-1])
            yield client, chosen[-1]

    def _uncovered(self, radius: float) -> list[int]:
        """Listed clients that no required site reaches."""
        reached = self.lists.within_reach_of(self._fixed, radius * (1 + WITHIN))
        return [j for j in range(len(self.lists)) if not reached[j]]

    def _filled(self, more: Positions) -> Positions:
        """k sites: the required ones, these, and others up to k."""
        sites = np.r_[self.instance.opened, more].astype(np.int64)
        return sites_filled(self.instance, sites, self.best, self.k)

    def _cover_program(
        self, listed: list[int], radius: float, seconds: float
    ) -> tuple[Positions | None, bool]:
        """Free sites that reach these listed clients within a radius, by a set-cover program of so
        many seconds (None where none were found), and whether the answer is proven.
        """
        if not listed:
            return np.empty(0, np.int64), True
        columns, covers = self._undominated.columns(listed, radius * (1 + WITHIN))
        rows, _, proven = fewest_columns(
            covers, self.instance.deadline, at_most=self._n_free, seconds=seconds
        )
        return (None if rows is None else self.instance.allowed[columns[rows]]), proven

    def _raise_lower(
        self,
        high: float,
        radius: float,
        refuted: Callable[[float], bool],
        out_of_time: Callable[[], bool],
    ) -> None:
        """Raise `lower` until it is close to `high`: try to refute `radius`, then the middle of the
        two.
        """
        while high - self.lower > CLOSE * self.upper and not out_of_time():
            if refuted(radius):
                self.lower = radius
            else:
                high = radius
            radius = (self.lower + high) / 2 if self.lower else 0.9 * high
