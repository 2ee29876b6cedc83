"""Renewal and expiry of a ledger: public facts, fixed when the ledger is made.

**Privacy.** A budget that renews guarantees its epsilon for *each period by itself*. Records that
stay for T periods have T times that (sequential composition), and an expiry bounds T. A call's
slice is void after its period; a stream is charged in each period in which it reads. The clock
never goes back: the last day that the ledger or its journal has seen counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import date
from typing import Literal, NamedTuple, get_args

from metricdp.arguments import shown
from metricdp.errors import InputError

Renewal = Literal["yearly", "quarterly", "monthly"]


class Policy(NamedTuple):
    """Renewal and expiry of a ledger; days are of UTC.

    `renews`: with every calendar year, quarter or month; `expires`: the last day, YYYY-MM-DD, on
    which it can be charged.
    """

    renews: Renewal | None = None
    expires: str | None = None

    @classmethod
    def of(cls, renews: str | None = None, expires: str | date | None = None) -> Policy:
        """The policy of two public arguments, checked."""
        if renews is not None and (not isinstance(renews, str) or renews not in get_args(Renewal)):
            choices = ", ".join(get_args(Renewal))
            raise InputError(f"renews must be one of {choices}, or None; got {shown(renews)[:80]}")
        return cls(renews, None if expires is None else _day(expires))  # type: ignore[arg-type]

    @classmethod
    def stated(cls, line: Mapping[str, str]) -> Policy:
        """From the header of a journal."""
        return cls.of(line.get("renews"), line.get("expires"))

    def facts(self) -> dict[str, str]:
        """For the header of a journal."""
        return {name: value for name, value in self._asdict().items() if value is not None}

    def period(self, day: str) -> str:
        """The period of a day, as text that sorts by time; "" for all days without renewal."""
        if self.renews is None or not day:
            return ""
        year, month = day[:4], int(day[5:7])
        if self.renews == "yearly":
            return year
        return day[:7] if self.renews == "monthly" else f"{year}-Q{(month + 2) // 3}"

    def expired(self, day: str) -> bool:
        """Whether this day is after the last one."""
        return self.expires is not None and day > self.expires

    def __str__(self) -> str:
        """The policy in words, with the guarantee under renewal."""
        terms = []
        if self.renews is not None:
            terms.append(
                f"renews {self.renews}: the budget is that of each {_NOUN[self.renews]} by itself; "
                f"what stays in the data for T of them is protected by T times as much"
            )
        if self.expires is not None:
            terms.append(f"expires after {self.expires}")
        return "; ".join(terms)


_NOUN = {"yearly": "year", "quarterly": "quarter", "monthly": "month"}


def _day(value: str | date) -> str:
    found = None
    text = value.isoformat()[:10] if isinstance(value, date) else value
    if isinstance(text, str) and len(text) == 10:
        with suppress(ValueError):
            found = date.fromisoformat(text).isoformat()
    if found is None:
        raise InputError(f"expires must be a day such as 2030-12-31, got {shown(value)[:80]}")
    return found
