"""What a release needs besides code: one version, complete package data, words for citing, and one
extra that brings all that the notebooks import.
"""

import ast
import configparser
import json
import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from importlib.metadata import version
from pathlib import Path

import pytest

import metricdp

ROOT = Path(__file__).resolve().parents[1]
SETUP = configparser.ConfigParser()
SETUP.read(ROOT / "setup.cfg", "utf-8")
VERSION = SETUP["metadata"]["version"]


def tracked(*folders):
    call = ["git", "ls-files", "-z", *folders]
    listed = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a clone: git does not list the files")
    return [path for name in listed.stdout.split("\0") if (path := ROOT / name).is_file()]


def test_the_version_is_stated_once_and_in_the_plugin():
    """QGIS reads it from a file of its own, which cannot refer to another."""
    assert metricdp.__version__ == version("metricdp") == VERSION
    code = [path for path in tracked("metricdp") if path.suffix == ".py"]
    assert code
    assert not [path.name for path in code if f'"{VERSION}"' in path.read_text("utf-8")]
    metadata = configparser.ConfigParser()
    metadata.read(ROOT / "qgis" / "metricdp_qgis" / "metadata.txt", "utf-8")
    assert metadata["general"]["version"] == VERSION


def test_every_file_of_the_package_is_packaged():
    declared = {
        package: [pattern.strip() for pattern in patterns.replace("\n", ",").split(",")]
        for package, patterns in SETUP["options.package_data"].items()
    }
    data = [path for path in tracked("metricdp") if path.suffix != ".py"]
    assert ROOT / "metricdp" / "datasets.toml" in data
    assert ROOT / "metricdp" / "py.typed" in data
    for path in data:
        package = ".".join(path.parent.relative_to(ROOT).parts)
        patterns = declared.get(package, [])
        assert any(fnmatch(path.name, p) for p in patterns), f"setup.cfg leaves out {path.name}"


def test_every_package_is_found():
    """`packages = find:` takes folders with an `__init__.py` only."""
    folders = {path.parent for path in tracked("metricdp")}
    assert len(folders) > 10
    assert not [folder for folder in folders if not (folder / "__init__.py").exists()]


def test_the_citation_is_well_formed():
    yaml = pytest.importorskip("yaml", reason="needs the extra evidence")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(citation)  # what the format asks for
    assert citation["license"] in SETUP["metadata"]["license_expression"].split(" AND ")
    assert citation["title"].startswith(SETUP["metadata"]["name"])


def test_licenses_of_all_that_is_inside_are_named():
    texts = {path.stem for path in (ROOT / "LICENSES").iterdir()} | {"Apache-2.0"}
    assert set(SETUP["metadata"]["license_expression"].split(" AND ")) == texts
    index = tomllib.loads((ROOT / "graphs" / "index.toml").read_text("utf-8"))
    reported = (ROOT / "NOTICE").read_text("utf-8")
    for name in (path.name for path in (ROOT / "graphs").glob("*.gz")):
        assert name in reported and name in str(index), name


def test_reports_have_an_address_and_a_scope():
    headings = re.findall(r"^## (.+)$", (ROOT / "SECURITY.md").read_text("utf-8"), re.MULTILINE)
    assert headings == ["How to report", "What counts", "What does not"]
    assert "](SECURITY.md)" in (ROOT / "README.md").read_text("utf-8")


def test_nothing_asks_an_index_for_the_name():
    """Until the name is there, `pip install metricdp` would fetch whatever somebody put there."""
    assert "not on the package index yet" in (ROOT / "README.md").read_text("utf-8")
    asks = re.compile(r"pip install[^\n`|&;]*['\" ]metricdp(\[|['\"`\s]|$)", re.MULTILINE)
    assert asks.search("bin/pip install -q 'metricdp[maps]'")
    assert asks.search("`pip install metricdp`")
    texts = [p for p in tracked() if p.suffix in {".md", ".py", ".ipynb", ".txt", ".html", ".js"}]
    assert not [p.name for p in texts if p != Path(__file__) and asks.search(p.read_text("utf-8"))]


def imported(path):
    """Names of the packages that a notebook imports."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    code = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
    found = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(str(node.module).partition(".")[0])
    return found - set(sys.stdlib_module_names) - {"metricdp"}


def test_the_extra_brings_what_the_notebooks_import():
    lines = SETUP["options"]["install_requires"] + SETUP["options.extras_require"]["notebooks"]
    brought = {line.partition(">")[0].partition("[")[0] for line in lines.split()}
    notebooks = sorted((ROOT / "notebooks").glob("*.ipynb"))
    needed = set().union(*map(imported, notebooks))
    assert len(notebooks) >= 2 and {"numpy", "matplotlib"} <= needed
    assert needed <= brought
    assert {"ipykernel", "nbclient", "nbformat"} <= brought  # to run them
