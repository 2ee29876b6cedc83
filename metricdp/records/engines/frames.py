"""What an engine must do: name columns, add up vectors of blocks, bound users."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import shown
from metricdp.arrays import Ints
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
from metricdp.refusals import InputError


class Frame(ABC):
    """A table of private rows on an engine, of some `libraries`. Such a class and its place in
    `opening.ENGINES` make an engine; `metricdp.testing.engines` has its tests.

    `native`: the engine's own object; `columns`: names, of a file perhaps a row of data, so not to
    be shown; of points in an array their numbers; `path`: the file it is read from; `refused`: why
    columns of certain declared types are not read: two users could become one.
    """

    libraries: ClassVar[tuple[str, ...]] = ()
    lines: bool = False
    """Whether each row is a line of a text file."""
    geometry: bool = False
    """Whether rows have a place of their own: in the columns `AXES`."""
    crs: str | None = None
    """The coordinate reference system that it declares for that."""

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
        """Whether it counts this table: asked without importing any library."""
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
        """What a rule keeps of each user's rows, the same whenever they are read."""

    def check(self, names: Sequence[Any]) -> None:
        """Raise InputError if a column is missing, there twice, or of a type that is not read."""
        if not all(isinstance(name, str | int) for name in names):
            raise InputError("node, x, y, columns and user are names of columns")
        known = list(self.columns)
        if missing := [name for name in names if name not in known]:
            if self.path is not None:  # which there are is not reported: it may be a row of data
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

    def records(
        self, universe: Space, encode: RowEncoder, user: str | None, rule: UserRule | None = None
    ) -> Source | NDArray[Any]:
        """The rows as records, bounded by the rule. Private, as what it raises is."""
        frame: Frame = self
        weighted = rule is not None and rule.weighted
        if user is not None and rule is not None:
            reading = Reading(encode, user)
            frame, encode = self.by_user(reading, rule), reading.encoder(weighted)
        if (n := universe.n_points) is not None:
            total, _ = frame.sums(encode, WeightAt(n) if weighted else Tallied(np.asarray, n))
            held = to_array(total)
            return Tally(np.flatnonzero(held), held[held > 0])
        # reads all rows once: a bad one is refused before anything is charged
        source = Encoded(frame, encode, frame.sums(encode, _nothing)[1])
        return Weighted(source) if weighted else source

    def sums(self, encode: RowEncoder, answer: Answer) -> tuple[Total, Seal]:
        """The sum of `answer` over blocks of encoded rows, and the seal of this reading."""
        work = Work(encode, answer)
        total = checked(work.added(work.start(), self.add(work)))
        return total[:-2], Seal(*total[-2:].tolist())

    def groups(self, encode: RowEncoder, of: Answer) -> tuple[Groups, Seal]:
        """Encoded rows by key, as `Source.groups`, and the seal of this reading."""
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
    """The seal of a reading: how many rows, and the sum of their hashes. Private."""

    n_rows: float
    digest: float

    def compare(self, other: Seal, digest: bool = True) -> None:
        """Raise `Change` unless another reading has it too."""
        if self.n_rows != other.n_rows or (digest and (self.digest - other.digest) % 2**64):
            raise Change


class Encoded(Source):
    """Rows of a frame, encoded whenever they are read.

    `seal`: of the first reading, which every other must have.
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
        """One step more whenever they are read."""
        return Encoded(self._frame, self._encode.then(step), self._seal)

    def subsampled(self, share: float) -> Source | NDArray[Any]:
        """On this machine, an array."""
        return self._frame.subsampled(self._encode, share, self._seal)


def _nothing(block: NDArray[Any]) -> Ints:
    return np.zeros(0, np.int64)


@dataclass(frozen=True)
class Wanted:
    """Which columns records are made of, and where coordinates are; all public.

    `node`, `x`, `y`: the column of ids; those of coordinates; `columns`: of coordinates, in place
    of x and y; `where`: options of `metricdp.metrics.placing.placing`.
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
        """All columns that are named, or meant by their usual name."""
        return [
            *(self.axes or [NODE if self.node is None else self.node]),
            *([] if self.user is None else [self.user]),
        ]


NODE = "vertex"
"""The usual name of the column of ids."""


def asked(frame: Frame, universe: Space, wanted: Wanted) -> RowEncoder:
    """How a record is made of columns that are all there."""
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
    """Those within the limit (not -1), each by itself."""
    return positions[positions >= 0]


def are_ids(encode: RowEncoder) -> bool:
    """Whether records are named by ids."""
    return isinstance(encode.place, Matcher)
