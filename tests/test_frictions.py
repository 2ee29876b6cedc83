"""What stopped people who tried metricdp, and the names of the tests that fail where it comes back.

They tried it as analysts, network scientists, operations researchers and privacy officers. Tests of
browsers need Chromium, those of QGIS `qgis_process`; without them they are skipped with a reason.
"""

import re
from pathlib import Path

from tests import beside

FRICTIONS = beside(__file__, "frictions.toml")


def test_every_friction_has_tests_that_exist():
    texts = [path.read_text("utf-8") for path in Path(__file__).parent.rglob("test_*.py")]
    there = set(re.findall(r"^def test_(\w+)\(", "\n".join(texts), re.MULTILINE))
    named = [names.split() for part in FRICTIONS.values() for names in part.values()]
    assert len(named) >= 35 and all(named)
    assert {name for names in named for name in names} <= there
