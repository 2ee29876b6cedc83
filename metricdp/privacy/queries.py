"""Queries of private demand: each class has the exact answer and its sensitivity side by side.

A *unit* is one record, or one user with 1 to m = `max_contributions` records. Demands are neighbors
under "add-remove" when one is the other plus one unit, under "replace-one" when one unit's records
are exchanged for another's. The sensitivity of q is the largest L1 distance ``sum(|q(D) - q(D')|)``
over neighbors D, D', its squared sensitivity the largest ``sum((q(D) - q(D'))²)``. All are
integers, so no rounding enters a proof.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import Floats, Ints, chunks, floats, integer, listed, sealed
from metricdp.errors import InputError
from metricdp.kernels.points import relative_sums
from metricdp.protocols import Measured, Partition, Space, box, sound_parts, space_of
from metricdp.records.engines.sources import Source, sums
from metricdp.records.exact import ROWS, Sums
from metricdp.records.paths import Paths
from metricdp.releases import Neighboring
from metricdp.unique import IsolatedEncoder

Records = NDArray[Any] | Source


def one_universe(own: Space, universe: Space) -> None:
    """Refuse a query of another universe object than the demand's."""
    if own is not universe:
        raise InputError(
            "the question and the demand are of different universes: use one object for both"
        )


class Query(ABC):
    """A query answered by integers. `gate.measure` accepts the package's own classes, and those
    that are registered (`metricdp.protocols.trusted`).

    Examples
    --------
    >>> from metricdp.privacy import CountQuery, Query
    >>> isinstance(CountQuery(), Query), str(CountQuery())
    (True, 'number of records')
    """

    proof: ClassVar[int]
    """Number of the proof of its sensitivity in docs/proofs."""
    shift: int = 0
    """The answer is the sum of `exact` over all records, divided by 2**shift and rounded down."""

    universe: Any
    """Of the demand that it can be asked about: the same object."""

    def check(self, universe: Space) -> None:
        """Raise InputError unless `universe` is the query's own: the same object."""
        one_universe(self.universe, universe)

    @abstractmethod
    def exact(self, records: NDArray[Any]) -> Ints:
        """The exact answer, shape (n_values,): private, for the gate."""

    def resumed(self, records: Records, memory: MutableMapping[Any, Any]) -> Ints:
        """The answer for all records; may reuse results of the slice's queries in `memory`."""
        return answered(self, records)

    @abstractmethod
    def fits(self, answer: NDArray[Any], n_records: int) -> bool:
        """Whether an exact answer is possible for `n_records`; checked before noise is added."""

    @abstractmethod
    def sensitivity(self, neighboring: Neighboring, max_contributions: int) -> int:
        """L1 sensitivity over all neighbors, from public arguments alone."""

    def squared_sensitivity(self, neighboring: Neighboring, max_contributions: int) -> int:
        """Squared L2 sensitivity; by default the square of the L1 sensitivity, which bounds it."""
        return self.sensitivity(neighboring, max_contributions) ** 2


@dataclass(frozen=True)
class CountQuery(Query):
    """The number of records: one value.

    **Privacy.** *Add-remove*: a unit adds 1 to m records, so the count changes by at most m, and by
    m for some unit. *Replace-one*: a unit's a records are replaced by another's b with 1 <= a, b <=
    m, so it changes by ``|a - b| <= m - 1``. For records m = 1, and the sensitivity is 0: this
    relation makes the number of records public, and it is released exactly at no cost.
    *Composition*: sequential with everything else asked about the same demand.

    Examples
    --------
    >>> from metricdp.privacy import CountQuery
    >>> CountQuery().exact(np.array([0, 3, 3])), CountQuery().sensitivity("replace-one", 1)
    (array([3]), 0)
    """

    proof: ClassVar[int] = 3
    n_values: ClassVar[int] = 1

    def check(self, universe: Space) -> None:
        """Accept every universe."""

    def exact(self, records: NDArray[Any]) -> Ints:
        """Number of records, shape (1,)."""
        return np.array([len(records)], dtype=np.int64)

    def fits(self, answer: NDArray[Any], n_records: int) -> bool:
        """Whether it is that number."""
        return bool(answer.tolist() == [n_records])

    def sensitivity(self, neighboring: Neighboring, max_contributions: int) -> int:
        """Return m, or m - 1 under replace-one."""
        return max_contributions if neighboring == "add-remove" else max_contributions - 1

    def __str__(self) -> str:
        return "number of records"


