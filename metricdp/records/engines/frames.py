"""The interface of engines: list columns, add up vectors of blocks, bound contributions. What a
worker computes from a block of private rows, and tables that this process reads block by block.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass, field
from os import cpu_count
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import Ints, shown
from metricdp.errors import InputError
from metricdp.kernels.mixing import sum_of_hashes
from metricdp.protocols import Space, finite, space_of
from metricdp.records.engines.bounding import UserRule, whole_users
from metricdp.records.engines.sources import (
    Answer,
    Coins,
    Gathered,
    Groups,
    Source,
    Tallied,
    Tally,
    WeightAt,
    Weighted,
    grouped_parts,
)
from metricdp.records.engines.spilling import connected, duckdb_module
from metricdp.records.exact import Sums, Total, exactly, to_array
from metricdp.records.ingestion.encoders import (
    USER,
    VALUES,
    Reading,
    RowEncoder,
    columns_of,
    ids_encoder,
    n_rows,
)
from metricdp.records.ingestion.geometry import AXES
from metricdp.records.ingestion.lines import Layout
from metricdp.records.ingestion.matching import Matcher
from metricdp.records.trouble import Change, Ended, Trouble, attempt, raised

Sum = Any
"""A sum over blocks: `Total` for `Work`, an array for `GroupWork`, `Trouble` if any failed."""


@dataclass(frozen=True)
class Work:
    """Encodes a block and answers about its records. The answer is sealed: the number of rows and
    their digest are appended. Only the kind of an error is returned, as engines log exceptions.
    """

    encode: RowEncoder
    answer: Answer

    @property
    def names(self) -> Sequence[str]:
        """The columns that are read."""
        return self.encode.names

    def start(self) -> Sum:
        """The sum over no rows."""
        return self._of(np.empty((0, len(self.encode.columns))))

    def __call__(self, block: Any) -> Sum:
        """The sealed answer of a block."""
        done = attempt(lambda: self._of(block))
        return done.trouble if isinstance(done, Ended) else done

    def _of(self, block: Any) -> Sum:
        rows = columns_of(block, self.names)
        first = self.encode.first(rows)
        return self._sealed(self.answer(self.encode.stepped(first)), n_rows(rows), digest(first))

    def _sealed(self, answer: Any, n_rows: int, digest: int) -> Sum:
        vector = exactly(answer)
        if isinstance(vector, Sums):
            return vector.joined(Sums(np.array([n_rows, digest])))
        # sums of floating-point numbers depend on their order: rows alone are counted exactly
        return np.append(vector, [n_rows, 0.0])

    def added(self, some: Sum, more: Sum) -> Sum:
        """The sum of two parts; if either failed, the worse kind of error."""
        trouble = [part for part in (some, more) if isinstance(part, Trouble)]
        return max(trouble) if trouble else self._joined(some, more)

    def _joined(self, some: Sum, more: Sum) -> Sum:
        return some + more


class GroupWork(Work):
    """`Work` for counts by key, as `Grouped` returns them: (n_keys + 1, 2), the seal in the first
    row. Digests wrap around: they are compared modulo 2^64.
    """

    def _sealed(self, answer: Any, n_rows: int, digest: int) -> Sum:
        return np.concatenate([np.array([[n_rows, digest]], np.int64), answer])

    def _joined(self, some: Sum, more: Sum) -> Sum:
        keys, counts = grouped_parts([some[1:], more[1:]])
        groups = np.stack([keys.view(np.int64), counts], axis=1)
        return np.concatenate([some[:1] + more[:1], groups])


def digest(records: NDArray[Any]) -> int:
    """The sum of a hash of each record, which does not depend on their order."""
    words = np.ascontiguousarray(records)
    words = words.view(np.uint64) if words.dtype.itemsize == 8 else words.astype(np.uint64)
    return int(sum_of_hashes(words[:, None] if words.ndim == 1 else words))


def checked(total: Sum) -> Any:
    """The total; raises if a block failed."""
    if isinstance(total, Trouble):
        raised(total)
    return total


class Frame(ABC):
    """A table of private rows of one of some `libraries`. A subclass listed in `opening.ENGINES` is
    an engine; `metricdp.testing.engines` has its tests.

    `native`: the library's own object; `columns`: names, or numbers of an array's coordinates (a
    file's names may be a row of data, so messages do not show them); `path`: the file; `refused`:
    why columns of certain declared types are not read, as two users could become one; `form`: the
    layout of the lines, if each row is a line of a text file.
    """

    libraries: ClassVar[tuple[str, ...]] = ()
    geometry: bool = False
    """Whether rows have a geometry, with coordinates in the columns `AXES`."""
    crs: str | None = None
    """The coordinate reference system that the table declares for it."""

    def __init__(
        self,
        native: Any,
        columns: Sequence[Any] | None = None,
        path: str | None = None,
        refused: Mapping[str, str] | None = None,
        form: Layout | None = None,
    ) -> None:
        self.native, self.path, self.refused, self.form = native, path, refused or {}, form
        if columns is None:
            columns = list(native.columns) if form is None else form.columns
        self.columns = columns

    @classmethod
    def takes(cls, table: Any) -> bool:
        """Whether this class reads the table; answers without importing any library."""
        return type(table).__module__.partition(".")[0] in cls.libraries

    @classmethod
    def of(cls, table: Any) -> Frame:
        """A frame of a table that it takes."""
        return cls(table)

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
                    f"columns, spelled as in --demand-column (column=), or --x and --y (x=, y=), "
                    f"for places, and --user (user=) for users"
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


class LocalFrame(Frame):
    """A table that this process reads, block by block.

    `at_once`: whether all records are read once, when the demand is made, and kept: for tables that
    are small or already in memory.
    """

    at_once: bool = False

    @abstractmethod
    def batches(self, names: Sequence[str]) -> Generator[Any, None, None]:
        """Blocks of some columns."""

    def check_users(self) -> None:
        """Rows that are not read at once are sorted by DuckDB."""
        if not self.at_once:
            duckdb_module()

    def records(
        self, universe: Space, encode: RowEncoder, user: str | None, rule: UserRule | None = None
    ) -> Source | NDArray[Any]:
        """As `Frame.records`; if the table is read at once, all records that the rule keeps."""
        if not self.at_once:
            return super().records(universe, encode, user, rule)
        reading = None if user is None else Reading(encode, user)
        parts, users = [encode.empty()], list[str]()
        names = encode.names if reading is None else reading.columns
        with closing(self.batches(names)) as batches:
            for batch in batches:
                if reading is None:
                    parts.append(encode(batch))
                else:
                    records, whose = reading(batch)
                    parts.append(records)
                    users += whose
        records = np.concatenate(parts)
        if rule is not None:
            records = rule.kept(users, records)
            if rule.weighted:
                return weighted(records)
            records = encode.stepped(records)
        return Tally(*np.unique(records, return_counts=True)) if records.ndim == 1 else records

    def add(self, work: Work) -> Sum:
        """Blocks are encoded and answered by a few threads."""
        n_threads = min(4, cpu_count() or 1)
        total = work.start()
        with ThreadPoolExecutor(n_threads) as pool:
            working: set[Future[Any]] = set()
            with closing(self.batches(work.names)) as batches:
                for batch in batches:
                    working.add(pool.submit(work, batch))
                    if len(working) > n_threads:
                        done, working = wait(working, return_when=FIRST_COMPLETED)
                        for future in done:
                            total = work.added(total, future.result())
            for future in working:
                total = work.added(total, future.result())
        return total

    def by_user(self, reading: Reading, rule: UserRule) -> Frame:
        """DuckDB sorts the rows by user, and spills to disk what does not fit into memory."""
        return ByUser(self, reading, rule)

    def subsampled(self, encode: RowEncoder, share: float, seal: Seal) -> NDArray[Any]:
        """A Poisson subsample, an array, drawn once."""
        coins = Coins(share)
        kept = [encode.empty()]
        n, sums = 0, 0
        for batch in self.batches(encode.names):
            rows = columns_of(batch, encode.names)
            first = encode.first(rows)
            n, sums = n + n_rows(rows), sums + digest(first)
            kept.append(coins(encode.stepped(first)))
        seal.compare(Seal(n, sums))
        return np.concatenate(kept)


def weighted(rows: NDArray[Any]) -> Source:
    """A source of records (n, d + 1), weights last: positions if they are integers, else points."""
    return Tally(rows[:, 0], rows[:, 1]) if rows.dtype.kind == "i" else Weighted(rows)


class ByUser(LocalFrame):
    """The rows that a rule keeps of each user; DuckDB sees only records and texts of users."""

    def __init__(self, frame: LocalFrame, reading: Reading, rule: UserRule) -> None:
        super().__init__(frame, reading.encoder(rule.weighted).names)
        self._reading, self._rule = reading, rule

    def batches(self, names: Sequence[str]) -> Generator[Any, None, None]:
        """Columns of kept rows, from blocks that have all rows of their users."""
        with connected() as connection:
            schema = arrow_schema(self._reading)
            connection.from_arrow(schema.empty_table()).create("_rows")
            with closing(self.native.batches(self._reading.columns)) as blocks:
                for block in blocks:
                    read = arrow_table(self._reading.rows(block), schema)
                    connection.from_arrow(read).insert_into("_rows")
            ordered = connection.sql(f"FROM _rows ORDER BY {USER}").to_arrow_reader(VALUES)
            for block in whole_users(ordered):
                yield self._rule.rows(block, self._reading)


def arrow_schema(reading: Reading, weighted: bool = False) -> Any:
    """The Arrow schema of rows that were read, with weights if `weighted`."""
    import pyarrow as pa

    kind = pa.from_numpy_dtype(reading.kind)
    numbers = [(name, kind) for name in reading.encoder(weighted).columns]
    return pa.schema([*numbers, (USER, pa.string())])


def arrow_table(columns: dict[str, Any], schema: Any) -> Any:
    """Columns as an Arrow table."""
    import pyarrow as pa

    return pa.Table.from_pydict(columns, schema=schema)
