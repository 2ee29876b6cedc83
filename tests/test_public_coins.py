"""``seed=`` and ``rng=`` of public coins: one rule, wherever either is taken."""

import inspect

import numpy as np
import pytest

import metricdp as mdp
from metricdp.errors import InputError
from metricdp.options import coins
from metricdp.report import pivot_layout
from tests import grid_metric, refuses

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


def test_nothing_is_charged_for_bad_coins():
    ledger = mdp.Ledger(1)
    demand = mdp.PrivateDemand(METRIC, [(1, 1)] * 500)
    for ask in (mdp.release, mdp.k_median, mdp.k_means):
        with pytest.raises(InputError, match="not both"):
            extra = {} if ask is mdp.release else {"k": 2}
            ask(METRIC, demand, epsilon=1, ledger=ledger, seed=1, rng=1, **extra)
    assert ledger.left == 1
