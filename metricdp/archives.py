"""Safe reading of NumPy's npz files from others: only the arrays and sizes that are expected."""

import json
import math
import zipfile
import zlib
from collections.abc import Callable, Mapping
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from metricdp.errors import InputError

LONGEST_HEADER = 1 << 24
"""Most bytes of the JSON header: enough for receipts of tens of thousands of mechanisms."""
_CHUNK = 1 << 20  # bytes a read: the most memory that a false size can cost
_KINDS = "biufU"


def read_archive(
    file: IO[bytes], most: Callable[[dict[str, Any]], Mapping[str, int]]
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]] | None:
    """The header and arrays of an npz file; None if it is damaged. `most`: from the header to the
    names of arrays and the most bytes of each, which are counted while unpacking.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            present = set(archive.namelist())
            header = json.loads(str(_array(archive, "header", LONGEST_HEADER)[()]))
            if not isinstance(header, dict):
                return None
            known = [(name, n) for name, n in most(header).items() if f"{name}.npy" in present]
            return header, {name: _array(archive, name, n) for name, n in known}
    except InputError:
        raise
    except (Exception, zlib.error):  # zipfile, json and numpy raise many kinds
        return None


def _array(archive: zipfile.ZipFile, name: str, most: int) -> NDArray[Any]:
    info = archive.getinfo(f"{name}.npy")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError("packed in another way")
    with archive.open(info) as member:
        version = npy.read_magic(member)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = read(member)
        size = math.prod(shape) * dtype.itemsize
        if dtype.kind not in _KINDS or not 0 <= size <= most:
            raise ValueError("another kind of array, or too long")
        data = bytearray()
        while len(data) < size and (block := member.read(min(_CHUNK, size - len(data)))):
            data += block
        if len(data) != size or member.read(1):  # reading to the end checks the CRC, too
            raise ValueError("cut off, or longer than it says")
    flat = np.frombuffer(data, dtype, math.prod(shape)) if size else np.zeros(shape, dtype)
    return flat.reshape(shape, order="F" if fortran else "C")
