"""The interface of engines: list columns, add up vectors of blocks, bound contributions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import Ints, shown
from metricdp.errors import InputError
from metricdp.protocols import Space, finite, space_of
from metricdp.records.engines.bounding import UserRule
from metricdp.records.engines.sources import Answer, Coins, Gathered, Groups, Source, Tallied, Tally
from metricdp.records.engines.weighting import WeightAt, Weighted
from metricdp.records.engines.work import Sum, Work, checked
from metricdp.records.exact import Sums, Total, to_array
from metricdp.records.ingestion.encoders import Reading, RowEncoder, ids_encoder
from metricdp.records.ingestion.geometry import AXES
from metricdp.records.ingestion.matching import Matcher
from metricdp.records.trouble import Change


class Frame(ABC):
    """A table of private rows of one of some `libraries`. A subclass listed in `opening.ENGINES` is
    an engine; `metricdp.testing.engines` has its tests.

    `native`: the library's own object; `columns`: names, or numbers of an array's coordinates (a
    file's names may be a row of data, so messages do not show them); `path`: the file; `refused`:
    why columns of certain declared types are not read, as two users could become one.
    """

    libraries: ClassVar[tuple[str, ...]] = ()
    lines: bool = False
    """Whether each row is a line of a text file."""
    geometry: bool = False
    """Whether rows have a geometry, with coordinates in the columns `AXES`."""
    crs: str | None = None
    """The coordinate reference system that the table declares for it."""

    def __init__(
        self,
        native: Any,
        columns: Sequence[Any],
        path: str | None = None,
        refused: Mapping[str, str] | None = None,
    ) -> None:
        self.native, self.columns, self.path = native, columns, path
        self.refused = refused or {}

    @classmethod
    def takes(cls, table: Any) -> bool:
        """Whether this class reads the table; answers without importing any library."""
        return type(table).__module__.partition(".")[0] in cls.libraries

    @classmethod
    def of(cls, table: Any) -> Frame:
        """A frame of a table that it takes."""
        return cls(table, list(table.columns))

    @abstractmethod
    def add(self, work: Work) -> Sum:
        """The sum of ``work(block)`` over blocks of ``work.names`` that make up all rows."""

    @abstractmethod
    def by_user(self, reading: Reading, rule: UserRule) -> Frame:
        """The rows that a rule keeps of each user, the same ones in each reading."""

    def check(self, names: Sequence[Any]) -> None:
        """Raise InputError if a column is missing, not unique, or of a type that is not read."""
        if not all(isinstance(name, str | int) for name in names):
            raise InputError("node, x, y, columns and user are names of columns")
        known = list(self.columns)
        if missing := [name for name in names if name not in known]:
            if self.path is not None:  # existing names are not shown: they may be a row of data
                raise InputError(
                    f"{self.path}: no column {shown(missing[0])}; the first row must name the "
                    f"columns, and --demand-column (column=), or --x and --y (x=, y=), those that "
                    f"hold places"
                )
            raise InputError(
                f"no column {shown(missing[0])}; the columns are {', '.join(map(str, known))}"
            )
        if twice := [name for name in names if known.count(name) > 1]:
            raise InputError(f"two columns are named {shown(twice[0])}")
        if bad := [name for name in names if name in self.refused]:
            where = "" if self.path is None else f"{self.path}: "
            raise InputError(f"{where}column {shown(bad[0])} {self.refused[bad[0]]}")

    def check_users(self) -> None:  # noqa: B027 - most engines need nothing more
        """Raise MissingExtraError if what bounds users' records is not installed."""

    def records(
        self, universe: Space, encode: RowEncoder, user: str | None, rule: UserRule | None = None
    ) -> Source | NDArray[Any]:
        """The rows as records, bounded by the rule. They are private, and so are exceptions."""
        frame: Frame = self
        weighted = rule is not None and rule.weighted
        if user is not None and rule is not None:
            reading = Reading(encode, user)
            frame, encode = self.by_user(reading, rule), reading.encoder(weighted)
        if (n := universe.n_points) is not None:
            total, _ = frame.sums(encode, WeightAt(n) if weighted else Tallied(np.asarray, n))
            held = to_array(total)
            return Tally(np.flatnonzero(held), held[held > 0])
        # read all rows once, so that a bad one is refused before anything is charged
        source = Encoded(frame, encode, frame.sums(encode, _nothing)[1])
        return Weighted(source) if weighted else source

    def sums(self, encode: RowEncoder, answer: Answer) -> tuple[Total, Seal]:
        """The sum of `answer` over blocks of encoded rows, and the seal of this reading."""
        work = Work(encode, answer)
        total = checked(work.added(work.start(), self.add(work)))
        return total[:-2], Seal(*total[-2:].tolist())

    def groups(self, encode: RowEncoder, of: Answer) -> tuple[Groups, Seal]:
        """Counts of encoded rows by key, as `Source.groups`, and the seal of this reading."""
        seals = []

        def sums(answer: Answer) -> Total:
            total, seal = self.sums(encode, answer)
            seals.append(seal)
            return total

        return Gathered(of).all_of(sums), seals[0]

    def subsampled(self, encode: RowEncoder, share: float, seal: Seal) -> Source | NDArray[Any]:
        """Each encoded row with probability `share`, drawn anew in each reading."""
        return Encoded(self, encode.then(Coins(share)), seal)


@dataclass(frozen=True)
class Seal:
    """Number of rows of a reading and sum of their hashes, to detect changed tables. Private."""

    n_rows: float
    digest: float

    def compare(self, other: Seal, digest: bool = True) -> None:
        """Raise `Change` unless the other reading has the same seal."""
        if self.n_rows != other.n_rows or (digest and (self.digest - other.digest) % 2**64):
            raise Change


class Encoded(Source):
    """Rows of a frame, encoded in each reading.

    `seal`: of the first reading; every later one must have the same.
    """

    def __init__(self, frame: Frame, encode: RowEncoder, seal: Seal) -> None:
        self._frame = frame
        self._encode = encode
        self._seal = seal

    def sums(self, answer: Answer) -> Total:
        """One reading of the frame."""
        total, seal = self._frame.sums(self._encode, answer)
        self._seal.compare(seal, digest=isinstance(total, Sums))
        return total

    def groups(self, of: Answer) -> Groups:
        """One reading of the frame."""
        groups, seal = self._frame.groups(self._encode, of)
        self._seal.compare(seal)
        return groups

    def mapped(self, step: Answer) -> Encoded:
        """The records after one more step, applied in each reading."""
        return Encoded(self._frame, self._encode.then(step), self._seal)

    def subsampled(self, share: float) -> Source | NDArray[Any]:
        """A Poisson subsample; of a table of this machine, an array."""
        return self._frame.subsampled(self._encode, share, self._seal)


def _nothing(block: NDArray[Any]) -> Ints:
    return np.zeros(0, np.int64)


@dataclass(frozen=True)
class Wanted:
    """The columns that make up a record, by the caller's arguments; all public.

    `node`: the column of ids; `x`, `y`, or `columns`: those of coordinates; `where`: options of
    `metricdp.metrics.placing.placing`.
    """

    node: str | None = None
    x: str | None = None
    y: str | None = None
    columns: Sequence[str] | None = None
    user: str | None = None
    where: dict[str, Any] = field(default_factory=dict)

    @property
    def axes(self) -> list[Any]:
        """Columns of coordinates, if any are named."""
        return list(self.columns or [n for n in (self.x, self.y) if n is not None])

    @property
    def names(self) -> list[Any]:
        """All columns: those named, or the default one of ids."""
        return [
            *(self.axes or [NODE if self.node is None else self.node]),
            *([] if self.user is None else [self.user]),
        ]


NODE = "vertex"
"""The default name of the column of ids."""


def asked(frame: Frame, universe: Space, wanted: Wanted) -> RowEncoder:
    """The encoder of rows to records, after a check that all columns exist."""
    space_of(universe)
    names = wanted.axes
    positional = isinstance(frame.columns, range)
    geometry = frame.geometry and not names and wanted.node is None
    named = not names and not positional and not geometry
    rule = "coordinates need both x= and y=, or columns="
    ids = finite(universe, "a column of ids", rule).ids if named else ()
    if not names and positional:
        names = [*frame.columns]
    if geometry:
        names = list(AXES)
    user = [] if wanted.user is None else [wanted.user]
    frame.check([*wanted.names] if not names else [*names, *user])
    if not names:
        if any(given is not None for given in wanted.where.values()):
            raise InputError(
                "crs, max_snap and box are about coordinates, and the records are ids: name x= and "
                "y= (--x, --y), or leave these out"
            )
        return ids_encoder(wanted.names[0], ids)
    said = () if geometry or wanted.columns else names
    place = universe.placing(
        names=said,
        geometry=geometry,
        file_crs=frame.crs if geometry else None,
        what=frame.path or "the demand",
        **wanted.where,
    )
    if len(names) != place.dimension:
        raise InputError(
            f"points of {universe.name} have {place.dimension} coordinates, {len(names)} columns "
            f"are named"
        )
    encode = RowEncoder(tuple(names), place.place if place.plain else place)
    return encode.then(present) if place.limited else encode


def present(positions: Ints) -> Ints:
    """The positions of records within the snapping limit (not -1)."""
    return positions[positions >= 0]


def are_ids(encode: RowEncoder) -> bool:
    """Whether records are given by ids, not by coordinates."""
    return isinstance(encode.place, Matcher)
