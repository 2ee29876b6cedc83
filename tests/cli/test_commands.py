"""Good runs of the command line: what goes to stdout, to stderr, to files and onto the ledger."""

import csv
import json
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import metricdp as mdp
from metricdp.cli import COMMANDS, main
from metricdp.cli import cluster as cluster_module
from metricdp.cli.parsing import HELP_WIDTH
from metricdp.universe.formats import FORMATS
from tests import cases, raising
from tests.cli_world import CANARIES, ROWS, fails, run, snapshot, works

PRIVATE = ["cluster", "roads.csv", "-k", "2", "--demand", "homes.csv", "--epsilon", "1"]


def test_private_centers_have_a_receipt_and_stderr_tells_only_public_facts_and_the_price(
    world, capsys
):
    ran = run(capsys, *PRIVATE)
    result, receipt = ran.json, ran.json["receipt"]
    assert list(result) == ["centers", "k", "method", "receipt", "estimates"]
    assert sorted(result["centers"]) == [100, 124]  # all records are there
    assert (result["k"], result["method"]) == (2, "partition")
    assert (receipt["epsilon_exact"], receipt["delta"], receipt["unit"]) == ("1", 0.0, "record")
    assert receipt["neighboring"] == "add-remove"
    assert {m["name"] for m in receipt["mechanisms"]} == {"discrete Laplace"}
    read = "metricdp: read roads.csv: 25 vertices, 40 edges, no coordinates"
    assert ran.lines[0] == f"{read}, lengths: column 'length_m' (m)"
    assert ran.lines[1] == "metricdp: spent epsilon 1 per record (add-remove neighbors)"
    done = r"metricdp: done in [0-9.]+ s \(times depend on the data: do not publish them\)"
    assert re.fullmatch(done, ran.lines[2])
    assert len(ran.lines) == 3
    assert not [c for c in (*CANARIES, str(ROWS)) if c in ran.err]


def test_public_centers_have_no_receipt(world, capsys):
    ran = run(capsys, "cluster", "roads.csv.gz", "-k", "3", "--quiet")
    result = ran.json
    assert (ran.status, ran.err, result["receipt"], len(set(result["centers"]))) == (0, "", None, 3)
    assert run(capsys, "cluster", "roads.csv.gz", "-k", "3", "--quiet").out == ran.out


def test_files_and_stdout_agree(world, capsys):
    before = set(snapshot(world))
    ran = run(capsys, *PRIVATE, "--output", "out.json", "--coreset", "core.csv")
    assert set(snapshot(world)) - before == {"out.json", "core.csv"}
    assert (world / "out.json").read_text() == ran.out
    assert ran.lines[-1] == "metricdp: wrote out.json, core.csv"
    rows = list(csv.DictReader((world / "core.csv").open()))
    assert set(rows[0]) == {"vertex", "weight"}
    assert {int(r["vertex"]) for r in rows} <= set(range(100, 125))
    total = sum(float(r["weight"]) for r in rows)
    assert abs(total - ROWS) < 800  # 40 times the noise scale of the number of records
    mask = os.umask(0)
    os.umask(mask)
    assert oct((world / "out.json").stat().st_mode & 0o777) == oct(0o666 & ~mask)


def test_ids_beyond_ascii(world, capsys):
    (world / "calles.csv").write_text("from,to,length\nPeña,Ñuñoa,3\nÑuñoa,寺町,4\n", "utf-8")
    ran = run(capsys, "cluster", "calles.csv", "-k", "1", "--output", "out.json")
    written = json.loads((world / "out.json").read_text("utf-8"))
    assert ran.json["centers"] == written["centers"] == ["Ñuñoa"]
    call = [sys.executable, "-m", "metricdp", "cluster", "calles.csv", "-k", "3"]
    latin = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(call, capture_output=True, env=latin, cwd=world)
    assert json.loads(done.stdout.decode("latin-1"))["centers"] == ["Peña", "Ñuñoa", "寺町"]


