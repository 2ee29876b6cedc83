"""Slow, obvious reference implementations of every fast path: pure Python and plain numpy, written
from the definitions and from nothing in the package.

Graphs here are ``(n, edges)`` with edges ``(tail, head, length)``, undirected; self-loops, parallel
edges and length 0 are normal.
"""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

FAR = 2**62


# Graphs
@st.composite
def graphs(draw, most_points: int = 9, longest: int = 6):
    """Connected multigraphs with integer lengths, zero included: a random tree and some more
    edges.
    """
    n = draw(st.integers(1, most_points))
    length = st.integers(0, longest)
    edges = [(draw(st.integers(0, v - 1)), v, draw(length)) for v in range(1, n)]
    more = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), length)
    return n, edges + draw(st.lists(more, max_size=8))


def random_graph(n: int, seed: int, extra: float = 1.0, integers: bool = True):
    """A connected graph: a random tree and `extra` · n more edges; lengths 0..20 or uniform in [0,
    1).
    """
    rng = np.random.default_rng(seed)
    tree, more = [rng.integers(0, v) for v in range(1, n)], rng.integers(0, n, int(extra * n))
    tails = np.r_[tree, more].astype(int)
    heads = np.r_[np.arange(1, n), rng.integers(0, n, int(extra * n))].astype(int)
    lengths = rng.integers(0, 21, len(tails)) if integers else rng.random(len(tails))
    return n, list(zip(tails.tolist(), heads.tolist(), lengths.tolist()))


def csr(n: int, edges) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(indptr, indices, lengths) as the kernels take them, each edge both ways, nothing merged."""
    rows = [[] for _ in range(n)]
    for u, v, w in edges:
        rows[u].append((v, w))
        rows[v].append((u, w))
    indptr = np.cumsum([0, *map(len, rows)])
    flat = [arc for row in rows for arc in row]
    return (
        indptr.astype(np.int64),
        np.array([a[0] for a in flat], np.int32),
        np.array([a[1] for a in flat], np.int64),
    )


def all_pairs(n: int, edges) -> np.ndarray:
    """Floyd's algorithm, shape (n, n); FAR where there is no path."""
    d = [[0 if i == j else FAR for j in range(n)] for i in range(n)]
    for u, v, w in edges:
        d[u][v] = d[v][u] = min(d[u][v], w)
    for m, i, j in itertools.product(range(n), repeat=3):
        d[i][j] = min(d[i][j], d[i][m] + d[m][j])
    return np.minimum(np.array(d), FAR)


# Centers
def nearest(distances: np.ndarray, centers) -> np.ndarray:
    """Distance of every point to its nearest center."""
    return distances[list(centers)].min(axis=0)


def two_nearest(distances: np.ndarray, centers) -> tuple[np.ndarray, np.ndarray]:
    """Distances of every point to its nearest and second-nearest slot; FAR where there is no
    second.
    """
    ordered = np.sort(distances[list(centers)], axis=0)
    return ordered[0], ordered[1] if len(ordered) > 1 else np.full(len(distances), FAR)


def cost(distances: np.ndarray, weights, centers, power: int = 1) -> float:
    """Weighted sum of distances to the nearest center, each raised to the power; rows of
    `distances` are candidates.
    """
    return float((np.asarray(weights) * nearest(distances, centers).astype(float) ** power).sum())


def swap_changes(distances: np.ndarray, weights, centers, power: int = 1) -> np.ndarray:
    """Change of cost of every swap, shape (n_candidates, k): entry (c, i) puts c in the place of
    slot i.
    """
    before = cost(distances, weights, centers, power)
    changes = np.empty((len(distances), len(centers)))
    for c, i in itertools.product(range(len(distances)), range(len(centers))):
        swapped = [*centers[:i], c, *centers[i + 1 :]]
        changes[c, i] = cost(distances, weights, swapped, power) - before
    return changes


def removal_losses(distances: np.ndarray, weights, centers, power: int = 1) -> np.ndarray:
    """What closing each slot adds to the cost, shape (k,), at least two slots."""
    centers = list(centers)
    before = cost(distances, weights, centers, power)
    fewer = (centers[:i] + centers[i + 1 :] for i in range(len(centers)))
    return np.array([cost(distances, weights, few, power) - before for few in fewer])


