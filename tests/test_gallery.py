"""The scripts of the gallery: short, by themselves, with a title and a picture. That they run, and
draw, is shown by each build of the site, which runs them all.
"""

import ast
import importlib
import re
import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "gallery"
SCRIPTS = sorted(FOLDER.glob("*/*.py"))
SHIPPED = re.compile(r'sample_path\("([^"]+)"\)')


def test_there_are_scripts_in_sections():
    assert len(SCRIPTS) >= 25
    assert all((script.parent / "README.rst").is_file() for script in SCRIPTS)
    assert len({script.stem for script in SCRIPTS}) == len(SCRIPTS)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_is_short_titled_and_draws_with_public_names_and_shipped_files(script):
    text = script.read_text("utf-8")
    assert len(text.splitlines()) <= 80
    title, rule, *rest = ast.get_docstring(ast.parse(text)).splitlines()
    assert set(rule) == {"="} and len(rule) == len(title)
    assert len(" ".join(rest)) > 60, "says what it shows"
    assert "plt.show()" in text
    for name in set(re.findall(r"\bmdp\.((?:\w+\.)?\w+)", text)):
        value = importlib.import_module("metricdp")
        for part in name.split("."):
            if isinstance(value, type):
                break
            value = getattr(value, part)
    index = (FOLDER.parents[1] / "graphs" / "index.toml").read_text("utf-8")
    assert all(f'["{file}"]' in index for file in SHIPPED.findall(text))
    assert not re.search(r"https?://|/tmp|/home|seed\(", text)


def test_the_script_of_engines_runs_with_the_extra_docs_alone(monkeypatch, capsys):
    """The site is built from an environment without pyspark, or without Java."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setattr(pyplot, "show", lambda: None)
    pyplot.switch_backend("agg")
    runpy.run_path(str(FOLDER / "6_trust" / "spark.py"))
    assert capsys.readouterr().out == "counted by embedded\n"


def test_links_to_pages_lead_somewhere():
    texts = [script.read_text("utf-8") for script in SCRIPTS]
    targets = {t for text in texts for t in re.findall(r":doc:`/(docs/[\w-]+)`", text)}
    assert targets and all((FOLDER.parents[1] / f"{t}.md").is_file() for t in targets)
