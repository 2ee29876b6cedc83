"""``metricdp evaluate --epsilon``: private figures, their price, and refusals."""

import json

import pytest

from tests.cli_world import build_road, fails, run, works


@pytest.fixture
def town(here):
    build_road(here, 30, ["3"] * 4000 + ["7"] * 2000 + ["20"] * 2000)
    (here / "centers.json").write_text('{"centers": [5, 22]}')
    (here / "worse.json").write_text("[29]")
    return here


BASE = ("evaluate", "roads.csv", "--demand", "homes.csv", "--centers", "centers.json")


def test_private_figures_their_receipt_and_the_ledger(town, capsys):
    kept = ("--ledger", "town.ledger", "--epsilon-budget", "2", "--dataset", "town")
    asked = ("--epsilon", "1", "--within", "150,250", "--against", "worse.json")
    ran = run(capsys, *BASE, *asked, *kept)
    reported = ran.json
    assert ran.status == 0
    half_width = (reported["mean"]["high"] - reported["mean"]["low"]) / 2
    assert abs(reported["mean"]["estimate"] - 200) <= 6 * half_width  # an interval misses 1 in 20
    assert reported["share"]["low"][1] > 0.9 and reported["share"]["high"][0] < 0.1
    assert reported["against"]["better"] == "yes"
    assert reported["receipt"]["epsilon"] == 1 and "spent epsilon 1" in ran.err
    assert reported["distance_unit"] == "column 'length'"
    assert "\\n" not in ran.err  # a figure a line
    assert len([line for line in ran.lines if " to " in line]) >= 8
    fails(capsys, "left", *BASE, "--epsilon", "2", "--ledger", "town.ledger", status=3)


def test_distances_have_units(town, capsys):
    asked = (*BASE, "--epsilon", "1", "--within", "0.25km,150", "--clip", ".8 km")
    ran = run(capsys, *asked, "--measured-in", "m")
    reported = ran.json
    assert ran.status == 0 and reported["within"] == [150, 250] and reported["clip"] == 800
    fails(capsys, "distances of roads.csv are measured in s", *asked, "--measured-in", "s")
    fails(capsys, "--measured-in", *asked)


def test_the_map_shows_the_intervals(town, capsys):
    said = ("--title", "a <b>", "--attribution", "© me")
    ran = run(capsys, *BASE, "--epsilon", "1", "--within", "150", "--map", "page.html", *said)
    assert (ran.status, "wrote page.html" in ran.err) == (0, True)
    text = (town / "page.html").read_text("utf-8")
    assert "<title>a &lt;b&gt;</title>" in text and '<p id="credit">© me</p>' in text
    assert "How well the centers serve" in text
    assert "Share within 150" in text
    assert "<summary>Privacy statement</summary>" in text
    fails(capsys, "are the same file", *BASE, "--epsilon", "1", "--ledger", "centers.json")


def test_centers_and_areas_come_from_any_file_of_a_plan(here, capsys):
    world = pytest.importorskip("tests.geo_world")
    world.write(world.edge_frame(), here / "streets.gpkg")
    world.write(world.homes(300), here / "homes.gpkg")
    exact = ["evaluate", "streets.gpkg", "--demand", "homes.gpkg", "--quiet", "--centers"]
    costs = set()
    for name in ("plan.gpkg", "plan.geojson", "plan.parquet", "plan.csv", "plan.json"):
        works(capsys, "cluster", "streets.gpkg", "-k", "3", "--quiet", "--output", name)
        costs.add(works(capsys, *exact, name).json["cost"])
    assert len(costs) == 1
    fails(capsys, "no layer 'demands'; layers: ", *exact, "plan.gpkg", "--centers-layer", "demands")
    fails(capsys, "has no layers", *exact, "plan.json", "--centers-layer", "sites")
    ids = json.loads((here / "plan.json").read_text("utf-8"))
    named = world.homes(3, vertex=[str(i) for i in ids["centers"]])  # as text, in other places
    named.to_file(here / "named.gpkg")
    costs.add(works(capsys, *exact, "named.gpkg").json["cost"])
    assert len(costs) == 1
    world.homes(2).to_file(here / "sites.geojson")  # points without ids
    assert run(capsys, *exact, "sites.geojson").json["k"] == 2
    halves = world.homes(2, world.UTM, half=["south", "north"])
    halves.geometry = halves.buffer(650, cap_style="square")
    halves.to_file(here / "halves.geojson")
    by = (*exact, "plan.csv", "--epsilon", "20", "--by", "halves.geojson", "--by-column")
    reported = run(capsys, *by, "half").json["by_area"]["areas"]
    assert [area["area"] for area in reported] == ["south", "north", "elsewhere"]
    fails(capsys, "no column 'side' (--by-column); columns: half", *by, "side")


def test_areas_come_from_a_table(town, capsys):
    sides = [f"{i},{'west' if i < 15 else 'east'}" for i in range(30)]  # 30 has none
    (town / "sides.csv").write_text("vertex,side\n" + "\n".join(sides) + "\n")
    asked = (*BASE, "--epsilon", "20", "--by", "sides.csv", "--by-column", "side")
    ran = run(capsys, *asked, "--map", "page.html")
    reported = ran.json["by_area"]
    assert ran.status == 0
    assert [area["area"] for area in reported["areas"]] == [*("east", "west", "elsewhere")]
    assert reported["areas"][1]["mean"]["estimate"] == pytest.approx(200, rel=0.05)
    assert f"worst served: {reported['worst']}" in ran.err
    assert "Mean distance in west" in (town / "page.html").read_text()
    fails(capsys, "--by-column", *BASE, "--epsilon", "1", "--by", "sides.csv")
    fails(capsys, "--by goes with --epsilon", *BASE, "--by", "sides.csv")
    (town / "twice.csv").write_text("vertex,area\n1,a\n1,b\n")
    fails(capsys, "a vertex is listed once", *BASE, "--epsilon", "1", "--by", "twice.csv")
