"""The page of what must be read names every file in the perimeter, with the right counts."""

import re
from pathlib import Path

import pytest

from tools import perimeter

PAGE = Path(__file__).parents[1] / "docs" / "what-to-read.md"
WRITE = "python tools/perimeter.py docs/what-to-read.md writes it anew"


@pytest.fixture(scope="module")
def parts():
    return perimeter.perimeter()


@pytest.fixture(scope="module")
def inside(parts):
    return [file for files in parts.values() for file in files]


def number(text):
    return int(text.replace(",", ""))


def listed(page):
    """The files that the page names."""
    text = page.partition(perimeter.BEGIN)[2].partition(perimeter.END)[0]
    found = []
    for folder, names in re.findall(r"^- `(.+?)/`: ((?:.|\n {2})+)", text, re.MULTILINE):
        if whole := re.fullmatch(r"all (\d+) files", names):
            inside = [
                p.relative_to(perimeter.ROOT) for p in (perimeter.ROOT / folder).rglob("*.py")
            ]
            assert len(inside) == int(whole[1]), WRITE
            found += [path.as_posix() for path in inside]
        else:
            found += [
                (Path(folder) / f"{name}.py").as_posix() for name in re.findall("`(.+?)`", names)
            ]
    return found


def test_the_page_names_every_file_once_with_the_lines_of_each_part(parts, inside):
    """Counts may be off by a tenth: what hardly changes how long reading takes."""
    page = PAGE.read_text("utf-8")
    assert len(inside) == len(set(inside)) and sorted(listed(page)) == sorted(inside), WRITE
    heads = re.findall(r"^## (.+): ([\d,]+) lines$", page, re.MULTILINE)
    assert [head.lower() for head, _ in heads] == [part.lower() for part in parts]
    counts = [number(count) for _, count in heads]
    lines = [sum(map(perimeter.lines_of, files)) for files in parts.values()]
    assert not [n for n, count in zip(lines, counts, strict=True) if abs(n - count) > n / 10], WRITE
    reported = re.search(r"^In all ([\d,]+) lines", page, re.MULTILINE)[1]
    assert number(reported) == sum(counts)


@pytest.mark.parametrize("folder", ["privacy", "records", "accounting"])
def test_whole_folders_are_inside(folder, inside):
    root = perimeter.ROOT
    assert {p.relative_to(root).as_posix() for p in (root / folder).rglob("*.py")} <= set(inside)


def test_whoever_encodes_is_inside(inside):
    """Found by text, not by syntax: other code than the page's own."""
    found = {
        p.relative_to(perimeter.ROOT).as_posix()
        for p in perimeter.ROOT.rglob("*.py")
        if "    def encode(self, records" in p.read_text("utf-8")
    }
    # finite partitions are asked for public points alone (tests/privacy/test_gate_wiring.py)
    finite = ("partitions/finite/", "running/contributions.py")
    outside = ("audit/", "report/", "bench/", "testing/", *finite)
    assert {file for file in found if not file.startswith(outside)} <= set(inside)


def test_every_trusted_class_is_below_the_core(parts):
    """What says where a record belongs stands in three rooms, and nowhere else."""
    rooms = {file.split("/")[0] for file in parts[perimeter.ENCODE]}
    assert rooms == {"metrics", "partitions", "universe"}


def test_what_the_gate_imports_is_inside(parts, inside):
    """Of the modules that the gate's imports load, those below solvers and methods."""
    for file in parts[perimeter.GATE] + parts[perimeter.RECORDS]:
        assert set(perimeter.imports(file)) <= set(inside), file


def test_the_true_time_is_said():
    page = PAGE.read_text("utf-8")
    assert "three to four hours" in page and "two days" in page
    readme = (PAGE.parents[1] / "README.md").read_text("utf-8")
    assert "hour or so" not in readme and "docs/what-to-read.md" in readme
