"""Where real data for tests and measurements lies, if it is at hand."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
"""Of the source tree."""
DATA = Path(os.environ.get("METRICDP_DATA", ROOT.parent / "shared" / "data"))
needs_data = pytest.mark.skipif(
    not (DATA / "pmed").is_dir(), reason="real data not found; set METRICDP_DATA to its folder"
)
