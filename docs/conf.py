"""The site: `make docs` builds it from the pages where they lie and from the docstrings.

The source directory is the root of the repository, so that links between README, docs, benchmarks
and graphs lead on the site where they lead in a checkout. Which page stands where is stated once,
by the tables of the four entrances: what one links to is its table of contents.
"""

from __future__ import annotations

import inspect
import os
import re
import tomllib
from importlib import import_module
from importlib.metadata import version as installed
from pathlib import Path
from types import ModuleType

from numpydoc.docscrape import NumpyDocString
from numpydoc.docscrape_sphinx import SphinxDocString
from sphinx.application import Sphinx
from sphinx.util import logging

ROOT = Path(__file__).resolve().parents[1]
ENTRANCES = ("tutorial", "how-to", "explanation", "reference")
PROOFS = "docs/proofs/README"
WORDS = tomllib.loads((ROOT / "docs" / "search" / "words.toml").read_text("utf-8"))
OWN_SECTIONS = ("Privacy", "Complexity")
MODULES = re.findall(r"^   (metricdp\S*)$", (ROOT / "docs" / "api.rst").read_text("utf-8"), re.M)

project = "metricdp"
author = "The metricdp developers"
project_copyright = author
version = release = installed("metricdp")
root_doc = "docs/index"
include_patterns = ["*.md", "docs/**", "benchmarks/*.md", "graphs/*.md", "tests/vectors/*.md"]
include_patterns += ["notebooks/*.ipynb", ".github/*.md"]
exclude_patterns = ["docs/_templates", "docs/gallery", "docs/examples/**.ipynb", ".venv", "build"]
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_nb",  # pages in Markdown, and notebooks
    "sphinx_gallery.gen_gallery",
]
# the gallery's Spark counts a few rows: compiling for them takes longer than counting
os.environ.setdefault(
    "PYSPARK_SUBMIT_ARGS",
    "--conf spark.ui.enabled=false --conf spark.sql.shuffle.partitions=1 "
    "--conf spark.sql.codegen.wholeStage=false "
    "--driver-java-options '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC' pyspark-shell",
)
templates_path = [str(ROOT / "docs" / "_templates")]  # absolute, as autosummary starts at ROOT

autosummary_imported_members = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"  # the sections Parameters have them, in words
numpydoc_show_class_members = False  # autoclass shows them
sphinx_gallery_conf = {
    "examples_dirs": "docs/gallery",
    "gallery_dirs": "docs/examples",
    "filename_pattern": r"\.py$",  # every script is run
    "backreferences_dir": "docs/examples/uses",  # of each name, the scripts that use it
    "doc_module": ("metricdp",),
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "min_reported_time": 10_000,
}
nb_execution_mode = "off"  # notebooks/run.py saves them with their outputs
myst_heading_anchors = 4  # links to headings, as code hosts make them

html_theme = "pydata_sphinx_theme"
html_title = f"metricdp {release}"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {"navbar_align": "left", "footer_end": []}
html_search_scorer = str(ROOT / "docs" / "search" / "scorer.js")  # absolute: Sphinx opens it
html_additional_pages = {"index": "redirect.html"}


def public_names(module: ModuleType) -> list[str]:
    """What a module offers: its `__all__`, or what it defines itself; no modules, which have pages
    of their own.
    """
    listed = getattr(module, "__all__", None)
    own = [n for n, v in vars(module).items() if getattr(v, "__module__", "") == module.__name__]
    names = listed if listed is not None else [n for n in own if not n.startswith("_")]
    return [n for n in names if not inspect.ismodule(getattr(module, n))]


autosummary_context = {"public": {name: public_names(import_module(name)) for name in MODULES}}


def contents(page: str, text: str) -> str:
    """The table of contents of an entrance: the pages that it links to, in its order."""
    if page == root_doc:
        linked = list(ENTRANCES)
    else:
        linked = re.findall(r"\]\(([^)#\s]+)\.(?:md|rst|ipynb)\)", text)
    if page == PROOFS:
        linked = [target for target in linked if target[0].isdigit()]
    return "\n".join(["", "```{toctree}", ":hidden:", "", *dict.fromkeys(linked), "```", ""])


def words(page: str) -> str:
    """Main entries of the index: what people look for and a page answers in other words."""
    listed = [f"! {word}" for word in WORDS.get(page, [])]
    return "\n".join(["", *(f"```{{index}} {word}\n```" for word in listed), ""])


def listings(text: str) -> str:
    """The code and the tests that a proof names in its table, as they stand in the files."""
    shown = []
    for row, title in (("code", "Code"), ("tests", "Tests")):
        line = re.search(rf"^\| {row} \| (.+) \|$", text, re.M)
        shown += [f"## {title}"] if line else []
        for name, path in re.findall(r"\[`([\w.]+)`\]\(([\w./]+\.py)\)", line[1] if line else ""):
            shown.append(f"```{{literalinclude}} {path}\n:pyobject: {name.split('.')[-1]}\n```")
    return "\n\n".join(["", *shown, ""])


def show_own_sections() -> None:
    """Lets numpydoc read and show the sections that this project has beside numpydoc's."""
    NumpyDocString.sections |= dict.fromkeys(OWN_SECTIONS, "")
    shown = SphinxDocString._str_section

    def with_own(self: SphinxDocString, name: str) -> list[str]:
        after_notes = OWN_SECTIONS if name == "Notes" else ()
        return [line for part in (name, *after_notes) for line in shown(self, part)]

    SphinxDocString._str_section = with_own


def add_contents(app: Sphinx, page: str, source: list[str]) -> None:
    """Ends an entrance with its table of contents, which code hosts would show as code. Where a
    checkout has the scripts of the gallery, the site has the pages made of them.
    """
    if page.startswith("notebooks/"):
        return  # JSON
    source[0] = source[0].replace("(gallery/README.rst)", "(examples/index.rst)")
    if page in {root_doc, PROOFS, *(f"docs/{entrance}" for entrance in ENTRANCES)}:
        source[0] += contents(page, source[0])
    elif page.startswith("docs/proofs/"):
        source[0] += listings(source[0])
    source[0] += words(page)


def without_picture(app: Sphinx, failure: Exception | None) -> None:
    """Warns of scripts of the gallery that drew nothing."""
    examples = ROOT / "docs" / "examples"
    for script in examples.glob("*/*.py"):
        picture = script.parent / "images" / f"sphx_glr_{script.stem}_001.png"
        if failure is None and not picture.exists():
            logging.getLogger(__name__).warning("%s draws no picture", script.name)


def skips(app: Sphinx, what: str, name: str, value: object, skip: bool, options: object) -> bool:
    """Leaves out what classes inherit from other libraries, whose own pages have it."""
    home = getattr(value, "__module__", None) or getattr(type(value), "__module__", "")
    return skip or (isinstance(home, str) and home.partition(".")[0] == "sklearn")


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    show_own_sections()
    app.connect("autodoc-skip-member", skips)
    app.connect("source-read", add_contents)
    app.connect("build-finished", without_picture)
