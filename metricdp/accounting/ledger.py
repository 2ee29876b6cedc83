"""The ledger: privacy budget as exact rationals, charged before anything private is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from fractions import Fraction
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, get_args

from metricdp.accounting.binding import Protection, dataset_name
from metricdp.accounting.budget import MIN_EPSILON, Budget, Grant, checked_budget
from metricdp.accounting.cost import Cost
from metricdp.accounting.journal import Journal, Line, stated_budget
from metricdp.accounting.policy import Policy, Renewal
from metricdp.arguments import shown
from metricdp.errors import InputError, JournalError
from metricdp.releases import Neighboring, Unit


def today() -> str:
    """The day, in UTC: all that a ledger says about when, as times would tell how long private
    computations took.
    """
    return datetime.now(UTC).date().isoformat()


class Charge(NamedTuple):
    """One line of the ledger, public: the price, what for, on what day (UTC; empty in journals of
    before there were any), who is protected, if the ledger knew then, and by whom and under which
    named purpose it was charged, where that was said.

    Examples
    --------
    >>> import metricdp as mdp
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
        """What a line of a journal says.

        Examples
        --------
        >>> from metricdp.accounting import Charge
        >>> Charge.stated({"epsilon": "1/4", "delta": "0", "purpose": "clinics"}).epsilon
        Fraction(1, 4)
        """
        return cls(
            Fraction(line["epsilon"]),
            Fraction(line["delta"]),
            line["purpose"],
            line.get("day", ""),
            Protection.stated(line),
            line.get("who", ""),
            line.get("named", ""),
        )


_NOTED: ContextVar[tuple[tuple[object, tuple[str, str]], ...]] = ContextVar("noted", default=())
"""Purposes and persons of the blocks of `Ledger.noting` that are under way."""


Answered = tuple[Protection, str]
"""Whom a private choice protects from then on, and what it answered."""