def test_coordinates_and_users(world, capsys):
    options = "--nodes nodes.csv --x lon --y lat --user person --max-contributions 3".split()
    question = "--objective k-means --records-hint 2000".split()
    ran = run(capsys, *PRIVATE, *options, *question)
    result = ran.json
    asked = [m["query"] for m in result["receipt"]["mechanisms"]]
    assert "number of records" not in asked  # the hint saves the count
    assert sorted(result["centers"]) == [100, 124] and result["receipt"]["unit"] == "user"
    assert {m["sensitivity"] for m in result["receipt"]["mechanisms"]} == {3}
    assert "spent epsilon 1 per user" in ran.err
    assert "longitude and latitude" in ran.err


def test_a_ledger_adds_up_over_calls(world, capsys):
    first = [*PRIVATE[:-1], "1/3", "--ledger", "study.ledger", "--epsilon-budget", "1"]
    assert "ledger study.ledger: 0.666667 of 1 left" in run(capsys, *first).err
    later = [*PRIVATE[:-1], "1/3", "--ledger", "study.ledger"]
    assert run(capsys, *later).status == 0
    assert "0 of 1 left" in run(capsys, *later).err
    spent = "privacy budget refused: asked epsilon 0.333333, spent 1, left 0"
    fails(capsys, spent, *later, status=3)
    assert [str(c.epsilon) for c in mdp.Ledger(1, journal="study.ledger").entries] == ["1/3"] * 3


def test_an_existing_ledger_keeps_its_own_terms(world, capsys):
    mdp.Ledger(5, 0.25, neighboring="replace-one", journal="study.ledger")
    ran = run(capsys, *PRIVATE, "--ledger", "study.ledger")
    assert ran.json["receipt"]["neighboring"] == "replace-one"
    assert "4 of 5 left" in ran.err
    same = "--ledger study.ledger --neighboring replace-one --epsilon-budget 5.0"
    assert run(capsys, *PRIVATE, *same.split()).status == 0


def test_a_ledger_begun_but_torn_is_begun_again_with_the_budget_of_its_first_call(world, capsys):
    mdp.Ledger(1, journal="study.ledger")
    header = (world / "study.ledger").read_bytes()
    (world / "study.ledger").write_bytes(header[:20])
    assert run(capsys, *PRIVATE, "--ledger", "study.ledger").status == 0
    assert (world / "study.ledger").read_bytes().startswith(header)
    ledger = mdp.Ledger(1, journal="study.ledger")
    assert (ledger.spent, ledger.left, ledger.neighboring) == (1, 0, "add-remove")


def test_non_private_uses_the_exact_demand_and_says_so(world, capsys):
    ran = run(capsys, *PRIVATE[:-2], "--non-private", "--quiet")
    result = ran.json
    assert (sorted(result["centers"]), result["receipt"]) == ([100, 124], None)
    assert len(ran.lines) == 1
    assert "without any protection" in ran.err
    (world / "three.csv").write_text("vertex\n124\n100\n100\n")
    for file, most in (("homes.csv", 124), ("three.csv", 100)):  # where one record more is
        alone = works(capsys, f"cluster roads.csv -k 1 --demand {file} --non-private")
        assert alone.json["centers"] == [most]
    places = ("--nodes", "nodes.csv", "--x", "lon", "--y", "lat")
    reported = run(capsys, *PRIVATE[:-2], "--non-private", *places).json
    assert {name: reported[name] for name in result} == result
    assert reported["crs"] == "EPSG:4326" and len(reported["coordinates"]) == 2


def test_text_ids_match_numbers_in_the_demand(world, capsys):
    (world / "named.csv").write_text("from,to,length\n007,b,1\nb,12,1\n")
    (world / "who.csv").write_text("vertex\n" + "12\n" * 60)
    for options in (["--epsilon", "10"], ["--non-private"]):
        ran = run(capsys, "cluster", "named.csv", "-k", "1", "--demand", "who.csv", *options)
        assert ran.json["centers"] == ["12"], ran.err


