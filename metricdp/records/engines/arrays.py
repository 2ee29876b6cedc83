"""Points in a file of NumPy, mapped to memory block by block."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from metricdp.errors import GraphFileError, InputError
from metricdp.records.engines.frames import Frame
from metricdp.records.engines.local import LocalFrame
from metricdp.records.engines.registry import Engine
from metricdp.records.ingestion.encoders import VALUES


class ArrayFile(LocalFrame):
    """Points in a file, mapped to memory block by block, so that what was read can leave memory
    again.

    `native`: shape (n, d), in the order of C.
    """

    @property
    def columns(self) -> Sequence[Any]:
        """Numbers of the coordinates."""
        return range(self.native.shape[1])

    def check(self, names: Sequence[Any]) -> None:
        """Raise InputError unless the columns are all coordinates in order."""
        if list(names) != list(self.columns):
            raise InputError(
                "an array has no columns for node, x, y, columns or user: it is read as points, "
                "all coordinates in order"
            )

    def batches(self, names: Sequence[str]) -> Generator[Any, None, None]:
        """Arrays."""
        n, d = self.native.shape
        step = max(1, VALUES // d)
        for start in range(0, n, step):
            at = self.native.offset + start * d * self.native.itemsize
            shape = (min(step, n - start), d)
            part = np.memmap(
                self.native.filename, dtype=self.native.dtype, mode="r", offset=at, shape=shape
            )
            yield np.array(part, dtype=np.float64)


class Arrays(Engine):
    """Arrays of NumPy that lie in a file."""

    def takes(self, table: Any) -> bool:
        """Whether it is mapped from a file."""
        return isinstance(table, np.memmap)

    def table(self, table: Any) -> Frame:
        """A frame of it."""
        if table.ndim != 2 or not table.flags.c_contiguous or table.dtype.kind not in "iuf":
            raise InputError("numpy.memmap must hold numbers of shape (n, d), in C order")
        return ArrayFile(table)


def array_in(path: str) -> ArrayFile:
    """A frame of an ``.npy`` file, left on disk."""
    array = None
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise GraphFileError(path, "no such file") from None
    except (OSError, ValueError):
        array = None
    if (
        not isinstance(array, np.memmap)
        or array.ndim != 2
        or not array.flags.c_contiguous
        or array.dtype.kind not in "iuf"
    ):
        raise InputError(f"{path}: not an .npy file of numbers of shape (n, d), in C order")
    return ArrayFile(array)


ENGINE = Arrays()
