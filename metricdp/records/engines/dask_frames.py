"""Demand in a data frame of Dask: blocks are mapped where they are, and vectors are added in a
tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.errors import InputError, MissingExtraError
from metricdp.records.engines.bounding import bounded
from metricdp.records.engines.encoders import VALUES, Encoder, Guarded, added, checked
from metricdp.records.engines.frames import Frame
from metricdp.records.engines.sources import Answer, Grouped, Groups, grouped_parts

FAN_IN = 8
"""Vectors that one task adds."""


class DaskFrame(Frame):
    """A data frame of Dask, computed by the default client."""

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns."""
        return list(self.native.columns)

    def bounded(self, names: Sequence[str], user: str, m: int, key: str) -> DaskFrame:
        """Rows are shuffled by user, so that a block holds all of each of its users."""
        wanted = self.native[list(dict.fromkeys([*names, user]))].shuffle(on=user)
        meta = bounded(wanted._meta, names, user, m, key)
        return DaskFrame(
            wanted.map_partitions(bounded, list(names), user, m, key, meta=meta),
            self.path,
            self.text,
        )

    def total(self, encode: Encoder, answer: Answer) -> NDArray[Any]:
        """One task a block, and one for every eight vectors, down to one vector, which alone comes
        here.
        """
        from dask import delayed

        work = delayed(Guarded(encode, answer), pure=False)
        chosen = self.native[list(dict.fromkeys(encode.columns))]
        vectors = [delayed(in_blocks, pure=False)(work, block) for block in chosen.to_delayed()]
        while len(vectors) > 1:
            vectors = [
                delayed(all_added, pure=False)(vectors[i : i + FAN_IN])
                for i in range(0, len(vectors), FAN_IN)
            ]
        total: NDArray[Any] | None = answer(encode.empty())
        for vector in vectors:
            total = added(total, unpacked(vector.compute()))
        return checked(total)

    def grouped(self, encode: Encoder, key: Answer) -> Groups:
        """One task a block, and one for every eight blocks' groups, down to one."""
        from dask import delayed

        work = delayed(Guarded(encode, Grouped(key)), pure=False)
        chosen = self.native[list(dict.fromkeys(encode.columns))]
        parts = [
            delayed(groups_in_blocks, pure=False)(work, block) for block in chosen.to_delayed()
        ]
        while len(parts) > 1:
            parts = [
                delayed(groups_together, pure=False)(parts[i : i + FAN_IN])
                for i in range(0, len(parts), FAN_IN)
            ]
        return grouped_parts([checked(part.compute()) for part in parts])


def groups_in_blocks(work: Guarded, rows: Any) -> NDArray[np.int64] | None:
    """Groups of a partition, which may be large; None if a row breaks a rule."""
    step = max(1, VALUES // max(len(work.encode.columns), 1))
    starts = range(0, max(len(rows), 1), step)
    return groups_together([work(rows.iloc[start : start + step]) for start in starts])


def groups_together(parts: list[NDArray[np.int64] | None]) -> NDArray[np.int64] | None:
    """Groups of a few; None, "bad", spreads."""
    there = [part for part in parts if part is not None]
    if len(there) < len(parts):
        return None
    keys, counts = grouped_parts(there)
    return np.stack([keys.view(np.int64), counts], axis=1)


Packed = tuple[int, NDArray[Any], NDArray[Any]] | NDArray[Any] | None


def packed(vector: NDArray[Any] | None) -> Packed:
    """A vector as its length, the places of its numbers other than 0, and these, if that is
    shorter.
    """
    if vector is None or np.count_nonzero(vector) * 2 > len(vector):
        return vector
    places = np.flatnonzero(vector)
    return len(vector), places, vector[places]


def unpacked(vector: Packed) -> NDArray[Any] | None:
    """The vector again."""
    if not isinstance(vector, tuple):
        return vector
    n, places, values = vector
    whole = np.zeros(n, values.dtype)
    whole[places] = values
    return whole


def in_blocks(work: Guarded, rows: Any) -> Packed:
    """Sum over blocks of a partition, which may be large."""
    step = max(1, VALUES // max(len(work.encode.columns), 1))
    total = work(rows.iloc[:step])
    for start in range(step, len(rows), step):
        total = added(total, work(rows.iloc[start : start + step]))
    return packed(total)


def all_added(vectors: list[Packed]) -> Packed:
    """Sum of a few vectors."""
    total = unpacked(vectors[0])
    for vector in vectors[1:]:
        total = added(total, unpacked(vector))
    return packed(total)


def read(path: str, text: bool) -> Any:
    """A data frame of CSV files, all columns as text, or of Parquet files.

    Raises
    ------
    InputError
        There is none that can be read.
    MissingExtraError
        Dask is not installed.
    """
    try:
        import dask.dataframe as dd
    except ImportError:
        raise MissingExtraError("the engine dask", "dask") from None
    import dask

    if dask.config.get("scheduler-address", None):
        from distributed import get_client

        get_client(
            dask.config.get("scheduler-address")
        )  # the default from here on; without one Dask counts in threads of this process
    frame = None
    try:
        if text:
            whole = None if path.endswith(".gz") else "default"
            frame = dd.read_csv(
                path, dtype=str, blocksize=whole, keep_default_na=False, na_values=[""]
            ).map_partitions(trimmed)
        else:
            frame = dd.read_parquet(path)
    except Exception:  # what a reader says may quote a row
        frame = None
    if frame is None:
        raise InputError(f"{path}: no readable {'CSV' if text else 'Parquet'} file, or none at all")
    return frame


def trimmed(block: Any) -> Any:
    """Text without blanks around it."""
    return block.apply(lambda column: column.str.strip())