def best_centers(
    distances, weights, k, power=1, candidates=None, opened=()
) -> tuple[tuple[int, ...], float]:
    """The cheapest of all choices of k centers, the opened among them, and its cost."""
    allowed = range(len(distances)) if candidates is None else candidates
    choices = (c for c in itertools.combinations(allowed, k) if set(opened) <= set(c))
    costs = ((c, cost(distances, weights, c, power)) for c in choices)
    return min(costs, key=lambda found: found[1])


# Binary merge trees: children of node m + i, leaves 0..m-1
def leaf_sets(children) -> list[list[int]]:
    """Leaves below every node."""
    sets = [[leaf] for leaf in range(len(children) + 1)]
    for left, right in children:
        sets.append(sorted(sets[left] + sets[right]))
    return sets


def node_costs(children, distances, sizes, within) -> tuple[np.ndarray, np.ndarray]:
    """Size of every node, and the least cost of serving it from one of its leaves."""
    size, cheapest = [], []
    for leaves in leaf_sets(children):
        size.append(sum(sizes[j] for j in leaves))
        served = [sum(sizes[j] * distances[c][j] for j in leaves) for c in leaves]
        cheapest.append(min(served) + sum(within[j] for j in leaves))
    return np.array(size), np.array(cheapest)


def ward_merges(points: np.ndarray, sizes, children) -> dict[frozenset[int], float]:
    """Cost of every merge of a tree by Ward's criterion, from centroids: {leaves: |A||B|/(|A|+|B|)
    · squared distance}.
    """
    sets, sizes = leaf_sets(children), np.asarray(sizes, float)
    merges = {}
    for left, right in children:
        a, b = sets[left], sets[right]
        centroid = [np.average(points[s], axis=0, weights=sizes[s]) for s in (a, b)]
        total = [sizes[a].sum(), sizes[b].sum()]
        square = ((centroid[0] - centroid[1]) ** 2).sum()
        merges[frozenset(a + b)] = total[0] * total[1] / sum(total) * square
    return merges


# The hierarchical model of counts
def interpolation(low: float, step: float, grid: int, at: np.ndarray) -> np.ndarray:
    """Matrix that reads a message on ``low + step · arange(grid)`` at the points `at`, linearly, 0
    outside.
    """
    matrix = np.zeros((len(at), grid))
    for row, x in enumerate(at):
        where = (x - low) / step
        if -1e-9 <= where <= grid - 1 + 1e-9:
            i = min(max(int(where), 0), grid - 2)
            matrix[row, i], matrix[row, i + 1] = 1 - (where - i), where - i
    return matrix


def messages(children, low, step, fractions, chances, leaves: np.ndarray, prior: np.ndarray):
    """(inside, outside, posterior of shares) of all nodes by matrices; every row is scaled to sum
    1.
    """
    m, grid = len(children) + 1, leaves.shape[1]
    inside, outside = np.zeros((2 * m - 1, grid)), np.zeros((2 * m - 1, grid))
    inside[:m], outside[-1], posterior = leaves, prior, np.zeros_like(fractions)
    reads = {}
    for i, (left, right) in enumerate(children):
        x = low[m + i] + step[m + i] * np.arange(grid)
        for q in range(fractions.shape[1]):
            one = interpolation(low[left], step[left], grid, fractions[i, q] * x)
            other = interpolation(low[right], step[right], grid, (1 - fractions[i, q]) * x)
            reads[i, q] = one, other
            inside[m + i] += chances[i, q] * (one @ inside[left]) * (other @ inside[right])
    for i in reversed(range(m - 1)):
        left, right = children[i]
        for q in range(fractions.shape[1]):
            a, b = reads[i, q][0] @ inside[left], reads[i, q][1] @ inside[right]
            outside[left] += chances[i, q] * (outside[m + i] * b) @ reads[i, q][0]
            outside[right] += chances[i, q] * (outside[m + i] * a) @ reads[i, q][1]
            posterior[i, q] = chances[i, q] * (outside[m + i] * a * b).sum()
    scaled = [table / table.sum(axis=1, keepdims=True) for table in (inside, outside, posterior)]
    return scaled[0], scaled[1], scaled[2]


