"""What a ledger is bound to: the unit of protection, the data set, renewal and expiry, which are
public facts, fixed when the ledger is made; and caps, which bound a user's records in a public part
and their number of parts.

**Privacy.** A budget that renews guarantees its epsilon for *each period by itself*. Records that
stay for T periods have T times that (sequential composition), and an expiry bounds T. A call's
slice is void after its period; a stream is charged in each period in which it reads. The clock
never goes back: the last day that the ledger or its journal has seen counts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal, NamedTuple, get_args

from metricdp.arguments import Ints, chosen, count, integer, shown
from metricdp.errors import InputError
from metricdp.protocols import Finite, Partition, Space, finite, sound_parts
from metricdp.releases import Unit, Weighting

_LONGEST = 200  # characters: a name, not a text


class Protection(NamedTuple):
    """The unit of protection (record or user), with its contribution bound: the most records of a
    user, or one unit of weight over all of them.

    **Privacy.** A guarantee for each record and one for each user do not compose to one statement,
    and neither do guarantees for bounds of one and of three records a user: they are about
    different neighbors. So a ledger is bound to the first that it was used for.

    Examples
    --------
    >>> print(Protection("record", 1), "|", Protection("user", 3))
    each record | each user, up to 3 records of each
    """

    unit: Unit
    max_contributions: int
    weighting: Weighting = "record"

    @classmethod
    def of(
        cls, unit: str | None, max_contributions: int | None = None, weighting: str = "record"
    ) -> Protection | None:
        """From public arguments; None if neither unit nor bound is given. Refused: a bound without
        a unit or for records; no bound for users.
        """
        if unit is None and max_contributions is None:
            return None
        if unit not in get_args(Unit):
            raise InputError(f"unit must be 'record' or 'user', got {shown(unit)}")
        if weighting == "share" and unit == "user" and max_contributions in (None, 1):
            return cls("user", 1, "share")
        if weighting != "record":
            raise InputError(
                f"weighting must be 'record' or, of users, 'share'; got {shown(weighting)}"
            )
        if unit == "record" and max_contributions not in (None, 1):
            raise InputError(f"max_contributions is 1 for records, got {shown(max_contributions)}")
        return cls("user", _records(max_contributions)) if unit == "user" else cls("record", 1)

    @classmethod
    def asked(
        cls,
        users: bool,
        max_contributions: int | None,
        weighting: Weighting,
        caps: int | None,
        limited: bool,
    ) -> Protection:
        """That of a demand. `users`: whether users are named; `caps`: most records of a user by
        caps, if these are given; `limited`: whether records may be left out.
        """
        chosen(weighting, get_args(Weighting), "weighting")
        given = {"weighting='share'": weighting == "share", "caps=": caps is not None}
        named = [way for way, is_asked in given.items() if is_asked]
        if named and limited:
            raise InputError(
                f"max_snap leaves out records, and {named[0]} is about all records of a user: give "
                f"one or the other"
            )
        ways = [*named, *([] if max_contributions is None else ["max_contributions="])]
        if ways and not users:
            raise InputError(f"{ways[0]} bounds users: say whose each record is with user=")
        if len(ways) > 1:
            raise InputError(
                "caps=, max_contributions= and weighting='share' are three ways to bound users: "
                "give one"
            )
        if weighting == "share":
            return cls("user", 1, "share")
        m = _records(1 if max_contributions is None else max_contributions)
        return cls("user" if users else "record", m if caps is None else caps)

    @classmethod
    def stated(cls, line: Mapping[str, str]) -> Protection | None:
        """From a line of a journal."""
        if "unit" not in line:
            return None
        weighting = line.get("weighting", "record")
        return cls.of(line["unit"], int(line.get("max_contributions", "1")), weighting)

    def facts(self) -> dict[str, str]:
        """For a line of a journal."""
        shares = {} if self.weighting == "record" else {"weighting": self.weighting}
        return {"unit": self.unit, "max_contributions": str(self.max_contributions), **shares}

    def __str__(self) -> str:
        if self.weighting == "share":
            return "each user, one unit of weight over all records of each"
        m = self.max_contributions
        some = f", up to {m:,} record{'s' if m > 1 else ''} of each" if self.unit == "user" else ""
        return f"each {self.unit}{some}"


def _records(bound: int | None) -> int:
    m = integer(bound)
    if m is None or not 1 <= m < 2**31:
        raise InputError(
            f"max_contributions must be an integer of at least 1 for users; got {shown(bound)}"
        )
    return m


def dataset_name(value: str | None) -> str | None:
    """The public name of a ledger's data, checked to be one line; None for no name."""
    if value is None:
        return None
    named = isinstance(value, str) and bool(value.strip()) and value.isprintable()
    if not isinstance(value, str) or not named or len(value) > _LONGEST:
        raise InputError(
            f"dataset must be a public name, 1 to {_LONGEST} printable characters; got "
            f"{shown(value)[:80]}"
        )
    return value


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


_FINITE_ONLY = (
    "caps need a finite universe: in a box records have no public parts that the default method's "
    "histograms refine; weighting='share' or max_contributions= bound users there"
)


@dataclass(frozen=True)
class UserCaps(ABC):
    """At most c records of each user in a part of a public partition, in at most p parts.

    **Privacy.** The records kept of a user are a function of that user's records and coins
    (`metricdp.records.engines.capping`). They give a vector u of non-negative integers, of which at
    most p are not 0, and none above c. So ``|u|_1 <= pc`` and ``|u|_2² <= pc²``, where the bound of
    m = pc records alone gives (pc)². The same holds for every *finer* partition, as the at most c
    records of a part have the largest sum of squares if they are together: see
    `squared_sensitivity`.

    `parts`: p, parts of each user at most; `records`: c, records of a user in a part at most.
    Public: never choose them by looking at the data.
    """

    parts: int
    records: int = 1

    def __post_init__(self) -> None:
        for name in ("parts", "records"):
            object.__setattr__(self, name, count(getattr(self, name), name))
        if self.max_contributions >= 2**31:
            raise InputError(f"caps allow too many records of a user, {shown(self.parts)} parts")

    @property
    def max_contributions(self) -> int:
        """Most records of a user, pc."""
        return self.parts * self.records

    @abstractmethod
    def areas_of(self, universe: Finite) -> tuple[Partition, Any]:
        """The caps' public partition, and the same as a cut of the hierarchy, if it is one."""

    def of(self, universe: Space) -> Capped:
        """The caps in a universe; refuses a box, and a partition of another universe."""
        points = finite(universe, "a cap of users", _FINITE_ONLY)
        partition, tree = self.areas_of(points)
        if partition.universe is not universe:
            raise InputError("areas and demand are of different universes: use one metric object")
        n_parts = partition.n_parts
        areas = points.tabulated(lambda at: sound_parts(partition.encode(at), len(at), n_parts))
        return Capped(points, areas, self.parts, self.records, tree)


@dataclass(frozen=True, eq=False)
class Capped:
    """Caps of a demand: public.

    `areas` (n_points,): part of each point; `parts`, `records`: p and c; `tree`: the areas as a cut
    of the universe's hierarchy of seed 0, if they are one.
    """

    universe: Finite
    areas: Ints
    parts: int
    records: int
    tree: Any = None

    @property
    def square(self) -> int:
        """Squared L2 norm of a user's vector in a histogram of finer parts, at most: pc²."""
        return self.parts * self.records**2