def test_evaluate_is_exact_and_says_that_it_is_not_private(world, capsys):
    (world / "result.json").write_text(json.dumps({"centers": [100], "receipt": None}))
    ran = run(capsys, "evaluate", "roads.csv", "--demand", "homes.csv", "--centers", "result.json")
    distance = mdp.read_graph("roads.csv").distances([100], [124])[0, 0]
    figures = ran.json
    expected = distance * (ROWS - ROWS // 2)
    assert figures["cost"] == pytest.approx(expected)
    assert figures["mean"] == pytest.approx(expected / ROWS)
    assert (figures["k"], figures["objective"], figures["privacy"]) == (1, "k-median", "none")
    assert "not private" in ran.lines[-1]
    asked = "evaluate roads.csv --demand homes.csv --centers result.json -q"
    assert len(run(capsys, asked).lines) == 1


def test_evaluate_takes_what_cluster_wrote_and_lists_and_an_empty_demand(world, capsys):
    assert run(capsys, *PRIVATE, "--output", "out.json").status == 0
    for objective in ("k-median", "k-means"):
        asked = "evaluate roads.csv --demand homes.csv --centers out.json --objective"
        assert run(capsys, asked, objective).json["cost"] == 0.0
    (world / "none.csv").write_text("vertex\n")
    (world / "list.json").write_text("[100, 101]")
    figures = run(capsys, "evaluate roads.csv --demand none.csv --centers list.json").json
    assert (figures["cost"], figures["mean"]) == (0.0, None)


# what goes wrong late


def test_an_unexpected_error_tells_nothing(world, monkeypatch, capsys):
    def fail(*_, ledger, epsilon, **__):
        ledger.charge(epsilon)
        raise ValueError("canary 987654321")

    monkeypatch.setattr(mdp, "k_median", fail)
    ran = run(capsys, *PRIVATE, "--output", "out.json")
    assert (ran.status, ran.out, (world / "out.json").exists()) == (1, "", False)
    unexpected = "unexpected ValueError (METRICDP_DEBUG=1 shows more, and may show private data)"
    said = f"metricdp: error: {unexpected}; epsilon 1 was charged before this and stays spent"
    assert ran.lines[-1] == said
    assert "canary" not in ran.err
    assert "Traceback" not in ran.err
    monkeypatch.setenv("METRICDP_DEBUG", "1")
    assert "ValueError: canary 987654321" in run(capsys, *PRIVATE).err


def test_an_unexpected_error_without_demand(world, monkeypatch, capsys):
    monkeypatch.setattr(mdp, "k_median", lambda *_, **__: [][1])
    ran = run(capsys, "cluster", "roads.csv", "-k", "2")
    expected = 1, "metricdp: error: unexpected IndexError: list index out of range"
    assert (ran.status, ran.lines[-1]) == expected


@cases(
    ("error", "status", "words"),
    (KeyboardInterrupt(), 130, "metricdp: interrupted"),
    (MemoryError(), 1, "metricdp: error: not enough memory"),
    (OSError("canary"), 2, "metricdp: error: OSError"),
    (OSError(28, "No space", "out.json"), 2, "metricdp: error: out.json: No space"),
)
def test_other_endings(error, status, words, world, monkeypatch, capsys):
    monkeypatch.setattr(mdp, "k_median", raising(error))
    ran = run(capsys, *PRIVATE)
    assert (ran.status, ran.lines[-1]) == (status, words)


def test_a_result_is_reported_even_if_its_files_fail(world, monkeypatch, capsys):
    full = raising(OSError(28, "No space left on device", "out.json"))
    monkeypatch.setattr(cluster_module.streams, "write_text", full)
    ran = run(capsys, *PRIVATE, "--output", "out.json")
    assert (ran.status, len(ran.json["centers"])) == (2, 2)
    assert ran.lines[-1] == "metricdp: error: out.json: No space left on device"


@cases(
    ("asked", "words"),
    ("", "Public clustering"),
    ("--demand homes.csv --epsilon 1", "add-remove"),
    ("--demand homes.csv --non-private", "Not private"),
    ("--demand homes.csv --epsilon 1 --objective p-center --threshold 5", "add-remove"),
)
def test_the_map_is_the_page_that_save_writes(asked, words, world, capsys):
    options = "--nodes nodes.csv --output page.html --map map.html --title Town --attribution me"
    ran = works(capsys, "cluster roads.csv -k 2", *asked.split(), *options.split())
    page = (world / "map.html").read_text("utf-8")
    assert "<title>Town" in page and words in page
    assert page == (world / "page.html").read_text("utf-8")
    assert not [c for c in CANARIES if c in page and c != "-71.3002"]
    assert ran.lines[-1] == "metricdp: wrote page.html, map.html"


def test_library_warnings_stay_inside(world, monkeypatch, capsys):
    import warnings

    def warn(*_, **__):
        warnings.warn("canary 987654321", RuntimeWarning, stacklevel=2)
        return SimpleNamespace(to_dict=dict, release=None, receipt=None)

    monkeypatch.setattr(mdp, "k_median", warn)
    ran = run(capsys, "cluster", "roads.csv", "-k", "2", "-q")
    assert (ran.status, ran.out, ran.err) == (0, "{}\n", "")


def process(*argv, **options):
    call = [sys.executable, "-m", "metricdp", *argv]
    return subprocess.run(call, text=True, timeout=300, **options)


@pytest.mark.extended
def test_nobody_reads_stdout(world):
    reader, writer = os.pipe()
    os.close(reader)
    done = process(*PRIVATE, "--output", "out.json", "-q", stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")
    assert len(json.loads((world / "out.json").read_text())["centers"]) == 2


@pytest.mark.extended
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_stdout(world):
    with Path("/dev/full").open("w") as full:
        done = process(*PRIVATE, "--output", "out.json", "-q", stdout=full, stderr=subprocess.PIPE)
    expected = 2, "metricdp: error: <stdout>: No space left on device\n"
    assert (done.returncode, done.stderr) == expected
    assert (world / "out.json").exists()


@pytest.mark.extended
@pytest.mark.skipif(shutil.which("sh") is None, reason="needs a shell")
def test_closed_streams(world):
    command = shlex.join([sys.executable, "-m", "metricdp", *PRIVATE, "--ledger", "study.ledger"])
    done = subprocess.run(["sh", "-c", command + " >&-"], capture_output=True, text=True, cwd=world)
    assert (done.returncode, (world / "study.ledger").exists()) == (2, False)
    said = "stdout is closed and there is no --output: the result would be lost\n"
    assert done.stderr == f"metricdp: error: {said}"
    call = ["sh", "-c", command + " 2>&-"]
    done = subprocess.run(call, capture_output=True, text=True, cwd=world)
    assert (done.returncode, len(json.loads(done.stdout)["centers"])) == (0, 2)


# help


def test_help_is_fast_and_loads_nothing_heavy():
    code = (
        "import sys; from metricdp.cli import main; main(['cluster', '--help']); "
        "sys.exit(bool({'numba', 'numpy', 'scipy', 'opendp'} & set(sys.modules)))"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0
    took = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    assert took < 2  # 0.1 s of the processor's time, however busy the machine is


@pytest.mark.parametrize("columns", [60, 100, 140, 200])
@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_texts(command, columns, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    ran = run(capsys, *command.split(), "--help")
    assert (ran.status, ran.err) == (0, "")
    text, *examples = re.split(r"(?=^examples?:|^first steps:)", ran.out, maxsplit=1, flags=re.M)
    prose = [line for line in "".join(examples).splitlines() if not line.startswith("  ")]
    assert max(map(len, [*text.splitlines(), *prose])) <= min(columns, HELP_WIDTH)
    assert max(map(len, ran.out.splitlines())) <= HELP_WIDTH  # examples are kept whole


def test_help_lists_commands_methods_and_formats(capsys):
    overview, details = run(capsys, "--help").out, run(capsys, "cluster", "--help").out
    for command in COMMANDS:
        assert f"\n    {command}" in overview
    for method in mdp.METHODS:
        assert (f"{method}: " in " ".join(details.split())) == mdp.methods.BY_NAME[method].in_finite
    for name in FORMATS:
        assert name in details


def test_main_takes_the_arguments_of_the_process(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["metricdp", "--version"])
    assert main() == 0
    assert capsys.readouterr() == (f"metricdp {mdp.__version__}\n", "")


# the demo


def test_demo(world, capsys):
    ran = works(capsys, "demo", "-k", "5", "--directory", "out", "--epsilon", "1/2")
    result = json.loads((world / "out" / "coquimbo_centers.json").read_text())
    assert (len(result["centers"]), result["receipt"]["epsilon_exact"]) == (5, "1/2")
    table = [line.split() for line in ran.out.splitlines()[1:6]]
    assert [int(row[1]) for row in table] == result["centers"]
    assert all(-72 < float(row[2]) < -71 and -31 < float(row[3]) < -29 for row in table)
    assert "receipt: epsilon 0.5" in ran.out
    assert (world / "out" / "coquimbo_map.html").exists()
    assert "what to try next" in ran.out
    lines = [line.strip() for line in ran.out.splitlines()]
    commands = [line for line in lines if re.match(r"\S*(metricdp|python\S* -m metricdp) \w", line)]
    expected = ["evaluate", "cluster", "cluster", "cluster"]
    assert [shlex.split(c.split("metricdp ")[-1])[0] for c in commands] == expected
    for command, words in zip(commands, ('"cost"', '"receipt"', '"receipt": null', "usage:")):
        argv = shlex.split(command)
        argv = argv[argv.index("metricdp") + 1 :] if "metricdp" in argv else argv[1:]
        quick = ["--time-limit", "0.5"] if argv[0] == "cluster" and "--help" not in argv else []
        assert words in works(capsys, *argv, *quick).out


@pytest.mark.parametrize("method", ["", "hst", "local-search"])
def test_a_tree_is_built_once_and_used(world, capsys, method, monkeypatch):
    assert run(capsys, "tree", "roads.csv", "--output", "roads.npz", "--seed", "7").status == 0
    before = snapshot(world)
    loaded = []
    load = mdp.HST.load.__func__
    watched = classmethod(lambda cls, *args: loaded.append(load(cls, *args)) or loaded[-1])
    monkeypatch.setattr(mdp.HST, "load", watched)
    named = ["--method", method] if method else []
    ran = run(capsys, *PRIVATE, *named, "--tree", "roads.npz")
    assert ran.status == 0 and ran.json["method"] == (method or "hst")
    assert [tree.seed for tree in loaded] == [7] and snapshot(world) == before


def test_a_tree_that_does_not_fit_is_refused_before_anything_is_charged(world, capsys):
    tree = ["--method", "hst", "--tree", "roads.npz"]
    tree += ["--ledger", "study.ledger", "--epsilon-budget", "2"]
    fails(capsys, "roads.npz", *PRIVATE, *tree)
    (world / "other.csv").write_text("tail,head,length\n1,2,3\n2,3,4\n")
    assert run(capsys, "tree", "other.csv", "--output", "roads.npz").status == 0
    for argv, rule in (
        ([*PRIVATE, *tree], "universe"),
        ([*PRIVATE, "--method", "uniform", "--tree", "roads.npz"], "hst or local-search"),
        ([*PRIVATE, "--method", "partition", "--tree", "roads.npz"], "not for partition"),
        (["cluster", "roads.csv", "-k", "2", "--tree", "roads.npz"], "private demand"),
        ([*PRIVATE, "--map", "map.html", "--title", "\udcff"], "--title: must be UTF-8 text"),
    ):
        fails(capsys, rule, *argv)
