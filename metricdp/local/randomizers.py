"""Local randomizers: exact distributions on finite sets of outputs, drawn with random integers.

Given a message's public randomness, outputs *favored* by the user's value have weight A, all others
weight B = 2^32; each value favors the same number of outputs. A / B <= exp(epsilon) holds in exact
rational arithmetic.

**Privacy.** epsilon-DP in the local model (proof P16, ``docs/proofs/16-local.md``).

References
----------
.. [1] P. Kairouz, K. Bonawitz, D. Ramage, "Discrete distribution estimation under local privacy",
   ICML 2016 (k-ary randomized response).
.. [2] T. Wang, J. Blocki, N. Li, S. Jha, "Locally differentially private protocols for frequency
   estimation", USENIX Security 2017.
.. [3] M. Ye, A. Barg, "Optimal schemes for discrete distribution estimation under locally
   differential privacy", 2018 (subset selection).
.. [4] A. Bhowmick, J. Duchi, J. Freudiger, G. Kapoor, R. Rogers, "Protection against reconstruction
   and its applications", 2018 (PrivUnit).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import hypot, perm
from typing import Any, ClassVar

from metricdp.errors import InputError
from metricdp.local import streams

UNIT = 1 << 32
"""B, the weight of an output that is not favored."""
LEAST_EPSILON = Fraction(1, 1000)  # A and B still differ by millions
MOST_EPSILON = Fraction(20)  # beyond it, a report practically reveals the value
MOST_DOMAIN = 1 << 24  # bounds the decoder's counts
_NORM_BITS = 53  # the precision of a float, so that no norm is rounded

Below = Callable[[int], int]
"""Source of randomness: a uniform integer from 0 to n - 1, as `secrets.randbelow`."""


def favored_weight(epsilon: Fraction, unit: int = UNIT) -> int:
    """An integer A with exp(epsilon) - 2 / unit < A / unit <= exp(epsilon).

    It is a partial sum of the exponential series, in exact rationals, rounded down.
    """
    if not LEAST_EPSILON <= epsilon <= MOST_EPSILON:
        raise InputError(
            f"the epsilon of a local report must be from {float(LEAST_EPSILON):g} to "
            f"{MOST_EPSILON}, got {float(epsilon):g}"
        )
    term = total = Fraction(unit)
    n = 0
    while term > Fraction(1, 1 << 40) or n < epsilon:
        n += 1
        term = term * epsilon / n
        total += term
    return int(total)


def width(bound: int) -> int:
    """Number of bytes of integers from 0 to bound - 1."""
    return max(1, ((bound - 1).bit_length() + 7) // 8)


class Randomizer(ABC):
    """One report of a message.

    `kind`: its name in the public parameters; `unit`: weight B, smaller than `UNIT` only in tests,
    which enumerate all random integers.
    """

    kind: ClassVar[str]
    epsilon: Fraction
    unit: int

    @cached_property
    def favored(self) -> int:
        """Weight A of a favored output."""
        return favored_weight(self.epsilon, self.unit)

    @property
    @abstractmethod
    def limits(self) -> tuple[int, ...]:
        """Exclusive upper bounds of an output's integers, which are sent big-endian in fewest
        bytes.
        """

    @abstractmethod
    def draw(self, value: Any, below: Below) -> tuple[int, ...]:
        """A random output for a value."""

    @property
    def n_bytes(self) -> int:
        """Number of bytes of an output."""
        return sum(map(width, self.limits))

    def pack(self, output: tuple[int, ...]) -> bytes:
        """An output as bytes."""
        sizes = map(width, self.limits)
        return b"".join(number.to_bytes(size, "big") for number, size in zip(output, sizes))


class FrequencyRandomizer(Randomizer):
    """A report on which of `domain` values the user has."""

    domain: int


def _one_of(size: int, favored: int, unit: int, below: Below) -> int:
    """A random index: 0 with weight `favored`, each of 1 … size - 1 with weight `unit`."""
    at = below(favored + (size - 1) * unit) - favored
    return 0 if at < 0 else 1 + at // unit


@dataclass(frozen=True)
class KRR(FrequencyRandomizer):
    """k-ary randomized response [1]_: the value itself is favored."""

    kind = "k-rr"
    epsilon: Fraction
    domain: int
    unit: int = UNIT

    @cached_property
    def limits(self) -> tuple[int, ...]:
        """Bound of the reported value."""
        return (self.domain,)

    def draw(self, value: int, below: Below) -> tuple[int, ...]:
        """The value plus a random offset modulo the domain: 0 has weight A, others weight B."""
        return ((value + _one_of(self.domain, self.favored, self.unit, below)) % self.domain,)

    @property
    def total(self) -> int:
        """Sum of the weights of all outputs, A + (domain - 1) B."""
        return self.favored + (self.domain - 1) * self.unit


@dataclass(frozen=True)
class LocalHashing(FrequencyRandomizer):
    """Local hashing [2]_ by a random linear function of bits to 2^log_buckets hashes, of which the
    value's hash is favored.

    The message contains the function, a Hankel matrix over GF(2). The hash of the difference of two
    values is uniform, so counts are unbiased. One Walsh–Hadamard transform computes all of them.
    """

    kind = "local-hashing"
    epsilon: Fraction
    domain: int
    log_buckets: int
    unit: int = UNIT

    @cached_property
    def value_bits(self) -> int:
        """Number of bits of a value."""
        return max(1, (self.domain - 1).bit_length())

    @cached_property
    def limits(self) -> tuple[int, ...]:
        """Bounds of the hash function and of the reported hash."""
        return 1 << (self.value_bits + self.log_buckets - 1), 1 << self.log_buckets

    def hash(self, function: int, value: int) -> int:
        """The hash of a value: bit i is the parity of the bitwise and of value and row i."""
        found = 0
        for i in range(self.log_buckets):
            found |= (((function >> i) & value).bit_count() & 1) << i
        return found

    def draw(self, value: int, below: Below) -> tuple[int, ...]:
        """A random function, and the value's hash with weight A, each other one with weight B."""
        function = below(self.limits[0])
        other = _one_of(1 << self.log_buckets, self.favored, self.unit, below)
        return function, self.hash(function, value) ^ other