@dataclass(frozen=True)
class HistogramQuery(Query):
    """The number of records in each part of a public partition, empty parts included: n_parts
    values.

    **Privacy.** Each record is in exactly one part, so a unit is a vector u >= 0 of integers with
    ``1 <= sum(u) <= m`` and the histogram is the sum of its units' vectors. *Add-remove*: it
    changes by ``|u| <= m``. *Replace-one*: by ``|u - v| <= |u| + |v| <= 2m``, reached when the two
    units lie in different parts. *Squares*: ``|u|² <= m²`` in L2, as ``|u|_2 <= |u|_1``; and ``|u -
    v|² = |u|² + |v|² - 2 u·v <= 2m²``, as u, v >= 0. All parts are released, whatever the demand.
    *Composition*: one epsilon covers all parts together; sequential with other queries.

    The proof needs that a record's part depends on that record alone. In a finite universe this
    holds by construction: `labels` encodes the public universe once, when the query is made, and
    records look up their part. In a box `Partition.encode` must ensure it. Records are encoded by a
    copy of the partition, so that later changes of the caller's object have no effect, and nothing
    of the records stays in it.

    `partition`: public; its universe must be the demand's, the same object.

    Examples
    --------
    >>> from metricdp.partitions.finite.labels import LabelParts
    >>> from metricdp.privacy import HistogramQuery
    >>> metric = mdp.GraphMetric(nx.path_graph(4), weight=None)
    >>> query = HistogramQuery(LabelParts(metric, np.array([0, 0, 1, 1]), 2))
    >>> query.exact(np.array([0, 3, 3])), query.sensitivity("add-remove", 1)
    (array([1, 2]), 1)
    """

    proof: ClassVar[int] = 3

    partition: Partition
    n_parts: int = field(init=False, repr=False, compare=False)
    universe: Any = field(init=False, repr=False, compare=False)
    encode: Callable[[Any], Any] = field(init=False, repr=False, compare=False)
    labels: Ints | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        universe = getattr(self.partition, "universe", None)
        n_parts = integer(getattr(self.partition, "n_parts", None))
        if n_parts is None or n_parts < 1 or universe is None:
            raise InputError(
                "a histogram needs a partition with universe, n_parts >= 1 and encode(records)"
            )
        object.__setattr__(self, "n_parts", n_parts)
        object.__setattr__(self, "universe", universe)
        object.__setattr__(self, "encode", self.partition.encode)  # of public points
        object.__setattr__(self, "labels", space_of(universe).tabulated(self._encoded))
        if self.labels is None:
            object.__setattr__(self, "encode", IsolatedEncoder(self.partition, universe))

    @property
    def n_values(self) -> int:
        """Numbers in an answer."""
        return self.n_parts

    def exact(self, records: NDArray[Any]) -> Ints:
        """Records per part, shape (n_parts,)."""
        return np.bincount(self.parts(records), minlength=self.n_parts).astype(np.int64, copy=False)

    def fits(self, answer: NDArray[Any], n_records: int) -> bool:
        """Whether they are non-negative counts of all parts, and add up to the records."""
        counts = answer.shape == (self.n_parts,) and bool((answer >= 0).all())
        return counts and int(answer.sum()) == n_records

    def parts(self, records: NDArray[Any]) -> Ints:
        """Part of each record, shape (n_records,): private, for the gate."""
        return self._encoded(records) if self.labels is None else self.labels[records]

    def sensitivity(self, neighboring: Neighboring, max_contributions: int) -> int:
        """Return m, or 2m under replace-one."""
        return self.sensitivity_of(neighboring, max_contributions)

    def squared_sensitivity(self, neighboring: Neighboring, max_contributions: int) -> int:
        """Return m², or 2m² under replace-one."""
        return max_contributions**2 if neighboring == "add-remove" else 2 * max_contributions**2

    @staticmethod
    def sensitivity_of(neighboring: Neighboring, max_contributions: int) -> int:
        """The sensitivity of every histogram: it does not depend on the partition."""
        return max_contributions if neighboring == "add-remove" else 2 * max_contributions

    def _encoded(self, records: NDArray[Any]) -> Ints:
        return sound_parts(self.encode(records), len(records), self.n_parts)

    def __str__(self) -> str:
        return f"histogram of {self.n_parts:,} parts"


