"""What an engine must do for a demand: name its columns, group and count one, add up vectors of
blocks, and bound users.
"""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from os import cpu_count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import shown
from metricdp.errors import InputError
from metricdp.metrics.base import Metric
from metricdp.metrics.space import EuclideanSpace
from metricdp.records.engines.encoders import Encoder, Guarded, added, checked
from metricdp.records.engines.sources import Answer, Coins, Groups, Source, Tallied, Tally
from metricdp.universe.tables import Table

ENGINES = ("embedded", "dask", "spark")
"""Where a path is read: on this machine, or by the default Dask client or Spark session."""


class Frame(ABC):
    """A table of private rows on an engine.

    Parameters
    ----------
    native : Any
        The engine's own object.
    path : str, optional
        The file it is read from, whose ids are typed as `metricdp.universe.tables` types them.
    text : bool
        All columns are text, as of a CSV file.
    """

    def __init__(self, native: Any, path: str | None = None, text: bool = False) -> None:
        self.native, self.path, self.text = native, path, text

    @property
    @abstractmethod
    def columns(self) -> Sequence[str]:
        """Names of the columns: of a file perhaps a row of data, so not to be shown."""

    def check(self, names: Sequence[Any]) -> None:
        """Raise InputError if a column is missing."""
        if not all(isinstance(name, str | int) for name in names):
            raise InputError("node, x, y, columns and user are names of columns")
        if missing := [name for name in names if name not in self.columns]:
            if self.path is not None:  # not told which there are: it may be a row of data
                raise InputError(
                    f"{self.path}: no column {shown(missing[0])}; the first row must name the "
                    f"columns"
                )
            raise InputError(
                f"no column {shown(missing[0])}; the columns are "
                f"{', '.join(map(str, self.columns))}"
            )

    def records(
        self,
        universe: Metric | EuclideanSpace,
        encode: Encoder | None,
        names: Sequence[str],
        user: str | None,
        m: int,
    ) -> Source:
        """The rows as records: counted in a finite universe, to be read in a box; at most m of each
        user. Private, as what it raises is.
        """
        if user is not None and self.gaps(user):
            raise InputError("a user is missing")
        bounded = self if user is None else self.bounded(names, user, m, secrets.token_hex(32))
        if encode is None:
            assert isinstance(universe, Metric)
            values, counts = bounded.tally(names[0], len(universe) + 1)
            return Tally(
                universe.positions(self._ids(universe, values)), np.asarray(counts, np.int64)
            )
        if isinstance(universe, Metric):
            held = bounded.total(encode, Tallied(np.asarray, len(universe)))
            return Tally(np.flatnonzero(held), held[held > 0])
        bounded.total(
            encode, _nothing
        )  # reads all rows once: a bad one is refused before anything is charged
        return Encoded(bounded, encode)

    def _ids(self, universe: Metric, values: list[Any]) -> list[Any]:
        if len(values) > len(universe):
            raise InputError("more ids than points")
        if any(value is None or value != value for value in values):
            raise InputError("an id is missing")
        if self.path is None:
            return values
        if all(isinstance(i, str) for i in universe.ids):
            return [str(value).strip() for value in values]
        table = Table(
            "",
            {"id": [str(v).strip() for v in values] if self.text else values},
            len(values),
            private=True,
        )
        return list(table.ids("id")) if self.text else values

    def tally(self, column: str, most: int) -> tuple[list[Any], list[int]]:
        """Distinct values of a column and how many rows hold each, `most` of them at most: one
        group-by of the engine.
        """
        import narwhals as nw

        groups = (
            nw.from_native(self.native)
            .lazy()
            .group_by(column)
            .agg(nw.len().alias("_n_rows"))
            .head(most)
            .collect()
        )
        return groups[column].to_list(), groups["_n_rows"].to_list()

    def gaps(self, column: str) -> bool:
        """Whether a column has a missing value."""
        import narwhals as nw

        frame = nw.from_native(self.native).lazy()
        floating = frame.collect_schema()[column].is_float()
        bad = (
            nw.col(column).is_null() | nw.col(column).is_nan()
            if floating
            else nw.col(column).is_null()
        )
        return bool(
            frame.filter(bad).select(nw.len().alias("_n_rows")).collect()["_n_rows"].to_list()[0]
        )

    @abstractmethod
    def bounded(self, names: Sequence[str], user: str, m: int, key: str) -> Frame:
        """At most m rows of each user, as `metricdp.records.engines.bounding` says: the same ones
        whenever it is read.
        """

    @abstractmethod
    def total(self, encode: Encoder, answer: Answer) -> NDArray[Any]:
        """The sum of `answer` over blocks of encoded rows.

        Raises
        ------
        InputError
            A row breaks a rule.
        """

    def grouped(self, encode: Encoder, key: Answer) -> Groups:
        """Encoded rows by key, as `Source.grouped`: gathered in this process."""
        return Source.grouped(Encoded(self, encode), key)

    def thinned(self, encode: Encoder, share: float) -> Source | NDArray[Any]:
        """Each encoded row with probability `share`, drawn anew in each reading."""
        return Encoded(self, encode.then(Coins(share)))


