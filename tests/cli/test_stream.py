"""``metricdp stream``: what its actions say of themselves, read, and leave alone."""

import pytest

from tests.cli_world import fails, run, works


def test_an_action_is_called_by_its_name(here, capsys):
    fails(capsys, "(see metricdp stream step --help)", "stream", "step", "d.stream")
    ran = run(capsys, "stream", "step", "--help")
    assert ran.out.startswith("usage: metricdp stream step [-h]")


@pytest.fixture
def begun(here, capsys):
    """Two streams on a ledger each; a day of one of them."""
    (here / "roads.csv").write_text("from,to,length\n1,2,5\n2,3,5\n3,4,5\n")
    (here / "day.csv").write_text("vertex\n1\n4\n")
    for name in ("a", "b"):
        paid = ("--epsilon", "1", "--ledger", f"{name}.ledger", "--parts", "2", "-q")
        works(capsys, "stream", "init", f"{name}.stream", "roads.csv", *paid)
    return ("stream", "step", "a.stream", "roads.csv", "--demand", "day.csv", "-q", "--day")


def test_what_is_kept_between_days_is_not_written_over(begun, capsys):
    for option in ("--save-release", "--output"):
        for name in ("a.ledger", "b.stream"):
            fails(capsys, "would be lost", *begun, "1", option, name)
    for _ in range(2):  # a release is replaced
        assert run(capsys, *begun, "1", "--save-release", "day.release").status == 0


def test_a_step_finds_the_ledger_where_it_is_now(here, begun, capsys):
    (here / "a.ledger").rename("moved.ledger")
    fails(capsys, "--ledger", *begun, "1")
    # has paid for another stream
    assert run(capsys, *begun, "1", "--ledger", "b.ledger").status == 3
    works(capsys, *begun, "1", "--ledger", "moved.ledger")
    assert run(capsys, *begun, "2").json["days"] == 2  # which the file has taken over


def test_a_table_of_costs_and_one_way_roads(here, capsys):
    """Centers are sites of the table; one-way roads go on as they were begun."""
    costs = [f"{v},{site},{abs(v - at) + 1}" for v in range(8) for site, at in (("A", 0), ("B", 7))]
    (here / "costs.csv").write_text("client,site,cost\n" + "\n".join(costs) + "\n")
    ways = [f"{i},{i + 1},1\n{i + 1},{i},2" for i in range(7)]
    (here / "roads.csv").write_text("from,to,length\n" + "\n".join(ways) + "\n")
    (here / "day.csv").write_text("vertex\n" + "6\n" * 4000)
    paid = ("--epsilon", "9", "--horizon", "2", "--parts", "4", "-q")
    step = ("--demand", "day.csv", "--day", "1", "-k", "1", "-q")
    # noise of scale 2/9 on 4,000 records at one place
    cases = (("costs.csv", "--format", "costs"), {"B"}), (("roads.csv", "--directed"), {5, 6, 7})
    for universe, center in cases:
        state = f"{center}.stream"
        assert run(capsys, "stream", "init", state, *universe, *paid).status == 0
        ran = works(capsys, "stream", "step", state, *universe, *step)
        assert set(ran.json["centers"]) <= center
        assert run(capsys, "stream", "step", state, *universe, *step).out == ran.out
        fails(capsys, "has only", "stream", "step", state, *universe, *step[:-2], "99", "-q")
    shown = ("stream", "show", "{'B'}.stream", *cases[0][0], "--html", "page.html")
    fails(capsys, "have no places", *shown)
