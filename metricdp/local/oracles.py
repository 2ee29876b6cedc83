"""Frequency and vector oracles: the server's side of each randomizer, its sketch, estimates and
their variance.

A sketch is a few arrays of integers. Sketches of different messages can be added, exactly and in
any order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import Bools, Floats, Ints
from metricdp.errors import InputError
from metricdp.kernels.local_sketch import add_hashes, add_vectors, walsh
from metricdp.local import streams
from metricdp.local.randomizers import (
    KRR,
    FrequencyRandomizer,
    LocalHashing,
    Randomizer,
    SubsetSelection,
    TopVectors,
)

MOST_BYTES = 12
"""Most bytes of a report about a finite universe, so that a message has sixteen."""
_MOST_LOG_BUCKETS = 10
_MOST_CELLS = 1 << 25
"""Most numbers in one array of a sketch."""


class Oracle(ABC):
    """Aggregates the reports of one randomizer.

    `shape`: shape of its array in a sketch.
    """

    shape: tuple[int, ...]

    def valid(self, columns: list[NDArray[Any]]) -> Bools:
        """Which of n outputs, whose numbers are within the limits, are possible, shape (n,)."""
        return np.ones(len(columns[0]), bool)

    @abstractmethod
    def add(self, array: Ints, columns: list[NDArray[Any]]) -> None:
        """Add valid outputs, one array for each of their numbers, to the sketch's array."""


class FrequencyOracle(Oracle):
    """Unbiased counts from reports of a `FrequencyRandomizer` (Wang et al., USENIX Security 2017).

    `p`, `q`: probability that an output supports the user's own value, and any other value.
    """

    p: float
    q: float

    def __init__(self, randomizer: FrequencyRandomizer) -> None:
        self.randomizer, self.shape = randomizer, (randomizer.domain,)

    @property
    def variance(self) -> float:
        """Variance that a user adds to the count of another value: q(1 - q) / (p - q)^2."""
        return self.q * (1 - self.q) / (self.p - self.q) ** 2

    @property
    def share(self) -> float:
        """Most by which one message can change any count; an honest one adds 1 in expectation."""
        return max(self.q, 1 - self.q) / (self.p - self.q)

    def counts(self, array: Ints, n: int) -> Floats:
        """Unbiased estimate of the number of n users with each value, shape (domain,)."""
        return (self.supports(array) - n * self.q) / (self.p - self.q)

    def supports(self, array: Ints) -> Floats:
        """Number of messages that support each value, shape (domain,)."""
        return array.astype(np.float64)


class KRROracle(FrequencyOracle):
    """Oracle of k-ary randomized response."""

    def __init__(self, randomizer: KRR) -> None:
        super().__init__(randomizer)
        self.p = randomizer.favored / randomizer.total
        self.q = randomizer.unit / randomizer.total

    def add(self, array: Ints, columns: list[NDArray[Any]]) -> None:
        """Count the reported values."""
        array += np.bincount(columns[0].astype(np.int64), minlength=len(array))


class LocalHashingOracle(FrequencyOracle):
    """Oracle of local hashing; its sketch is a spectrum (`metricdp.kernels.local_sketch`)."""

    def __init__(self, randomizer: LocalHashing) -> None:
        super().__init__(randomizer)
        self.shape = (1 << randomizer.value_bits,)
        buckets = randomizer.limits[1]
        self.p = randomizer.favored / (randomizer.favored + (buckets - 1) * randomizer.unit)
        self.q = 1 / buckets

    def add(self, array: Ints, columns: list[NDArray[Any]]) -> None:
        """Add the characters of each message."""
        add_hashes(array, columns[0], columns[1], self.randomizer.log_buckets)  # type: ignore[attr-defined]

    def supports(self, array: Ints) -> Floats:
        """The supports of all values, by one Walsh–Hadamard transform."""
        table = array.reshape(-1, 1).copy()
        walsh(table)
        return table[: self.randomizer.domain, 0] / (1 << self.randomizer.log_buckets)  # type: ignore[attr-defined]


class SubsetOracle(FrequencyOracle):
    """Oracle of subset selection."""

    def __init__(self, randomizer: SubsetSelection) -> None:
        super().__init__(randomizer)
        m = randomizer.domain
        s = randomizer.size
        favored = randomizer.favored
        unit = randomizer.unit
        self.p = favored * s / (favored * s + unit * (m - s))
        self.q = (self.p * (s - 1) + (1 - self.p) * s) / (m - 1)

    def _bits(self, columns: list[NDArray[Any]]) -> NDArray[np.uint8]:
        packed = columns[0]
        rows = packed if packed.ndim == 2 else packed.astype(">u8")[:, None].view(np.uint8)
        return np.unpackbits(rows, axis=1)[:, ::-1]

    def valid(self, columns: list[NDArray[Any]]) -> Bools:
        """Whether subsets have the right size."""
        return self._bits(columns).sum(axis=1, dtype=np.int64) == self.randomizer.size  # type: ignore[attr-defined]

    def add(self, array: Ints, columns: list[NDArray[Any]]) -> None:
        """Count the subsets that contain each value."""
        array += self._bits(columns).sum(axis=0, dtype=np.int64)[: len(array)]