@dataclass(frozen=True, eq=False)
class SumsQuery(Query):
    """Sums of the records' clipped offsets from the centers of their parts, in a public partition
    of a box: n_parts · d integers, part after part.

    A record x of part p counts as the integer vector v = (x - centers[p]) / steps[p], clipped to
    the ball of radius 2^`bits` steps, then rounded towards zero; steps[p] = radii[p] / 2^`bits`. So
    ``|v| <= 2^bits``. Vectors that exceed this bound after rounding count as 0: the bound is
    enforced, not assumed.

    **Privacy.** v depends on x and public numbers alone. Every record adds one v with |v|_2 <= B =
    2^bits to one part, so |v|_1 <= B·√d. *Add-remove*: a unit of up to m records changes the answer
    by at most m·B in L2, and m·B·√d, rounded down, in L1. *Replace-one*: by twice that.
    *Composition*: one budget covers all parts together; sequential with other queries.

    `histogram`: of a partition of an `EuclideanSpace`; `bits`: 1 to 20; `centers` (n_parts, d),
    public or released before: the middle of the box by default; `radii` (n_parts,), clipping
    thresholds, likewise: at least 2^-20 of the box's diagonal, by default half of it, which clips
    nothing; `folded`: answer with d integers: the sums of the parts 0, 2, 4, … less those of 1, 3,
    5, … Every record adds v or -v, so all bounds hold.

    Examples
    --------
    >>> from metricdp.partitions.box.cells import VoronoiCells
    >>> from metricdp.privacy import HistogramQuery, SumsQuery
    >>> middles = np.array([[2, 0.5], [6, 0.5]])
    >>> cells = VoronoiCells(mdp.EuclideanSpace([0, 0], [8, 1]), middles)
    >>> query = SumsQuery(HistogramQuery(cells), centers=middles)
    >>> sums = query.exact(np.array([[1.0, 0.5], [6.5, 0.5]])).reshape(2, 2)
    >>> (sums * query.steps[:, None]).round(2), query.sensitivity("add-remove", 1)
    (array([[-1. ,  0. ],
           [ 0.5,  0. ]]), 1448)
    """

    proof: ClassVar[int] = 4

    histogram: HistogramQuery
    bits: int = 10
    centers: Any = None
    radii: Any = None
    folded: bool = False

    def __post_init__(self) -> None:
        plain = type(self.histogram) is HistogramQuery
        if not plain or not 1 <= (integer(self.bits) or 0) <= 20:
            raise InputError("sums need a HistogramQuery of a box's partition, and 1 to 20 bits")
        space = box(self.histogram.universe, "a query of sums")
        n_parts = self.histogram.n_parts
        around, within = (space.lower + space.upper) / 2, np.array(space.diameter_bound() / 2)
        if self.centers is not None:
            around = floats(self.centers, "centers must be numbers")
        if self.radii is not None:
            within = floats(self.radii, "radii must be numbers")
        placed = around.shape in ((space.dimension,), (n_parts, space.dimension))
        wide = (space.diameter_bound() <= within * 2**20) & np.isfinite(within)
        if not placed or within.shape not in ((), (n_parts,)) or not wide.all():
            raise InputError(
                "sums need centers of shape (n_parts, d), and radii (n_parts,), the box's "
                "diagonal / 2^20 at least"
            )
        everywhere = np.broadcast_to(space.clip(np.atleast_2d(around)), (n_parts, space.dimension))
        object.__setattr__(self, "centers", sealed(everywhere))
        object.__setattr__(self, "radii", sealed(np.broadcast_to(within, n_parts)))

    @property
    def steps(self) -> Floats:
        """Length of one step in every part, shape (n_parts,), in the box's unit."""
        return np.asarray(self.radii / 2**self.bits)

    @property
    def n_values(self) -> int:
        """Numbers in an answer."""
        parts = 1 if self.folded else self.histogram.n_parts
        return parts * int(self.histogram.universe.dimension)

    @property
    def universe(self) -> Any:
        """The histogram's universe."""
        return self.histogram.universe

    def exact(self, records: NDArray[Any]) -> Ints:
        """Sums in steps, shape (n_parts · d,), or (d,) if folded."""
        sums = relative_sums(
            records, self.histogram.parts(records), self.centers, self.steps, 2**self.bits
        )
        folded: Ints = sums[::2].sum(axis=0) - sums[1::2].sum(axis=0)
        return folded if self.folded else sums.ravel()

    def fits(self, answer: NDArray[Any], n_records: int) -> bool:
        """Whether their absolute values add up to at most B·√d, rounded down, a record."""
        d = self.histogram.universe.dimension
        shape = (d,) if self.folded else (self.histogram.n_parts * d,)
        most = n_records * math.isqrt(4**self.bits * d)
        return answer.shape == shape and int(np.abs(answer).sum()) <= most

    def sensitivity(self, neighboring: Neighboring, max_contributions: int) -> int:
        """Floor of m·B·√d, or of 2m·B·√d under replace-one."""
        return math.isqrt(
            self.squared_sensitivity(neighboring, max_contributions)
            * self.histogram.universe.dimension
        )

    def squared_sensitivity(self, neighboring: Neighboring, max_contributions: int) -> int:
        """(m·B)², or (2m·B)² under replace-one."""
        return ((max_contributions << self.bits) * (1 if neighboring == "add-remove" else 2)) ** 2

    def __str__(self) -> str:
        what = "differences of sums" if self.folded else "sums"
        return f"{what} of records in {self.histogram.n_parts:,} parts"


