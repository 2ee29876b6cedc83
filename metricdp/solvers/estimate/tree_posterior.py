"""Posterior mean of a demand histogram from its noisy releases, under a hierarchical prior on the
partition's tree. Post-processing.

Any nodes may have been counted, in one round or several. The prior is a mixture of ways ("kinds")
in which a node's demand splits between its children: all on one side, in proportion to their sizes,
at a random share around that, or at any share. The frequencies of the kinds are learned from the
noisy counts. For fixed centers the cost is linear in the weights, so the posterior mean minimizes
the expected cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincinv

from metricdp.arguments import Floats, Ints
from metricdp.kernels.tree_posterior import Splits, consistent, downward, sampled, upward
from metricdp.partitions.finite.ward import PartitionTree

_GRID = 72
_COARSE_GRID = 48
_MANY_PARTS = 2000
"""Grid values of a node's count: in trees of up to so many parts, and beyond."""
_GRID_REACH = 7.0
"""Half the width of a node's grid, in standard deviations of its least-squares estimate."""
_CONCENTRATION = 12.0
"""Of random shares: Beta(12 p, 12 (1 - p)) for a child of relative size p."""
_MEAN_DEVIATION = np.array([0.5, 0.0, 0.11, 0.25])
"""Mean deviation of a child's share from its size, if that is half: of one-sided, proportional,
random and any shares.
"""
_LEAST_SHARE = 1e-12
"""Least distance of a relative size from 0 and 1."""


class _Shares(NamedTuple):
    """Shares at which priors are evaluated: the number of quantiles of each beta distribution, that
    of evenly spaced ones, and multiples of the noise around the share that was counted.
    """

    quantiles: int
    anywhere: int
    around: tuple[float, ...]


_FINE = _Shares(12, 5, (-5.0, -3.5, -2.5, -1.7, -1.0, -0.5, 0.0, 0.5, 1.0, 1.7, 2.5, 3.5, 5.0))
_QUICK = _Shares(6, 3, (-4.5, -2.5, -1.0, 0.0, 1.0, 2.5, 4.5))
_ROUNDS = 20
_MORE_ROUNDS = 8
_SETTLED = 5e-3
"""EM rounds that learn the frequencies of splits, from nothing or from an earlier estimate; change
that ends them.
"""
_QUICK_GRID = 32
_QUICK_ROUNDS = 3
"""The same of a quick estimate: a tenth of the time, without effect on centers."""
_BAND = 3.0
"""Splits of nodes whose sizes agree within a factor of 2**3 share their frequencies, …"""
_SHRINKAGE = 2.0
"""… which shrink toward those of the whole tree with the weight of this many splits."""
_PLANE = np.array([0.3, 0.05, 0.2, 0.45])
_PLANE_EXPECTED = np.array([0.1, 0.25, 0.05, 0.35, 0.05, 0.2])
_PLANE_SPLITS = 20.0
"""Frequencies of kinds (see `_shares`) where demand is in some neighborhoods of a plane, without
and with expected weights, and how many splits of a band they weigh: more would not learn, fewer
follow the noise of few records (benchmarks/adaptive.md).
"""
_DOUBT_ONE, _DOUBT = -0.25, 1.0
"""Least gain in log-likelihood for which expected weights are used: with one round, whose counts
tell little, and with several. Less accepts useless expectations, more rejects helpful ones
(benchmarks/partition_method.md).
"""

Frequencies = dict[int, Floats]
"""Learned frequencies of the kinds of split, by band."""


