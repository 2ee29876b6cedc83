"""The Processing provider: its commands without QGIS, and its algorithms in QGIS where there is
one.
"""

import json
import shutil
import sys
from pathlib import Path

import pytest

from tests import loaded, refuses

FOLDER = Path(__file__).parents[1] / "qgis"


def commands():
    return loaded(FOLDER / "metricdp_qgis" / "commands.py")


COMMANDS = commands()


def test_only_what_is_filled_in_is_asked():
    values = {"K": 3, "DEMAND": "h.gpkg", "EPSILON": "1/3", "USER": "", "SYMMETRIZE": True}
    values |= {"LARGEST_COMPONENT": False, "OUTPUT": "plan.gpkg", "MAX_SNAP": None}
    asked = " ".join(COMMANDS.command("m", "cluster", "a.gpkg", values))
    known = "m cluster a.gpkg -k 3 --demand h.gpkg --epsilon 1/3 --symmetrize --output plan.gpkg"
    assert asked == known


def test_stages_have_no_number_and_one_release_no_scenarios():
    stages = COMMANDS.asked({"K": 3, "KS": "1,2", "OBJECTIVE": "k-median", "STABILITY": True})
    asked = " ".join(COMMANDS.command("m", "cluster", "a.gpkg", stages))
    assert asked == "m cluster a.gpkg --ks 1,2 --objective nested --stability"
    both = {"RELEASES": ["a.release", "b.release"], "SCENARIOS": "worst", "K": 2}
    asked = " ".join(COMMANDS.command("m", "cluster", "a.gpkg", COMMANDS.asked(both)))
    both = "--from-release a.release --from-release b.release --scenarios worst"
    assert asked == f"m cluster a.gpkg {both} -k 2"
    assert "SCENARIOS" not in COMMANDS.asked({"RELEASES": ["a"], "SCENARIOS": "mean"})


def test_every_option_exists():
    from metricdp.cli import build_parser

    parser = build_parser()
    known = set()
    for action in parser._subparsers._group_actions[0].choices.values():
        known |= set(action._option_string_actions)
    assert set(COMMANDS.OPTIONS.values()) | set(COMMANDS.FLAGS.values()) <= known


def test_layers_are_files_without_filters(tmp_path):
    path = tmp_path / "a.gpkg"
    path.write_bytes(b"")
    assert COMMANDS.source_of(f"{path}|layername=roads") == (str(path), "roads")
    with pytest.raises(COMMANDS.Failed, match="filter"):
        COMMANDS.source_of(f"{path}|layername=roads|subset=a = 1")
    refuses("reads files", COMMANDS.source_of, "dbname='people' host=db", error=COMMANDS.Failed)


def test_a_program_that_is_not_there_is_reported(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("METRICDP", raising=False)
    refuses("environment of its own", COMMANDS.program, error=COMMANDS.Failed)
    refuses("no such program", COMMANDS.program, "/nowhere/metricdp", error=COMMANDS.Failed)


def test_notes_come_as_they_are_said_and_errors_are_the_last():
    said = []
    code = "import sys; print('a', file=sys.stderr); print('{}')"
    assert COMMANDS.run([sys.executable, "-c", code], said.append) == "{}\n"
    assert said == ["a"]
    failing = "import sys; print('error: no', file=sys.stderr); sys.exit(2)"
    refuses("error: no", COMMANDS.run, [sys.executable, "-c", failing], error=COMMANDS.Failed)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_canceling_interrupts_as_the_keyboard_does():
    code = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored behind a shell's &
        "try: print('on', file=sys.stderr, flush=True); time.sleep(60)\n"
        "except KeyboardInterrupt: print('saved', file=sys.stderr); sys.exit(130)"
    )
    started = []
    ask = [sys.executable, "-c", code]
    with pytest.raises(COMMANDS.Failed, match="saved"):
        COMMANDS.run(ask, started.append, lambda: bool(started))


