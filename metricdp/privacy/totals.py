"""Sums of bounded integer amounts, public functions of each record."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import Ints, chunks, integer
from metricdp.errors import InputError
from metricdp.privacy.queries import Query
from metricdp.protocols import Measured, space_of
from metricdp.releases import Neighboring


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
