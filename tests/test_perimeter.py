"""The page of what must be read names every file in the perimeter, with the right counts."""

import re
from pathlib import Path

import pytest

import metricdp
from tools import perimeter

PAGE = Path(__file__).parents[1] / "docs" / "what-to-read.md"
FILES = perimeter.perimeter()
WRITE = "python tools/perimeter.py docs/what-to-read.md writes it anew"


def listed():
    rows = re.findall(r"^\| `(.+)` \| ([\d,]+) \|$", PAGE.read_text("utf-8"), flags=re.MULTILINE)
    return {file: int(count.replace(",", "")) for file, count in rows}


def test_the_page_names_every_file():
    assert listed().keys() == {file for files in FILES.values() for file in files}, WRITE


def test_counts_are_right_to_a_tenth():
    """A tenth, or 15 lines: what does not change how long the reading takes."""
    counts = listed()
    wrong = {
        file: (counts[file], perimeter.lines_of(file))
        for file in counts
        if abs(perimeter.lines_of(file) - counts[file]) > max(15, counts[file] / 10)
    }
    assert not wrong, WRITE
    told = int(
        re.search(r"^In all ([\d,]+) lines", PAGE.read_text("utf-8"), re.MULTILINE)[1].replace(
            ",", ""
        )
    )
    assert told == sum(counts.values())


def test_no_file_is_in_two_parts():
    every = [file for files in FILES.values() for file in files]
    assert len(every) == len(set(every))


@pytest.mark.parametrize("folder", ["privacy", "records", "accounting"])
def test_whole_folders_are_inside(folder):
    root = Path(metricdp.__file__).parent
    inside = {p.relative_to(root).as_posix() for p in (root / folder).rglob("*.py")}
    assert inside <= {file for files in FILES.values() for file in files}


def test_whoever_encodes_is_inside():
    """Found by text, not by syntax: other code than the page's own."""
    root = Path(metricdp.__file__).parent
    found = {
        p.relative_to(root).as_posix()
        for p in root.rglob("*.py")
        if "    def encode(self, records" in p.read_text("utf-8")
    }
    # finite partitions are asked for public points alone (tests/privacy/test_apart.py)
    finite = ("partitions/finite/", "running/contributions.py")
    outside = ("audit/", "report/", "bench/", "testing/", *finite)
    missing = {
        file
        for file in found
        if not file.startswith(outside) and not any(file in files for files in FILES.values())
    }
    assert not missing


def test_whoever_is_trusted_stands_below_the_core():
    """What says where a record belongs stands in three rooms, and nowhere else."""
    rooms = {file.split("/")[0] for file in FILES[perimeter.ENCODE]}
    assert rooms == {"metrics", "partitions", "universe"}


def test_what_the_gate_imports_is_inside():
    """Of the modules that the gate's imports load, those below solvers and methods."""
    inside = {file for files in FILES.values() for file in files}
    for file in FILES[perimeter.GATE] + FILES[perimeter.RECORDS]:
        for other in perimeter.imports(file):
            assert other in inside, (file, other)


def test_the_true_time_is_said():
    page = PAGE.read_text("utf-8")
    assert "three to four hours" in page
    assert "two days" in page
    readme = (PAGE.parents[1] / "README.md").read_text("utf-8")
    assert "hour or so" not in readme
    assert "docs/what-to-read.md" in readme
