"""The ledger: privacy budget as exact rationals, charged before anything private is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from fractions import Fraction
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, get_args

from metricdp.accounting.binding import Policy, Protection, Renewal, dataset_name
from metricdp.accounting.budget import Budget, BudgetSlice, LedgerPeriod, ZCDPAccountant
from metricdp.accounting.cost import MIN_EPSILON, Cost
from metricdp.accounting.journal import BUDGET, Journal, Line, Notes, stated_budget
from metricdp.arguments import Amount, shown
from metricdp.errors import BudgetError, InputError, JournalError
from metricdp.releases import Neighboring, Unit


def today() -> str:
    """The day in UTC. Not the time, which would reveal how long private computations took."""
    return datetime.now(UTC).date().isoformat()


class Charge(NamedTuple):
    """One charge of the ledger, public: its cost, purpose, day (UTC; empty in journals of the first
    format) and unit of protection, if it was known then; `who` charged, and the purpose as `named`
    for the ledger, where they were given.

    Examples
    --------
    >>> ledger = mdp.Ledger(1)
    >>> _ = ledger.charge("1/4", purpose="clinics")
    >>> charge = ledger.entries[0]
    >>> charge.epsilon, charge.purpose
    (Fraction(1, 4), 'clinics')
    """

    epsilon: Fraction
    delta: Fraction
    purpose: str
    day: str = ""
    protects: Protection | None = None
    who: str = ""
    named: str = ""

    @classmethod
    def stated(cls, line: Line) -> Charge:
        """From a line of a journal."""
        return cls(
            Fraction(line["epsilon"]),
            Fraction(line["delta"]),
            line["purpose"],
            line.get("day", ""),
            Protection.stated(line),
            line.get("who", ""),
            line.get("named", ""),
        )


class _Tally(NamedTuple):
    """Sums over the lines of a ledger: the number of lines `read`, the last day and its period, and
    what was spent in that period.
    """

    read: int = 0
    day: str = ""
    period: str = ""
    spent: Fraction = Fraction(0)
    spent_delta: Fraction = Fraction(0)

    def after(self, charge: Charge | None, day: str, policy: Policy) -> _Tally:
        """The tally with one more line. A day before the last one counts as the last one."""
        last = max(self.day, day)
        period = max(self.period, policy.period(last))
        sums = (Fraction(0), Fraction(0)) if period > self.period else self[3:]
        if charge is not None:
            sums = sums[0] + charge.epsilon, sums[1] + charge.delta
        return _Tally(self.read + 1, last, period, *sums)


_AMOUNTS = ("epsilon", "delta", "spent", "left", "spent_delta", "left_delta", "ever_spent")
_STREAM = re.compile(r"(?:^| )stream ([0-9a-f]{16})$")
"""Purpose of a stream's charge, which in the first version was its only name."""
Answered = tuple[Protection, str]
"""The unit of protection that a private choice binds the ledger to, and its answer."""


class Quote(NamedTuple):
    """The cost of a possible charge and its bound, whether it fits now, and what is left without
    it.

    Examples
    --------
    >>> quote = mdp.Ledger(1).quote("3/2")
    >>> quote.fits, quote.left, quote.epsilon
    (False, Fraction(1, 1), Fraction(3, 2))
    """

    fits: bool
    left: Fraction
    left_delta: Fraction
    epsilon: Fraction
    delta: Fraction
    bound: str


