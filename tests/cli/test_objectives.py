"""``metricdp cluster``: every objective for public weights and for private demand; candidates,
opened facilities, a time limit and a certificate.
"""

import json
from pathlib import Path

import pytest

import metricdp as mdp
from metricdp.cli.objectives import NAMES
from metricdp.solvers.objectives import OBJECTIVES
from tests import beside
from tests.cli_world import build_road, run, works

CALLS = beside(__file__, "objectives.toml")
OF_RELEASES = ("k-median, limit", "p-center", "max-coverage", "capacitated", "nested")
"""What is asked of releases too; `tests/methods/test_every_objective.py` asks all of all."""


@pytest.mark.parametrize("call", sorted(CALLS))
def test_public_and_private(call, world, capsys):
    options = CALLS[call].split()
    public = works(capsys, "cluster", "roads.csv", *options).json
    assert public["weights"] == "public" and public["receipt"] is None
    assert len(public["centers"]) == public["k"] == len(public["loads"])
    assert public["gap"] is not None
    if call not in OF_RELEASES:
        return
    private = ["--demand", "homes.csv", "--epsilon", "1", "--save-release", "kept.release"]
    noisy = run(capsys, "cluster", "roads.csv", *options, *private).json
    assert noisy["weights"] == "noisy" and noisy["receipt"]["epsilon"] == 1.0
    again = run(capsys, "cluster roads.csv --from-release kept.release", *options)
    assert again.json["centers"] == noisy["centers"]


def test_how_far_true_loads_may_exceed_noisy_ones(world, capsys):
    question = CALLS["capacitated"].split()
    ran = run(capsys, "cluster", "roads.csv", *question, "--demand", "homes.csv", "--epsilon", "1")
    reported = ran.json["load_intervals"]
    assert reported["basis"] == "release" and len(reported["high"]) == 3
    assert "capacities hold for the noisy loads" in " ".join(ran.err.split())


def test_public_weights_and_tables(world, capsys):
    metric = mdp.read_graph("roads.csv")
    ids = list(metric.ids)
    Path("w.csv").write_text("vertex,weight\n" + f"{ids[0]},5\n{ids[7]},2\n")
    Path("no.csv").write_text(f"vertex\n{ids[0]}\n")
    asked = "cluster roads.csv -k 1 --weights w.csv --forbidden no.csv"
    found = run(capsys, asked).json
    weights = {ids[0]: 5, ids[7]: 2}
    plan = mdp.solve(metric, mdp.objectives.KMedian(1), weights=weights, forbidden=[ids[0]])
    assert found["centers"] == plan.centers and found["value"] == plan.value
    rows = "".join(f"{i},{n + 1}\n" for n, i in enumerate(ids))
    Path("c.csv").write_text("vertex,cost\n" + rows)
    asked = "cluster roads.csv --objective facility-location --opening-costs c.csv"
    found = run(capsys, asked).json
    same = mdp.solve(metric, mdp.objectives.FacilityLocation({i: n + 1 for n, i in enumerate(ids)}))
    assert found["value"] == pytest.approx(same.value)


def test_limits_with_units(world, capsys):
    call = ["cluster", "roads.csv", "-k", "2", "--objective", "max-coverage"]
    plain = run(capsys, *call, "--limit", "300").json
    unit = run(capsys, *call, "--limit", "0.3 km", "--measured-in", "m").json
    assert plain["value"] == unit["value"]


@pytest.mark.parametrize("demand", [["--demand", "homes.csv", "--epsilon", "1"], []])
def test_a_unit_is_a_label_and_no_more(demand, world, capsys):
    call = ["cluster", "roads.csv", "-k", "2", "--nodes", "nodes.csv", *demand]
    plain, named = (run(capsys, *call, *o).json for o in ([], ["--measured-in", "km"]))
    assert list(plain) == list(named) and plain["coordinates"]
    if demand:
        assert named["estimates"]["distance_unit"] == "km"
        works(capsys, *call, "--measured-in", "km", "--method", "hst")
    else:
        assert plain == named


def test_exact_goes_with_public_weights(world, capsys):
    (world / "w.csv").write_text("vertex,weight\n100,3\n124,2\n112,1\n")
    call = ["cluster", "roads.csv", "-k", "2", "--weights", "w.csv"]
    for proof in ("--exact", "--certificate"):
        ran = works(capsys, *call, proof)
        assert "proven optimal" in ran.err and sorted(ran.json["centers"]) == [100, 124]
        found = ran.json["certificate"]
        assert found["gap"] == 0 and found["cost"] == found["lower_bound"] > 0
    told = run(capsys, *call[:4], "--demand", "homes.csv", "--non-private", "--certificate")
    assert told.json["certificate"]["gap"] < 1e-5
    plain = run(capsys, *call)
    assert plain.json["value"] > 0 and "for the given weights" in plain.err
    assert "certificate" not in plain.json
    (world / "w.csv").write_text("vertex,weight\n100,0\n")
    assert "for weights of 1," in works(capsys, *call).err


