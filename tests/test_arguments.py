"""Checks of public arguments, with the warnings of libraries as they are for users; and one rule
for public coins, wherever ``seed=`` or ``rng=`` is taken.
"""

import inspect
import warnings
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import metricdp as mdp
from metricdp.arguments import count, file_path, floats, integer, listed, positive, shown
from metricdp.errors import InputError, one_line
from metricdp.options import coins, flag, hashable
from metricdp.report import pivot_layout
from tests import cases, grid_metric, named, refuses


@cases(
    "values",
    1j,
    [1.0, 2j],
    np.array([1j]),
    np.array(["2020-01-01"], "M8[D]"),
    np.array([3], "m8[s]"),
    np.ma.masked_array([1.0, 2.0], [True, False]),
    [10**400],
    [[1], [1, 2]],
    "a",
    [object()],
    np.array([(1, 2.0)], "i4,f8"),
    ids=lambda value: named(shown(value)),
)
def test_floats_refuses_what_would_lose_something_without_quoting_it(values):
    with warnings.catch_warnings(), pytest.raises(InputError) as caught:
        warnings.simplefilter("ignore")
        floats(values, "the rule")
    assert str(caught.value) == "the rule"


def test_floats_takes_numbers():
    taken = floats([1, 2.5, True, Fraction(1, 4), Decimal("0.5"), np.float32(3)], "")
    assert taken.dtype == np.float64 and taken.tolist() == [1, 2.5, 1, 0.25, 0.5, 3]
    assert floats(np.ma.masked_array([1.0], [False]), "").tolist() == [1.0]


def test_one_number():
    assert [integer(v) for v in (3, np.int8(3), np.uint64(3))] == [3, 3, 3]
    wrong = (True, np.True_, 3.0, "3", None, np.timedelta64(3), [3], np.array(3))
    assert all(integer(v) is None for v in wrong)
    assert positive(Fraction(1, 2), "x") == 0.5 and positive(0, "x", or_zero=True) == 0
    assert count(np.int8(3), "k") == 3 and count(0, "steps", 0, 5) == 0


def test_flags_paths_and_lists():
    assert flag(np.True_, "x") is True and flag(0, "x") is False
    assert file_path("a", "x") == Path("a")
    assert listed(np.array([1, 2]), "x") == [1, 2] and listed("ab", "x") == ["a", "b"]
    assert not hashable(Decimal("sNaN")) and not hashable(([],))


