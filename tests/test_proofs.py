"""The proof documents: every mechanism has its page, and what a page names exists."""

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest

from metricdp import privacy
from metricdp.audit import planted
from metricdp.local.randomizers import Randomizer
from metricdp.privacy import gate
from metricdp.privacy.noise import Noise
from metricdp.privacy.queries import Query
from metricdp.privacy.scores import SelectionQuery

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "proofs"
PAGES = sorted(FOLDER.glob("[0-9]*.md"))
LINK = re.compile(r"\[`([\w.]+)`\]\(([\w./-]+\.py)\)")
DOORS = (gate.measure, gate.contribute, gate.select, gate.cover, gate.split)
DOORS += (gate.moved, gate.mapped, gate.subsampled, gate.preaggregated)
OTHERS = (
    privacy.CoverQuery,
    privacy.Ledger,
    privacy.BudgetSlice,
    privacy.ZCDPAccountant,
    privacy.PrivateDemand,
)


def subclasses(kind):
    return {one for sub in kind.__subclasses__() for one in ({sub} | subclasses(sub))}


def row(page, name):
    found = re.search(rf"^\| {name} \| (.+) \|$", page.read_text("utf-8"), re.M)
    return LINK.findall(found[1]) if found else []


def mechanisms():
    for module in (ROOT / "metricdp" / "privacy").glob("*.py"):
        importlib.import_module(f"metricdp.privacy.{module.stem}")
    kinds = subclasses(Query) | subclasses(SelectionQuery) | subclasses(Noise)
    kinds |= {one for one in subclasses(Randomizer) if not inspect.isabstract(one)}
    kinds = {k for k in kinds if k.__module__.startswith(("metricdp.privacy", "metricdp.local"))}
    return kinds | {*DOORS, *OTHERS}


def test_pages_are_numbered_without_gaps_and_listed_in_order():
    numbers = [int(page.name[:2]) for page in PAGES]
    assert numbers == list(range(1, len(PAGES) + 1)) and len(PAGES) >= 16
    index = (FOLDER / "README.md").read_text("utf-8")
    listed = re.findall(r"^\| \[P(\d+)\]\((.+?)\) \| (.+) \|$", index, re.M)
    titles = [page.read_text("utf-8").split("\n")[0] for page in PAGES]
    reported = [(str(n), page.name, title) for n, page, title in zip(numbers, PAGES, titles)]
    assert [(n, name, f"# P{n}. {title}") for n, name, title in listed] == reported


def test_every_mechanism_has_its_page():
    named = {name for page in PAGES for name, _ in row(page, "code")}
    missing = {f"{one.__module__}.{one.__qualname__}" for one in mechanisms()} - named
    assert not missing, f"no page proves {sorted(missing)}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_has_its_parts_and_what_it_names_exists(page):
    text = page.read_text("utf-8")
    headings = re.findall(r"^## (.+)$", text, re.M)
    assert headings == ["Statement", "Pseudocode", "Proof"]
    for name, path in row(page, "code"):
        module, _, thing = name.rpartition(".")
        home = importlib.import_module(module)
        assert getattr(home, thing).__module__ == module, f"{name} only stands for another there"
        assert (page.parent / path).resolve() == Path(home.__file__).resolve(), name
    tests = row(page, "tests")
    assert tests or "No mechanism uses it any more" in text
    for name, path in tests:
        tree = ast.parse((page.parent / path).read_text("utf-8"))
        assert name in {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}, name
    for name, path in re.findall(r"\[`(\w+)`\]\((\S+planted\S+)\)", text):
        assert f"\n[{name}]\n" in (page.parent / path).read_text("utf-8"), name
    for target in re.findall(r"\]\(([^)#\s]+\.md)", text):
        assert (page.parent / target).is_file(), target
    assert not [line for line in text.splitlines() if len(line) > 140 and line[0] != "|"]


def test_every_planted_bug_of_a_mechanism_is_named_or_belongs_to_the_machinery():
    """A bug that breaks a step of a proof stands on that proof's page."""
    text = "".join(page.read_text("utf-8") for page in PAGES)
    named = {name.replace("_", " ") for name in re.findall(r"\[`(\w+)`\]\(\S+planted/", text)}
    assert named <= {bug.name for bug in planted.bugs()} and len(named) >= 35
