"""The script that makes a release: it must notice what it is for."""

from __future__ import annotations

import configparser
import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
GOOD = "# Changes\n\n## [Unreleased]\n\n## [1.2.0] - 2026-12-01\n\n### Added\n\n- A thing.\n"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("release", ROOT / "tools" / "release.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_good_changelog_passes(script):
    assert script.changelog_problems(GOOD, "1.2.0") == []


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("1.2.0", "1.1.0", "has no section"),
        (" - 2026-12-01", "", "has no section"),
        ("- A thing.", "", "is empty"),
        ("## [Unreleased]\n", "", "must begin"),
        ("## [Unreleased]\n", "## [Unreleased]\n\n- Forgotten.\n", "under [Unreleased]"),
    ],
)
def test_a_spoiled_changelog_is_noticed(script, old, new, told):
    assert told in " ".join(script.changelog_problems(GOOD.replace(old, new), "1.2.0"))


def test_versions_come_from_one_place(script):
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", "utf-8")
    assert script.version() == setup["metadata"]["version"]
    supported = re.findall(r"Python :: (3\.\d+)$", setup["metadata"]["classifiers"], re.M)
    assert list(script.PYTHONS) == supported


def test_only_the_interpreter_that_was_asked_for(script):
    number = ".".join(map(str, sys.version_info[:2]))
    assert script.answers(sys.executable, number)
    assert not script.answers(sys.executable, "3.99")


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
        told = [int(part) for part in least.split(".")]
        assert same[: len(told)] == told and not any(same[len(told) :]), name
