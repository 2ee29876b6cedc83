"""Budgets as exact rationals, and the slices of them that calls spend."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from operator import attrgetter
from threading import Lock
from typing import Any, NamedTuple, NoReturn

from metricdp.accounting.binding import Protection
from metricdp.accounting.cost import ZCDP, Cost, zcdp_epsilon
from metricdp.arguments import Amount, shown
from metricdp.errors import BudgetError, InputError
from metricdp.releases import Neighboring, Receipt
from metricdp.unique import Unique


class LedgerPeriod(NamedTuple):
    """The period of a ledger that a budget slice was charged in. After the period, or the ledger's
    last day, neither the slice nor slices of it pay for anything.

    `period`: of the charge; "" for all days where the ledger does not renew.
    """

    ledger: Budget
    period: str

    def check(self) -> None:
        """Refuse, once the period is over."""
        self.ledger._refuse_after(self.period)


class Budget(Unique):
    """The base of `Ledger` and `BudgetSlice`: a budget that only decreases. All threads of the
    process that made it may use it, and no other process.

    Examples
    --------
    >>> budget = mdp.Ledger(1, delta="1e-6")
    >>> part = budget.charge("1/4", "1e-7")
    >>> budget.epsilon, budget.spent, budget.left
    (Fraction(1, 1), Fraction(1, 4), Fraction(3, 4))
    >>> float(budget.delta), float(budget.spent_delta), float(budget.left_delta)
    (1e-06, 1e-07, 9e-07)
    >>> part.parent is budget, part.neighboring, part.scope, part.protects
    (True, 'add-remove', None, None)
    """

    _why = "a copy would spend the same budget twice"
    _least = Fraction(0)
    """Least epsilon of a charge: any for slices, as the ledger was charged for them before."""

    def __init__(
        self,
        budget: Cost,
        neighboring: Neighboring,
        scope: object = None,
        parent: Budget | None = None,
        protects: Protection | None = None,
        part: LedgerPeriod | None = None,
    ) -> None:
        self._epsilon, self._delta, self._neighboring = budget.epsilon, budget.delta, neighboring
        self._scope, self._parent = scope, parent
        self._protects, self._ledger_period = protects, part
        self._spent, self._spent_delta = Fraction(0), Fraction(0)
        self._lock, self._process = Lock(), os.getpid()

    epsilon = property(attrgetter("_epsilon"), doc="Fraction: epsilon in all.")
    delta = property(attrgetter("_delta"), doc="Fraction: delta in all.")
    neighboring = property(
        attrgetter("_neighboring"), doc="The relation of every guarantee paid from it."
    )
    scope = property(
        attrgetter("_scope"), doc="The one demand it may be spent on, or None for any."
    )
    protects = property(
        attrgetter("_protects"),
        doc="Protection: unit and bound of every guarantee paid from it; None before any.",
    )
    parent = property(
        attrgetter("_parent"), doc="The budget that this one was charged to, or None."
    )
    ledger_period = property(
        attrgetter("_ledger_period"),
        doc="Slice: the period of a ledger that it belongs to; None of ledgers.",
    )
    spent = property(attrgetter("_spent"), doc="Fraction: epsilon spent.")
    spent_delta = property(attrgetter("_spent_delta"), doc="Fraction: delta spent.")
    left = property(lambda self: self.epsilon - self.spent, doc="Fraction: epsilon still there.")
    left_delta = property(
        lambda self: self.delta - self.spent_delta, doc="Fraction: delta still there."
    )

    def charge(
        self,
        epsilon: Amount | Cost,
        delta: Amount = 0,
        purpose: str = "",
        *,
        protects: Protection | None = None,
    ) -> BudgetSlice:
        """Charge the budget, and return the slice that was charged; on a ledger with a journal,
        once the line is on disk.

        `epsilon`: a number, or a `Cost` (`selections`, `Cost.zcdp`), which states delta too, and
        gives a `ZCDPAccountant` if its bound is zCDP; `purpose`: a public note; `protects`: that of
        the demand it will be spent on. Without it the budget is bound when the slice is first drawn
        from.

        Refused, with nothing spent: what does not fit (`BudgetError`, with asked, spent and left);
        a bad argument, a demand of another unit or bound than this budget's, a period or a ledger
        that is over (`InputError`); a journal that cannot be written (`JournalError`).
        """
        cost = Cost.of(epsilon, delta, self._least)
        with self._current():
            self._agree(protects)
            self._refuse_over()
            self._enter(cost, purpose if isinstance(purpose, str) else shown(purpose), protects)
            self._protects = self._protects or protects
            known = self._protects
            part = self._bought()
        kind = ZCDPAccountant if cost.in_rho else BudgetSlice
        return kind(cost, self._neighboring, self._scope, self, known, part)

    def bind(self, protects: Protection) -> None:
        """Bind this budget, and its parents, to the unit and bound that it is first used for. If it
        is bound to others already, refuse, and change nothing.
        """
        with self._current():
            self._agree(protects)
            if self._protects is None:
                if self._parent is not None:
                    self._parent.bind(protects)
                self._note_binding(protects)
                self._protects = protects

    def check(self, protects: Protection) -> None:
        """Refuse, as `charge` and `bind` would, another unit or bound, or a day after the end."""
        with self._current():
            self._agree(protects)
            self._refuse_over()

    def _bought(self) -> LedgerPeriod | None:
        """The ledger's period to which the last charge belongs."""
        return self._ledger_period

    def _refuse_over(self) -> None:
        if self._ledger_period is not None:
            self._ledger_period.check()

    def _refuse_after(self, period: str) -> None:
        """Refuse a charge of a period that is over; only ledgers have periods."""

    def _agree(self, protects: Protection | None) -> None:
        if protects is not None and self._protects is None and self._parent is not None:
            self._parent.check(protects)  # others may have used it since this was bought
        if protects is not None and self._protects not in (None, protects):
            raise InputError(
                f"this ledger protects {self._protects}; the demand protects {protects}: what is "
                f"promised of one and of the other does not add up, so it needs a ledger of its own"
            )

    def _note_binding(self, protects: Protection) -> None:
        pass

    @contextmanager
    def _current(self) -> Iterator[None]:
        """Hold the lock; of a ledger with a journal also the file's, with all its lines read."""
        with self._lock:
            self._refuse_after_fork()
            yield

    def _enter(self, cost: Cost, purpose: str, protects: Protection | None) -> None:
        self._take(cost)

    def _take(self, cost: Cost) -> None:
        """Add a cost that fits to what is spent; refuse one that does not."""
        if cost.epsilon > self.left or cost.delta > self.left_delta:
            self._refuse(cost)
        self._spent, self._spent_delta = self._spent + cost.epsilon, self._spent_delta + cost.delta

    def _refuse(self, cost: Cost) -> NoReturn:
        if cost.epsilon > self.left:
            raise BudgetError(cost.epsilon, self.spent, self.left)
        raise BudgetError(cost.delta, self.spent_delta, self.left_delta, "delta")

    def _refuse_after_fork(self) -> None:
        if os.getpid() != self._process:
            raise InputError(
                "a forked process would spend this budget twice: open Ledger(..., journal=path) "
                "in each"
            )

    def __repr__(self) -> str:
        text = "spent {:.6g} of {:.6g}, left {:.6g}".format(
            *map(float, (self.spent, self.epsilon, self.left))
        )
        if self.delta:
            text += f"; delta: spent {float(self.spent_delta):.6g} of {float(self.delta):.6g}"
        return f"{type(self).__name__}({text}; {self.neighboring})"