def test_columns_of_arrow_are_values_of_python():
    """Their items are Arrow's own, which equal no id; as weights they ended in a TypeError."""
    pa = pytest.importorskip("pyarrow")
    points, names = [[0.0], [1.0], [5.0]], ["a", "b", "c"]
    for column in (pa.array, lambda cells: pa.chunked_array([cells[:1], cells[1:]])):
        metric = mdp.EuclideanMetric(points, ids=column(names))
        assert list(metric.ids) == names and metric.positions(column(["c"])).tolist() == [2]
        found = mdp.k_median(metric, k=1, weights=column([1, 1, 9]), candidates=column(["b", "c"]))
        assert found.centers == ["c"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames_are_lists_of_rows(library):
    """Two centers of a plane, columns of a frame of Polars, were read with axes swapped."""
    frame = pytest.importorskip(library).DataFrame({"x": [0.0, 2.0], "y": [1.0, 9.0]})
    assert listed(frame, "centers") == [[0, 1], [2, 9]]
    demand = mdp.PrivateDemand(mdp.EuclideanSpace([0, 0], [10, 10]), [[0, 1], [2, 8], [9, 9]])
    with pytest.warns(mdp.PrivateDataWarning):
        assert mdp.exact_cost(demand, frame) == 8


def test_messages_are_one_readable_line():
    assert one_line("a\nb\x1b\u202e\udcff é") == r"a\nb\x1b\u202e\udcff é"
    message = str(InputError("start " + "x" * 10**6 + " end\n"))
    assert message.startswith("start ") and message.endswith(r" end\n") and len(message) < 1000
    assert str(InputError(message)) == message
    assert [shown(one) for one in (np.int64(7), np.float64(0.5), "7")] == ["7", "0.5", "'7'"]


METRIC = grid_metric(8, 8)
SPACE = mdp.EuclideanSpace([0, 0], [1, 1])
RELEASE = mdp.release(METRIC, mdp.PrivateDemand(METRIC, METRIC.ids * 20), epsilon=1)
PUB = mdp.local.public_parameters(METRIC, epsilon=2)
ANSWERS = {
    "build_hst": lambda **c: mdp.build_hst(METRIC, **c).distance((0, 0), (7, 7)),
    "k_median": lambda **c: mdp.k_median(METRIC, k=5, **c).centers,
    "k_means": lambda **c: mdp.k_means(METRIC, k=5, **c).centers,
    "solve": lambda **c: mdp.solve(METRIC, mdp.objectives.KMedian(5), **c).centers,
    "Release.k_median": lambda **c: RELEASE.k_median(5, **c).centers,
    "Release.k_means": lambda **c: RELEASE.k_means(5, **c).centers,
    "Release.solve": lambda **c: RELEASE.solve(mdp.objectives.KMedian(5), **c).centers,
    "Release.sample": lambda **c: list(RELEASE.sample(30, **c)),
    "EuclideanSpace.net": lambda **c: SPACE.net(8, **c).points.tolist(),
    "pivot_layout": lambda **c: pivot_layout(METRIC, **c).tolist(),
    "simulated_messages": lambda **c: mdp.local.simulated_messages(PUB, [(1, 1)] * 9, **c).tolist(),
    "public_parameters": lambda **c: bytes(
        str(mdp.local.public_parameters(METRIC, epsilon=2, **c).to_json()), "utf-8"
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_integer_is_the_same_by_both_names(name):
    answer = ANSWERS[name]
    assert answer(seed=3) == answer(rng=3) == answer(rng=np.int64(3))
    same = [answer(rng=np.random.default_rng(5)) for _ in range(2)]
    assert same[0] == same[1]
    for wrong in ({"seed": 1, "rng": 1}, {"rng": "x"}, {"rng": -1}, {"seed": -1}, {"seed": 0.5}):
        refuses(r"(?i)seed", answer, **wrong)


def test_a_generator_goes_on():
    one = np.random.default_rng(5)
    assert coins(0, one) != coins(0, one)
    assert coins(0, np.random.SeedSequence(5)) == coins(0, np.random.default_rng(5))
    assert coins(0, np.random.PCG64(5)) == coins(0, np.random.default_rng(5))
    assert ANSWERS["Release.sample"](rng=one) != ANSWERS["Release.sample"](rng=one)


def test_noise_takes_neither():
    """The same coins, other noise: epsilon so small that two equal answers are a chance of less
    than 1e-9 (64 counts of discrete Laplace noise of scale over 1,000).
    """
    demand = mdp.PrivateDemand(METRIC, [(1, 1)] * 500)
    twice = [{"epsilon": "0.001", "rng": np.random.default_rng(1)} for _ in range(2)]
    assert not np.array_equal(*[mdp.release(METRIC, demand, **asked).weights for asked in twice])


def test_who_takes_a_seed_takes_a_generator():
    public = [getattr(mdp, name) for name in mdp.__all__]
    public += [getattr(mdp.local, name) for name in mdp.local.__all__]
    public += [f for each in public if inspect.isclass(each) for f in vars(each).values()]
    taking = 0
    for each in public:
        if not inspect.isfunction(each) or each.__qualname__.startswith("HST."):
            continue  # a tree keeps the seed that it was built with
        names = inspect.signature(each).parameters
        if ("seed" in names and not each.__name__.startswith("_")) or each.__name__ == "__init__":
            assert ("rng" in names) == ("seed" in names), each.__qualname__
            taking += "rng" in names
    assert taking >= 14
