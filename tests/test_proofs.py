"""The proof documents: every mechanism has its page, and what a page names exists."""

import ast
import importlib
import inspect
import json
import re
from fractions import Fraction
from pathlib import Path

import pytest

import metricdp as mdp
from metricdp import privacy
from metricdp.audit import planted
from metricdp.audit.worlds import small_nets
from metricdp.local.randomizers import Randomizer
from metricdp.privacy import gate
from metricdp.privacy.noise import Noise
from metricdp.privacy.queries import Query
from metricdp.privacy.scores import SelectionQuery
from metricdp.releases import PROOFS, Mechanism, proof_page
from tests import cases, path_metric

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
    found = re.search(rf"^- \*\*{name}\*\*: ((?:.|\n {{2}})+)$", page.read_text("utf-8"), re.M)
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
    listed = re.findall(r"^- \[P(\d+)\]\((.+?)\) (.+)$", index, re.M)
    titles = [page.read_text("utf-8").split("\n")[0] for page in PAGES]
    reported = [(str(n), page.name, title) for n, page, title in zip(numbers, PAGES, titles)]
    assert [(n, name, f"# P{n}. {title}") for n, name, title in listed] == reported


def test_every_mechanism_has_its_page():
    named = {name for page in PAGES for name, _ in row(page, "Code")}
    missing = {f"{one.__module__}.{one.__qualname__}" for one in mechanisms()} - named
    assert not missing, f"no page proves {sorted(missing)}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_has_its_parts_and_what_it_names_exists(page):
    text = page.read_text("utf-8")
    headings = re.findall(r"^## (.+)$", text, re.M)
    assert headings == ["Statement", "Pseudocode", "Proof"]
    for name, path in row(page, "Code"):
        module, _, thing = name.rpartition(".")
        home = importlib.import_module(module)
        assert getattr(home, thing).__module__ == module, f"{name} only stands for another there"
        assert (page.parent / path).resolve() == Path(home.__file__).resolve(), name
    tests = row(page, "Tests")
    assert tests or "No mechanism uses it any more" in text
    for name, path in tests:
        tree = ast.parse((page.parent / path).read_text("utf-8"))
        assert name in {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}, name
    for name, path in re.findall(r"\[`(\w+)`\]\((\S+planted\S+)\)", text):
        assert f"\n[{name}]\n" in (page.parent / path).read_text("utf-8"), name


def test_every_planted_bug_of_a_mechanism_is_named_or_belongs_to_the_machinery():
    """A bug that breaks a step of a proof stands on that proof's page."""
    text = "".join(page.read_text("utf-8") for page in PAGES)
    named = {name.replace("_", " ") for name in re.findall(r"\[`(\w+)`\]\(\S+planted/", text)}
    assert named <= {bug.name for bug in planted.bugs()} and len(named) >= 35


# Receipts name the proofs that their mechanisms rest on, and those pages are there


METRIC = path_metric(40)
HOMES = [1] * 300 + [30] * 200
DEMAND = mdp.PrivateDemand(METRIC, HOMES)


def numbers(receipt):
    return [set(each["proofs"]) for each in receipt.to_dict()["mechanisms"]]


def test_numbers_are_those_of_the_pages():
    assert [ROOT / proof_page(n) for n in range(1, len(PROOFS) + 1)] == PAGES


def test_each_query_and_distribution_is_on_the_page_of_its_proof():
    reported = {one for one in mechanisms() if isinstance(getattr(one, "proof", None), int)}
    for one in reported:
        on = {name for name, _ in row(PAGES[one.proof - 1], "Code")}
        home = {f"{k.__module__}.{k.__qualname__}" for k in one.__mro__}
        assert on & home, f"P{one.proof} does not name {one.__qualname__}"
    wanted = {*gate.TRUSTED, *gate.TRUSTED_SELECTIONS, gate.CoverQuery, *Noise.__subclasses__()}
    assert not wanted - reported


@cases(
    ("asked", "expected"),
    ({"method": "partition"}, {"P3", "P1"}),
    ({"method": "hst"}, {"P3", "P1"}),
    ({"method": "local-search"}, {"P7", "P8"}),
    ({"method": "max-coverage", "delta": 1e-6}, {"P10", "P8"}),
    ({"method": mdp.methods.LocalSearch(start="random")}, {"P7", "P8"}),
)
def test_every_mechanism_of_a_method_names_its_proofs(asked, expected):
    receipt = mdp.k_median(METRIC, DEMAND, 2, epsilon=4, **asked).receipt
    found = numbers(receipt)
    assert found and all(found) and expected in found
    reported = receipt.to_dict()["proofs"]
    assert set(reported) == set().union(*found) | ({"P12"} if len(found) > 1 else set())
    assert reported == {name: proof_page(int(name[1:])) for name in reported}


def test_boxes_users_and_parts():
    space = mdp.EuclideanSpace([0, 0], [1, 1])
    box = mdp.PrivateDemand(space, [[0.1, 0.2]] * 400 + [[0.8, 0.9]] * 400)
    for method in ("partition", "coreset", "lloyd", "quadtree"):
        with small_nets():
            receipt = mdp.k_means(space, box, 2, epsilon=4, method=method).receipt
        assert all(numbers(receipt))
    users = mdp.PrivateDemand(METRIC, HOMES, user=[*range(250), *range(250)], max_contributions=2)
    assert all("P15" in each for each in numbers(mdp.k_median(METRIC, users, 2, epsilon=4).receipt))


def test_days_and_devices():
    stream = mdp.Stream(METRIC, epsilon=2, horizon=4)
    stream.step(mdp.PrivateDemand(METRIC, HOMES))
    assert numbers(stream.receipt) == [{"P11", "P3", "P1"}]
    public = mdp.local.public_parameters(METRIC, 2, users=500, k=2)
    messages = mdp.local.simulated_messages(public, HOMES, seed=0)
    assert all(each == {"P16"} for each in numbers(mdp.local.Decoder(public).fit(messages).receipt))


def test_what_a_saved_release_rests_on_is_read_back(tmp_path):
    release = mdp.release(METRIC, DEMAND, epsilon=1)
    release.save(tmp_path / "a.release")
    again = mdp.Release.load(tmp_path / "a.release", METRIC)
    assert again.receipt.to_dict() == json.loads(json.dumps(release.receipt.to_dict()))
    assert all(numbers(again.receipt))


def test_a_receipt_of_before_says_nothing_of_proofs():
    old = Mechanism("discrete Laplace", "number of records", 1, 10.0, Fraction(1, 10))
    assert "proofs" not in old.to_dict()
    assert "proofs" not in mdp.Receipt.of([old], "add-remove", "record").to_dict()