class VectorOracle(Oracle):
    """Unbiased vector sums of buckets from reports of `TopVectors`."""

    def __init__(self, randomizer: TopVectors) -> None:
        self.randomizer = randomizer
        self.shape = (1 << randomizer.bucket_bits, randomizer.dimension)

    @cached_property
    def scale(self) -> float:
        """Mean inner product of the reported candidate, in standard deviations, with the vector."""
        r = self.randomizer
        return self._along(top_mean(r.candidates, r.top), 0.0)

    def _along(self, top: float, every: float) -> float:
        """Mean over the reported candidate, of a mean `top` over favored and `every` over all."""
        r = self.randomizer
        total = r.top * r.favored + (r.candidates - r.top) * r.unit
        return (r.top * (r.favored - r.unit) * top + r.candidates * r.unit * every) / total

    @property
    def variance(self) -> float:
        """Expected squared length of one user's estimate of its vector."""
        r = self.randomizer
        along = self._along(top_mean(r.candidates, r.top, 2), 1.0)
        return (r.dimension - 1 + along) / self.scale**2

    @property
    def share(self) -> float:
        """Most length that one message adds to any bucket's sum."""
        most = float(streams.quantiles().max()) / streams.STEPS
        return most * self.randomizer.dimension**0.5 / self.scale

    def add(self, array: Ints, columns: list[NDArray[Any]]) -> None:
        """Add the reported candidates, each to the row of its character."""
        add_vectors(array, *columns, streams.quantiles())

    def sums(self, array: Ints) -> Floats:
        """Unbiased estimate of the sum of users' vectors in each bucket (2^bucket_bits, d)."""
        table = array.copy()
        walsh(table)
        return table / (streams.STEPS * self.scale)


@lru_cache(maxsize=64)
def top_mean(candidates: int, top: int, power: int = 1) -> float:
    """Expected mean of the `top` largest of standard normal numbers (`power` 2: of squares)."""
    from scipy.special import bdtr, ndtr

    z = np.linspace(-9, 9, 36_001)
    density = np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
    among = bdtr(top - 1, candidates - 1, ndtr(-z))
    return float(np.sum(z**power * among * density) * (z[1] - z[0]) * candidates / top)


_ORACLES: dict[type[Any], Any] = {
    KRR: KRROracle,
    LocalHashing: LocalHashingOracle,
    SubsetSelection: SubsetOracle,
    TopVectors: VectorOracle,
}


@lru_cache(maxsize=256)
def oracle_of(randomizer: Randomizer) -> Any:
    """The oracle of a randomizer."""
    found = _ORACLES[type(randomizer)](randomizer)
    if np.prod(found.shape) > _MOST_CELLS:
        raise InputError(
            f"a sketch of {np.prod(found.shape):,} numbers is too large; take fewer values, "
            f"buckets or dimensions"
        )
    return found


@lru_cache(maxsize=256)
def best_frequency_randomizer(epsilon: Fraction, domain: int) -> FrequencyRandomizer:
    """The frequency randomizer of least variance for rare values, with at most `MOST_BYTES`."""
    bits = max(1, (domain - 1).bit_length())
    candidates: list[FrequencyRandomizer] = [KRR(epsilon, domain)]
    candidates += [
        LocalHashing(epsilon, domain, b) for b in range(1, min(bits, _MOST_LOG_BUCKETS) + 1)
    ]
    if domain <= 8 * MOST_BYTES:
        middle = domain / (1 + float(np.exp(float(epsilon))))
        sizes = {min(max(1, round(middle) + step), domain - 1) for step in (-1, 0, 1)}
        candidates += [SubsetSelection(epsilon, domain, size) for size in sorted(sizes)]
    fitting = [c for c in candidates if c.n_bytes <= MOST_BYTES]
    return min(fitting, key=lambda c: _ORACLES[type(c)](c).variance)


@lru_cache(maxsize=256)
def best_vector_randomizer(epsilon: Fraction, dimension: int, bucket_bits: int) -> TopVectors:
    """The vector randomizer of least variance, with enough candidates for a near-optimal `top`."""
    candidates = 256
    while candidates < 4096 and candidates < 2 * np.exp(float(epsilon)):
        candidates *= 2
    options = {
        max(1, round(candidates * 0.5 ** (i / 4)))
        for i in range(4, 4 * int(np.log2(candidates)) + 1)
    }
    randomizers = [
        TopVectors(epsilon, dimension, candidates, top, bucket_bits) for top in sorted(options)
    ]
    return min(randomizers, key=lambda r: VectorOracle(r).variance)


@dataclass
class Sketch:
    """Aggregate of messages: their numbers, and an array of integers for each report. Sketches of
    the same parameters can be added.

    Attributes
    ----------
    fingerprint : bytes
        Fingerprint of the parameters.
    users : list of int
        Number of valid messages of each role.
    arrays : list of list of ndarray of int64
        For each role, the arrays of its reports.
    rejected : int
        Number of messages that no encoder of these parameters makes.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> pub = mdp.local.public_parameters(metric, epsilon=4, users=4000, k=2)
    >>> decoder = mdp.local.Decoder(pub)
    >>> day = [decoder.sketch(mdp.local.simulated_messages(pub, [place] * 100)) for place in (1, 7)]
    >>> sum((day[0] + day[1]).users), day[0].rejected
    (200, 0)
    """

    fingerprint: bytes
    users: list[int]
    arrays: list[list[Ints]]
    rejected: int = 0

    @property
    def n_messages(self) -> int:
        """Number of valid messages."""
        return sum(self.users)

    def __add__(self, other: Sketch) -> Sketch:
        if not isinstance(other, Sketch):
            return NotImplemented
        if other.fingerprint != self.fingerprint:
            raise InputError("sketches of different public parameters do not add up")
        arrays = [
            [a + b for a, b in zip(mine, theirs)] for mine, theirs in zip(self.arrays, other.arrays)
        ]
        users = [a + b for a, b in zip(self.users, other.users)]
        return Sketch(self.fingerprint, users, arrays, self.rejected + other.rejected)