class BudgetSlice(Budget):
    """The budget of one call, charged to a ledger as a whole and spent in pieces. Only `charge`
    makes one.

    It belongs to one period of its ledger (`LedgerPeriod`): after that, or when the ledger expires,
    pieces are refused, and what is left of it is lost.

    **Privacy.** Pieces add up by basic composition, also when each is chosen adaptively, by the
    answers before it.

    Examples
    --------
    >>> budget = mdp.Ledger(1).charge("1/2")
    >>> budget.draw("1/8")
    >>> budget.spent, budget.left
    (Fraction(1, 8), Fraction(3, 8))
    """

    def draw(self, epsilon: Amount | Cost, delta: Amount = 0) -> None:
        """Spend a piece, a number or a `Cost`, before data is read; an error spends nothing."""
        piece = Cost.of(epsilon, delta)
        if min(piece.epsilon, piece.delta) < 0:
            raise InputError("a piece of a budget slice must not be negative")
        with self._current():
            self._refuse_over()
            self._take(piece)

    def receipt(self, receipts: Iterable[Receipt]) -> Receipt:
        """All mechanisms paid from this slice: their costs add up (basic composition)."""
        return Receipt.combined(receipts)


class ZCDPAccountant(BudgetSlice):
    """A budget slice that counts rho, not epsilon: for many adaptively chosen selections or
    Gaussian counts.

    **Privacy.** *Composition*: rho-zCDP adds up, also when each mechanism and its rho are chosen by
    earlier answers, as long as the sum stays below a bound fixed beforehand (Y. Feldman, T. Zrnic,
    "Individual privacy accounting via a Rényi filter", NeurIPS 2021). Proof for one order a:
    with ``Z = product of (P_i / Q_i)^a · exp(-a(a-1)·sum rho_i)``, each factor has conditional mean
    at most 1 under Q, so E_Q[Z] <= 1, and E_Q[(P/Q)^a] <= exp(a(a-1)·rho) since the sum never
    passes rho. So all draws together are rho-zCDP, which is (epsilon, delta)-DP by `zcdp_epsilon`:
    what the ledger was charged.

    Examples
    --------
    >>> from metricdp.accounting import Cost
    >>> accountant = mdp.Ledger(1, delta="1e-6").charge(Cost.zcdp(1, "1e-6"))
    >>> accountant.draw(Cost.selection("0.1"))
    >>> round(float(accountant.spent_rho), 6), accountant.spent_rho < accountant.rho
    (0.00125, True)
    """

    def __init__(self, budget: Cost, *rest: Any) -> None:
        super().__init__(budget, *rest)
        if budget.rho is None:
            raise InputError("a zCDP accountant needs a budget of rho")
        self._rho, self._spent_rho = budget.rho, Fraction(0)

    rho = property(attrgetter("_rho"), doc="Fraction: rho in all.")
    spent_rho = property(attrgetter("_spent_rho"), doc="Fraction: rho spent.")

    @property
    def spent(self) -> Fraction:
        """Epsilon of what was spent, at the accountant's delta."""
        used = self._spent_rho
        return min(zcdp_epsilon(used, self._delta), self._epsilon) if used else Fraction(0)

    @property
    def spent_delta(self) -> Fraction:
        """Delta, once anything was spent; else 0."""
        return self._delta if self._spent_rho else Fraction(0)

    def receipt(self, receipts: Iterable[Receipt]) -> Receipt:
        """All mechanisms paid from this slice, at its own cost, which is below the sum of
        theirs.
        """
        return Receipt.combined(receipts).paid(self._epsilon, self._delta, ZCDP)

    def _take(self, cost: Cost) -> None:
        if cost.rho is None or cost.rho < 0:
            raise InputError(
                "this budget counts rho (zCDP), and the mechanism states none: charge it separately"
            )
        if cost.rho > self._rho - self._spent_rho:
            raise BudgetError(cost.rho, self._spent_rho, self._rho - self._spent_rho, "rho")
        self._spent_rho += cost.rho
