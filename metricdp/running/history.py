"""Read-only view of a ledger's journal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

from metricdp.accounting.journal import BUDGET, Journal, Line
from metricdp.accounting.ledger import Charge, Ledger
from metricdp.errors import JournalError


class _Verified(Journal):
    """A journal that is verified once and never written."""

    @contextmanager
    def locked(self) -> Iterator[None]:
        """No lock: the journal is not written."""
        yield


class History(Ledger):
    """A ledger reconstructed from its journal: every line is verified, and nothing can be charged.

    Parameters
    ----------
    path : path
        The journal.
    anchor : str, optional
        `Ledger.anchor` of an earlier state; the journal must contain that state.

    Attributes
    ----------
    anchored : bool
        Whether an anchor was given (and matched).
    torn : bool
        Whether the last line is incomplete; such a line authorized nothing.

    Raises
    ------
    JournalError, OSError
        It is not a journal, is damaged or rolled back, exceeds its budget, or mixes data sets; the
        file cannot be read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from metricdp.running.history import History
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "homes.ledger"
    >>> _ = mdp.Ledger(1, journal=path, purpose="clinics").charge("1/4")
    >>> history = History(path)
    >>> history.epsilon, history.to_dict()["left"], history.torn
    (Fraction(1, 1), '3/4', False)
    """

    def __init__(self, path: str | Path, anchor: str | None = None) -> None:
        self._read, self.anchored = _Verified(path, {}, anchor), anchor is not None
        self.torn = self._read.verify()
        try:
            stated: dict[str, Any] = {name: self._read.header[name] for name in BUDGET}
            super().__init__(**stated, journal=path)
            steps = list(self._steps_of())
        except JournalError:
            raise
        except (KeyError, ValueError, ZeroDivisionError):
            raise JournalError(f"{path} is not the journal of a ledger") from None
        if any(spent > self.epsilon or delta > self.delta for _, spent, delta in steps):
            raise JournalError(f"the journal {path} holds charges beyond its budget")

    def _opened(self, path: str | Path, header: Line, anchor: str | None) -> Journal:
        return self._read

    def _steps_of(self) -> Iterator[tuple[Charge, Fraction, Fraction]]:
        """Each charge, with the epsilon and delta spent in its period so far."""
        period, spent, delta = "", Fraction(0), Fraction(0)
        for charge in self.entries:
            if (current := self.policy.period(charge.day)) != period:
                period, spent, delta = current, Fraction(0), Fraction(0)
            spent, delta = spent + charge.epsilon, delta + charge.delta
            yield charge, spent, delta

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form, with what was left after each charge; exact numbers are strings.

        ``spent`` and ``left`` are of the period of the last charge; ``ever_spent`` is of all
        periods, if the budget renews.
        """
        entries: list[dict[str, str]] = []
        spent = delta = Fraction(0)
        for charge, spent, delta in self._steps_of():  # noqa: B007 - the last values are reported below
            facts = {
                "day": charge.day,
                "purpose": charge.purpose,
                "epsilon": _number(charge.epsilon),
                "delta": _number(charge.delta),
                "left": _number(self.epsilon - spent),
            }
            names = {name: text for name in ("who", "named") if (text := getattr(charge, name))}
            entries.append(facts | names)
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
        """Total epsilon spent on each named purpose, in order of first use."""
        sums: dict[str, Fraction] = {}
        for charge in self.entries:
            if charge.named:
                sums[charge.named] = sums.get(charge.named, Fraction(0)) + charge.epsilon
        return {name: _number(value) for name, value in sums.items()}


def _number(value: Fraction) -> str:
    """A fraction as text, or in decimals if that is long."""
    text = str(value)
    return text if len(text) <= 12 else f"{float(value):.9g}"
