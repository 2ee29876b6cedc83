"""The mutation tool's tables name tests, files and mutants that exist."""

from pathlib import Path

import pytest

from tools import mutants

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("part", mutants.SETS)
def test_sets_of_tests_exist(part):
    """A path that is missing ends a whole set without a mutant tried."""
    assert list((ROOT / "metricdp").glob(f"{part}*"))
    options = [i for i, word in enumerate(mutants.SETS[part]) if word == "-k"]
    words = [word for i, word in enumerate(mutants.SETS[part]) if not {i, i - 1} & {*options}]
    assert not [path for path in words if not (ROOT / path.split("::")[0]).exists()]


def test_what_is_explained_is_a_mutant_of_today():
    """An explanation of code that has changed explains nothing."""
    reasons = mutants.explained()
    files = {name.split("::")[0] for name in reasons}
    today = {one.name.rsplit(" #", 1)[0] for file in files for one in mutants.mutants(file)}
    assert not sorted(reasons.keys() - today)
