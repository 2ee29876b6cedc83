"""Tests of metricdp."""

import re


def named(value: object) -> str:
    """Name of a parameter in the ids of tests: the same in every process, as those that share the
    tests compare them.
    """
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))
