"""Reads one private cell: as text, for users and ids, or as a number, for coordinates."""

import re
from datetime import date, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np

from metricdp.errors import InputError

BLANKS = (
    "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005"
    "\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""Characters stripped from both ends of a text: Python's white space."""
EXACT = 2**53
"""From here on a floating-point number stands for several integers."""
LOST = "\ufffd"
"""Decoders write it for bytes that are not text; so two different texts may become one."""
_FINER = ("ns", "ps", "fs", "as")
"""Units of time of NumPy's that are finer than Python's."""
_DIGITS = 400
"""Most digits of an integer, and largest exponent of a numeral."""
_NUMERAL = re.compile(r"([+-]?)(0|[1-9][0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]{1,4}))?", re.ASCII)
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
NO_NUMBER = "a coordinate is no finite number"


def text_of(cell: Any) -> str | None:
    """The text of a cell; None if it is missing, or cannot be distinguished from others.

    ==================  ==========================================================================
    cell                text
    ==================  ==========================================================================
    text                stripped (`BLANKS`), else as it is: case, zeros in front, forms of Unicode
    integer             its digits: ``5`` is ``"5"``, the same as the text
    floating point      a whole number below 2^53: that of the integer, so ``5.0`` is ``"5"``, and
                        ``-0.0`` is ``"0"``; another number: the shortest that reads the same,
                        in digits, ``"0.00001"``; from 2^53 on: None, for it stands for several
                        integers
    Decimal             the same without a bound: ``Decimal("5.00")`` is ``"5"``
    truth value         ``"True"``, ``"False"``
    date, time, UUID    as Python writes it; None if it is beyond Python's years, or hours
    bytes               the text that they are in UTF-8; None if they are none
    None, NaN, NaT, NA  None, as for text that is blank or holds the mark of lost characters
    ==================  ==========================================================================

    The text ``"5.0"`` is not that of the number 5.0: text is never taken for a number here.
    """
    if isinstance(cell, np.datetime64):
        whole = cell.item()
        if isinstance(whole, int) and np.datetime_data(cell.dtype)[0] in _FINER:
            coarse = cell.astype("datetime64[us]")
            if coarse != cell:  # as pandas writes it, with all digits
                return str(np.datetime_as_string(cell)).replace("T", " ")
            whole = coarse.item()
        cell = None if isinstance(whole, int) else whole  # a year that Python cannot represent
    if isinstance(cell, np.generic) and not isinstance(cell, np.timedelta64):
        cell = cell.item()
    if isinstance(cell, bytes):
        try:
            cell = cell.decode()
        except UnicodeDecodeError:
            return None
    if isinstance(cell, str):
        return _plain(cell)
    if isinstance(cell, bool):
        return str(cell)
    if isinstance(cell, int):
        return int.__repr__(cell) if cell.bit_length() < 3 * _DIGITS else None
    if isinstance(cell, float):
        if not abs(cell) < EXACT:  # nor NaN
            return None
        return canonical(float.__repr__(cell))
    if isinstance(cell, Decimal):
        return canonical(str(cell)) if cell.is_finite() else None
    if isinstance(cell, date | time | UUID) and cell == cell:  # NaT differs from itself
        return str(cell)
    return None


def _plain(text: str) -> str | None:
    stripped = text.strip()
    if not stripped or not (stripped.isascii() or _encodable(stripped)) or "\0" in stripped:
        return None
    return str(stripped)


def _encodable(text: str) -> bool:
    """Whether a text has no lone surrogate and no `LOST`."""
    return LOST not in text and not any("\ud800" <= c <= "\udfff" for c in text)


def canonical(numeral: str) -> str | None:
    """The canonical spelling of a number, without exponent or superfluous zeros; else None."""
    found = _NUMERAL.fullmatch(numeral)
    if found is None:
        return None
    sign, whole, part, exponent = found.groups()
    part = part or ""
    shift = int(exponent or 0)
    if abs(shift) > _DIGITS or len(whole) + len(part) > 2 * _DIGITS:
        return None
    digits = whole + part
    point = len(whole) + shift
    if point <= 0:
        digits = "0" * (1 - point) + digits
        point = 1
    digits = digits.ljust(point, "0")
    whole = digits[:point].lstrip("0") or "0"
    part = digits[point:].rstrip("0")
    text = f"{whole}.{part}" if part else whole
    return f"-{text}" if sign == "-" and text != "0" else text


def number_of(cell: Any) -> float:
    """The number that a cell is, or that its text spells in ASCII digits."""
    if isinstance(cell, np.generic) and not isinstance(cell, np.datetime64 | np.timedelta64):
        cell = cell.item()
    if isinstance(cell, str | bytes):
        text = text_of(cell)
        cell = None if text is None or not _NUMBER.fullmatch(text) else float(text)
    number = np.nan
    if isinstance(cell, int | float | Decimal) and not isinstance(cell, bool):
        try:
            number = float(cell)
        except (OverflowError, ValueError):  # a large integer, a signaling NaN
            number = np.nan
    if not abs(number) < np.inf:
        raise InputError(NO_NUMBER)
    return number