@dataclass(frozen=True)
class LevelsQuery(Query):
    """Histograms of several public partitions, such as the levels of a tree, as one query; or sums
    of parts (`SumsQuery`).

    **Privacy.** The answer is L histograms side by side, and a record is in one part of each. So
    the L1 sensitivity is L times that of one histogram, and so is the squared L2 sensitivity, a sum
    over disjoint coordinates: L·m, and L·m². For large L discrete Gaussian noise of (epsilon,
    delta) is therefore smaller than Laplace noise. *Composition*: one budget covers all levels;
    sequential with other queries. For sums the sensitivities add up in the same way.

    `levels`: at least one, all of one universe.

    Examples
    --------
    >>> from metricdp.partitions.finite.labels import LabelParts
    >>> from metricdp.privacy import HistogramQuery, LevelsQuery
    >>> points = LabelParts.of(mdp.GraphMetric(nx.path_graph(4), weight=None))
    >>> LevelsQuery([HistogramQuery(points)] * 3).sensitivity("add-remove", 1)
    3
    """

    proof: ClassVar[int] = 3

    levels: tuple[HistogramQuery | SumsQuery, ...]

    def __post_init__(self) -> None:
        levels = tuple(listed(self.levels, "levels"))
        if not levels or any(type(level) not in (HistogramQuery, SumsQuery) for level in levels):
            raise InputError("levels must be one or more HistogramQuery or SumsQuery objects")
        object.__setattr__(self, "levels", levels)

    @property
    def n_values(self) -> int:
        """Numbers in an answer."""
        return sum(level.n_values for level in self.levels)

    def check(self, universe: Space) -> None:
        """Refuse another universe object than every level's."""
        for level in self.levels:
            level.check(universe)

    def exact(self, records: NDArray[Any]) -> Ints:
        """The answers of all levels, one after another, shape (n_values,)."""
        return np.concatenate([level.exact(records) for level in self.levels])

    def fits(self, answer: NDArray[Any], n_records: int) -> bool:
        """Whether every level's part of the answer fits."""
        ends = np.cumsum([level.n_values for level in self.levels])
        parts = np.split(answer, ends)
        return not len(parts.pop()) and all(
            level.fits(part, n_records) for level, part in zip(self.levels, parts)
        )

    def sensitivity(self, neighboring: Neighboring, max_contributions: int) -> int:
        """The sum over the levels: L times that of one histogram."""
        return sum(level.sensitivity(neighboring, max_contributions) for level in self.levels)

    def squared_sensitivity(self, neighboring: Neighboring, max_contributions: int) -> int:
        """The sum over the levels: L times that of one histogram."""
        return sum(
            level.squared_sensitivity(neighboring, max_contributions) for level in self.levels
        )

    def __str__(self) -> str:
        counts = [level.n_parts for level in self.levels if isinstance(level, HistogramQuery)]
        if counts:
            return f"{len(counts)} histograms of {sum(counts):,} parts in all"
        return f"{len(self.levels)} times {self.levels[0]}"


@dataclass(frozen=True)
class _Checked:
    """The checked exact answer for a block of records; it is sent to workers."""

    query: Query

    def __call__(self, block: NDArray[Any]) -> Ints:
        if len(block) > ROWS:
            raise AssertionError("a block has more rows than sums of it may have")
        answer = self.query.exact(block)
        if answer.dtype != np.int64 or not self.query.fits(answer, len(block)):
            raise AssertionError("an exact answer does not fit the number of records")
        return answer


