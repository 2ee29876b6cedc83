"""What the journal of a ledger says, read without changing a byte."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

from metricdp.accounting.journal import BUDGET, Journal, Line
from metricdp.accounting.ledger import Ledger
from metricdp.errors import JournalError


class _Verified(Journal):
    """A journal that is verified once, and never written."""

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nothing: what was read stays as it is."""
        yield


class History(Ledger):
    """A ledger as its journal tells it: every line is verified, and nothing can be paid.

    `anchored`: whether an anchor of an earlier state was given, and held; `torn`: whether an
    unfinished line follows, that authorized nothing.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from metricdp.running.history import read_history
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "homes.ledger"
    >>> _ = mdp.Ledger(1, journal=path, purpose="clinics").charge("1/4")
    >>> history = read_history(path)
    >>> history.epsilon, len(history.entries), history.torn
    (Fraction(1, 1), 1, False)
    """

    def __init__(self, path: str | Path, anchor: str | None = None) -> None:
        self._read, self.anchored = _Verified(path, {}, anchor), anchor is not None
        self.torn = self._read.verify()
        try:
            stated: dict[str, Any] = {name: self._read.header[name] for name in BUDGET}
            super().__init__(**stated, journal=path)
            periods = {self.policy.period(c.day): c.day for c in self.entries}
            spent = [self.spent_of(day) for day in periods.values()]
        except JournalError:
            raise
        except (KeyError, ValueError, ZeroDivisionError):
            raise JournalError(f"{path} is not the journal of a ledger") from None
        if any(used > self.epsilon or lost > self.delta for used, lost in spent):
            raise JournalError(f"the journal {path} holds charges beyond its budget")

    def _opened(self, path: str | Path, header: Line, anchor: str | None) -> Journal:
        return self._read

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
        entries = []
        period = None
        for charge in self.entries:
            if self.policy.period(charge.day) != period:
                period = self.policy.period(charge.day)
                left = self.epsilon
            left -= charge.epsilon
            entries.append(
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
            "ever_spent": _number(self.ever_spent),
            "purposes": self.purposes(),
            "entries": entries,
            "lines": self._tally.read,
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
    >>> budget = Ledger(1, journal=path).charge("1/4", purpose="clinics")
    >>> read_history(path).to_dict()["left"]
    '3/4'
    """
    return History(path, anchor)


def _number(value: Fraction) -> str:
    """A short fraction as it is, a long one in decimals."""
    text = str(value)
    return text if len(text) <= 12 else f"{float(value):.9g}"
