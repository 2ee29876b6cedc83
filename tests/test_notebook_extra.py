"""One extra brings all that the notebooks import."""

import ast
import json
import sys
from configparser import ConfigParser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


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
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg", "utf-8")
    lines = setup["options"]["install_requires"] + setup["options.extras_require"]["notebooks"]
    brought = {line.partition(">")[0].partition("[")[0] for line in lines.split()}
    notebooks = sorted((ROOT / "notebooks").glob("*.ipynb"))
    needed = set().union(*map(imported, notebooks))
    assert len(notebooks) >= 2 and {"numpy", "matplotlib"} <= needed
    assert needed <= brought
    assert {"ipykernel", "nbclient", "nbformat"} <= brought  # to run them