def answered(query: Query, records: Records) -> Ints:
    """The exact answer of a query for all records, for the gate; it saturates at -2^61 and 2^61.

    **Privacy.** If `Query.fits` fails, that is a bug in a partition or in this package, never a
    property of the records: a partition that assigns every record to one part cannot make it fail.
    Such a failure reveals one bit without noise, so it is an error to be fixed, not a way to query.
    Counts saturate one by one, which only shrinks differences.
    """
    if isinstance(records, Paths) and type(query) in (HistogramQuery, CountQuery):
        known = records.counted(getattr(query, "partition", None))
        if known is not None:
            return known
    found = sums(records, _Checked(query))
    assert isinstance(found, Sums)
    return (found >> query.shift).capped()


@dataclass(frozen=True, eq=False)
class TotalsQuery(Query):
    """Sums over the records of integer amounts: n_values integers.

    The amounts of a record are a function of that record and public facts. A record whose amounts
    add up to more than ``2**bits`` in absolute value counts as 0: the bound is enforced, not
    assumed.

    **Privacy.** A record adds an integer vector v with ``|v|_1 <= B = 2**bits``. *Add-remove*: a
    unit of up to m records changes the answer by at most m·B in L1, and so in L2. *Replace-one*: by
    at most twice that. *Composition*: one budget covers all values together; sequential with other
    queries. With `shift` each sum is divided by D = 2**shift and rounded down: each of the n_values
    changes by at most 1 / D of the change of its sum, rounded up, all together by at most (L1 +
    n_values·(D - 1)) / D, rounded down.

    `measured`: public: ``universe``, ``n_values`` and ``amounts(records)``; `bits`: 1 to 30;
    `shift`: 0 to 30: sums are reported in units of 2**shift. For users with shares of `WHOLE` =
    2^16 weight units, a shift of 16 reports whole users, of which int64 can sum 2^41 instead of
    2^25.
    """

    proof: ClassVar[int] = 4

    measured: Measured
    bits: int = 20
    shift: int = 0
    n_values: int = field(init=False, repr=False, compare=False)
    table: Ints | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        n_values = integer(getattr(self.measured, "n_values", None)) or 0
        if not 1 <= (integer(self.bits) or 0) <= 30 or n_values < 1:
            raise InputError("totals need n_values >= 1, amounts(records), and 1 to 30 bits")
        if not 0 <= (-1 if (shift := integer(self.shift)) is None else shift) <= 30:
            raise InputError("totals need a shift of 0 to 30")
        object.__setattr__(self, "n_values", n_values)
        table = space_of(self.measured.universe).tabulated(self._bounded)
        object.__setattr__(self, "table", table)

    @property
    def universe(self) -> Any:
        """The universe of the amounts."""
        return self.measured.universe

    def exact(self, records: NDArray[Any]) -> Ints:
        """Sums of amounts, shape (n_values,), before `shift`."""
        found = np.zeros(self.n_values, np.int64)
        for some in chunks(len(records), self.n_values):
            few = records[some]
            amounts = self._bounded(few) if self.table is None else self.table[few]
            found += amounts.sum(axis=0, dtype=np.int64)
        return found

    def fits(self, answer: NDArray[Any], n_records: int) -> bool:
        """Whether absolute values add up to at most B a record."""
        most = n_records * 2**self.bits
        return answer.shape == (self.n_values,) and int(np.abs(answer).sum()) <= most

    def sensitivity(self, neighboring: Neighboring, max_contributions: int) -> int:
        """Return m·B, or 2m·B under replace-one; for rounded sums see above. The L2 sensitivity is
        the same: all records of a unit may add to one value.
        """
        sides = 1 if neighboring == "add-remove" else 2
        whole = sides * max_contributions << self.bits
        return (whole + self.n_values * ((1 << self.shift) - 1)) >> self.shift

    def _bounded(self, records: NDArray[Any]) -> Ints:
        amounts = np.asarray(self.measured.amounts(records))
        if amounts.shape != (len(records), self.n_values) or amounts.dtype.kind != "i":
            raise InputError("amounts must give each record n_values integers")
        amounts = amounts.astype(np.int64, copy=False)  # of fewer bits they have no absolute value
        most = 2**self.bits
        each = (amounts >= -most) & (amounts <= most)
        inside = each.all(axis=1) & (np.abs(np.where(each, amounts, 0)).sum(axis=1) <= most)
        return np.where(inside[:, None], amounts, 0).astype(np.int64)

    def __str__(self) -> str:
        return f"totals of {self.n_values:,} amounts"
