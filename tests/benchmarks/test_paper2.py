"""``python -m benchmarks paper2``: made-up universes, arithmetic of the tables, judgements that can
fail, and tiny runs of the whole.
"""

import itertools
import json

import numpy as np
import pytest

import metricdp as mdp
from benchmarks import paper2
from benchmarks.frame import tables
from benchmarks.sets import graphs
from tests import refuses
from tests.benchmarks.running import measure

TINY = ("--settings", "graph-r1", "--points", "200", "--records", "30")


# universes


def test_a_clustered_graph_is_as_the_paper_says():
    metric, cluster = graphs.clustered_graph(100.0, 1, points=600, clusters=4, links=25)
    graph = metric.graph
    tails = np.repeat(np.arange(600), np.diff(graph.indptr))
    heads, lengths = graph.indices, graph.lengths
    inside = cluster[tails] == cluster[heads]
    sizes = np.bincount(cluster)
    pairs = (sizes * (sizes - 1) / 2).sum()
    assert len(sizes) == 4 and sizes.min() > 110
    assert inside.sum() / 2 / pairs == pytest.approx(0.2, abs=0.01)
    assert 0 <= lengths[inside].min() < 0.01 and 0.99 < lengths[inside].max() <= 1
    assert lengths[inside].mean() == pytest.approx(0.5, abs=0.01)
    assert 6 * 24 <= (~inside).sum() / 2 <= 6 * 25  # two links may join the same vertices
    assert 0.5 <= lengths[~inside].min() < 10 and 90 < lengths[~inside].max() <= 100
    # every pair, both ways
    assert np.unique(cluster[tails[~inside]] * 4 + cluster[heads[~inside]]).size == 12


def test_demand_is_distinct_and_imbalanced_demand_of_two_classes():
    classes = np.arange(200) % 10
    metric = mdp.EuclideanMetric(np.arange(200.0)[:, None])
    universe = graphs.Classified("u", metric, classes, (3, 7))
    rng = np.random.default_rng(0)
    even, uneven = universe.draw(40, rng, imbalanced=False), universe.draw(40, rng, imbalanced=True)
    assert len(set(even)) == 40 and len(set(classes[even])) > 5
    assert sorted(uneven) == np.flatnonzero(np.isin(classes, (3, 7))).tolist()
    for records, imbalanced in ((41, True), (201, False), (0, False)):
        refuses("records must be from 1 to", universe.draw, records, rng, imbalanced=imbalanced)


# arithmetic


def draws(costs, *, setting="graph-r1/imbalanced", k=5, **more):
    """Draws of one cell: initial costs (all measures alike) of each repetition, references 1, 2,
    …
    """
    place = {"setting": setting, "k": k, "seconds": 0.1}
    runs = [(method, i, cost) for method, of in costs.items() for i, cost in enumerate(of)]
    return [
        {**place, "repeat": i, "method": method, "reference": 1.0 + i}
        | dict.fromkeys(paper2.MEASURES, cost)
        | {name: values[i] for name, values in more.items()}
        for method, i, cost in runs
    ]


LOWER = tables.Claim(
    "DP-HST is below", "initial", "DP-HST", ("DP-rand", "DP-kmedian++"), ("imbalanced",)
)


def test_an_ordering_that_holds_and_one_that_does_not():
    good = draws({"DP-rand": [3.0, 6.0], "DP-kmedian++": [2.0, 4.0], "DP-HST": [1.0, 2.0]})
    bad = draws({"DP-rand": [3.0, 6.0], "DP-kmedian++": [1.0, 2.2], "DP-HST": [1.5, 3.2]}, k=10)
    costs = {"DP-rand": [1.0, 4.0], "DP-kmedian++": [9.0, 9.0], "DP-HST": [2.0, 3.0]}
    slight = draws(costs, setting="graph-r100/imbalanced")
    verdict = tables.judged(LOWER, tables.gathered_rows([*good, *bad, *slight]))
    held = verdict["holds_in_cells"], verdict["holds_in_settings"]
    assert (verdict["cells"], verdict["settings"], *held) == (3, 2, 1, 1)
    failed, vague = verdict["fails"]
    assert (failed["setting"], failed["k"], failed["clear"]) == ("graph-r1/imbalanced", 10, True)
    assert failed["margin"] == pytest.approx((1.0 - 1.5 + 1.1 - 1.6) / 2)
    assert (vague["setting"], vague["clear"]) == ("graph-r100/imbalanced", False)
    assert vague["margin"] == pytest.approx((1.0 - 2.0 + 2.0 - 1.5) / 2)
    assert verdict["margins"]["graph-r1/imbalanced"] == pytest.approx((1.0 - 0.5) / 2)
    assert (
        tables.reported(verdict) == "DP-HST is below: in 1 of 2 settings, 1 of 3 cells; "
        "clearly not in graph-r1/imbalanced k=10 by 0.5"
    )


