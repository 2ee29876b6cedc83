"""Demand in a data frame of Spark: Arrow batches are mapped by its Python workers, and keys and
counts alone are shuffled.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.errors import InputError, MissingExtraError
from metricdp.records.engines.bounding import statement
from metricdp.records.engines.encoders import VALUES, Encoder, Guarded, added, checked
from metricdp.records.engines.frames import Frame
from metricdp.records.engines.sources import Answer, Grouped, Groups, grouped_parts

BAD = -1
"""Key of a partition in which a record broke a rule."""


class SparkFrame(Frame):
    """A data frame of Spark, computed by its session."""

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns."""
        return list(self.native.columns)

    def bounded(self, names: Sequence[str], user: str, m: int, key: str) -> SparkFrame:
        """A window over each user's rows."""
        kinds = dict(self.native.dtypes)
        floating = [name for name in (*names, user) if kinds[name] in ("float", "double")]

        def digest(columns: list[str]) -> str:
            fields = ", ".join(f"'{i}', {name}" for i, name in enumerate(columns))
            return f"sha2(concat('{key}', to_json(named_struct({fields}))), 256)"

        text = statement("{rows}", names, user, m, floating=floating, quote="`", digest=digest)
        return SparkFrame(
            self.native.sparkSession.sql(text, rows=self.native), self.path, self.text
        )

    def total(self, encode: Encoder, answer: Answer) -> NDArray[Any]:
        """Each partition gives its vector as keys and numbers; Spark groups by key and adds up; the
        sums come here.
        """
        from pyspark.sql import functions as F

        total = answer(encode.empty())
        work = in_partition(Guarded(encode, answer))
        kind = "long" if total.dtype.kind in "iub" else "double"
        chosen = self.native.select(
            *(self.native[_quoted(name)] for name in dict.fromkeys(encode.columns))
        )
        pairs = chosen.mapInArrow(work, f"at long, value {kind}")
        sums = pairs.groupBy("at").agg(F.sum("value").alias("value")).toArrow()
        places, values = sums["at"].to_numpy(), sums["value"].to_numpy()
        if (places == BAD).any():
            return checked(None)
        total[places] += values
        return total

    def grouped(self, encode: Encoder, key: Answer) -> Groups:
        """Each partition gives its keys and counts; Spark groups by key and adds up."""
        from pyspark.sql import functions as F

        work = groups_in_partition(Guarded(encode, Grouped(key)))
        chosen = self.native.select(
            *(self.native[_quoted(name)] for name in dict.fromkeys(encode.columns))
        )
        pairs = chosen.mapInArrow(work, "key long, records long, bad long")
        sums = (
            pairs.groupBy("key")
            .agg(F.sum("records").alias("records"), F.max("bad").alias("bad"))
            .toArrow()
        )
        columns = [sums[name].to_numpy() for name in ("key", "records", "bad")]
        if (columns[2] == 1).any():
            checked(None)
        return grouped_parts([np.stack(columns[:2], axis=1).astype(np.int64)])


def groups_in_partition(work: Guarded) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """What a worker does with the batches of a partition: each batch's groups, as they are found; a
    count of -1 where a row breaks a rule.
    """

    def mapped(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            part = work(pa.Table.from_batches([batch]))
            bad = part is None
            pairs = np.array([[0, -1]]) if part is None else part
            yield pa.RecordBatch.from_arrays(
                [pa.array(column, pa.int64()) for column in (pairs[:, 0], pairs[:, 1])]
                + [pa.array(np.full(len(pairs), int(bad)), pa.int64())],
                names=["key", "records", "bad"],
            )

    return mapped


def in_partition(work: Guarded) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """What a worker does with the batches of a partition: gather some into a block, add up the
    blocks' vectors.
    """

    def mapped(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        total: NDArray[Any] | None = np.zeros(1, np.int64)
        fresh, held, n_rows = True, [], 0
        for batch in _and_last(batches):
            if batch is not None:
                held.append(batch)
                n_rows += batch.num_rows
            if held and (batch is None or n_rows * len(work.encode.columns) >= VALUES):
                vector = work(pa.Table.from_batches(held))
                total, fresh, held, n_rows = vector if fresh else added(total, vector), False, [], 0
        if fresh:
            return
        places = np.array([BAD]) if total is None else np.flatnonzero(total)
        values = np.array([1]) if total is None else total[places]
        kind = pa.float64() if total is not None and total.dtype.kind == "f" else pa.int64()
        yield pa.RecordBatch.from_arrays(
            [pa.array(places, pa.int64()), pa.array(values, kind)], names=["at", "value"]
        )

    return mapped


def _and_last(batches: Iterable[Any]) -> Iterator[Any]:
    yield from batches
    yield None


def read_spark(path: str, text: bool) -> Any:
    """A data frame of CSV files, all columns as text, or of Parquet files, by the session that
    there is, else by one on this machine.

    Raises
    ------
    InputError
        There is none that can be read.
    MissingExtraError
        PySpark is not installed.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtraError("the engine spark", "spark") from None
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    frame = None
    try:
        reader = SparkSession.builder.getOrCreate().read
        if text:
            options = {
                "header": True,
                "ignoreLeadingWhiteSpace": True,
                "ignoreTrailingWhiteSpace": True,
                "mode": "FAILFAST",
            }
            frame = reader.options(**options).csv(path, sep="\t" if ".tsv" in path else ",")
        else:
            frame = reader.parquet(path)
    except Exception:  # what a reader says may quote a row
        frame = None
    if frame is None:
        raise InputError(
            f"{path}: no readable {'CSV' if text else 'Parquet'} file, or none at all; Spark "
            f"needs Java"
        )
    return frame


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
