"""The files that pages are made of: packaged, parsed, and true to each other."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from metricdp import report
from metricdp.report import days_page, map_page
from tests.data import ROOT
from tests.report.days.test_page import past
from tests.report.explore.test_explore import explored
from tests.report.map.test_map import RECEIPT, grid
from tests.report.streets import streets

FOLDER = Path(report.__file__).parent
FILES = sorted(path for path in FOLDER.rglob("*") if path.suffix in (".html", ".css", ".js"))


PAGES = {
    "map": lambda: map_page(grid(4), [0, 15], weights=np.ones(16), receipt=RECEIPT),
    "explore": lambda: explored(streets(12)).page(),
    "days": lambda: days_page(streets(9), past(streets(9), (0, 40), (1, 40))),
}


@pytest.fixture(scope="module", params=PAGES)
def page(request):
    return PAGES[request.param]()


def own_script(page):
    return re.findall(r"<script>(.*?)</script>", page, re.DOTALL)[-1]


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node on the path")
def test_scripts_are_parsed_by_node(page, tmp_path):
    script = tmp_path / "page.js"
    script.write_text(own_script(page), encoding="utf-8")
    done = subprocess.run(["node", "--check", str(script)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_scripts_ask_only_for_what_the_page_has(page):
    asked = set(re.findall(r'byId\("([\w-]+)"\)', own_script(page)))
    asked |= set(re.findall(r'querySelector(?:All)?\("#([\w-]+)', own_script(page)))
    assert {"stage", "map", "zoom-in", "save"} <= asked <= set(re.findall(r'\bid="([^"]+)"', page))


def test_nothing_is_loaded_from_anywhere_or_left_to_fill_in(page):
    assert not re.findall(r"@@\w+@@", re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL))
    assert not re.findall(r"https?:|//[a-z]+\.[a-z]|@import|url\(", page)
    assert set(re.findall(r'(?:src|href)="([^"]*)"', page)) == {"data:,"}
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1]
    assert "default-src 'none'" in policy
    assert not [word for word in ("connect-src", "http", "eval") if word in policy]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_files_are_packaged_and_easy_to_read(path):
    rows = (ROOT / "setup.cfg").read_text("utf-8").splitlines()
    package = ".".join(["metricdp", *path.relative_to(FOLDER.parent).parent.parts])
    patterns = next(row.split("=")[1] for row in rows if row.startswith(f"{package} ="))
    assert f"*{path.suffix}" in patterns.replace(",", " ").split()
    lines = path.read_text("utf-8").splitlines()
    assert max(map(len, lines)) <= 100 and len(lines) <= 420
    assert not any(line != line.rstrip() or "\t" in line for line in lines)


def test_styles_close_what_they_open():
    for path in FILES:
        text = re.sub(r'/\*.*?\*/|"[^"]*"', "", path.read_text("utf-8"), flags=re.DOTALL)
        if path.suffix == ".css":
            assert text.count("{") == text.count("}") > 2, path.name
            used = set(re.findall(r"var\((--\w+)", text))
            known = set(re.findall(r"(--\w+):", (FOLDER / "common.css").read_text("utf-8")))
            assert used <= known, path.name
