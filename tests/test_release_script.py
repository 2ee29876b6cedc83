"""The script that makes a release: it must notice what it is for."""

import configparser
import gzip
import io
import re
import sys
import tarfile
import zipfile

import pytest

from tests import cases, loaded
from tests.test_release_files import ROOT, SETUP, VERSION

GOOD = "# Changes\n\n## [Unreleased]\n\n## [1.2.0] - 2026-12-01\n\n### Added\n\n- A thing.\n"


@pytest.fixture(scope="module")
def script():
    return loaded(ROOT / "tools" / "release.py")


@cases(
    ("old", "new", "reported"),
    ("1.2.0", "1.1.0", "has no section"),
    (" - 2026-12-01", "", "has no section"),
    ("- A thing.", "", "is empty"),
    ("## [Unreleased]\n", "", "must begin"),
    ("## [Unreleased]\n", "## [Unreleased]\n\n- Forgotten.\n", "under [Unreleased]"),
)
def test_a_spoiled_changelog_is_noticed_and_a_good_one_passes(script, old, new, reported):
    assert script.changelog_problems(GOOD, "1.2.0") == []
    assert reported in " ".join(script.changelog_problems(GOOD.replace(old, new), "1.2.0"))


def test_versions_come_from_one_place(script):
    assert script.version() == VERSION
    supported = re.findall(r"Python :: (3\.\d+)$", SETUP["metadata"]["classifiers"], re.M)
    assert list(script.PYTHONS) == supported


def test_only_the_interpreter_that_was_asked_for(script):
    assert script.answers(sys.executable, ".".join(map(str, sys.version_info[:2])))
    assert not script.answers(sys.executable, "3.99")


FILLED = {
    "repository": "https://code.example/metricdp",
    "tracker": "https://code.example/metricdp/issues",
    "documentation": "https://docs.example",
    "changelog": "https://code.example/metricdp/changes",
    "security": "https://code.example/metricdp/security",
    "contact": "us@example.org",
    "conduct": "conduct@example.org",
    "authors": [{"name": "A. Uthor", "affiliation": "Nowhere", "orcid": "0"}],
}


def test_no_release_with_placeholders(script):
    project = script.project
    known = project.facts()
    assert set(known) == set(FILLED)
    assert project.placeholders(FILLED) == []
    one = {**FILLED, "authors": [{**FILLED["authors"][0], "orcid": "FILL IN: it"}]}
    assert project.placeholders(one) == ["authors.orcid"]
    left = project.placeholders(known)
    reported = " ".join(project.problems())
    assert bool(left) == ("placeholders" in reported) and all(name in reported for name in left)


def test_files_repeat_what_the_project_says(script):
    """They say it already, or `check` refuses; and filled in they are what others read."""
    assert "not up to date" not in " ".join(script.project.problems())
    files = script.project.derived(FILLED)
    setup = configparser.ConfigParser()
    setup.read_string(files["setup.cfg"])
    urls = dict(line.split(" = ") for line in setup["metadata"]["project_urls"].split("\n") if line)
    assert urls["Source"] == FILLED["repository"] and urls["Tracker"] == FILLED["tracker"]
    assert setup["metadata"]["author"] == "metricdp developers"
    assert f"repository-code: {FILLED['repository']}\n" in files["CITATION.cff"]
    assert re.search(r"^date-released: \d{4}-\d\d-\d\d$", files["CITATION.cff"], re.M)
    paper = files["paper/paper.md"]
    assert "authors:\n  - name: A. Uthor\n" in paper
    assert "  - name: Nowhere\n    index: 1\n" in paper
    assert paper.split("---")[2:] == (ROOT / "paper/paper.md").read_text("utf-8").split("---")[2:]
    plugin = files["qgis/metricdp_qgis/metadata.txt"]
    assert script.qgis_package.metadata_problems(plugin) == []
    lacking = script.qgis_package.metadata_problems(plugin.replace("email=", "mail="))
    assert lacking == ["metadata.txt lacks email"]


def test_the_plugins_package_keeps_the_rules_of_its_index(script, tmp_path):
    made = [script.qgis_package.package(ROOT, tmp_path / name, (2026, 1, 2)) for name in ("a", "b")]
    assert made[0].read_bytes() == made[1].read_bytes()
    metadata = (ROOT / "qgis" / "metricdp_qgis" / "metadata.txt").read_text("utf-8")
    of_metadata = script.qgis_package.metadata_problems(metadata)
    assert script.qgis_package.problems(made[0]) == of_metadata
    with zipfile.ZipFile(made[0], "a") as archive:
        archive.writestr("metricdp_qgis/__pycache__/plugin.pyc", b"")
    assert "must not hold" in " ".join(script.qgis_package.problems(made[0]))