@dataclass(frozen=True)
class SubsetSelection(FrequencyRandomizer):
    """Subset selection [3]_: of all subsets of `size` values, those that contain the value are
    favored.
    """

    kind = "subset"
    epsilon: Fraction
    domain: int
    size: int
    unit: int = UNIT

    @cached_property
    def limits(self) -> tuple[int, ...]:
        """Bound of the subset, as bits."""
        return (1 << self.domain,)

    def draw(self, value: int, below: Below) -> tuple[int, ...]:
        """Whether the value is in, then a uniform subset of the others (Floyd's algorithm)."""
        inside = self.favored * self.size
        included = below(inside + self.unit * (self.domain - self.size)) < inside
        subset = 0
        others = self.domain - 1
        count = self.size - included
        coins = below(perm(others, count))
        for last in range(others - count, others):
            coins, pick = divmod(coins, last + 1)
            subset |= 1 << (pick if not subset >> pick & 1 else last)
        low = subset & ((1 << value) - 1)
        return (low | included << value | (subset ^ low) << 1,)


@dataclass(frozen=True)
class TopVectors(Randomizer):
    """A vector of the unit ball and its bucket: of `candidates` pseudo-random vectors, the `top`
    with the largest inner products with it are favored (a discrete PrivUnit [4]_).

    The message contains the nonce of the candidates (`metricdp.local.streams`), a random character
    of the buckets, and a candidate's index. A vector shorter than 1 is rounded at random to plus or
    minus its direction, which preserves its mean.

    **Privacy.** Given nonce, character and rounding, exactly `top` indices have weight A, the
    others B. Averaging keeps the bound A / B.
    """

    kind = "top-vectors"
    epsilon: Fraction
    dimension: int
    candidates: int
    top: int
    bucket_bits: int
    unit: int = UNIT

    @cached_property
    def limits(self) -> tuple[int, ...]:
        """Bounds of character, nonce and index."""
        return 1 << self.bucket_bits, 1 << 64, self.candidates

    def draw(self, value: tuple[int, Any], below: Below) -> tuple[int, ...]:
        """A random character and nonce, and an index; `value` is (bucket, vector)."""
        bucket, vector = value
        character = below(self.limits[0])
        nonce = below(self.limits[1])
        length = min(hypot(*vector), 1.0)
        along = below(1 << _NORM_BITS) < (1 + length) / 2 * (1 << _NORM_BITS)
        flipped = along == bool((character & bucket).bit_count() & 1)
        top_weight = self.top * self.favored
        at = below(top_weight + (self.candidates - self.top) * self.unit) - top_weight
        rank = at // self.favored + self.top if at < 0 else self.top + at // self.unit
        return character, nonce, self.ranked(nonce, vector, -1 if flipped else 1)[rank]

    def ranked(self, nonce: int, vector: Any, sign: int) -> list[int]:
        """Indices of the candidates, by decreasing inner product with sign · vector."""
        along = streams.vectors(nonce, self.candidates, self.dimension) @ (vector * -sign)
        return [int(i) for i in along.argsort(kind="stable")]


KINDS: dict[str, type[Any]] = {c.kind: c for c in (KRR, LocalHashing, SubsetSelection, TopVectors)}
