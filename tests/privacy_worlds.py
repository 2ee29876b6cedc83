"""Tiny public universes, partitions and the exact distribution of discrete Laplace noise, for the
tests of the gate.
"""

import itertools
import math

import numpy as np
from scipy.stats import chi2

from metricdp.audit.observe import error_text
from metricdp.audit.worlds import Labels, UnitCells, demands, finest, neighbors  # noqa: F401
from metricdp.metrics import EuclideanMetric, EuclideanSpace, PrecomputedMetric

TWO = PrecomputedMetric([[0.0, 1.0], [1.0, 0.0]], ids=["a", "b"])
THREE = PrecomputedMetric([[0.0, 1, 2], [1, 0.0, 2], [2, 2, 0.0]], ids=["a", "b", "c"])
BOX = EuclideanSpace([0.0], [3.0])

all_text, all_demands = error_text, demands


def line(n: int) -> EuclideanMetric:
    return EuclideanMetric(np.arange(n, dtype=float)[:, None])


def kept_laws(users: tuple[tuple[int, ...], ...], m: int):
    """All (probability, kept records) of uniform bounding to m records a user, users
    independent.
    """
    choices = [list(itertools.combinations(records, min(m, len(records)))) for records in users]
    worlds = list(itertools.product(*choices))
    return [(1 / len(worlds), [r for kept in world for r in kept]) for world in worlds]


def log_probability(query, users, m: int, scale: float, outputs: np.ndarray) -> np.ndarray:
    """Exact log probability of outputs (n_outputs, n_values), up to the normalization, which all
    demands share.
    """
    terms = []
    for probability, records in kept_laws(users, m):
        exact = query.exact(np.array(records, dtype=np.int64))
        if exact.shape != outputs.shape[1:]:
            # an answer of another length: outputs that others never give
            return np.full(len(outputs), -np.inf)
        terms.append(math.log(probability) - np.abs(outputs - exact).sum(axis=1) / scale)
    return np.logaddexp.reduce(terms, axis=0)


def worst_log_ratio(query, neighboring: str, m: int, scale: float, demands, n_values: int) -> float:
    """Largest log ratio of output probabilities over neighbors among `demands` (tuples of users)
    and all outputs.
    """
    outputs = np.array(list(itertools.product(range(-2, 11), repeat=n_values)))
    distributions = {users: log_probability(query, users, m, scale, outputs) for users in demands}
    worst = 0.0
    for one, other in itertools.permutations(demands, 2):
        if neighbors(one, other, neighboring):
            worst = max(worst, float(np.max(distributions[one] - distributions[other])))
    return worst


def p_value(draws: np.ndarray, scale: float) -> float:
    """Chi-square p-value of integer draws against the discrete Laplace distribution of a scale:
    two-sided, signs kept apart.
    """
    ratio = math.exp(-1 / scale)

    def below(z):  # P(noise <= z)
        low, high = ratio ** (-np.minimum(z, 0)), ratio ** (np.maximum(z, 0) + 1)
        return np.where(z < 0, low / (1 + ratio), 1 - high / (1 + ratio))

    grid = np.arange(-int(40 * scale) - 5, int(40 * scale) + 6)
    quantiles = np.searchsorted(below(grid), np.linspace(0, 1, 42)[1:-1])
    edges = np.unique(grid[np.minimum(quantiles, len(grid) - 1)])
    expected = np.diff(np.concatenate([[0.0], below(edges), [1.0]])) * len(draws)
    keep = expected > 0
    observed = np.bincount(np.searchsorted(edges, draws), minlength=len(expected))
    if observed[~keep].any():
        return 0.0
    statistic = ((observed[keep] - expected[keep]) ** 2 / expected[keep]).sum()
    return float(chi2.sf(statistic, keep.sum() - 1))