def test_sites_to_begin_with(world, capsys):
    call = ["cluster", "roads.csv", "--objective", "p-center", "-k", "3", "--quiet"]
    Path("best.json").write_text(run(capsys, *call).out)
    best = json.loads(Path("best.json").read_text())
    Path("list.csv").write_text("vertex\n" + "".join(f"{c}\n" for c in best["centers"]))
    for file in ("best.json", "list.csv"):
        again = run(capsys, *call, "--start", file, "--time-limit", "0.001")
        assert again.json["value"] == best["value"]
    plain = run(capsys, "cluster", "roads.csv", "-k", "3", "--start", "best.json")
    assert plain.json["value"] <= run(capsys, *call).json["value"] * 25
    kept = works(capsys, "cluster", "roads.csv", "-k", "3", "--opened", "best.json")
    assert kept.json["centers"] == best["centers"]
    assert "start must name k sites" in run(capsys, *call[:-2], "2", "--start", "best.json").err
    assert "start must" in run(capsys, *call[:5], "2", "--start", "best.json").err


def test_help_knows_all_objectives_without_loading_them():
    assert tuple(OBJECTIVES) == NAMES


def test_common_sites_of_releases_bands_stability_and_heat(world, capsys):
    for name in ("am", "pm"):
        paid = ["--demand", "homes.csv", "--epsilon", "2", "--save-release", f"{name}.release"]
        run(capsys, "cluster", "roads.csv", "-k", "2", *paid, "--quiet")
    more = ["--bands", "200,900", "--stability", "--heatmap", "heat.csv", "--map", "map.html"]
    one = ["--from-release", "am.release", "--nodes", "nodes.csv"]
    ran = run(capsys, "cluster", "roads.csv", "-k", "2", *one, *more)
    reported = ran.json
    assert len(reported["stability"]["near"]) == 2 and reported["bands"]["to"] == [200, 900, None]
    assert "centers are sure" in ran.err
    assert "How sure their places are" in Path("map.html").read_text("utf-8")
    assert Path("heat.csv").read_text("utf-8").startswith("vertex,density,standard_error")
    both = ["--from-release", "am.release", "--from-release", "pm.release", "--scenarios", "worst"]
    common = run(capsys, "cluster", "roads.csv", "-k", "2", *both).json
    assert len(common["scenarios"]) == 2 and common["receipt"]["epsilon"] == 4.0
    scaled = mdp.read_graph("roads.csv")
    releases = [mdp.Release.load(f"{name}.release", scaled) for name in ("am", "pm")]
    wanted = mdp.solve(releases, mdp.objectives.KMedian(2), scenarios="worst")
    assert common["centers"] == wanted.centers
    public = run(capsys, "cluster", "roads.csv", "-k", "2", "--stability", "--bands", "300")
    assert len(public.json["stability"]["removal"]) == 2


PRIVATE = ["cluster", "roads.csv", "-k", "3", "--demand", "homes.csv", "--epsilon", "1"]


def test_candidates_and_opened_facilities(world, capsys):
    Path("few.csv").write_text("name,vertex\na,100\nb,103\nc,112\nd,120\n")
    Path("open.csv").write_text("124\n")
    for words in ("", "--demand homes.csv --epsilon 1", "--demand homes.csv --non-private"):
        asked = "cluster roads.csv -k 3 --candidates few.csv --opened open.csv"
        found = run(capsys, asked, *words.split()).json
        assert found["centers"][0] == 124 and len(set(found["centers"])) == 3
        assert set(found["centers"][1:]) <= {100, 103, 112, 120}


def test_a_time_limit_and_effort(world, capsys):
    for asked in (["cluster roads.csv -k 3"], PRIVATE):
        for effort in ("--time-limit 0.5", "--effort thorough"):
            assert len(works(capsys, *asked, *effort.split()).json["centers"]) == 3


# ``--effort`` and ``--exact`` of ``metricdp cluster``
@pytest.fixture
def line(here):
    build_road(here, 29, ["3"] * 400)


@pytest.mark.parametrize("how", ["quick", "thorough", "0.3"])
def test_the_best_centers_are_proven(line, capsys, how):
    ran = works(capsys, "cluster", "roads.csv", "-k", "10", "--exact", "--effort", how)
    assert "proven optimal" in ran.err
    assert ran.json["certificate"] == {"cost": 2e3, "lower_bound": 2e3, "gap": 0.0}