def test_another_python_is_not_reported_of_this_ones_libraries(monkeypatch):
    monkeypatch.setenv("PYTHONHOME", "/qgis")
    monkeypatch.setenv("PROJ_LIB", "/qgis/proj")
    assert {"PYTHONHOME", "PROJ_LIB"}.isdisjoint(COMMANDS.clean_environment())


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A profile with the plugin, streets, homes, the program, and a function that runs."""
    if not (shutil.which("qgis_process.bin") or shutil.which("qgis_process")):
        pytest.skip("QGIS is not installed")
    world = pytest.importorskip("tests.geo_world")
    folder = tmp_path_factory.mktemp("qgis")
    own = world.profile(folder, FOLDER)
    world.write(world.edge_frame(), folder / "streets.gpkg")
    world.write(world.homes(900), folder / "homes.gpkg")
    program = folder / "metricdp"
    call = f'PYTHONPATH={FOLDER.parent} exec {sys.executable} -m metricdp "$@"'
    program.write_text(f"#!/bin/sh\n{call}\n")
    program.chmod(0o755)
    base = {"NETWORK": folder / "streets.gpkg", "PROGRAM": program}
    private = {"DEMAND_POINTS": folder / "homes.gpkg", "MAX_SNAP": "500m"}

    def ask(name, *, free=False, **values):
        known = base if free else {**base, **private}
        return world.qgis(f"metricdp:{name}", {**known, **values}, own)

    return folder, ask, world


def test_a_plan_is_made_and_judged_in_qgis(desk):
    folder, ask, world = desk
    plan, ledger = folder / "plan.gpkg", folder / "study.ledger"
    ran = ask("cluster", K=2, EPSILON="2", LEDGER=ledger, EPSILON_BUDGET="4", OUTPUT=plan)
    assert ran.returncode == 0, ran.stderr + ran.stdout
    assert json.loads(ran.stdout)["results"]["OUTPUT"] == str(plan)
    assert sorted(world.gpd.read_file(plan, layer="sites")["center"]) == [100, 135]
    layer = {"CENTERS_POINTS": f"{plan}|layername=sites", "WITHIN": "100,500"}
    judged = ask("evaluate", EPSILON="2", LEDGER=ledger, **layer)
    assert judged.returncode == 0, judged.stderr + judged.stdout
    reported = json.loads(json.loads(judged.stdout)["results"]["RESULT"])
    assert reported["k"] == 2 and reported["share"]["low"][1] > 0.8
    over = ask("evaluate", EPSILON="2", LEDGER=ledger, **layer)
    assert over.returncode != 0 and "budget" in over.stderr + over.stdout


def test_stages_bands_stability_heat_and_common_sites_in_qgis(desk):
    folder, ask, world = desk
    named = {name: folder / f"{name}.gpkg" for name in ("bands", "heat", "common")}
    kept, ledger = folder / "kept.release", folder / "more.ledger"
    more = {"BANDS": "200,600", "STABILITY": "true", "HEATMAP": named["heat"]}
    paid = {"EPSILON": "2", "LEDGER": ledger, "EPSILON_BUDGET": "2", "SAVE_RELEASE": kept}
    ran = ask("cluster", KS="1,2", OUTPUT=named["bands"], **paid, **more)
    assert ran.returncode == 0, ran.stderr + ran.stdout
    reported = json.loads(json.loads(ran.stdout)["results"]["RESULT"])
    assert [stage["k"] for stage in reported["stages"]] == [1, 2]
    assert len(reported["stability"]["near"]) == 2
    assert world.gpd.read_file(named["bands"], layer="sites")["sure"].between(0, 1).all()
    assert len(world.gpd.read_file(named["bands"], layer="bands")) >= 2
    assert "density" in world.gpd.read_file(named["heat"], layer="heat_streets")
    files = {"RELEASES": f"{kept};{kept}", "SCENARIOS": "worst", "OUTPUT": named["common"]}
    free = ask("ask", free=True, K=2, OBJECTIVE="k-median", **files)
    assert free.returncode == 0, free.stderr + free.stdout
    common = json.loads(json.loads(free.stdout)["results"]["RESULT"])
    assert len(common["scenarios"]) == 2 and len(common["centers"]) == 2


def test_levels_are_explored_and_planned_in_qgis(desk):
    folder, ask, _ = desk
    page, ledger = folder / "page.html", folder / "levels.ledger"
    ran = ask("explore", K=2, EPSILONS="1,2", LEDGER=ledger, OUTPUT=page)
    assert ran.returncode == 0, ran.stderr + ran.stdout
    results = json.loads(ran.stdout)["results"]
    assert results["OUTPUT"] == str(page) and page.read_text("utf-8").endswith("</html>\n")
    assert len(json.loads(results["RESULT"])["levels"]) == 2 and ledger.exists()
    free = ask("plan", free=True, K=2, RECORDS=500)
    assert free.returncode == 0, free.stderr


def test_the_plugin_compiles_and_imports_nothing_heavy():
    for path in (FOLDER / "metricdp_qgis").glob("*.py"):
        text = path.read_text("utf-8")
        compile(text, str(path), "exec")
        assert "import metricdp" not in text and "numpy" not in text
