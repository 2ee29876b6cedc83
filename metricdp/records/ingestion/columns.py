"""Columns of a block, from any library, as cells; whole-column shortcuts give equal values."""

from collections.abc import Hashable, Sequence
from contextlib import suppress
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import Floats
from metricdp.errors import InputError
from metricdp.records.ingestion.cells import BLANKS, NO_NUMBER, number_of, text_of

Column = Any
"""A numeric NumPy array, an Arrow string array, or a list of Python objects."""
_NOT_IN_ARROW = ("Object", "Int128", "UInt128")
"""Types of Polars without a counterpart in Arrow."""
_IN_NUMBERS = str.maketrans("", "", "0123456789+-.eE \t")


def column(block: Any, name: str) -> Column:
    """A column of a pandas, Polars or narwhals frame, an Arrow table, or a dict of lists."""
    cells = block.column(name) if hasattr(block, "num_rows") else block[name]
    return simplified(cells)


def simplified(cells: Any) -> Column:
    """Any library's column as one of the three kinds of `Column`."""
    if hasattr(cells, "to_native"):  # narwhals
        cells = cells.to_native()
    library = type(cells).__module__.partition(".")[0]
    if library == "polars" and str(cells.dtype) not in _NOT_IN_ARROW:
        cells = cells.to_arrow()
        library = "pyarrow"
    if library == "pyarrow":
        return _from_arrow(cells)
    if library == "pandas":
        return _from_pandas(cells)
    if isinstance(cells, np.ndarray) and not isinstance(cells, np.ma.MaskedArray):
        if cells.dtype.kind in "mM":  # tolist() makes integers of nanoseconds
            return [*cells]
        return cells if cells.dtype.kind in "iuf" else cells.tolist()
    return listed(cells)


def listed(values: Any) -> list[Any]:
    """A list of Python objects from any sequence, array or column of a data frame."""
    try:
        for method in ("tolist", "to_list", "to_pylist"):
            if hasattr(values, method):
                return list(getattr(values, method)())
        return list(values)
    except MemoryError:
        raise
    except Exception:  # whatever the caller's own object raises, it may quote a record
        pass
    raise InputError("records cannot be gone through")


def _from_pandas(series: Any) -> Column:
    kind = series.dtype
    if isinstance(kind, np.dtype) and kind.kind in "iuf":
        return series.to_numpy()
    if str(kind).startswith(("str", "string")) or hasattr(kind, "pyarrow_dtype"):
        try:
            import pyarrow as pa
        except ImportError:
            return series.tolist()
        with suppress(pa.ArrowException, UnicodeError):  # a lone surrogate: cell by cell
            return _from_arrow(pa.array(series))
    return series.tolist()


def _from_arrow(cells: Any) -> Column:
    import pyarrow as pa

    if isinstance(cells, pa.ChunkedArray):
        cells = cells.combine_chunks()
    if isinstance(cells, pa.ChunkedArray):  # longer than one array of Arrow can be
        return [cell for part in cells.chunks for cell in listed(_from_arrow(part))]
    if pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    kind = cells.type
    texts = (pa.string(), pa.large_string(), pa.string_view())
    if (kind in texts or pa.types.is_temporal(kind)) and not _is_sound(cells):  # cell by cell
        if len(cells) == 1:
            return [None]
        each = (_from_arrow(cells.slice(i, 1)) for i in range(len(cells)))
        return [cell for one in each for cell in listed(one)]
    if (pa.types.is_integer(kind) or pa.types.is_floating(kind)) and cells.null_count == 0:
        return cells.to_numpy(zero_copy_only=False)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return cells
    if pa.types.is_string_view(kind):
        return cells.cast(pa.large_string())
    if kind == pa.time64("ns"):
        return _times(cells)
    return _objects(cells)


def _is_sound(cells: Any) -> bool:
    """Whether all text of an Arrow array is UTF-8, all times are below 24 hours, and all dates are
    whole days, which Arrow does not check by itself: 24:00 would be midnight.
    """
    import pyarrow as pa

    with suppress(pa.ArrowException):
        cells.validate(full=True)
        return True
    return False


def _objects(cells: Any) -> list[Any]:
    """Python objects of an Arrow array; None for dates that Python cannot represent."""
    with suppress(OverflowError, ValueError):
        return list(cells.to_pylist())
    return list(map(_object, cells))


def _object(cell: Any) -> Any:
    with suppress(OverflowError, ValueError):
        return cell.as_py()
    return None