def packed(names, seconds):
    """An sdist as setuptools makes it: in some order, with owners and the time of day."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile("x.tar", "wb", fileobj=packed, mtime=seconds) as zipped,
        tarfile.open(fileobj=zipped, mode="w") as tar,
    ):
        for name in names:
            member = tarfile.TarInfo(name)
            member.mtime, member.uname, member.size = seconds + 0.25, f"user{seconds}", 3
            tar.addfile(member, io.BytesIO(b"abc"))
    return packed.getvalue()


def test_sdists_of_the_same_files_are_the_same(script):
    one, other = packed("ab", 100), packed("ba", 200)
    assert one != other
    assert script.settled(one, 50) == script.settled(other, 50)
    assert script.settled(one, 50) != script.settled(one, 51)
    with tarfile.open(fileobj=io.BytesIO(script.settled(one, 50))) as tar:
        expected = [("a", 50, 0, ""), ("b", 50, 0, "")]
        assert [(m.name, m.mtime, m.uid, m.uname) for m in tar] == expected
        assert tar.extractfile("a").read() == b"abc"


def test_the_recipe_asks_for_what_the_package_needs():
    setup = (ROOT / "setup.cfg").read_text("utf-8")
    needed = re.findall(r"^    (\S+)$", setup.split("install_requires =")[1].split("\n\n")[0], re.M)
    recipe = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text("utf-8")
    run = recipe.split("  run:\n")[1].split("\n\n")[0]
    assert [line.split("- ")[1].replace(" ", "") for line in run.splitlines()[1:]] == needed


def test_the_paper_cites_what_it_lists():
    paper = (ROOT / "paper" / "paper.md").read_text("utf-8")
    listed = re.findall(r"^@\w+\{(\w+),", (ROOT / "paper" / "paper.bib").read_text("utf-8"), re.M)
    assert set(re.findall(r"@([a-z]+\d{4})", paper)) == set(listed)
    for heading in ("Summary", "Statement of need", "State of the field"):
        assert f"\n# {heading}\n" in paper
    figures = re.findall(r"\]\(([\w.]+\.png)\)", paper)
    assert figures and all((ROOT / "paper" / name).is_file() for name in figures)


def test_workflows_name_the_supported_versions(script):
    yaml = pytest.importorskip("yaml")
    folder = ROOT / ".github" / "workflows"
    flows = {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in folder.glob("*.yml")}
    assert set(flows) == {"ci", "prerelease", "release"}
    tried = flows["ci"]["jobs"]["first-tier"]["strategy"]["matrix"]
    assert {each["os"].split("-")[0] for each in tried["include"]} == {"macos", "windows"}
    whole = flows["ci"]["jobs"]["everything"]["steps"]
    assert whole[-1]["run"] == "bash .ci/run"
    assert {*tried["python"], whole[1]["with"]["python-version"]} == set(script.PYTHONS)
    steps = flows["release"]["jobs"]["build"]["steps"]
    assert set(steps[1]["with"]["python-version"].split()) == set(script.PYTHONS)
    jobs = [job for flow in flows.values() for job in flow["jobs"].values()]
    uses = [step["uses"] for job in jobs for step in job["steps"] if "uses" in step]
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", use) for use in uses)
    run = [s["run"] for s in steps if "run" in s]
    steps_named = {re.search(r"release\.py (\w+)", line)[1] for line in run}
    assert steps_named == {"check", "build", "smoke", "sbom", "plugin"}
    assert flows["release"]["jobs"]["publish"]["permissions"]["id-token"] == "write"


def test_the_oldest_versions_are_the_lower_bounds():
    """What `smoke --oldest` installs is what setup.cfg admits at the least, of all requirements and
    of every extra that the list tries.
    """
    text = (ROOT / "setup.cfg").read_text("utf-8")
    pinned = dict(re.findall(r"^([\w-]+)==(\S+)$", (ROOT / "tools/oldest.txt").read_text(), re.M))
    bounds = {}
    for name, least in re.findall(r"^    ([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)", text, re.M):
        bounds.setdefault(name, set()).add(least)
    needed = text.split("install_requires =")[1].split("\n\n")[0]
    assert set(re.findall(r"^    ([\w-]+)>=", needed, re.M)) <= set(pinned)
    for name, version in pinned.items():
        least = min(bounds[name], key=lambda v: tuple(map(int, v.split("."))))
        same = [int(part) for part in version.split(".")]
        reported = [int(part) for part in least.split(".")]
        assert same[: len(reported)] == reported and not any(same[len(reported) :]), name
