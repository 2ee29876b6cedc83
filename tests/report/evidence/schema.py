"""The rules for a record of the public registry of deployments, written from the schema of
github.com/opendp/deployments-registry-data (September 2026). The registry's own check is the last
word.
"""

import json
import math
from pathlib import Path
from typing import Any

import pytest

RECORD = json.loads(Path(__file__).with_name("schema.json").read_text("utf-8"))
"""A whole record."""


def problems(record: Any) -> list[str]:
    """What breaks the registry's rules, each with its place; empty if nothing does."""
    jsonschema = pytest.importorskip("jsonschema")
    checker = jsonschema.FormatChecker(["date"])
    found = jsonschema.Draft202012Validator(RECORD, format_checker=checker).iter_errors(record)
    return sorted(f"{error.json_path}: {error.message}" for error in found) + _no_numbers(record)


def _no_numbers(value: Any) -> list[str]:
    """What JSON does not know, which the schema lets pass."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    own = [f"{value} is no number"] if isinstance(value, float) and not math.isfinite(value) else []
    return own + [problem for one in inner for problem in _no_numbers(one)]