def enumerate_counts(children, fractions, chances, likelihoods, prior):
    """The model summed over every total and every combination of shares.

    Parameters
    ----------
    likelihoods : list of dict
        Of each node, value -> likelihood of what was observed at it: 1 for inner nodes; values not
        in the dict are impossible.
    prior : dict
        Total -> probability.

    Returns
    -------
    evidence : float
    posterior : ndarray, as `chances`
    mean : ndarray of float, shape (m,)
        Posterior mean of every leaf.
    """
    m = len(children) + 1
    evidence, posterior, mean = 0.0, np.zeros_like(chances), np.zeros(m)
    for total, chance in prior.items():
        for choice in itertools.product(range(fractions.shape[1]), repeat=m - 1):
            value, p = {2 * m - 2: total}, chance
            for i in reversed(range(m - 1)):
                left, right = children[i]
                value[left] = fractions[i, choice[i]] * value[m + i]
                value[right] = value[m + i] - value[left]
                p *= chances[i, choice[i]]
            for node, x in value.items():
                p *= likelihoods[node].get(x, 0.0)
            evidence += p
            mean += p * np.array([value[j] for j in range(m)])
            posterior[range(m - 1), choice] += p
    return evidence, posterior / evidence, mean / evidence


# Selections
def permute_and_flip_distribution(scores, eta: float) -> np.ndarray:
    """Exact distribution of permute-and-flip: over all orders, heads with probability exp(eta·(s -
    max)), the first head wins.
    """
    heads = [float(np.exp(eta * (s - max(scores)))) for s in scores]
    distribution = np.zeros(len(scores))
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        tails = 1.0
        for i in order:
            distribution[i] += tails * heads[i] / len(orders)
            tails *= 1 - heads[i]
    return distribution


# 2-HSTs
def hst_clusters(distances, permutation, beta) -> list[tuple[int, list[list[int]]]]:
    """(radius, clusters) of every level from the definition, distances integers; radii rounded
    down, the last is 0.
    """
    diameter = 2 * int(max(distances[permutation[0]]))
    clusters, levels = [list(range(len(distances)))], []
    while not levels or levels[-1][0] > 0:
        radius = int(Fraction(beta) * diameter / 2 ** (len(levels) + 1))
        points = range(len(distances))
        first = [next(c for c in permutation if distances[c][v] <= radius) for v in points]
        clusters = [
            [v for v in cluster if first[v] == c] for cluster in clusters for c in permutation
        ]
        clusters = sorted(cluster for cluster in clusters if cluster)
        levels.append((radius, clusters))
    return levels


def hst_distances(levels) -> np.ndarray:
    """Distances in the tree whose clusters of equal level are at equal height: twice the radius of
    the last common level.
    """
    n = sum(len(cluster) for cluster in levels[0][1])
    d = np.zeros((n, n), np.int64)
    for radius, clusters in levels:
        for cluster in clusters:
            for u, v in itertools.permutations(cluster, 2):
                d[u, v] = 2 * radius
    return d


