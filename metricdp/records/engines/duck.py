"""DuckDB: what it reads itself, Parquet files, Arrow data sets, and relations of the caller's."""

from __future__ import annotations

import threading
from collections.abc import Generator, Sequence
from typing import Any

from metricdp.arguments import shown
from metricdp.errors import InputError
from metricdp.records.engines.absent import absent
from metricdp.records.engines.folders import (
    parquet_files,
    refuse_unread,
    shown_file,
    unread,
)
from metricdp.records.engines.frames import Frame
from metricdp.records.engines.local import LocalFrame, streamed
from metricdp.records.engines.registry import Engine
from metricdp.records.engines.spilling import connected, duckdb_module
from metricdp.records.ingestion.encoders import VALUES


class ArrowData(LocalFrame):
    """Rows of a data set of Arrow, in its own batches."""

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns."""
        return list(self.native.schema.names)

    def batches(self, names: Sequence[str]) -> Generator[Any, None, None]:
        """Record batches."""
        chosen = list(dict.fromkeys(names))
        yield from self.native.to_batches(columns=chosen, batch_size=VALUES // len(names))


class Relation(LocalFrame):
    """A relation of the caller's own connection, which reads it and may spill to disk."""

    lock = threading.RLock()
    """A connection answers one query at a time."""

    def check(self, names: Sequence[Any]) -> None:
        """As elsewhere; types that Arrow holds in part are refused: two users could become one."""
        super().check(names)
        types = dict(zip(self.native.columns, map(str, self.native.types)))
        for name in names:
            if types[name] in _CUT:
                raise InputError(
                    f"column {shown(name)} is {types[name].lower()}, of which DuckDB hands out a "
                    f"part only: cast it to text"
                )

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns."""
        return list(self.native.columns)

    def batches(self, names: Sequence[str]) -> Generator[Any, None, None]:
        """Record batches of Arrow."""
        with self.lock:
            yield from streamed(self.native, names)


_CUT = ("TIME WITH TIME ZONE", "UHUGEINT")
"""Types of which Arrow has no counterpart: a time loses its zone, a number its sign."""


class DuckDB(Engine):
    """Relations, and data sets of Arrow."""

    libraries = ("duckdb", "_duckdb")

    def takes(self, table: Any) -> bool:
        """Whether it is a relation, or an Arrow data set."""
        arrow = type(table).__module__.partition(".")[0] == "pyarrow" and hasattr(table, "scanner")
        return arrow or super().takes(table)

    def table(self, table: Any) -> Frame:
        """A frame of it."""
        if super().takes(table):
            duckdb_module()
            return Relation(table)
        return ArrowData(table)


class ParquetFiles(LocalFrame):
    """Parquet files, each with the types that it declares: reading several as one table would cast
    cells, and make one user of ``7`` and ``"007"``. `wide`, `twice`, `spans` are columns with a
    treatment of their own.
    """

    def __init__(
        self, native: list[list[str]], path: str, wide: set[str], twice: set[str], spans: set[str]
    ) -> None:
        super().__init__(native, path)
        self._wide, self._twice, self._spans = wide, twice, spans
        with connected() as connection:
            self._columns = [list(_files(connection, group).columns) for group in native]

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns of the first file."""
        return self._columns[0]

    def check(self, names: Sequence[Any]) -> None:
        """Of all files."""
        super().check(names)
        if any(name not in columns for columns in self._columns for name in names):
            raise InputError(f"{self.path}: some of the files have not all columns that are named")
        if wide := [name for name in names if name in self._wide]:
            raise InputError(
                f"{self.path}: column {shown(wide[0])} has decimals of more than {_DIGITS} digits, "
                f"which DuckDB rounds: write them as text"
            )
        if twice := [name for name in names if name in self._twice]:
            raise InputError(
                f"{self.path}: column {shown(twice[0])} is told by files and by the names of "
                f"their folders; name the files one by one, or write them anew"
            )
        refuse_unread(self.path, names, self._spans)

    def batches(self, names: Sequence[str]) -> Generator[Any, None, None]:
        """Record batches of Arrow, of one kind of file after another."""
        bad = False
        try:
            for group in self.native:
                with connected() as connection:
                    yield from streamed(_files(connection, group), names)
        except duckdb_module().InvalidInputException:
            bad = True
        if bad:
            raise InputError(f"{self.path}: text is not UTF-8, or a file is damaged")


def parquet(path: str) -> ParquetFiles:
    """A frame of Parquet files: one, a folder, a glob."""
    files = parquet_files(path)
    where = _quoted(path) if files is None else f"[{', '.join(map(_quoted, files))}]"
    error = duckdb_module().Error
    if files == []:
        raise InputError(f"{path}: {absent(path, 'Parquet')}")
    try:
        with connected() as connection:
            told = connection.sql(
                "SELECT file_name, name, type, type_length, num_children, converted_type, scale, "
                f"precision, logical_type FROM parquet_schema({where})"
            ).fetchall()
            headers = connection.sql(
                f"SELECT value FROM parquet_kv_metadata({where}) WHERE key = 'ARROW:schema'"
            ).fetchall()
        kinds: dict[str, list[Any]] = {}
        for file, *facts in told:
            kinds.setdefault(file, []).append(tuple(facts))
        groups: dict[Any, list[str]] = {}
        for file in sorted(filter(shown_file, kinds) if files is None else kinds):
            folders = tuple(part.partition("=")[0] for part in file.split("/")[:-1] if "=" in part)
            groups.setdefault((folders, tuple(kinds[file])), []).append(file)
        wide = {facts[0] for _, kind in groups for facts in kind if (facts[6] or 0) > _DIGITS}
        twice = {facts[0] for folders, kind in groups for facts in kind if facts[0] in folders}
        spans = unread(header for (header,) in headers)
        return ParquetFiles(list(groups.values()), path, wide, twice, spans)
    except error:  # what DuckDB says may quote a row
        pass
    raise InputError(f"{path}: {absent(path, 'Parquet')}")


_DIGITS = 38
"""Of decimals of DuckDB; it reads longer ones as floating-point numbers."""


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _files(connection: Any, paths: Sequence[str]) -> Any:
    """A relation of files with one schema. Folders ``column=value`` are columns of text."""
    listed = ", ".join(map(_quoted, paths))
    return connection.sql(f"FROM read_parquet([{listed}], hive_types_autocast = false)")


ENGINE = DuckDB()