class Encoded(Source):
    """Rows of a frame, encoded whenever they are read."""

    def __init__(self, frame: Frame, encode: Encoder) -> None:
        self._frame, self._encode = frame, encode

    def total(self, answer: Answer) -> NDArray[Any]:
        """One reading of the frame."""
        return self._frame.total(self._encode, answer)

    def grouped(self, key: Answer) -> Groups:
        """One reading of the frame."""
        return self._frame.grouped(self._encode, key)

    def mapped(self, step: Answer) -> Encoded:
        """One step more whenever they are read."""
        return Encoded(self._frame, self._encode.then(step))

    def thinned(self, share: float) -> Source | NDArray[Any]:
        """On this machine, an array."""
        return self._frame.thinned(self._encode, share)


class LocalFrame(Frame):
    """A table whose blocks come to this process one after another."""

    @abstractmethod
    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Blocks of some columns."""

    def total(self, encode: Encoder, answer: Answer) -> NDArray[Any]:
        """Blocks in a few threads: of each, its encoded records and the answer are held at a
        time.
        """
        guarded, n_threads = Guarded(encode, answer), min(4, cpu_count() or 1)
        total: NDArray[Any] | None = answer(encode.empty())
        with ThreadPoolExecutor(n_threads) as pool:
            working: set[Future[Any]] = set()
            for batch in self.batches(encode.columns):
                working.add(pool.submit(guarded, batch))
                if len(working) > n_threads:
                    done, working = wait(working, return_when=FIRST_COMPLETED)
                    for future in done:
                        total = added(total, future.result())
            for future in working:
                total = added(total, future.result())
        return checked(total)

    def thinned(self, encode: Encoder, share: float) -> NDArray[Any]:
        """An array: drawn once, as large as the sample."""
        kept = encode.then(Coins(share))
        return np.concatenate([encode.empty(), *map(kept, self.batches(encode.columns))])


class InMemory(Frame):
    """Rows that are in this process already: a data frame, or a small file."""

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns."""
        return self.native.names if isinstance(self.native, Table) else self.native.columns

    def lists(self, names: Sequence[str], user: str | None, text: bool, numbers: bool) -> list[Any]:
        """The named columns, `numbers` or ids, and that of users or None. Of a file, ids are text
        if the universe's are (`text`).
        """
        if isinstance(self.native, Table):
            read = (
                self.native.numbers if numbers else self.native.strings if text else self.native.ids
            )
            return [*map(read, names), None if user is None else self.native.ids(user)]
        columns = [
            self.native[name].to_numpy() if numbers else self.native[name].to_list()
            for name in names
        ]
        return [*columns, None if user is None else self.native[user].to_list()]

    def bounded(self, names: Sequence[str], user: str, m: int, key: str) -> Frame:
        """Not here: `PrivateDemand` draws the sample of records that are in memory."""
        raise NotImplementedError

    def total(self, encode: Encoder, answer: Answer) -> NDArray[Any]:
        """Not here: they become an array."""
        raise NotImplementedError


def _nothing(block: NDArray[Any]) -> NDArray[np.int64]:
    return np.zeros(0, np.int64)


def asked(
    frame: Frame,
    universe: Metric | EuclideanSpace,
    node: str,
    x: str | None,
    y: str | None,
    columns: Sequence[str] | None,
    user: str | None,
) -> tuple[list[str], Encoder | None]:
    """The columns that make a record, all there, and how: None where it is one of ids.

    Raises
    ------
    InputError
        A column is missing, coordinates are named in part, or the universe has none, or another
        number of them.
    """
    if not isinstance(universe, Metric | EuclideanSpace):
        raise InputError(
            f"universe must be a metric or an EuclideanSpace, got {type(universe).__name__}"
        )
    names = list(columns) if columns is not None else [n for n in (x, y) if n is not None]
    if (
        columns is None
        and not names
        and isinstance(universe, EuclideanSpace)
        and not isinstance(frame.columns, range)
    ):
        raise InputError("coordinates need both x= and y=, or columns=")
    if not names and isinstance(frame.columns, range):
        names = list(frame.columns)
    frame.check([*(names or [node]), *([] if user is None else [user])])
    if not names:
        return [node], None
    place: Any
    if isinstance(universe, Metric):
        place = universe.snapper()
        dimension = place.dimension
    else:
        place, dimension = universe.clip, universe.dimension
    if len(names) != dimension:
        raise InputError(
            f"points of {universe.name} have {dimension} coordinates, {len(names)} columns are "
            f"named"
        )
    return names, Encoder(tuple(names), place)