# Swaps of centers
def cost_of(distance, centers, demand, scale) -> int:
    """Sum over demand (vertices, repeats allowed) of min(ceil(d / 2^shift), cap)^power to the
    nearest center; no center: the cap.
    """
    shift, cap, power = scale
    near = (min([distance[p][c] for c in centers], default=FAR) for p in demand)
    return sum(min(-(-int(d) // 2**shift), cap) ** power for d in near)


def swap_table(distance, centers, demand, scale, candidates) -> list[list[int]]:
    """The cost after every swap, from its definition: one row a slot, one column a candidate."""
    rest = [[c for j, c in enumerate(centers) if j != i] for i in range(len(centers))]
    return [[cost_of(distance, [*others, y], demand, scale) for y in candidates] for others in rest]


def hst_start(labels, counts, k: int, power: int) -> set[frozenset[int]]:
    """Algorithms 4 and 5 of Fan, Li & Li as printed: the clusters of the last level that the k
    centers are in. Of each level, coarse to fine: `labels` of the points, `counts` of the clusters.
    """
    clusters = [(i, c) for i, at in enumerate(labels) for c in range(at.max() + 1)]
    nodes = [(i, frozenset(np.flatnonzero(labels[i] == c).tolist())) for i, c in clusters]
    count = {node: counts[i][c] for node, (i, c) in zip(nodes, clusters)}
    last = len(labels) - 1
    ranked = sorted(nodes, key=lambda node: -count[node] * 2.0 ** (power * (last - node[0])))

    def above(one, other):
        return one[0] < other[0] and one[1] >= other[1]

    chosen = []
    while len(chosen) < k:
        free = [node for node in ranked if node not in chosen]
        open_to = [node for node in free if not any(above(node, c) for c in chosen)]
        chosen += open_to[: k - len(chosen)]
        chosen = [node for node in chosen if not any(above(node, c) for c in chosen)]
    leaves = set()
    for i, cluster in chosen:
        for level in range(i + 1, last + 1):
            inside = [node for node in nodes if node[0] == level and node[1] <= cluster]
            cluster = max(inside, key=lambda node: count[node])[1]
        leaves.add(cluster)
    return leaves


def _covers(parent) -> np.ndarray:
    """Which leaves (columns) are below which node (rows)."""
    leaves = [v for v in range(len(parent)) if v not in set(parent)]
    covers = np.zeros((len(parent), len(leaves)))
    for j, v in enumerate(leaves):
        while v >= 0:
            covers[v, j] = 1
            v = parent[v]
    return covers


def least_squares_counts(parent, value, variance) -> np.ndarray:
    """Counts of the leaves that fit all measured nodes best, summed up to every node."""
    covers, counted = _covers(parent), np.isfinite(variance)
    scale = 1 / np.sqrt(np.asarray(variance)[counted])
    scaled, values = covers[counted] * scale[:, None], np.asarray(value)[counted] * scale
    return covers @ np.linalg.lstsq(scaled, values, rcond=None)[0]


def least_squares_variance(parent, variance) -> np.ndarray:
    """Variances of these estimates."""
    covers, counted = _covers(parent), np.isfinite(variance)
    information = covers[counted].T @ (covers[counted] / np.asarray(variance)[counted][:, None])
    return np.diag(covers @ np.linalg.inv(information) @ covers.T)


# Covering
def covering(stages, records, times: int, script) -> tuple[list[list[int]], list[list[int]]]:
    """(sets taken stage by stage, scores shown in every round): a record counts until a set that
    was taken holds it.
    """
    left, found, rounds = list(records), [], []
    for sets in stages:
        allowed, taken = list(range(len(sets))), []
        for _ in range(min(times, len(sets))):
            rounds.append([sum(record in sets[s] for record in left) for s in allowed])
            taken.append(allowed.pop(script[len(rounds) - 1] % len(allowed)))
            left = [record for record in left if record not in sets[taken[-1]]]
        found.append(taken)
    return found, rounds


def covering_distribution(stages, records, eta: float) -> dict[tuple[int, ...], float]:
    """Exact distribution of all selections of a covering loop: P(set) proportional to exp(eta ·
    records it holds that are left).
    """
    distribution = {((), tuple(records)): 1.0}
    for sets, times in stages:
        here = {(taken, (), left): p for (taken, left), p in distribution.items()}
        for _ in range(times):
            after: dict = {}
            for (taken, now, left), p in here.items():
                allowed = [s for s in range(len(sets)) if s not in now]
                weight = [np.exp(eta * sum(record in sets[s] for record in left)) for s in allowed]
                for s, w in zip(allowed, weight):
                    rest = tuple(record for record in left if record not in sets[s])
                    key = ((*taken, s), (*now, s), rest)
                    after[key] = after.get(key, 0.0) + p * w / sum(weight)
            here = after
        distribution = {}
        for (taken, _, left), p in here.items():
            distribution[taken, left] = distribution.get((taken, left), 0.0) + p
    return {
        taken: sum(p for (t, _), p in distribution.items() if t == taken)
        for taken, _ in distribution
    }


def covering_delta(chances, eta: float, unit: int, epsilon: float) -> float:
    """Smallest delta of a loop at epsilon, without against with a unit of so many records, by
    listing all its courses.

    ``chances[i][c]`` is proportional to the chance, without the unit, that round i covers c of its
    records, if it has that many left.
    """
    total = 0.0
    courses = [(unit, 1.0, 1.0)]
    for row in chances:
        after = []
        for left, p, q in courses:
            distribution = np.array(row[: left + 1], dtype=float) / sum(row[: left + 1])
            tilted = distribution * np.exp(eta * np.arange(left + 1))
            tilted /= tilted.sum()
            likely = [c for c in range(left + 1) if distribution[c]]
            after += [(left - c, p * distribution[c], q * tilted[c]) for c in likely]
        courses = after
    for _, p, q in courses:
        total += max(0.0, p - np.exp(epsilon) * q)
    return total


def relative_sums(records, parts, centers, steps, bound):
    """Sum of whole steps from the centers: far records are moved onto the ball, those that rounding
    left outside count as 0.
    """
    sums = np.zeros((len(centers), np.shape(centers)[1]), np.int64)
    for record, part in zip(np.asarray(records), parts):
        away = (record - centers[part]) / steps[part]
        length = math.sqrt(sum(float(v) * float(v) for v in away))
        whole = [int(v * (bound / length if length > bound else 1.0)) for v in away]
        if sum(v * v for v in whole) <= bound * bound:
            sums[part] += whole
    return sums


def nearest_centers(points, centers):
    """The first of the nearest centers of every point, and the squared distance."""
    found = []
    for point in points:
        squares = []
        for center in centers:
            square = 0.0
            for a, b in zip(point.tolist(), center.tolist()):
                # `sum` carries what is rounded off, from Python 3.12 on
                square += (a - b) * (a - b)
            squares.append(square)
        found.append((squares.index(min(squares)), min(squares)))
    return found


def above_noise(points, counts, deviation, unit, sure):
    """Which cells are among the 3^d nearest of one that stands out with some of these."""
    m, d = points.shape
    found = [False] * m
    for point in points:
        near = sorted(range(m), key=lambda j: math.dist(point, points[j]))[: 3**d]
        for size in range(1, len(near) + 1):
            held = sum(counts[j] for j in near[:size])
            noise = 2 * sure * sum(deviation[j] ** 2 for j in near[:size])
            largest = max(unit**2, *(deviation[j] ** 2 / 2 for j in near[:size]))
            if held > math.sqrt(max(noise + sure * (sure - 4) * largest, 0.0)):
                for j in near:
                    found[j] = True
    return found


# Centers of boxes: every removal is tried, every cell asked, sums are clipped record by record
def reverse_greedy(points, weights, k, power):
    """Remove the center whose loss costs least, computing every cost from scratch."""
    left = list(range(len(points)))

    def cost(chosen):
        pairs = zip(points, weights)
        return sum(
            max(w, 0.0) * min(math.dist(p, points[c]) ** power for c in chosen) for p, w in pairs
        )

    while len(left) > k:
        left.remove(min(left, key=lambda j: cost([c for c in left if c != j])))
    return left


def badly_cut(lower, upper, axes, seed, center, chance, d):
    """Whether for some i the ball of radius 2^i is cut above level i + log2(d · levels / chance):
    the definition, i by i.
    """
    key, low, size = root_key(seed), [0] * d, [2**BITS] * d
    unit = [(b - a) / 2**BITS for a, b in zip(lower, upper)]
    grid = [
        min(int((x - a) / (b - a) * 2**BITS), 2**BITS - 1) for x, a, b in zip(center, lower, upper)
    ]
    slack = math.log2(d * max(len(axes) / d, 1.0) / chance)
    for j in axes:
        length = math.sqrt(sum((s * u) ** 2 for s, u in zip(size, unit)))
        level = math.ceil(math.log2(length / math.sqrt(d)))
        at = cut(key, low[j], size[j])
        away = max(abs(grid[j] - at), 1) * unit[j]
        for i in range(-80, 80):
            if 2.0**i >= away and level > i + slack:
                return True
        upper_half = grid[j] >= at
        low[j], size[j] = (at, low[j] + size[j] - at) if upper_half else (low[j], at - low[j])
        key = mixed(key + (upper_half + 1) * 0x9E3779B97F4A7C15 & (2**64 - 1))
    return False


def smoothed_gradient(points, center, radius):
    """Sum of (x - c) / max(|x - c|, r)."""
    total = [0.0] * len(center)
    for x in points:
        away = math.dist(x, center)
        for i, (a, b) in enumerate(zip(x, center)):
            total[i] += (a - b) / max(away, radius)
    return total


# The shifted quadtree: Python's integers, recursion, all assignments of centers
MASK, BITS = 2**64 - 1, 48


def mixed(x: int) -> int:
    """The finalizer of splitmix64."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)


def root_key(seed: int) -> int:
    """Key of the root."""
    key = 0
    while True:
        key = mixed((key ^ (seed & MASK)) + 0x9E3779B97F4A7C15 & MASK)
        seed >>= 64
        if not seed:
            return key


def cut(key: int, low: int, size: int) -> int:
    """The cell is cut at one of the places that leave both sides a third, by the upper half of a
    hash.
    """
    third = -(-size // 3)
    places = size - 2 * third + 1
    coin = mixed(key ^ 0xD1B54A32D192ED03) >> 32
    coins = (places >> 16) * coin // 2**16 + (places & 0xFFFF) * coin // 2**32
    return low + third + min(coins, places - 1)


def axes(lower, upper, depth: int) -> list[int]:
    """The coordinate of the longest side, all cut in the middle, at each depth."""
    sides, found = [Fraction(float(b - a)) for a, b in zip(lower, upper)], []
    used = [0] * len(sides)
    for _ in range(depth):
        j = max((j for j in range(len(sides)) if used[j] < 30), key=lambda j: (sides[j], -j))
        sides[j] /= 2
        used[j] += 1
        found.append(j)
    return found


def path(grid: list[int], order: list[int], seed: int) -> list[tuple[int, list[tuple[int, int]]]]:
    """(key, [(low, size) of each side]) of the cells that hold a point, from the root down."""
    key, sides = root_key(seed), [(0, 2**BITS)] * len(grid)
    found = [(key, list(sides))]
    for j in order:
        low, size = sides[j]
        at = cut(key, low, size)
        upper = grid[j] >= at
        sides[j] = (at, low + size - at) if upper else (low, at - low)
        key = mixed(key + (upper + 1) * 0x9E3779B97F4A7C15 & MASK)
        found.append((key, list(sides)))
    return found


def tree_cost(parent, weight, away, leaves, chosen) -> float:
    """What centers in the chosen leaves cost: a cell with none below it pays at the highest such
    cell.
    """
    held = set()
    for v in chosen:
        while v >= 0:
            held.add(v)
            v = parent[v]
    held_below = [v for v in range(1, len(parent)) if v not in held and parent[v] in held]
    return sum(weight[v] * away[v] for v in held_below)


def tree_optimum(parent, weight, away, k: int) -> float:
    """The least such cost over all choices of k leaves."""
    leaves = sorted(set(range(len(parent))) - set(parent))
    choices = itertools.combinations(leaves, k)
    return min(tree_cost(parent, weight, away, leaves, chosen) for chosen in choices)


# Rounds of small balls: cell by cell, in Python's integers
def peeled(counts, side, center, number):
    """Records left in each cell (a tuple) when the `number` nearest a cell are gone."""
    steps = [round(s / max(side) * 256) for s in side]

    def order(cell):
        return sum(((a - b) * s) ** 2 for a, b, s in zip(cell, center, steps)), cell

    left = Counter(counts)
    for cell in sorted(left, key=order):
        gone = min(left[cell], number)
        left[cell] -= gone
        number -= gone
    return left


def in_ball(counts, middle, radius):
    """How many records lie within `radius` of a cell along every axis."""
    return sum(
        n for cell, n in counts.items() if all(abs(a - b) <= radius for a, b in zip(cell, middle))
    )


def averages(cells, radii, t):
    """The paper's L(r), rounded down (Algorithm 2, lines 1 and 2), by its definition over single
    records.
    """
    found, counts = [], Counter(cells)
    for r in radii:
        near = sorted((min(in_ball(counts, cell, r), t) for cell in cells), reverse=True)
        found.append(sum(near[:t]) // t)
    return found


def levels(scores, keep, promise):
    """RecConcave's steps 2 to 4 by their definitions."""
    last = len(scores) - 1
    top = math.ceil(math.log2(max(last, 1)))
    longer = [*scores, *[min(0, scores[-1])] * (2**top - last)]
    lengths = [2**j for j in range(top + 1)]
    a = [max(min(longer[i : i + n]) for i in range(len(longer) - n + 1)) for n in lengths]
    a.append(min(0, a[-1]))
    return [min(a[j] - keep, promise - a[j + 1]) for j in range(top + 1)]