class Quote(NamedTuple):
    """What a charge would cost, by which bound, whether it would be granted now, and what is left
    without it.

    Examples
    --------
    >>> import metricdp as mdp
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
    """A privacy budget for one population, and the record of what was spent of it.

    **Privacy.** *Neighboring*: one relation for all; every sensitivity is taken for it. *Unit*: one
    for all, with one bound on its records, fixed here or by the first demand that is paid for; a
    demand that protects others is refused before it is charged. *Composition*: charges add up
    (sequential composition), also when calls are chosen in view of earlier releases. A charge comes
    before its read and is never given back: a call that fails later stays paid. One ledger should
    stand for all data of a population; nothing can stop a caller from opening a second one.

    Parameters
    ----------
    epsilon : int, float, str, Decimal or Fraction
        Budget, 1e-9 to 1000, read by `exact`.
    delta : same
        At least 0, below 1.
    neighboring : {"add-remove", "replace-one"}
    journal : path, optional
        File that keeps the charges across processes and crashes (`Journal`); an existing one is
        gone on from.
    dataset : str, optional
        Public name of the data it is about; a journal of another name is refused.
    unit : {"record", "user"}, optional
        Who is protected; the first demand's unless given.
    max_contributions : int, optional
        Most records of a user, with ``unit="user"``.
    purpose : str, optional
        A public name of what charges are for, written before what is called; `noting` says it of
        some calls only.
    who : str, optional
        Who charges, a public note.
    renews : {"yearly", "quarterly", "monthly"}, optional
        The budget begins anew with each calendar period (UTC): it then is what is promised of each
        period by itself, and T times as much of what stays in the data for T of them
        (`metricdp.accounting.policy`).
    expires : str or date, optional
        The last day on which it can be charged.
    anchor : str, optional
        `Ledger.anchor` of an earlier state of the journal, kept elsewhere: the journal must exist
        and go on from there, so that an older copy in its place is noticed.

    Raises
    ------
    InputError, JournalError
        A bad argument; a journal that is damaged, rolled back, of another budget, relation, data
        set, unit, renewal or expiry, or not writable.

    Examples
    --------
    >>> ledger = Ledger(epsilon=0.5)
    >>> grant = ledger.charge(0.2, purpose="clinics")
    >>> ledger
    Ledger(spent 0.2 of 0.5, left 0.3; add-remove)
    >>> ledger.quote(0.4).fits
    False
    >>> ledger.spent, ledger.left, ledger.ever_spent, ledger.spent_delta
    (Fraction(1, 5), Fraction(3, 10), Fraction(1, 5), Fraction(0, 1))
    >>> [charge.purpose for charge in ledger.entries], ledger.left_delta
    (['clinics'], Fraction(0, 1))
    >>> yearly = Ledger(1, dataset="homes", renews="yearly")
    >>> yearly.dataset, yearly.policy.renews
    ('homes', 'yearly')
    """

    _least = MIN_EPSILON

    def __init__(
        self,
        epsilon: object,
        delta: object = 0,
        neighboring: Neighboring = "add-remove",
        journal: str | Path | None = None,
        *,
        dataset: str | None = None,
        unit: Unit | None = None,
        max_contributions: int | None = None,
        purpose: str = "",
        who: str = "",
        renews: Renewal | None = None,
        expires: object = None,
        anchor: str | None = None,
    ) -> None:
        if not isinstance(neighboring, str) or neighboring not in get_args(Neighboring):
            raise InputError(
                f"neighboring must be 'add-remove' or 'replace-one', got {shown(neighboring)}"
            )
        budget = checked_budget(epsilon, delta)
        if isinstance(epsilon, Cost):
            raise InputError("a ledger's budget is two numbers, epsilon and delta")
        if anchor is not None and journal is None:
            raise InputError("an anchor is that of a journal: give journal= too")
        super().__init__(budget, neighboring, protects=Protection.of(unit, max_contributions))
        self._entries: list[Charge] = []
        self._asked: dict[str, str] = {}
        self._answers: dict[str, str] = {}
        self._read = 0
        self._dataset = dataset_name(dataset)
        self._said = str(purpose), str(who)
        self._policy = Policy.of(renews, expires)
        self._period = ""
        header = {
            "epsilon": str(self._epsilon),
            "delta": str(self._delta),
            "neighboring": neighboring,
        }
        header |= self._policy.facts()
        self._journal = (
            None if journal is None else Journal(journal, header | self._facts(), anchor)
        )
        with self._current():
            pass

    @classmethod
    def open(
        cls, journal: str | Path, *, anchor: str | None = None, dataset: str | None = None
    ) -> Ledger:
        """The ledger of an existing journal, with the budget and relation that it states.

        Raises
        ------
        JournalError
            There is none, or as for `Ledger`.

        Examples
        --------
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "study.ledger")
        >>> kept = Ledger(1, journal=path, dataset="homes-2026").anchor
        >>> Ledger.open(path, anchor=kept).dataset
        'homes-2026'
        """
        stated = stated_budget(journal) if Path(journal).is_file() else None
        if stated is None:
            raise JournalError(f"{journal} is not the journal of a ledger")
        relation: Neighboring = stated["neighboring"]  # type: ignore[assignment]
        return cls(
            stated["epsilon"], stated["delta"], relation, journal, dataset=dataset, anchor=anchor
        )

    entries = property(
        lambda self: tuple(self._entries), doc="tuple of Charge: all charges in order, public."
    )
    dataset = property(attrgetter("_dataset"), doc="Public name of the data it is about, or None.")
    policy = property(attrgetter("_policy"), doc="Policy: renewal and expiry.")
    spent = property(
        lambda self: Fraction(0) if self._is_over() else self._spent,
        doc="Fraction: epsilon spent, of this period if the budget renews.",
    )
    spent_delta = property(
        lambda self: Fraction(0) if self._is_over() else self._spent_delta,
        doc="Fraction: delta spent, of this period if the budget renews.",
    )
    ever_spent = property(
        lambda self: sum((charge.epsilon for charge in self._entries), Fraction(0)),
        doc="Fraction: epsilon spent in all periods together.",
    )

    @contextmanager
    def noting(self, *, purpose: str = "", who: str = "") -> Iterator[None]:
        """Note of all charges of this block, made by this thread, what they are for and who makes
        them: public.

        Examples
        --------
        >>> ledger = Ledger(epsilon=1)
        >>> with ledger.noting(purpose="clinics", who="planning office"):
        ...     grant = ledger.charge("1/4", purpose="k_median")
        >>> ledger.entries[0].purpose, ledger.entries[0].named, ledger.entries[0].who
        ('clinics: k_median', 'clinics', 'planning office')
        """
        before = self._noted()
        said = str(purpose) or before[0], str(who) or before[1]
        token = _NOTED.set((*_NOTED.get(), (self, said)))
        try:
            yield
        finally:
            _NOTED.reset(token)

    def _noted(self) -> tuple[str, str]:
        """Named purpose and who, as said last."""
        return next((said for of, said in reversed(_NOTED.get()) if of is self), self._said)

    @property
    def anchor(self) -> str | None:
        """What tells later that the journal goes on from now: its number of lines, and a checksum
        of them all. None without a journal. Keep it apart from the journal.

        Examples
        --------
        >>> import pathlib, tempfile, metricdp as mdp
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "homes.ledger"
        >>> kept = mdp.Ledger(1, journal=path).anchor
        >>> mdp.Ledger.open(path, anchor=kept).left
        Fraction(1, 1)
        """
        if self._journal is None:
            return None
        with self._current():
            return self._journal.anchor

    def state(self) -> dict[str, Any]:
        """What is spent and left now, of which budget and policy, and what the last charge was
        for: public, and JSON-ready.

        Examples
        --------
        >>> ledger = Ledger(1, purpose="clinics")
        >>> grant = ledger.charge("1/4")
        >>> ledger.state()["left"], ledger.state()["purpose"], ledger.state()["charges"]
        ('3/4', 'clinics', 1)
        """
        last = self._entries[-1] if self._entries else None
        return {
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "spent": str(self.spent),
            "left": str(self.left),
            "spent_delta": str(self.spent_delta),
            "left_delta": str(self.left_delta),
            "ever_spent": str(self.ever_spent),
            "charges": len(self._entries),
            "renews": self._policy.renews,
            "expires": self._policy.expires,
            "dataset": self._dataset,
            "purpose": "" if last is None else last.named,
            "who": "" if last is None else last.who,
            "anchor": None if self._journal is None else self._journal.anchor,
        }

    def quote(self, epsilon: object, delta: object = 0) -> Quote:
        """Price a charge, and say whether it would fit now, without charging and without any data.

        Parameters and errors as `charge`.

        Examples
        --------
        >>> from metricdp.accounting import selections
        >>> quote = Ledger(epsilon=2, delta=1e-6).quote(selections(0.1, times=20, delta=1e-6))
        >>> quote.fits, quote.bound, quote.epsilon < 1.21
        (True, 'zCDP', True)
        """
        cost = checked_budget(epsilon, delta)
        with self._current():
            fits = cost.epsilon <= self.left and cost.delta <= self.left_delta
            fits = fits and not self._policy.expired(self._day())
            return Quote(fits, self.left, self.left_delta, cost.epsilon, cost.delta, cost.bound)

    def answer_once(
        self, question: str, epsilon: object, purpose: str, ask: Callable[[Grant], Answered]
    ) -> str:
        """The answer to a question that comes before any demand is paid for: bought once, kept with
        the charges, and told again whenever it is asked again.

        Lines of a journal in order: the charge, which names the question; once `ask` has answered,
        the answer, with whom the ledger protects from then on. Nothing is told before that line is
        on disk. So a process that is killed in between leaves a charge of which nobody has seen
        anything, and the same question asked again is answered from it. All locks are held
        meanwhile: no two answers come of one charge.

        Parameters
        ----------
        question : str
            Public; its price and all that its answer depends on besides the demand.
        epsilon : int, float, str, Decimal, Fraction or Cost
        purpose : str
            Of the charge.
        ask : callable
            From a grant to a `Protection` and an answer, which is public.

        Raises
        ------
        BudgetError, InputError, JournalError
            As `charge`; the ledger is held to a protection already, and this was not asked. Nothing
            was spent.

        Examples
        --------
        >>> ledger = Ledger(epsilon=1)
        >>> def ask(grant):
        ...     return Protection("user", 3), "three"
        >>> [ledger.answer_once("how many?", "1/4", "choice", ask) for _ in range(2)]
        ['three', 'three']
        >>> ledger.left, ledger.protects.max_contributions
        (Fraction(3, 4), 3)
        """
        cost = checked_budget(epsilon, 0, self._least)
        with self._current():
            if question in self._answers:
                return self._answers[question]
            self._refuse_expired()
            if self._protects is not None:
                raise InputError(
                    f"this ledger protects {self._protects} already: choose the number of records "
                    f"before anything else is paid for"
                )
            if not self._is_paid(question):
                self._require(cost)
                self._enter(cost, purpose, None, {"question": question})
            protects, answer = ask(Grant(cost, self._neighboring))
            self._keep_answer(protects, question, answer)
            return answer

    def answer(self, question: str) -> str | None:
        """What `answer_once` answered, here or in another process; None before.

        Examples
        --------
        >>> Ledger(epsilon=1).answer("how many?") is None
        True
        """
        with self._current():
            return self._answers.get(question)

    def has_paid(self, question: str) -> bool:
        """Whether `answer_once` was paid for this question, so that asking it again costs nothing.

        Examples
        --------
        >>> Ledger(epsilon=1).has_paid("how many?")
        False
        """
        with self._current():
            return question in self._answers or (self._protects is None and self._is_paid(question))

    def _is_paid(self, question: str) -> bool:
        """Whether its charge, of this period, still waits for an answer."""
        day = self._asked.get(question)
        return day is not None and self._policy.period(day) == self._period

    def _keep_answer(self, protects: Protection, question: str, answer: str) -> None:
        if self._journal is not None:
            told = {"question": question, "answer": answer, "day": today()}
            self._journal.append(self._facts(protects) | told)
            self._catch_up(self._journal)
        self._protects = protects
        self._answers[question] = answer

    def check(self, protects: Protection) -> None:
        """Refuse, as `charge` would, a unit or a bound that is not this ledger's, and what comes
        after its last day; change nothing.
        """
        super().check(protects)
        self._refuse_expired()

    @contextmanager
    def _current(self) -> Iterator[None]:
        """Hold all locks, with what other writers of the journal added taken in."""
        with self._lock:
            if self._journal is None:
                self._refuse_after_fork()
                self._turn(self._day())
                yield
            else:
                with self._journal.locked():
                    self._catch_up(self._journal)
                    self._turn(self._day())
                    yield

    def _day(self) -> str:
        """Today, and never before the last charge: a clock that is set back opens no old period."""
        return max(today(), self._entries[-1].day if self._entries else "")

    def _is_over(self) -> bool:
        """Whether the period of what was last counted is over."""
        return self._policy.period(self._day()) > self._period

    def _turn(self, day: str) -> None:
        """Begin the budget anew with a new period."""
        period = self._policy.period(day)
        if period > self._period:
            self._period = period
            self._spent = Fraction(0)
            self._spent_delta = Fraction(0)

    def _refuse_expired(self) -> None:
        if self._policy.expired(self._day()):
            raise InputError(
                f"this ledger expired after {self._policy.expires}: it pays for nothing any more"
            )

    def _require(self, cost: Cost) -> None:
        self._refuse_expired()
        super()._require(cost)

    def _enter(
        self,
        cost: Cost,
        purpose: str,
        protects: Protection | None,
        more: Line | None = None,
    ) -> None:
        named, who = self._noted()
        note = ": ".join(part for part in (named, purpose) if part)
        line = {"epsilon": str(cost.epsilon), "delta": str(cost.delta), "purpose": note}
        line |= {name: text for name, text in (("named", named), ("who", who)) if text}
        line |= self._facts(protects) | {"day": self._day()} | (more or {})
        if self._journal is None:
            self._note(line)
        else:
            self._journal.append(line)
            self._catch_up(self._journal)

    def _note_binding(self, protects: Protection) -> None:
        if self._journal is not None:
            self._journal.append(self._facts(protects) | {"day": today()})

    def _facts(self, protects: Protection | None = None) -> dict[str, str]:
        """What a line states of the data and of who is protected, as far as it is known."""
        known = self._protects or protects
        name = {} if self._dataset is None else {"dataset": self._dataset}
        return name | ({} if known is None else known.facts())

    def _catch_up(self, journal: Journal) -> None:
        for line in [journal.header, *journal.lines][self._read :]:
            self._hold_to(line, journal)
            if self._read and "epsilon" in line:
                self._note(line)
            elif self._read and "answer" in line:
                self._answers[line["question"]] = line["answer"]
            self._read += 1

    def _hold_to(self, line: Line, journal: Journal) -> None:
        """Take over what a line states, unless this ledger was opened for something else."""
        name = line.get("dataset")
        protects = Protection.stated(line)
        if not self._read:
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

    def _note(self, line: Line) -> None:
        charge = Charge.stated(line)
        if "question" in line:
            self._asked[line["question"]] = charge.day
        self._entries.append(charge)
        self._turn(charge.day)
        self._take(Cost(charge.epsilon, charge.delta))
