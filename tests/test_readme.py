"""The documents do what they say: commands exist, Python runs as pasted, links lead somewhere."""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import metricdp as mdp

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
FOLDERS = ("docs", "docs/proofs", "graphs", "benchmarks")
PAGES = [page for name in FOLDERS for page in (ROOT / name).glob("*.md")]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *PAGES])


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def anchors(text):
    """Anchors of a page's headings, as code hosts make them."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+?)\s*$", prose, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


SETUP = (ROOT / "setup.cfg").read_text("utf-8")


def test_two_commands_set_everything_up():
    commands = [line for line in README.splitlines() if line.startswith("python3 -m venv ")]
    lines = [line for block in blocks(README, "sh") for line in block.splitlines()]
    assert [line for line in lines if "venv" in line] == commands
    assert [c.split(" && ")[-1] for c in commands] == [
        ".venv/bin/metricdp demo",
        '.venv/bin/python -m pytest -n auto --dist worksteal -m "not extended"',
    ]
    extras = SETUP.split("[options.extras_require]")[1]
    declared = re.findall(r"^(\w+) =$", extras, flags=re.MULTILINE)
    for command in commands:
        named = re.search(r"'\.\[(.+)\]'", command)[1].split(",")
        assert set(named) <= set(declared)
    assert set(named) == {"test", "check"}
    second = re.findall(r"pip install .*-e '\.\[(.+?)\]'", (ROOT / ".ci/run").read_text("utf-8"))
    (everything,) = re.findall(r"^all =\n    metricdp\[(.+)\]$", SETUP, flags=re.MULTILINE)
    assert second == ["all,browser,docs"]
    assert {*everything.split(","), *named, *second[0].split(",")} == set(declared)


@pytest.mark.extended
def test_python_runs_as_pasted(tmp_path):
    (code,) = blocks(README, "python")
    assert sum(1 for line in code.splitlines() if line.strip()) <= 12
    script = tmp_path / "pasted.py"
    script.write_text(code, "utf-8")
    call, given = [sys.executable, "-W", "error::UserWarning", script], {"cwd": tmp_path}
    done = subprocess.run(call, capture_output=True, text=True, timeout=300, **given)
    assert done.returncode == 0, done.stderr[-2000:]
    answers = re.findall(r"^(5|10|20) \[(.+)\]$", done.stdout, flags=re.MULTILINE)
    assert [int(k) for k, _ in answers] == [5, 10, 20]
    assert [len(set(centers.split(", "))) for _, centers in answers] == [5, 10, 20]
    assert "epsilon 0.5 (1/2) per record, add-remove neighbors" in done.stdout
    assert "spent 0.5 of 1, left 0.5" in done.stdout


def test_the_tutorial_runs_as_pasted(here, capsys):
    for extra in ("pyogrio", "pandas"):
        pytest.importorskip(extra)
    names: dict[str, object] = {}
    for code in blocks(TUTORIAL, "python"):
        exec(code, names)
    said = capsys.readouterr().out
    assert {path.name for path in here.iterdir()} == {"map.html", "plan.gpkg", "centers.csv"}
    assert len((here / "centers.csv").read_text("utf-8").splitlines()) == 21
    assert re.search(r"mean distance +[78]\d\d m ", said) and "within 500 m" in said
    assert "spent 1.5 of 2, left 0.5" in said


@pytest.mark.parametrize("page", ["coreset.md", "euclidean.md"])
def test_first_examples_of_boxes_run_as_pasted(page, here):
    """On demand that none of their boxes holds, which is moved to it."""
    code = blocks((ROOT / "docs" / page).read_text("utf-8"), "python")[0]
    exec(code, {"mdp": mdp, "points": np.random.default_rng(0).normal(size=(5_000, 2))})


@pytest.mark.extended
@pytest.mark.parametrize(
    "page", "other-methods p-median plan privacy streams synthetic trees".split()
)
def test_examples_of_graphs_run_as_pasted(page, here):
    """In a small town, with the names that pages take for granted."""
    G = nx.relabel_nodes(nx.grid_2d_graph(8, 8), lambda at: f"{at[0]}{at[1]}")
    G = nx.relabel_nodes(G, {"00": "a", "01": "b", "77": "depot"})
    for place, (x, y) in zip(G, np.ndindex(8, 8), strict=True):
        G.nodes[place].update(x=float(x), y=float(y))
    nx.set_edge_attributes(G, 100.0, "length")
    G.graph["crs"] = "EPSG:4326"
    rows = [f"{one},{other},{length}" for one, other, length in G.edges(data="length")]
    Path("roads.csv").write_text("\n".join(["from,to,length", *rows]), "utf-8")
    metric = mdp.GraphMetric(G, weight="length")
    mdp.build_hst(metric, seed=0).save("roads.hst.npz")
    demand = mdp.PrivateDemand(metric, [*G] * 40)
    names = {"mdp": mdp, "G": G, "metric": metric, "ledger": mdp.Ledger(epsilon=9)}
    names |= {"demand": demand, "people": dict.fromkeys(G, 9), "todays_visits": [*G]}
    names |= {"weights": [1] * 64, "u": np.arange(3), "v": np.arange(1, 4)}
    names |= {"points": np.random.default_rng(0).normal(size=(5_000, 2))}
    for code in blocks((ROOT / "docs" / f"{page}.md").read_text("utf-8"), "python"):
        exec(code, names)


def test_command_lines_of_pages_parse():
    from metricdp.cli import build_parser

    shown = [b for page in DOCUMENTS for b in blocks(page.read_text("utf-8"), r"\w*")]
    whole = "".join(shown).replace("\\\n", " ")
    lines = re.findall(r"^(?:\$ )?metricdp (.+?)(?: [<>|] .*)?$", whole, flags=re.MULTILINE)
    assert len(lines) > 40
    for line in lines:
        words = shlex.split(line, comments=True)
        if not {"…", "bench"} & {*words}:  # suites parse their own
            build_parser().parse_args(words)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(document):
    for target in re.findall(r"\]\(([^)\s]+)\)", document.read_text("utf-8")):
        if re.match(r"https?://", target):
            continue
        path, _, anchor = target.partition("#")
        page = (document.parent / path).resolve() if path else document
        assert page.exists(), f"{document.name} links to {target}"
        if anchor:
            assert anchor in anchors(page.read_text("utf-8")), f"{document.name} links to {target}"


def linked(page):
    targets = re.findall(r"\]\(([^)#\s]+)\)", page.read_text("utf-8"))
    return {(page.parent / t).resolve() for t in targets if not t.startswith("http")}


def test_every_document_is_linked_from_one_of_four_entrances():
    entrances = linked(ROOT / "docs" / "index.md")
    entrances = {page for page in entrances if page.suffix == ".md"}
    assert {page.stem for page in entrances} == {"tutorial", "how-to", "explanation", "reference"}
    found = set().union(*map(linked, entrances))
    missing = {*(ROOT / "docs").glob("*.md")} - found - entrances - {ROOT / "docs" / "index.md"}
    assert not missing, f"no entrance links {sorted(page.name for page in missing)}"


def test_the_picture_is_small():
    pictures = list((ROOT / "docs" / "images").glob("*.png"))
    assert pictures and all(p.stat().st_size < 400_000 for p in pictures)


@pytest.mark.parametrize(
    "page", [d for d in DOCUMENTS if d.name != "CHANGELOG.md"], ids=lambda page: page.name
)
def test_text_keeps_within_140_columns(page):
    """Tables, code and pictures, which cannot be broken, aside."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    wide = [line for line in text.splitlines() if len(line) > 140 and line[0] not in "|!"]
    assert not wide, wide


# What the site's search is given: words for pages that exist, each word on one of them


WORDS = tomllib.loads((ROOT / "docs" / "search" / "words.toml").read_text("utf-8"))


def test_pages_exist_and_no_word_leads_to_two():
    assert len(WORDS) >= 10
    assert all((ROOT / f"{page}.md").is_file() for page in WORDS)
    listed = [word.lower() for words in WORDS.values() for word in words]
    assert len(set(listed)) == len(listed)
    assert not [word for word in listed if ";" in word or "!" in word]  # signs of Sphinx's own


def test_the_site_is_built_with_them():
    text = (ROOT / "docs" / "conf.py").read_text("utf-8")
    assert '"words.toml"' in text and '"scorer.js"' in text
    scorer = (ROOT / "docs" / "search" / "scorer.js").read_text("utf-8")
    for name in ("objNameMatch", "objPrio", "title", "partialTitle", "term", "partialTerm"):
        assert f"  {name}: " in scorer  # a Scorer that lacks one makes scores NaN
