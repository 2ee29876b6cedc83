"""The ledger: privacy budget as exact rationals, charged before anything private is read."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from numbers import Integral, Real
from operator import attrgetter
from pathlib import Path
from threading import Lock
from typing import NamedTuple, get_args

from metricdp.errors import BudgetError, InputError
from metricdp.privacy._unique import Unique
from metricdp.privacy.journal import Journal
from metricdp.releases import Neighboring

MIN_EPSILON, MAX_EPSILON = Fraction(1, 10**9), Fraction(1000)
"""Outside these a budget is a slip of the keyboard: noise of 10^9 records, or a bound exp(1000) that protects none."""


def exact(value: object, name: str = "epsilon") -> Fraction:
    """Read a number as the exact rational its writer meant.

    Integers, Fractions, Decimals and strings ("1/10", "0.1") are taken at their word. A float becomes the fraction of
    denominator up to 10^6 within one unit in its last place, if there is one, else its shortest decimal: 0.1 is 1/10,
    and 0.5 / 11 is 1/22, so that eleven such charges fit 0.5.

    **Privacy.** This reading needs no proof: the Fraction it returns is the very one that the ledger adds up, that
    calibrates the noise and that the receipt states. The float is not used again.

    Raises
    ------
    InputError
        Not a number, not finite, or a bool.

    Examples
    --------
    >>> exact(0.1), exact(3 * 0.1), exact("1/3"), exact(1e-9)
    (Fraction(1, 10), Fraction(3, 10), Fraction(1, 3), Fraction(1, 1000000000))
    """
    try:
        number = Decimal(value) if isinstance(value, str) and "/" not in value else value
        if isinstance(number, Decimal) and number.is_finite() and abs(number.adjusted()) < 400:  # 1e999999999 is huge
            return Fraction(number)
        if isinstance(number, str | Fraction):
            return Fraction(number)
        if isinstance(number, Integral) and not isinstance(number, bool):
            return Fraction(int(number))
        if isinstance(number, Real) and not isinstance(number, bool):
            binary = Fraction(float(number))
            simple = binary.limit_denominator(10**6)
            close = simple != 0 and abs(simple - binary) <= Fraction(math.ulp(float(number)))
            return simple if close else Fraction(repr(float(number)))
    except (ValueError, OverflowError, ZeroDivisionError, InvalidOperation):
        pass
    raise InputError(f"{name} must be a finite number, a Fraction or a string such as '1/10', got {value!r}")


def _amount(epsilon: object, delta: object) -> tuple[Fraction, Fraction]:
    amount = exact(epsilon), exact(delta, "delta")
    if not MIN_EPSILON <= amount[0] <= MAX_EPSILON:
        raise InputError(f"epsilon must be between {float(MIN_EPSILON):g} and {MAX_EPSILON}, got {epsilon!r}")
    if not 0 <= amount[1] < 1:
        raise InputError(f"delta must be at least 0 and below 1, got {delta!r}")
    return amount


class Charge(NamedTuple):
    """One line of the ledger, public."""

    epsilon: Fraction
    delta: Fraction
    purpose: str


class Quote(NamedTuple):
    """Whether a charge would be granted now, and what is left without it."""

    fits: bool
    left: Fraction
    left_delta: Fraction


class _Purse(Unique):
    """Epsilon and delta that only shrink; for all threads of the process that made it, and for no other process."""

    _why = "a copy would spend the same budget twice"

    def __init__(self, epsilon: Fraction, delta: Fraction, neighboring: Neighboring) -> None:
        self._epsilon, self._delta, self._neighboring = epsilon, delta, neighboring
        self._spent, self._spent_delta = Fraction(0), Fraction(0)
        self._lock, self._process = Lock(), os.getpid()

    epsilon = property(attrgetter("_epsilon"), doc="Fraction: epsilon in all.")
    delta = property(attrgetter("_delta"), doc="Fraction: delta in all.")
    neighboring = property(attrgetter("_neighboring"), doc="The relation of every guarantee paid from it.")
    spent = property(attrgetter("_spent"), doc="Fraction: epsilon spent.")
    spent_delta = property(attrgetter("_spent_delta"), doc="Fraction: delta spent.")
    left = property(lambda self: self._epsilon - self._spent, doc="Fraction: epsilon still there.")
    left_delta = property(lambda self: self._delta - self._spent_delta, doc="Fraction: delta still there.")

    def _require(self, epsilon: Fraction, delta: Fraction) -> None:
        if epsilon > self.left:
            raise BudgetError(epsilon, self.spent, self.left)
        if delta > self.left_delta:
            raise BudgetError(delta, self.spent_delta, self.left_delta, "delta")

    def _take(self, epsilon: Fraction, delta: Fraction) -> None:
        self._spent, self._spent_delta = self._spent + epsilon, self._spent_delta + delta

    def _refuse_after_fork(self) -> None:
        if os.getpid() != self._process:
            raise InputError("a forked process would spend this budget twice: open Ledger(..., journal=path) in each")

    def __repr__(self) -> str:
        spent = f"spent {float(self.spent):.6g} of {float(self.epsilon):.6g}, left {float(self.left):.6g}"
        delta = f"; delta: spent {float(self.spent_delta):.6g} of {float(self.delta):.6g}" if self.delta else ""
        return f"{type(self).__name__}({spent}{delta}; {self.neighboring})"


class Grant(_Purse):
    """The budget of one call, charged to a ledger as a whole and spent in pieces. Only `Ledger.charge` makes one."""

    def draw(self, epsilon: object, delta: object = 0) -> None:
        """Take a piece, before its data is read; BudgetError, and nothing taken, if it is not there."""
        piece = exact(epsilon), exact(delta, "delta")
        if min(piece) < 0:
            raise InputError("a piece of a grant must not be negative")
        self._refuse_after_fork()
        with self._lock:
            self._require(*piece)
            self._take(*piece)


class Ledger(_Purse):
    """A privacy budget for one population, and the record of what was spent of it.

    **Privacy.** *Neighboring*: one relation for all; every sensitivity is taken for it. *Composition*: charges add up
    (sequential composition), also when calls are chosen in view of earlier releases. A charge comes before its read
    and is never given back: a call that fails later stays paid. One ledger should stand for all data of a population,
    with one unit (record or user); nothing can stop a caller from opening a second one.

    Parameters
    ----------
    epsilon : int, float, str, Decimal or Fraction
        Budget, 1e-9 to 1000, read by `exact`.
    delta : same
        At least 0, below 1.
    neighboring : {"add-remove", "replace-one"}
    journal : path, optional
        File that keeps the charges across processes and crashes (`Journal`); an existing one is gone on from.

    Raises
    ------
    InputError, JournalError
        A bad argument; a journal that is damaged, of another budget or relation, or not writable.

    Examples
    --------
    >>> ledger = Ledger(epsilon=0.5)
    >>> grant = ledger.charge(0.2, purpose="clinics")
    >>> ledger
    Ledger(spent 0.2 of 0.5, left 0.3; add-remove)
    >>> ledger.quote(0.4).fits
    False
    """

    def __init__(
        self, epsilon: object, delta: object = 0, neighboring: Neighboring = "add-remove",
        journal: str | Path | None = None,
    ) -> None:  # fmt: skip
        if neighboring not in get_args(Neighboring):
            raise InputError(f"neighboring must be 'add-remove' or 'replace-one', got {neighboring!r}")
        super().__init__(*_amount(epsilon, delta), neighboring)
        self._entries: list[Charge] = []
        header = {"epsilon": str(self._epsilon), "delta": str(self._delta), "neighboring": neighboring}
        self._journal = None if journal is None else Journal(journal, header)
        with self._current():
            pass

    entries = property(lambda self: tuple(self._entries), doc="tuple of Charge: all charges in order, public.")

    def charge(self, epsilon: object, delta: object = 0, purpose: str = "") -> Grant:
        """Spend from the budget and return what was bought; with a journal, once the line is safely on disk.

        Parameters
        ----------
        epsilon, delta : int, float, str, Decimal or Fraction
        purpose : str
            A public note for the record.

        Raises
        ------
        BudgetError
            It does not fit; carries asked, spent and left. Nothing was spent.
        InputError, JournalError
            A bad argument; a journal that cannot be written. Nothing was spent.
        """
        amount = _amount(epsilon, delta)
        with self._current():
            self._require(*amount)
            if self._journal is None:
                self._enter(Charge(*amount, str(purpose)))
            else:
                self._journal.append({"epsilon": str(amount[0]), "delta": str(amount[1]), "purpose": str(purpose)})
                self._catch_up(self._journal)
        return Grant(*amount, self._neighboring)

    def quote(self, epsilon: object, delta: object = 0) -> Quote:
        """Say whether a charge would fit now, without charging."""
        asked, asked_delta = _amount(epsilon, delta)
        with self._current():
            return Quote(asked <= self.left and asked_delta <= self.left_delta, self.left, self.left_delta)

    @contextmanager
    def _current(self) -> Iterator[None]:
        """Hold all locks, with what other writers of the journal added taken in."""
        with self._lock:
            if self._journal is None:
                self._refuse_after_fork()
                yield
            else:
                with self._journal.locked():
                    self._catch_up(self._journal)
                    yield

    def _catch_up(self, journal: Journal) -> None:
        for line in journal.charges[len(self._entries) :]:
            self._enter(Charge(Fraction(line["epsilon"]), Fraction(line["delta"]), line["purpose"]))

    def _enter(self, charge: Charge) -> None:
        self._entries.append(charge)
        self._take(charge.epsilon, charge.delta)