# tiny runs


@pytest.fixture(scope="module")
def tiny() -> paper2.Report:
    """Two settings of a graph of 200 vertices, two values of k, two repetitions."""
    return paper2.run("graph-r1", k=(3, 2), repeats=2, points=200, records=30, steps=6, epsilon=2)


def test_a_run_has_every_method_in_every_cell_and_costs_in_their_order(tiny):
    settings = ["graph-r1/balanced", "graph-r1/imbalanced"]
    expected = [(s, k, m) for s in settings for k in (2, 3) for m in paper2.METHODS]
    assert [(row["setting"], row["k"], row["method"]) for row in tiny.rows] == expected
    for row in tiny.rows:
        of = {m for m, (_, methods) in paper2.MEASURES.items() if row["method"] in methods}
        assert set(row["costs"]) == of and row["repeats"] == [0, 1]
        assert all(len(costs) == 2 and min(costs) > 0 for costs in row["costs"].values())
        assert len(row["iterations"]) == (2 if row["method"] in paper2.PRIVATE else 0)
        assert all(5 <= i <= 6 for i in row["iterations"])
        costs = row["costs"]
        if row["method"] in paper2.NON_PRIVATE:
            assert all(final <= start for start, final in zip(costs["initial"], costs["final"]))
        if row["method"] in paper2.PRIVATE:
            assert all(best <= average for best, average in zip(costs["best"], costs["average"]))
        pairs = zip(costs["final"], row["references"])
        assert all(cost >= least * (1 - 1e-9) for cost, least in pairs)
    assert tiny.settings["settings"] == settings and not tiny.unfinished
    json.dumps(tiny.to_dict(), allow_nan=False)


@pytest.fixture(scope="module")
def trial() -> paper2.Trial:
    universe = paper2._universe("graph-r100", paper2.Plan("1", 1, 3, 200, 25, 20))
    asked = {"imbalanced": True, "power": 1, "epsilon": "1", "steps": 20, "seed": 3, "repeat": 0}
    return paper2.Trial.drawn(universe, records=25, **asked)


def test_the_reference_is_the_optimum_of_a_small_instance(trial):
    rows = trial.universe.metric.matrix[:, trial.positions]
    best = min(np.minimum(rows[a], rows[b]).sum() for a, b in itertools.combinations(range(200), 2))
    assert trial.reference(2) == pytest.approx(best)
    assert trial.cost(np.array([5, 9])) == pytest.approx(np.minimum(rows[5], rows[9]).sum())


def test_much_budget_makes_private_methods_as_good_as_the_others(trial):
    from dataclasses import replace

    found = dict(paper2.measured(replace(trial, epsilon="1000"), 2))
    for method in paper2.PRIVATE:
        assert found[method]["best"] == pytest.approx(found["NDP-rand"]["reference"], rel=0.05)
        assert found[method]["final"] <= found[method]["initial"] * (1 + 1e-9)
    assert found["partition"]["final"] <= found["NDP-rand"]["reference"] * 1.01
    assert found["NDP-rand"]["reference"] * 1.01 < found["uniform"]["final"]


# the command


def test_the_table_says_what_the_json_says(monkeypatch, capsys, tmp_path):
    monkeypatch.delenv("METRICDP_DATA", raising=False)
    asked = ["-k", "2", "--repeats", "2", "--output", str(tmp_path / "out.json"), "--quiet"]
    ran = measure(capsys, "paper2", *TINY, *asked)
    assert (ran.status, ran.err) == (0, "")
    written = json.loads((tmp_path / "out.json").read_text())
    lines = ran.out.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("final cost"))
    assert lines[at + 1].split() == ["setting", "k", *paper2.METHODS]
    for line, setting in zip(lines[at + 2 : at + 4], ("graph-r1/balanced", "graph-r1/imbalanced")):
        cells = line.replace(" ± ", "±").split()
        rows = [row for row in written["rows"] if row["setting"] == setting]
        assert cells[:2] == [setting, "2"]
        assert cells[2:] == ["{:.3f}±{:.3f}".format(*row["ratios"]["final"]) for row in rows]
    start = "DP-HST starts below DP-kmedian++ and DP-rand, imbalanced: in "
    assert any(line.startswith(start) for line in lines)
    assert written["summary"]["claims"][0]["cells"] == 1 and written["settings"]["points"] == 200