def _times(cells: Any) -> list[Any]:
    """Times of day; as text with nine digits where Python's microseconds do not suffice."""
    import pyarrow as pa

    times, counts = cells.to_pylist(), cells.cast(pa.int64()).to_pylist()
    return [
        time if n is None or n % 1000 == 0 else f"{time.replace(microsecond=0)}.{n % 10**9:09d}"
        for time, n in zip(times, counts)
    ]


def is_text(cells: Column) -> bool:
    """Whether it is an Arrow string array."""
    return not isinstance(cells, np.ndarray | list)


def trimmed(cells: Any) -> Any:
    """An Arrow string array, stripped, with null for what `text_of` takes for missing."""
    import pyarrow.compute as pc

    plain = pc.utf8_trim(cells, characters=BLANKS)
    bad = pc.or_(
        pc.equal(pc.binary_length(plain), 0), pc.match_substring_regex(plain, "\ufffd|\\x00")
    )
    return pc.if_else(bad, None, plain)


def texts(cells: Column) -> list[str | None]:
    """`text_of` of each cell."""
    if isinstance(cells, np.ndarray):
        return list(map(str if cells.dtype.kind in "iu" else text_of, cells.tolist()))
    return trimmed(cells).to_pylist() if is_text(cells) else [text_of(c) for c in cells]


def numbers(cells: Column) -> Floats:
    """`number_of` of each cell; `Encoder.place` refuses NaN and infinities."""
    if isinstance(cells, np.ndarray):
        return cells.astype(np.float64, copy=False)
    return spelled(cells.to_pylist() if is_text(cells) else cells)


def spelled(cells: Sequence[Any]) -> Floats:
    """`number_of` of each cell of a list; converted as a whole if all are plain numerals."""
    # not text, or not a number: cell by cell, with the same result
    with suppress(TypeError, ValueError):
        if not "".join(cells).translate(_IN_NUMBERS):
            return np.array(list(map(float, cells)), np.float64)
    return np.array([number_of(c) for c in cells], np.float64)


def points(values: Any, dimension: int) -> Floats:
    """Finite points (n, dimension) from an array, a frame or lists."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise InputError(NO_NUMBER)
    array = np.asarray(values) if hasattr(values, "__array__") else _nested(listed(values))
    if array.shape == (0,):
        array = np.empty((0, dimension))
    if array.ndim != 2 or array.shape[1] != dimension:
        raise InputError("points must have shape (n, d)")
    if array.dtype.kind in "iuf":
        array = array.astype(np.float64)
    else:
        array = spelled([*array.ravel()]).reshape(array.shape)
    if not np.isfinite(array).all():
        raise InputError(NO_NUMBER)
    return array


def _nested(rows: list[Any]) -> NDArray[Any]:
    """Rows of cells as an array of objects, so that NumPy casts none."""
    if not rows:
        return np.empty(0)
    lists = [r.tolist() if isinstance(r, np.ndarray) else r for r in rows]
    if not all(isinstance(r, list | tuple) and len(r) == len(lists[0]) for r in lists):
        raise InputError("points must have shape (n, d)")
    array = np.empty((len(lists), len(lists[0])), object)
    for j in range(array.shape[1]):
        array[:, j] = [r[j] for r in lists]
    return array


_TEXT_ONLY = (str, bytes, int, float, Decimal, date, time, timedelta, np.timedelta64, np.datetime64)
"""Types of cells that name a user by their text only, as in a file."""


def names_of(users: Any) -> list[Hashable]:
    """One name for each user: a cell's text, so that 5 and ``"5"`` are one, or the object."""
    cells = simplified(users)
    named: list[Any] = list(map(_name, cells)) if isinstance(cells, list) else [*texts(cells)]
    if any(name is None for name in named):
        raise InputError("a user is missing")
    return named


def _name(cell: Any) -> Hashable:
    if isinstance(cell, tuple | frozenset):  # by its parts: 1 is not True, and NaN is missing
        parts = (tuple if isinstance(cell, tuple) else frozenset)(map(_name, cell))
        return None if None in parts else (type(cell).__name__, parts)
    text = text_of(cell)
    if text is not None or isinstance(cell, _TEXT_ONLY) or cell is None:
        return text
    try:
        return (type(cell).__name__, cell) if hash(cell) is not None and cell == cell else None
    except Exception:  # it cannot be hashed or compared: whatever it says may quote a record
        return None
