"""Parquet files: one, a folder, a glob; large ones by DuckDB, a small one by PyArrow."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Generator, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from metricdp.records.engines.folders import absent, named_twice, parquet_files, shown_file
from metricdp.records.engines.local import LocalFrame, streamed
from metricdp.records.engines.spilling import connected, duckdb_module
from metricdp.records.engines.tables import TableInMemory
from metricdp.refusals import GraphFileError, InputError, MissingExtraError

UNREAD = "has durations, or times finer than this engine reads: write them as text"
"""Parquet has no durations; readers other than Arrow take them for integers."""


def unread(headers: Iterable[bytes], kinds: tuple[str, ...] = ("duration",)) -> dict[str, str]:
    """Columns of Parquet files that are of certain types by the headers that Arrow wrote."""
    import pyarrow as pa

    found: dict[str, str] = {}
    for header in headers:
        with suppress(ValueError, pa.ArrowException):
            schema = pa.ipc.read_schema(pa.py_buffer(b64decode(header)))
            some = (field.name for field in schema if str(field.type).startswith(kinds))
            found |= dict.fromkeys(some, UNREAD)
    return found


def unread_in(files: Sequence[str], kinds: tuple[str, ...] = ("duration",)) -> dict[str, str]:
    """The same of files on this machine."""
    import pyarrow.parquet as pq

    headers = []
    for file in files:
        with suppress(OSError, ValueError):
            headers.append((pq.read_metadata(file).metadata or {}).get(b"ARROW:schema", b""))
    return unread(headers, kinds)


class ParquetFiles(LocalFrame):
    """Parquet files, each with the types that it declares: reading several as one table would cast
    cells, and make one user of ``7`` and ``"007"``.

    `native`: groups of files with one schema.
    """

    def __init__(self, native: list[list[str]], path: str, refused: dict[str, str]) -> None:
        with connected() as connection:
            columns = [list(_files(connection, group).columns) for group in native]
        some = {name for each in columns for name in columns[0] if name not in each}
        super().__init__(native, columns[0], path, {**refused, **dict.fromkeys(some, _MISSING)})

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
            rows = connection.sql(
                "SELECT file_name, name, type, type_length, num_children, converted_type, scale, "
                f"precision, logical_type FROM parquet_schema({where})"
            ).fetchall()
            headers = connection.sql(
                f"SELECT value FROM parquet_kv_metadata({where}) WHERE key = 'ARROW:schema'"
            ).fetchall()
        kinds: dict[str, list[Any]] = {}
        for file, *facts in rows:
            kinds.setdefault(file, []).append(tuple(facts))
        groups: dict[Any, list[str]] = {}
        refused = unread(header for (header,) in headers)
        for file in sorted(filter(shown_file, kinds) if files is None else kinds):
            folders = tuple(part.partition("=")[0] for part in file.split("/")[:-1] if "=" in part)
            groups.setdefault((folders, tuple(kinds[file])), []).append(file)
            names = {facts[0]: facts[6] or 0 for facts in kinds[file]}
            refused |= {name: _WIDE for name, digits in names.items() if digits > _DIGITS}
            refused |= named_twice(names, folders)
        return ParquetFiles(list(groups.values()), path, refused)
    except error:  # what DuckDB says may quote a row
        pass
    raise InputError(f"{path}: {absent(path, 'Parquet')}")


_DIGITS = 38
"""Of decimals of DuckDB; it reads longer ones as floating-point numbers."""
_WIDE = f"has decimals of more than {_DIGITS} digits, which DuckDB rounds: write them as text"
_MISSING = "is not in all of the files"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _files(connection: Any, paths: Sequence[str]) -> Any:
    """A relation of files with one schema. Folders ``column=value`` are columns of text."""
    listed = ", ".join(map(_quoted, paths))
    return connection.sql(f"FROM read_parquet([{listed}], hive_types_autocast = false)")


def small_parquet(path: str) -> TableInMemory:
    """A frame of a small file, which is read at once."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtraError("reading Parquet files", "parquet") from None
    table = None
    try:
        table = pq.read_table(pa.BufferReader(Path(path).read_bytes()))
    except FileNotFoundError:
        raise GraphFileError(path, "no such file") from None
    except (pa.ArrowException, OSError, ValueError):  # what Arrow says may quote a row
        table = None
    if table is None:
        raise InputError(f"{path}: is not a readable Parquet file")
    return TableInMemory(table, path)
