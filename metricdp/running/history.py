"""What the journal of a ledger says, read without changing a byte."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from metricdp.accounting.binding import Protection
from metricdp.accounting.journal import BUDGET, Journal
from metricdp.accounting.ledger import Charge
from metricdp.accounting.policy import Policy
from metricdp.errors import JournalError


@dataclass(frozen=True)
class History:
    """A ledger's journal, every line of it verified.

    Attributes
    ----------
    epsilon, delta : Fraction
        The budget.
    neighboring : str
    dataset : str or None
    protects : Protection or None
    entries : tuple of Charge
    policy : Policy
        Renewal and expiry.
    lines : int
        In the file, the header and notes among them.
    anchor : str
        Of this state.
    anchored : bool
        Whether an anchor of an earlier state was given, and held.
    torn : bool
        Whether an unfinished line follows, that authorized nothing.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from metricdp.running.history import read_history
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "homes.ledger"
    >>> _ = mdp.Ledger(1, journal=path, purpose="clinics").charge("1/4")
    >>> told = read_history(path)
    >>> told.epsilon, len(told.entries), told.torn
    (Fraction(1, 1), 1, False)
    """

    epsilon: Fraction
    delta: Fraction
    neighboring: str
    dataset: str | None
    protects: Protection | None
    entries: tuple[Charge, ...]
    policy: Policy
    lines: int
    anchor: str
    anchored: bool
    torn: bool

    def spent_of(self, day: str) -> tuple[Fraction, Fraction]:
        """Epsilon and delta spent in the period of a day."""
        period = self.policy.period(day)
        now = [c for c in self.entries if self.policy.period(c.day) == period]
        return sum((c.epsilon for c in now), Fraction(0)), sum((c.delta for c in now), Fraction(0))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form, with what was left after each charge; exact numbers are texts.

        ``spent`` and ``left`` are those of the period in which the last charge was made; if the
        budget renews, ``ever_spent`` is that of all periods.
        """
        left = self.epsilon
        told = []
        period = None
        for charge in self.entries:
            if self.policy.period(charge.day) != period:
                period = self.policy.period(charge.day)
                left = self.epsilon
            left -= charge.epsilon
            told.append(
                {
                    "day": charge.day,
                    "purpose": charge.purpose,
                    "epsilon": _number(charge.epsilon),
                    "delta": _number(charge.delta),
                    "left": _number(left),
                }
                | {name: text for name in ("who", "named") if (text := getattr(charge, name))}
            )
        spent, delta = self.spent_of(self.entries[-1].day if self.entries else "")
        ever = sum((c.epsilon for c in self.entries), Fraction(0))
        return {
            "epsilon": _number(self.epsilon),
            "delta": _number(self.delta),
            "neighboring": self.neighboring,
            "dataset": self.dataset,
            "protects": None if self.protects is None else str(self.protects),
            **self.policy._asdict(),
            "spent": _number(spent),
            "left": _number(self.epsilon - spent),
            "spent_delta": _number(delta),
            "left_delta": _number(self.delta - delta),
            "ever_spent": _number(ever),
            "purposes": self.purposes(),
            "entries": told,
            "lines": self.lines,
            "anchor": self.anchor,
            "anchored": self.anchored,
        }

    def purposes(self) -> dict[str, str]:
        """Epsilon spent in all, by named purpose, in the order in which they came."""
        sums: dict[str, Fraction] = {}
        for charge in self.entries:
            if charge.named:
                sums[charge.named] = sums.get(charge.named, Fraction(0)) + charge.epsilon
        return {name: _number(value) for name, value in sums.items()}


def read_history(path: str | Path, *, anchor: str | None = None) -> History:
    """Read and verify a journal.

    Parameters
    ----------
    path : path
    anchor : str, optional
        `Ledger.anchor` of an earlier state, which this one must go on from.

    Raises
    ------
    JournalError, OSError
        It is no journal, damaged, rolled back, holds more than its budget or mixes what it is
        about; it cannot be read.

    Examples
    --------
    >>> import os, tempfile
    >>> from metricdp.accounting import Ledger
    >>> path = os.path.join(tempfile.mkdtemp(), "study.ledger")
    >>> grant = Ledger(1, journal=path).charge("1/4", purpose="clinics")
    >>> read_history(path).to_dict()["left"]
    '3/4'
    """
    journal = Journal(path, {}, anchor)
    torn = journal.verify()
    try:
        epsilon, delta = (Fraction(journal.header[name]) for name in BUDGET[:2])
        stated = [journal.header, *journal.lines]
        protects = [p for p in map(Protection.stated, stated) if p is not None]
        names = [line["dataset"] for line in stated if "dataset" in line]
        entries = tuple(Charge.stated(line) for line in journal.lines if "epsilon" in line)
        policy = Policy.stated(journal.header)
    except (KeyError, ValueError, ZeroDivisionError):
        entries = None
    if entries is None:
        raise JournalError(f"{path} is not the journal of a ledger")
    for kind, found in (("data sets", names), ("units", protects)):
        if len(set(found)) > 1:
            raise JournalError(f"the journal {path} mixes {kind}: {found[0]} and {found[-1]}")
    history = History(
        epsilon,
        delta,
        journal.header["neighboring"],
        names[0] if names else None,
        protects[0] if protects else None,
        entries,
        policy,
        len(journal.lines) + 1,
        journal.anchor,
        anchor is not None,
        torn,
    )
    spent = [history.spent_of(c.day) for c in {policy.period(c.day): c for c in entries}.values()]
    if any(used > epsilon or lost > delta for used, lost in spent):
        raise JournalError(f"the journal {path} holds charges beyond its budget")
    return history


def _number(value: Fraction) -> str:
    """A short fraction as it is, a long one in decimals."""
    text = str(value)
    return text if len(text) <= 12 else f"{float(value):.9g}"