class Ledger(Budget):
    """A privacy budget for one population, and the record of its charges.

    **Privacy.** *Neighboring*: one relation for all charges. *Unit*: one for all, with one
    contribution bound, fixed here or by the first demand that is paid for. *Composition*: charges
    add up (sequential composition), also when calls are chosen adaptively. A charge is made before
    data is read and is never refunded. Use one ledger for all data of a population.

    Parameters
    ----------
    epsilon, delta : int, float, str, Decimal or Fraction
        Budget, 1e-9 to 1000, and at least 0, below 1; read by `exact`.
    neighboring : {"add-remove", "replace-one"}
    journal : path, optional
        File that keeps the charges across processes and crashes (`Journal`); an existing one is
        continued.
    dataset : str, optional
        Public name of the data; a journal of another name is refused.
    unit : {"record", "user"}, optional
        Who is protected; by default as the first demand says.
    max_contributions : int, optional
        Most records of a user, with ``unit="user"``.
    purpose, who : str, optional
        Public notes on all charges: what they are for, and who makes them.
    renews : {"yearly", "quarterly", "monthly"}, optional
        The budget renews with each calendar period (UTC). The guarantee is for each period by
        itself: records that stay for T periods have T times the cost
        (`metricdp.accounting.binding`).
    expires : str or date, optional
        The last day on which it pays for anything.
    anchor : str, optional
        `Ledger.anchor` of an earlier state of the journal, kept elsewhere: a journal that does not
        continue that state is refused (`JournalError`), as are damaged ones and those of another
        budget, relation, data set, unit, renewal or expiry.

    Examples
    --------
    >>> ledger = Ledger(epsilon=0.5)
    >>> budget = ledger.charge(0.2, purpose="clinics")
    >>> ledger
    Ledger(spent 0.2 of 0.5, left 0.3; add-remove)
    >>> ledger.quote(0.4).fits
    False
    >>> ledger.spent, ledger.left, [charge.purpose for charge in ledger.entries]
    (Fraction(1, 5), Fraction(3, 10), ['clinics'])
    >>> ledger.ever_spent, ledger.spent_delta, ledger.left_delta
    (Fraction(1, 5), Fraction(0, 1), Fraction(0, 1))
    >>> Ledger(1, dataset="homes", renews="yearly").policy.renews
    'yearly'
    """

    _least = MIN_EPSILON

    def __init__(
        self,
        epsilon: Amount | Cost,
        delta: Amount = 0,
        neighboring: Neighboring = "add-remove",
        journal: str | Path | None = None,
        *,
        dataset: str | None = None,
        unit: Unit | None = None,
        max_contributions: int | None = None,
        purpose: str = "",
        who: str = "",
        renews: Renewal | None = None,
        expires: str | date | None = None,
        anchor: str | None = None,
    ) -> None:
        if not isinstance(neighboring, str) or neighboring not in get_args(Neighboring):
            raise InputError(
                f"neighboring must be 'add-remove' or 'replace-one', got {shown(neighboring)}"
            )
        budget = Cost.of(epsilon, delta, self._least)
        if isinstance(epsilon, Cost):
            raise InputError("a ledger's budget is two numbers, epsilon and delta")
        if anchor is not None and journal is None:
            raise InputError("an anchor is that of a journal: give journal= too")
        super().__init__(budget, neighboring, protects=Protection.of(unit, max_contributions))
        self._entries: dict[int, Charge] = {}
        self._answers: dict[str, str] = {}
        self._periods: dict[str, str] = {}
        self._steps: dict[str, tuple[int, str]] = {}
        self._tally, self._latest = _Tally(), ""
        self._dataset = dataset_name(dataset)
        self._said = str(purpose), str(who)
        self._policy = Policy.of(renews, expires)
        if self._policy.expired(today()):
            known = journal is not None and Path(str(journal)).is_file()
            if not known or stated_budget(journal) is None:
                raise InputError("expires is in the past: the ledger would pay for nothing")
        header = dict(zip(BUDGET, (str(self._epsilon), str(self._delta), neighboring)))
        header |= self._policy.facts() | self._facts()
        self._journal = Notes(header) if journal is None else self._opened(journal, header, anchor)
        with self._current():
            pass

    def _opened(self, path: str | Path, header: Line, anchor: str | None) -> Journal:
        return Journal(path, header, anchor)

    @classmethod
    def open(
        cls, journal: str | Path, *, anchor: str | None = None, dataset: str | None = None
    ) -> Ledger:
        """The ledger of an existing journal, with its budget and relation; a JournalError where
        there is no journal.
        """
        stated = stated_budget(journal) if Path(journal).is_file() else None
        if stated is None:
            raise JournalError(f"{journal} is not the journal of a ledger")
        relation: Neighboring = stated["neighboring"]  # type: ignore[assignment]
        return cls(
            stated["epsilon"], stated["delta"], relation, journal, dataset=dataset, anchor=anchor
        )

    entries = property(
        lambda self: tuple(self._entries.values()),
        doc="tuple of Charge: all charges in order, public.",
    )
    dataset = property(attrgetter("_dataset"), doc="Public name of the data it is about, or None.")
    policy = property(attrgetter("_policy"), doc="Policy: renewal and expiry.")
    spent = property(
        lambda self: Fraction(0) if self._is_over() else self._tally.spent,
        doc="Fraction: epsilon spent, of this period if the budget renews.",
    )
    spent_delta = property(
        lambda self: Fraction(0) if self._is_over() else self._tally.spent_delta,
        doc="Fraction: delta spent, of this period if the budget renews.",
    )
    ever_spent = property(
        lambda self: sum((charge.epsilon for charge in self.entries), Fraction(0)),
        doc="Fraction: epsilon spent in all periods together.",
    )

    @property
    def anchor(self) -> str | None:
        """The journal's number of lines and checksum, or None. Keep it apart from the journal."""
        with self._current():
            return self._journal.anchor

    def state(self) -> dict[str, Any]:
        """What is spent and left, and the purpose of the last charge: public, and JSON-ready."""
        entries = self.entries
        last = entries[-1] if entries else None
        return {
            **{name: str(getattr(self, name)) for name in _AMOUNTS},
            "charges": len(entries),
            "renews": self._policy.renews,
            "expires": self._policy.expires,
            "dataset": self._dataset,
            "purpose": "" if last is None else last.named,
            "who": "" if last is None else last.who,
            "anchor": self._journal.anchor,
        }

    def quote(self, epsilon: Amount | Cost, delta: Amount = 0) -> Quote:
        """The cost of a possible charge, and whether it fits now. Nothing is charged or read.

        Parameters and errors as `charge`.
        """
        cost = Cost.of(epsilon, delta, self._least)
        with self._current():
            fits = cost.epsilon <= self.left and cost.delta <= self.left_delta
            fits = fits and not self._policy.expired(self._day())
            return Quote(fits, self.left, self.left_delta, cost.epsilon, cost.delta, cost.bound)

    def answer_once(
        self,
        question: str,
        epsilon: Amount | Cost,
        purpose: str,
        ask: Callable[[BudgetSlice], Answered],
    ) -> str:
        """The answer to a private question that precedes all demands: charged once, stored with the
        charges, and returned whenever the question is asked again. `question`: public, everything
        that the answer depends on besides the demand, and its cost; `ask`: a function from a budget
        slice to a `Protection` and a public answer.

        The journal gets two lines: the charge, with the question; and, once `ask` has answered, the
        answer, with the unit of protection that the ledger is bound to from then on. Nothing is
        released before the second is on disk. If `ask` raises, or the process is killed in between,
        the charge remains, and the same question is charged again, as its noise may have been seen.
        All locks are held meanwhile, so that one charge never gives two answers. Errors as
        `charge`; refused, without a call of `ask`, where the ledger is bound already.
        """
        cost = Cost.of(epsilon, 0, self._least)
        with self._current():
            if (known := self._answered(question)) is not None:
                return known
            self._refuse_over()
            self._enter(cost, purpose, None, {"question": question})
            protects, answer = ask(BudgetSlice(cost, self._neighboring, part=self._bought()))
            self._add({"question": question, "answer": answer}, protects)
            return answer

    def answer(self, question: str) -> str | None:
        """The stored answer of `answer_once`, from this or another process; None before. Refused
        where `answer_once` would be.
        """
        with self._current():
            return self._answered(question)

    def _answered(self, question: str) -> str | None:
        if question not in self._answers and self._protects is not None:
            raise InputError(
                f"this ledger protects {self._protects} already: choose the number of records "
                f"before anything else is paid for"
            )
        return self._answers.get(question)

    def charge_once(
        self, name: str, epsilon: Amount | Cost, purpose: str, protects: Protection
    ) -> Fraction:
        """Charge a continual mechanism, such as a stream, once in each period in which it reads;
        return the epsilon that was charged now.

        Call it before each read. A `name`, one unique word, is charged once in a period; nothing is
        charged after the last day. `epsilon`: the cost of everything it ever releases, the same in
        each period.
        """
        cost = Cost.of(epsilon, 0, self._least)
        with self._current():
            self._agree(protects)
            self._refuse_over()
            if self._periods.get(name) == self._policy.period(self._day()):
                return Fraction(0)
            self._enter(cost, f"{purpose} {name}", protects, {"slice": name})
            return cost.epsilon

    def follow(self, name: str, step: int, mark: str) -> None:
        """Record the step of a continual mechanism: the last one again, or the next one.

        Each step has a random `mark`. So if two copies of one state each make a step, the second is
        refused (`InputError`), and so is an older state.
        """
        with self._current():
            known = self._steps.get(name)
            if known == (step, mark):
                return
            if known is not None and step != known[0] + 1:
                raise InputError(
                    f"day {known[0]:,} was reported, of another copy: not that of day {step:,}"
                )
            self._add({"slice": name, "step": str(step), "mark": mark})

    def charge_step(
        self,
        name: str,
        whole: Cost,
        piece: Cost,
        turn: tuple[int, int],
        protects: Protection,
        purpose: str,
    ) -> BudgetSlice:
        """Pay for one step of a mechanism that is charged as a whole and read step by step, perhaps
        in many processes. The whole is charged before the first step; a repeated step is charged
        again by itself.

        Steps only advance, and their costs never add up to more than `whole`. The journal records
        both, so that no copy or older state makes a step twice. `name`: one word; `whole`, `piece`:
        the costs of all steps and of this one, both in rho or both in epsilon; `turn`: number of
        the step, and of its repetition: larger than the last one. Errors as `charge`, and where the
        step was made.
        """
        with self._current():
            known = self._steps.get(name)
        step, (times, rho) = known[0] if known else 0, known[1].split() if known else ("0", "0")
        if turn <= (step, int(times)):
            raise InputError(
                "this round was paid for and answered, and is never answered twice: where the "
                "answer is gone, let it be asked again, which is charged once more"
            )
        again, spent, in_rho = turn[0] == step, Fraction(rho), whole.in_rho
        if again:
            budget = self.charge(piece, purpose=f"{purpose} {name}, again", protects=protects)
        else:
            most, here = ((one.rho if in_rho else one.epsilon) or 0 for one in (whole, piece))
            if not here or spent + here > most or piece.in_rho != in_rho:
                what = "rho" if in_rho else "epsilon"
                raise BudgetError(Fraction(here), spent, most - spent, what)
            spent += here
            self.charge_once(name, whole, purpose, protects)
        with self._current():
            if self._steps.get(name) != known:
                raise InputError("this round was answered by another process")
            self._add({"slice": name, "step": str(turn[0]), "mark": f"{turn[1]} {spent}"})
            if again:
                return budget
            kind = ZCDPAccountant if in_rho else BudgetSlice
            return kind(piece, self._neighboring, None, self, self._protects, self._bought())

    @property
    def journal(self) -> Path | None:
        """Path of the journal's file, if there is one."""
        return self._journal.path

    @contextmanager
    def _current(self) -> Iterator[None]:
        """Hold all locks, with all lines of the journal read and counted."""
        with self._lock:
            if self._journal.path is None:
                self._refuse_after_fork()
            with self._journal.locked():
                self._catch_up()
                yield

    def _day(self) -> str:
        """Today, but never before a day seen here or in the journal: no period begins again."""
        self._latest = max(self._latest, today(), self._tally.day)
        return self._latest

    def _is_over(self) -> bool:
        """Whether the period of the last counted line is over."""
        return self._policy.period(self._day()) > self._tally.period

    def _bought(self) -> LedgerPeriod:
        """The period of the charge that was counted last."""
        return LedgerPeriod(self, self._tally.period)

    def _refuse_over(self) -> None:
        self._refuse_after(self._policy.period(self._day()))

    def _refuse_after(self, period: str) -> None:
        day = self._day()
        if self._policy.expired(day):
            raise InputError(
                f"this ledger expired after {self._policy.expires}: it pays for nothing any more"
            )
        if self._policy.period(day) > period:
            raise InputError(f"this was charged to the budget of {period}, which is over")

    def _enter(
        self, cost: Cost, purpose: str, protects: Protection | None, more: Line | None = None
    ) -> None:
        if cost.epsilon > self.left or cost.delta > self.left_delta:
            self._refuse(cost)
        named, who = self._said
        note = ": ".join(part for part in (named, purpose) if part)
        line = {"epsilon": str(cost.epsilon), "delta": str(cost.delta), "purpose": note}
        line |= {name: text for name, text in (("named", named), ("who", who)) if text}
        self._add(line | (more or {}), protects)

    def _add(self, line: Line, protects: Protection | None = None) -> None:
        """Write a line, and count it like those of other writers."""
        self._journal.append(line | self._facts(protects) | {"day": self._day()})
        self._catch_up()

    def _note_binding(self, protects: Protection) -> None:
        self._add({}, protects)

    def _facts(self, protects: Protection | None = None) -> dict[str, str]:
        """Data set and unit of protection for a line, as far as they are known."""
        known = self._protects or protects
        name = {} if self._dataset is None else {"dataset": self._dataset}
        return name | ({} if known is None else known.facts())

    def _catch_up(self) -> None:
        """Count the new lines. Only the last assignment marks a line as counted."""
        for line in self._journal.after(self._tally.read):
            number = self._tally.read
            self._hold_to(line)
            charge = Charge.stated(line) if number and "epsilon" in line else None
            if charge is not None:
                self._entries[number] = charge
                if name := line.get("slice") or "".join(_STREAM.findall(charge.purpose)):
                    self._periods[name] = self._policy.period(charge.day)
            elif "answer" in line:
                self._answers[line["question"]] = line["answer"]
            elif "step" in line:
                self._steps[line["slice"]] = int(line["step"]), line["mark"]
            self._tally = self._tally.after(charge, line.get("day", ""), self._policy)

    def _hold_to(self, line: Line) -> None:
        """Adopt the facts that a line states; refuse those that contradict this ledger's."""
        journal = self._journal
        name = line.get("dataset")
        protects = Protection.stated(line)
        if not self._tally.read:
            policy = Policy.stated(line)
            if self._policy not in (Policy(), policy):
                raise JournalError(
                    f"the journal {journal.path} has another renewal or expiry than "
                    f"{self._policy.facts()}: it has {policy.facts() or 'none'}, which cannot be "
                    f"changed"
                )
            self._policy = policy
        if name is not None and self._dataset not in (None, name):
            raise JournalError(
                f"the journal {journal.path} is of the data set {name!r}, not {self._dataset!r}"
            )
        if protects is not None and self._protects not in (None, protects):
            raise JournalError(
                f"the journal {journal.path} protects {protects}, not {self._protects}"
            )
        self._dataset, self._protects = self._dataset or name, self._protects or protects