@dataclass(frozen=True, eq=False)
class Counts:
    """Noisy counts of some nodes of a tree.

    `nodes` (n_counted,): distinct; `values` (n_counted,): true counts plus independent noise;
    `scale` (n_counted,) or one number: of discrete Laplace noise; `gaussian`: whether the noise is
    nearly Gaussian, as that of local reports. Its standard deviation is `scale` · sqrt(2).
    """

    nodes: Ints
    values: NDArray[Any]
    scale: float | Floats
    gaussian: bool = False

    def noise(self, n_draws: int, coins: np.random.Generator) -> Floats:
        """Draws of the noise by public coins, shape (n_draws, n_counted)."""
        shape = n_draws, len(self.nodes)
        scale = np.broadcast_to(self.scale, shape[1:])
        if self.gaussian:
            return coins.normal(0.0, scale * np.sqrt(2.0), shape)
        p = -np.expm1(-1.0 / scale)
        return (coins.geometric(p, shape) - coins.geometric(p, shape)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Estimate:
    """Posterior of the true counts, given the noisy ones.

    `mean` (n_parts,): expected true count of every part, not negative; `frequencies`: learned
    frequencies of the kinds of split; `tree`, `rounds`, `any_share`: what it was computed from, see
    `joint_posterior`.
    """

    mean: Floats
    frequencies: Frequencies
    tree: PartitionTree
    rounds: Sequence[Counts]
    any_share: bool = False

    @property
    def trust(self) -> float:
        """1 if the counts made expected weights believable, 0 if these are left out."""
        fewest = 0 if self.tree.numbers is None or self.by_chance else len(_PLANE_EXPECTED) - 1
        return float(all(len(kinds) >= fewest for kinds in self.frequencies.values()))

    @property
    def by_chance(self) -> bool:
        """Whether each record follows the expected weights independently (`if_by_chance`)."""
        return any(len(kinds) < len(_PLANE) - 1 for kinds in self.frequencies.values())

    @property
    def trusted_tree(self) -> PartitionTree:
        """The tree, with expected weights as sizes only if they are trusted."""
        return self.tree if self.trust else self.tree.even()

    @property
    def uneven(self) -> float:
        """Mean share of a node's count that is not where its children's sizes predict."""
        if not self.frequencies:
            return 0.0
        kinds = np.mean(list(self.frequencies.values()), axis=0)
        return float(_MEAN_DEVIATION @ _by_size(kinds if self.any_share else np.append(kinds, 0.0)))

    @property
    def pointed(self) -> bool:
        """Whether demand is on one side of splits more often than is typical in a plane."""
        typical = _frequencies_in_plane(self.trusted_tree)
        one_sided = [kinds[0] for kinds in self.frequencies.values()]
        return sum(one_sided) > typical[0] * len(one_sided)

    def spread(self, amounts: Floats) -> Floats:
        """Distribute amounts of parts over points, by expected weights if these are trusted."""
        return self.trusted_tree.spread(amounts)

    def if_by_chance(self) -> Estimate:
        """The posterior of records that follow the expected weights independently (binomial
        splits), if that makes the noisy counts likelier than the learned frequencies do; else this.
        Such counts add nothing to the expectation but noise (benchmarks/partition_method.md).
        """
        if self.tree.numbers is None or self.tree.n_parts == 1:
            return self
        model = _Model(self.trusted_tree, self.rounds, self.any_share)
        likely = model._upward(np.array([self.frequencies[b] for b in model.bands.tolist()]))
        model = _Model(self.tree, self.rounds, self.any_share, by_chance=True)
        kinds = np.array([1.0, 0.0])
        if model.evidence(kinds) <= likely:
            return self
        learned = dict.fromkeys(model.bands.tolist(), kinds)
        return replace(self, mean=model.mean(), frequencies=learned)

    def draw(self, n_draws: int, seed: int = 0) -> Floats:
        """Draws of the counts of all parts from their joint posterior, shape (n_draws, n_parts).

        One upward pass, then exact draws from the root down: O(n_parts) time a draw.
        """
        m = self.tree.n_parts
        coins = np.random.default_rng(seed)
        if m == 1:
            center, spread = least_squares(self.tree, self.rounds)
            return np.maximum(center + spread * coins.standard_normal((n_draws, 1)), 0.0)
        drawn = np.empty((n_draws, 2 * m - 1))
        model = _Model(self.trusted_tree, self.rounds, self.any_share, by_chance=self.by_chance)
        model.draw(self.frequencies, coins, drawn)
        return drawn[:, :m]


def joint_posterior(
    tree: PartitionTree,
    counted: Sequence[Counts],
    *,
    any_share: bool = False,
    known: Frequencies | None = None,
    planar: bool = False,
    quick: bool = False,
    several: bool = False,
) -> Estimate:
    """Expected true count of every part, given the noisy counts of all rounds (`counted`).

    `planar`: start from the frequencies of splits in a plane, which need `any_share`; they help
    where counts are too few to learn. `quick`: coarser grids, fewer shares and rounds. Expected
    weights are used only if the counts favor them; with a single round (not `several`), unless the
    counts oppose them.

    Sum-product message passing on the tree, up and down, on one uniform grid of values a node
    around its least-squares estimate, with expectation maximization for the frequencies. O(n_parts)
    time: some 10^5 operations a part and round, up to 20 rounds. Mixtures of proportional and
    one-sided splits are those of Polya trees; least squares on tree counts (Hay et al., VLDB 2010)
    is the case without a prior.
    """
    if tree.n_parts == 1:
        center, _ = least_squares(tree, counted)
        return Estimate(np.maximum(center, 0.0), {}, tree, counted, any_share)
    doubt = _DOUBT if several else _DOUBT_ONE
    used = tree if _as_expected(tree, counted, doubt) else tree.even()
    model = _Model(used, counted, any_share, quick)
    rounds = _MORE_ROUNDS if known else _ROUNDS
    rounds = min(rounds, _QUICK_ROUNDS) if quick else rounds
    frequency = model.learn(known, _frequencies_in_plane(used) if planar else None, rounds)
    learned = dict(zip(model.bands.tolist(), frequency))
    return Estimate(model.mean(), learned, tree, counted, any_share)


def _as_expected(tree: PartitionTree, rounds: Sequence[Counts], doubt: float) -> bool:
    """Whether noisy counts are likelier under expected weights than under equal ones."""
    if tree.numbers is None:
        return True
    priors = (tree, _PLANE_EXPECTED), (tree.even(), _by_size(_PLANE_EXPECTED))
    evidence = [_Model(each, rounds, True, quick=True).evidence(prior) for each, prior in priors]
    return evidence[0] > evidence[1] + doubt


def _frequencies_in_plane(tree: PartitionTree) -> Floats:
    return _PLANE if tree.numbers is None else _PLANE_EXPECTED


def _by_size(kinds: Floats) -> Floats:
    """Frequencies of one-sided, proportional, random and any shares, whatever the size."""
    return np.r_[kinds[0], np.reshape(kinds[1:-1], (2, -1)).sum(axis=1), kinds[-1]]


class _Model:
    """Grids, likelihoods and priors of the splits of a tree, and messages on it."""

    def __init__(
        self,
        tree: PartitionTree,
        rounds: Sequence[Counts],
        any_share: bool,
        quick: bool = False,
        by_chance: bool = False,
    ) -> None:
        self.tree = tree
        m = tree.n_parts
        center, spread = least_squares(tree, rounds)
        grid = _QUICK_GRID if quick else _GRID if m <= _MANY_PARTS else _COARSE_GRID
        tail = np.minimum(
            spread / np.sqrt(2.0), min(float(np.min(counts.scale)) for counts in rounds)
        )
        reach = _GRID_REACH * spread + 4.0 * tail
        low = np.maximum(center - reach, 0.0)
        step = (np.maximum(center, 0.0) + reach - low) / (grid - 1)
        at = _QUICK if quick else _FINE
        fractions, kinds = _shares(tree, center, spread, any_share, at, by_chance)
        band, self.bands = _bands(tree)
        self.splits = Splits(tree.children, low, step, fractions, kinds, band)
        self.likelihood = _likelihood(low[:, None] + step[:, None] * np.arange(grid), rounds)
        self.inside = np.empty((2 * m - 1, grid))
        self.outside = np.empty((2 * m - 1, grid))
        self.outside[-1] = 1.0 / grid
        self.at_leaves = False

    def learn(self, known: Frequencies | None, prior: Floats | None, rounds: int) -> Floats:
        """Frequencies of the kinds of split in every band, by expectation maximization."""
        number = len(self.splits.kinds)
        first = np.full(number, 1.0 / number) if prior is None else prior
        weight = np.zeros(number) if prior is None else _PLANE_SPLITS * prior
        frequency = np.array([_initial_frequencies(known, b, first) for b in self.bands])
        for step in range(rounds):
            self._upward(frequency)
            self.at_leaves = step == rounds - 1
            count = self._downward(frequency, self.at_leaves)
            before = frequency
            frequency = _frequencies(count, weight)
            if np.abs(frequency - before).max() < _SETTLED:
                break
        return frequency

    def evidence(self, prior: Floats) -> float:
        """Log-likelihood of the counts if all bands have these frequencies."""
        return self._upward(np.tile(prior, (len(self.bands), 1)))

    def mean(self) -> Floats:
        """Posterior mean of every part, from the last messages."""
        if not self.at_leaves:
            self._downward(np.ones((len(self.bands), len(self.splits.kinds))), True)
        m = self.tree.n_parts
        weight = self.inside[:m] * self.outside[:m]
        weight = np.where(weight.sum(axis=1, keepdims=True) > 0.0, weight, self.inside[:m])
        place = weight @ np.arange(weight.shape[1]) / weight.sum(axis=1)
        return self.splits.low[:m] + self.splits.step[:m] * place

    def draw(self, learned: Frequencies, coins: np.random.Generator, drawn: Floats) -> None:
        """Fill `drawn`, shape (n_draws, 2 · n_parts - 1), with joint draws of all nodes."""
        number = len(self.splits.kinds)
        self._upward(
            np.array([_initial_frequencies(learned, b, np.ones(number)) for b in self.bands])
        )
        belief = self.inside[-1] / self.inside[-1].sum()
        at = coins.choice(len(belief), len(drawn), p=belief)
        low, step = self.splits.low[-1], self.splits.step[-1]
        total = low + step * (at + coins.random(len(drawn)) - 0.5)
        uniforms = coins.random((len(drawn), len(self.tree.children)))
        sampled(self.splits, self._messages, np.maximum(total, 0.0), uniforms, drawn)

    @property
    def _messages(self) -> tuple[Floats, ...]:
        return self.probability, self.likelihood, self.inside, self.outside

    def _downward(self, frequency: Floats, to_leaves: bool) -> Floats:
        """Messages down; returns the expected number of splits of each kind."""
        return downward(self.splits, frequency, self._messages, to_leaves)

    def _upward(self, frequency: Floats) -> float:
        """Messages up, at these frequencies of every band; returns the log-likelihood."""
        own, kinds = frequency[self.splits.band], self.splits.kinds
        self.probability: Floats = np.einsum("ic,cis->is", own, kinds)
        return upward(self.splits, self.probability, self.likelihood, self.inside)


def observed(tree: PartitionTree, rounds: Sequence[Counts]) -> tuple[Floats, Floats]:
    """Mean and precision of all counts of each node itself, shapes (2 · n_parts - 1,)."""
    precision = np.zeros(2 * tree.n_parts - 1)
    value = np.zeros(2 * tree.n_parts - 1)
    for counts in rounds:
        certain = 1.0 / (2.0 * counts.scale**2)
        precision[counts.nodes] += certain
        value[counts.nodes] += certain * counts.values
    value /= np.where(precision > 0.0, precision, 1.0)
    return value, precision


def least_squares(tree: PartitionTree, rounds: Sequence[Counts]) -> tuple[Floats, Floats]:
    """Least-squares count of every node and its standard deviation, shapes (2 · n_parts - 1,)."""
    mean, variance = consistent(tree.children, *observed(tree, rounds))
    return mean, np.sqrt(np.maximum(variance, 0.0))


def _likelihood(values: Floats, rounds: Sequence[Counts]) -> Floats:
    """Likelihood of the noisy counts of every node at each value; 1 without counts."""
    distance = np.zeros_like(values)
    for counts in rounds:
        scale = np.broadcast_to(counts.scale, len(counts.nodes))[:, None]
        off = np.abs(counts.values[:, None] - values[counts.nodes]) / scale
        distance[counts.nodes] += off**2 / 4 if counts.gaussian else off
    return np.exp(distance.min(axis=1, keepdims=True) - distance)


def _shares(
    tree: PartitionTree,
    center: Floats,
    spread: Floats,
    any_share: bool,
    at: _Shares,
    by_chance: bool,
) -> tuple[Floats, Floats]:
    """Possible shares of the left child, shape (m - 1, S), and their probabilities under each of C
    kinds of split, shape (C, m - 1, S): one-sided; proportional to the size, and to the number of
    points where that differs; around these; any. For splits `by_chance` only the latter two, as
    close to the sizes as binomial counts.
    """
    m = tree.n_parts
    left = tree.children[:, 0]
    size_sets = [tree.sizes] if tree.numbers is None else [tree.sizes, tree.numbers]
    means = [
        np.clip(sizes[left] / sizes[m:], _LEAST_SHARE, 1 - _LEAST_SHARE)[:, None]
        for sizes in size_sets
    ]
    whole = np.maximum(center[m:], spread[m:])[:, None]
    noise = np.minimum(spread[left], spread[tree.children[:, 1]])[:, None] / whole
    observed = np.clip(center[left][:, None] / whole, 0.0, 1.0) + np.array(at.around) * noise
    concentration = np.maximum(whole, 1.0) if by_chance else np.full_like(whole, _CONCENTRATION)
    # Grid of possible shares: quantiles of the priors, and values around the share observed.
    columns = [_beta_quantiles(p, concentration, at.quantiles) for p in means]
    columns.append(np.clip(observed, 0.0, 1.0))
    if any_share and not by_chance:
        columns.append(np.tile((np.arange(at.anywhere) + 0.5) / at.anywhere, (m - 1, 1)))
    drawn = np.sort(np.concatenate(columns, axis=1), axis=1)
    between = (drawn[:, 1:] + drawn[:, :-1]) / 2
    one = np.ones_like(means[0])
    zero = np.zeros_like(one)
    priors = [betainc(concentration * p, concentration * (1 - p), between) for p in means]
    if by_chance:
        return drawn, np.stack([np.diff(each, axis=1, prepend=0.0, append=1.0) for each in priors])
    priors += [between] * any_share
    # Probabilities under each kind: point masses first, then continuous priors on the grid.
    points = np.concatenate([one, zero, *means], axis=1)
    kinds = [np.concatenate([means[0], 1 - means[0], *[zero] * len(means)], axis=1)]
    kinds += [np.zeros_like(points) for _ in means]
    for i, kind in enumerate(kinds[1:]):
        kind[:, 2 + i] = 1.0
    kinds = [np.concatenate([kind, np.zeros_like(drawn)], axis=1) for kind in kinds]
    for prior in priors:
        weight = np.diff(prior, axis=1, prepend=0.0, append=1.0)
        kinds.append(np.concatenate([np.zeros_like(points), weight], axis=1))
    return np.concatenate([points, drawn], axis=1), np.stack(kinds)


def _beta_quantiles(p: Floats, concentration: Floats, number: int) -> Floats:
    """Quantiles of the beta distribution around each share, shape (m - 1, number)."""
    both = np.concatenate([p, concentration], axis=1)
    each, split = np.unique(both, axis=0, return_inverse=True)  # most splits are equal to others
    a, b = each[:, :1] * each[:, 1:], (1 - each[:, :1]) * each[:, 1:]
    return betaincinv(a, b, (np.arange(number) + 0.5) / number)[split.ravel()]


def _bands(tree: PartitionTree) -> tuple[Ints, Ints]:
    """Band of every split, and the bands: the size relative to the root, on a logarithmic scale."""
    generation = np.log2(tree.sizes[-1] / tree.sizes[tree.n_parts :])
    bands, number = np.unique((generation / _BAND).astype(np.int64), return_inverse=True)
    return number, bands


def _initial_frequencies(known: Frequencies | None, band: int, first: Floats) -> Floats:
    """Frequencies at which learning starts: those known of the deepest band above, else `first`."""
    learned = {
        b: each for b, each in (known or {}).items() if b <= band and len(each) == len(first)
    }
    return learned[max(learned)] if learned else first


def _frequencies(count: Floats, prior: Floats) -> Floats:
    """Frequencies of the kinds of split in every band, shrunk to the overall ones."""
    overall = count.sum(axis=0) + 0.01 + prior
    frequency = count + _SHRINKAGE * overall / overall.sum() + prior
    return frequency / frequency.sum(axis=1, keepdims=True)
