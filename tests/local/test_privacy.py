"""Local reports: the distribution of every message for every input, walked through all coins; what
devices refuse; what they import.
"""

import subprocess
import sys
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from secrets import randbelow

import numpy as np
import pytest

import metricdp as mdp
from metricdp.local import streams
from metricdp.local.encoder import Encoder
from metricdp.local.parameters import PublicParameters, Report, Role
from metricdp.local.randomizers import (
    KRR,
    UNIT,
    LocalHashing,
    SubsetSelection,
    TopVectors,
    favored_weight,
)
from tests import cases, each, grid_metric, path_metric, refuses
from tests.naive_local import distribution, distributions, report_chance

EPSILONS = [Fraction(epsilon) for epsilon in ("1/1000", "1/2", "1", "7/3", "5", "20")]
SMALL = [
    KRR(Fraction(1), 2, 4),
    KRR(Fraction(2), 5, 3),
    LocalHashing(Fraction(1), 5, 1, 4),
    LocalHashing(Fraction(3, 2), 4, 2, 4),
    SubsetSelection(Fraction(1), 5, 2, 4),
    SubsetSelection(Fraction(1, 2), 4, 3, 4),
]
LINE = mdp.EuclideanMetric(np.arange(6.0)[:, None])


def exp_bounds(epsilon):
    """Rationals below and above exp(epsilon)."""
    with localcontext() as context:
        context.prec = 60
        value = Fraction((Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp())
    return value * (1 - Fraction(1, 10**50)), value * (1 + Fraction(1, 10**50))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("unit", [4, UNIT])
def test_the_favored_weight_is_below_exp_epsilon_and_close(epsilon, unit):
    low, _ = exp_bounds(epsilon)
    assert low - Fraction(2, unit) < Fraction(favored_weight(epsilon, unit), unit) <= low


@pytest.mark.parametrize("randomizer", SMALL, ids=repr)
def test_every_output_has_its_stated_weight_and_no_pair_differs_by_more_than_exp_epsilon(
    randomizer,
):
    each = distributions(randomizer.draw, range(randomizer.domain))
    low, _ = exp_bounds(randomizer.epsilon)
    for value, found in enumerate(each):
        assert sum(found.values()) == 1
        assert all(p == report_chance(randomizer, value, output) for output, p in found.items())
        for output in found:
            assert all(0 <= n < limit for n, limit in zip(output, randomizer.limits))
    for mine, other in product(each, repeat=2):
        assert all(p <= low * other[output] for output, p in mine.items())


def test_a_planted_report_of_too_large_a_weight_is_seen():
    class Planted(KRR):
        favored = 2 * favored_weight(Fraction(2), 3)

    one, other, *_ = distributions(Planted(Fraction(2), 5, 3).draw, range(5))
    assert max(p / other[output] for output, p in one.items()) > exp_bounds(Fraction(2))[1]


def hand_made(*roles):
    items = {"kind": "hierarchy", "parts": 3, "ids": {"range": 6}, "levels": []}
    items |= {"labels": [0, 0, 1, 1, 2, 2], "children": [[0, 1], [3, 2]]}
    return PublicParameters("one_round_local", Fraction(1), 10, Fraction(0), items, roles)


def test_whole_messages_of_several_roles_and_reports():
    half = Fraction(1, 2)
    shared = Role(2, (Report(KRR(half, 3, 2), 0), Report(LocalHashing(half, 3, 1, 2), 0)))
    encoder = Encoder(hand_made(shared, Role(1, (Report(KRR(Fraction(1), 3, 4), 0),))))
    each = distributions(encoder._encode, range(6))
    low, _ = exp_bounds(Fraction(1))
    assert each[0] == each[1] != each[2]
    expected = {encoder.parameters.message_bytes}
    assert {len(message) for found in each for message in found} == expected
    for mine, other in product(each, repeat=2):
        assert all(p <= low * other[message] for message, p in mine.items())


@cases(
    "vectors",
    [[1.0, 0], [0, 1.0]],
    [[1.0, 0], [-1.0, 0]],
    [[0.0, 0], [0.6, 0.8]],
    [[1e-300, 0], [1.0, 1.0]],
    [[3.0, 4.0], [0.1, 0]],
)
def test_vector_reports_for_any_nonce_and_rounding(vectors):
    randomizer = TopVectors(Fraction(1), 2, 6, 2, 1, 4)
    low, _ = exp_bounds(Fraction(1))

    def fixed(below, value, nonce, rounding):
        coins = iter([nonce, rounding])
        return randomizer.draw(value, lambda bound: next(coins) if bound >= 2**53 else below(bound))

    for nonce, rounding in product((0, 1, 2**64 - 1), (0, 2**53 - 1)):
        values = [(bucket, np.array(x)) for x in vectors for bucket in (0, 1)]
        distributions = [
            distribution(lambda below, v=value, n=nonce, r=rounding: fixed(below, v, n, r))
            for value in values
        ]
        for mine in distributions:
            words = [(character, nonce, i) for character in range(2) for i in range(6)]
            weights = [mine.get(word, 0) for word in words]
            assert sum(weights) == 1 and min(weights) > 0
            top = Fraction(randomizer.favored, 2 * (2 * randomizer.favored + 4 * 4))
            assert [weights[:6].count(top), weights[6:].count(top)] == [2, 2]
            pairs = ((p, other[output]) for other in distributions for output, p in mine.items())
            assert all(p <= low * q for p, q in pairs)


@pytest.mark.parametrize("item", [6, -1, "0", None, True, [], np.nan, {}, (1, 2)])
def test_items_that_are_not_in_the_universe_make_no_message_and_are_not_quoted(item):
    encoder = Encoder(mdp.local.public_parameters(LINE, 1, parts=3))
    refusal = refuses("", encoder._encode, item, lambda bound: pytest.fail("a coin was drawn"))
    assert str(refusal) == "the item is not in the public universe of these parameters"


@pytest.mark.parametrize(
    "point",
    [[1.0], [1.0, float("nan")], [1.0, float("inf")], "ab", None, [[1.0, 2.0]], [1, "x"], [1j, 2]],
)
def test_points_that_are_none_make_no_message(point):
    encoder = Encoder(mdp.local.public_parameters(mdp.EuclideanSpace([-1, -1], [1, 1]), 1))
    with pytest.raises(mdp.InputError, match="a point must be 2 finite numbers"):
        encoder._encode(point, lambda bound: pytest.fail("a coin was drawn"))
    assert len(encoder.encode([1e300, -1e300])) == encoder.parameters.message_bytes


def test_parameters_survive_json_and_hostile_ones_are_refused():
    text = mdp.local.public_parameters(LINE, "1/3", parts=3).to_json()
    assert PublicParameters.of(text).to_json() == text
    plain = PublicParameters.of(text).to_dict()
    report = plain["roles"][0]["reports"][0]
    more = ({"labels": [0] * 6}, {"children": [[0, 9], [3, 2]]})
    items = [plain["items"] | one for one in more]
    reports = [[report | {"epsilon": "30"}], [report | {"view": 1}], [report, report]]
    worse = each(version=[2], format=["x"], trust=["me"], users=[0], message_bytes=[99])
    worse += each(epsilon=["1/4", "nan", 0.3], items=[{}, *items])
    worse += each(roles=[[], *([{"share": 1, "reports": some}] for some in reports)])
    for change in worse:
        refuses("", Encoder, plain | change)
    refuses("more than this device allows", Encoder, text, most_epsilon="0.3")
    assert Encoder(text, most_epsilon="0.34").epsilon == Fraction(1, 3)


def test_tuples_text_and_truth_values_as_ids():
    pair = mdp.PrecomputedMetric([[0.0, 1.0], [1.0, 0.0]], ids=[True, "b"])
    for metric in (grid_metric(3, 3), path_metric("0123"), pair):
        encoder = Encoder(mdp.local.public_parameters(metric, 1, parts=2).to_json())
        assert all(encoder.encode(identifier) for identifier in metric.ids)


def test_devices_need_no_library_for_a_finite_universe():
    text = mdp.local.public_parameters(LINE, 1, parts=3).to_json()
    code = (
        "import sys\nfor name in ('numpy', 'scipy', 'numba', 'opendp', 'networkx'): "
        "sys.modules[name] = None\n"
        "from metricdp.local.encoder import "
        "Encoder\nprint(len(Encoder(sys.stdin.read()).encode(3)))\n"
        "print(sorted(m for m in sys.modules if m.startswith('metricdp')))"
    )
    call = [sys.executable, "-c", code]
    done = subprocess.run(call, input=text, capture_output=True, text=True, check=True)
    size, modules = done.stdout.splitlines()
    assert int(size) <= 16
    # metricdp.metrics is a table of names, which metricdp.lazy loads when they are asked for
    of_local = ("encoder", "items", "parameters", "randomizers", "streams")
    allowed = {"metricdp.errors", "metricdp.local", "metricdp.lazy", "metricdp.metrics"}
    allowed |= {f"metricdp.local.{name}" for name in of_local}
    assert set(eval(modules)) <= {"metricdp", *allowed}


def test_coins_are_the_operating_systems_and_fresh():
    metric = mdp.EuclideanMetric(np.arange(40.0)[:, None])
    encoder = Encoder(mdp.local.public_parameters(metric, 1, parts=40))
    assert Encoder.encode.__globals__["randbelow"] is randbelow
    assert len({encoder.encode(3) for _ in range(50)}) > 10


def test_streams_have_the_normal_distribution_and_any_vector_alone():
    drawn = streams.vectors(5, 4000, 7)
    assert abs(drawn.mean()) < 5 * 1024 / 28_000**0.5 and abs(drawn.std() / 1024 - 1) < 0.02
    assert (streams.vector(5, 1234, 7) == drawn[1234]).all()
    assert (streams.quantiles() == -streams.quantiles()[::-1]).all()
