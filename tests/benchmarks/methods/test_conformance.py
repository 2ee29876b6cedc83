"""The papers' methods do what every private method must, and no record changes what they ask."""

from functools import partial

import pytest

import metricdp as mdp
from benchmarks.methods.balcan import Balcan
from benchmarks.methods.k_variates import KVariates
from benchmarks.methods.printed_coreset import PrintedCoreset
from benchmarks.methods.printed_hst import PrintedHST
from benchmarks.methods.printed_quadtree import PrintedQuadtree
from benchmarks.methods.projected import Projected
from benchmarks.methods.several_trees import SeveralTrees
from benchmarks.methods.tree_hst import TreeHST
from metricdp.audit.replay import verified
from metricdp.audit.replay.subjects import RECORD, USER, _asked, _worlds
from metricdp.audit.replay.verifying import RELATIONS, Subject
from metricdp.testing import MethodTestCase
from tests import cases
from tests.methods.spending import check_budget, check_every_k


class TestMethods(MethodTestCase):
    """Each in turn, as small as its tests need it."""

    @pytest.fixture(
        autouse=True,
        params=[
            KVariates(),
            Balcan(),
            PrintedCoreset(cells=16),
            TreeHST(levels=2),
            PrintedHST(),
            Projected(dimensions=1),
            SeveralTrees(passes=2, runs=2, centers="tree"),
            PrintedQuadtree(),
        ],
        ids=lambda method: method.name,
    )
    def tried(self, request):
        self.one = request.param

    def method(self):
        return self.one


PRINTED = [KVariates(), Balcan(swaps=2), PrintedQuadtree(passes=3)]
SEVERAL = [
    SeveralTrees(runs=2),
    SeveralTrees(rounds=3, budget="uniform", estimate="own", passes=2, runs=2, depth=2),
    SeveralTrees(passes=2, centers="tree"),
]


@cases(
    ("method", "delta", "relation"),
    *((each, *with_) for each in PRINTED for with_ in zip((0, "1e-6"), RELATIONS)),
    *((each, 0, "replace-one") for each in SEVERAL),
)
def test_what_is_charged_is_spent_whoever_is_there(method, delta, relation):
    check_budget(method, relation, delta)


@cases("method", PrintedHST(), *(TreeHST(centers=way) for way in ("solver", "initial", "tree")))
def test_every_k_gets_distinct_centers_even_of_nobody(method):
    check_every_k(method)


TREE = partial(PrintedQuadtree, threshold=0.02, steps=0)
OWN = {"budget": "uniform", "centers": "tree", "estimate": "own", "threshold": 0.02}
AWAY = partial(SeveralTrees, **OWN, rounds=1, steps=0)
CAST = Projected(
    inner=mdp.methods.Quadtree(steps=0, rounds=1, records_hint=24), dimensions=1, steps=1
)
ROUNDS = partial(PrintedCoreset, cells=3, records_hint=24, left_over=0.5)
ROWS = {
    "coreset by rounds": ("a box", mdp.k_means, ROUNDS(), (8, 0)),
    "coreset by rounds, delta": ("a box", mdp.k_means, ROUNDS(), (8, "1/100")),
    "projected centers": ("a box", mdp.k_means, ROUNDS(center="projection"), (8, 0)),
    "coreset in chunks": ("a box", mdp.k_means, ROUNDS(chunk=10), (8, 0)),
    "k-variates": ("a box", mdp.k_median, KVariates(), (1, 0)),
    "balcan": ("a box", mdp.k_median, Balcan(), (1, 0)),
    "quadtree as printed": ("a box", mdp.k_median, TREE(depth=2), (1, 0)),
    "badly cut centers": ("a box", mdp.k_means, TREE(depth=1), (1, 0)),
    "badly cut centers, estimated": ("a box", mdp.k_means, AWAY(passes=2, depth=1), (1, 0)),
    "the best of two runs": ("a box", mdp.k_means, SeveralTrees(rounds=1, runs=2, steps=0), (4, 0)),
    "projected": ("a box in R^4", mdp.k_means, CAST, (1, 0)),
    "hst by subtrees": ("a grid", mdp.k_median, TreeHST(levels=2), (1, 0)),
    "hst, tree's optimum": ("a grid", mdp.k_median, TreeHST(levels=2, centers="tree"), (1, 0)),
    "hst as printed": ("a grid", mdp.k_median, PrintedHST(), (1, 0)),
    "balcan, delta": ("a box", mdp.k_means, Balcan(), (1, "1e-9")),
}


@cases(("unit", "relation"), *zip([RECORD, USER], RELATIONS), ids=["record", "user"])
@pytest.mark.parametrize("row", ROWS)
def test_the_same_questions_whoever_is_there(row, unit, relation):
    world, ask, method, budget = ROWS[row]
    universe, places = _worlds()[world]
    call = partial(_asked, ask, 2, method, budget)
    verdict = verified(Subject(row, universe, places, call, unit, budget=budget), relation, True)
    assert not verdict.fault and verdict.pairs
