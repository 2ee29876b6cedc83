"""Reports as the paper prints them, and their distribution."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import chisquare, ks_2samp

import metricdp as mdp
from benchmarks.methods.printed_local import drawn, named_vectors, reporting, simulated_sketch
from metricdp.local import streams
from metricdp.local.oracles import oracle_of
from metricdp.local.randomizers import TopVectors
from tests.local.test_decoding import SMALL, are_valid
from tests.naive_local import report_chance

OPTIONS = [
    {"histogram": "levels", "split": "users"},
    {"histogram": "budget", "split": "budget"},
    {"split": "budget"},
    {"histogram": "budget", "split": "users"},
]


def test_simulated_vectors_have_the_devices_distribution():
    randomizer, rng, n = TopVectors(Fraction(2), 12, 64, 10, 3), np.random.default_rng(2), 3000
    x = rng.normal(size=12)
    x /= np.linalg.norm(x) * 1.25  # shorter than 1: rounded at random
    device = []
    for _ in range(n):
        character, nonce, index = randomizer.draw(
            (5, x), lambda bound: int.from_bytes(rng.bytes(16), "big") % bound
        )
        device.append((-1) ** (character & 5).bit_count() * streams.vector(nonce, index, 12) / 1024)
    rows, characters = named_vectors(randomizer, np.full(n, 5), np.tile(x, (n, 1)), rng)
    sign = np.array([(-1) ** (int(c) & 5).bit_count() for c in characters])
    simulated, device = rows * sign[:, None], np.array(device)
    for direction in (x, np.linalg.svd(x[None])[2][3]):
        assert ks_2samp(device @ direction, simulated @ direction).pvalue > 1e-4
    for named in (device, simulated):
        estimate = named / oracle_of(randomizer).scale
        found = estimate.mean(axis=0)
        assert found == pytest.approx(x, abs=5 * (oracle_of(randomizer).variance / 12 / n) ** 0.5)
        expected = pytest.approx(oracle_of(randomizer).variance, rel=0.05)
        assert (estimate**2).sum(axis=1).mean() == expected


def test_both_ways_of_reporting_are_epsilon_private_as_asked():
    space = mdp.EuclideanSpace([-1] * 10, [1] * 10)
    for split in ("users", "budget"):
        public = mdp.local.public_parameters(space, "3", users=10_000, k=4, radius=1.0, seed=0)
        public = reporting(public, split=split)
        spent = [sum(r.randomizer.epsilon for r in role.reports) for role in public.roles]
        assert max(spent) == 3 and len(public.roles) == (2 if split == "users" else 1)


@pytest.mark.parametrize("options", OPTIONS)
def test_every_message_is_valid(options):
    space = mdp.EuclideanSpace([-1] * 5, [1] * 5)
    points = np.random.default_rng(0).uniform(-1, 1, (40, 5))
    parameters = mdp.local.public_parameters(space, 3, k=2, depth=3)
    printed = reporting(parameters, **options)
    are_valid(printed, points)
    assert simulated_sketch(printed, points, seed=0).n_messages == 40
    assert reporting(parameters, "leaves", "users") == parameters


@pytest.mark.parametrize("randomizer", SMALL, ids=repr)
def test_drawn_reports_have_the_devices_distribution(randomizer):
    n = 40_000
    packed = drawn(randomizer, np.full(n, 2), np.random.default_rng(1))
    outputs = [
        o for o in product(*map(range, randomizer.limits)) if report_chance(randomizer, 2, o)
    ]
    number = {randomizer.pack(o): i for i, o in enumerate(outputs)}
    seen = np.bincount([number[bytes(row)] for row in packed], minlength=len(outputs))
    expected = np.array([float(report_chance(randomizer, 2, o)) for o in outputs]) * n
    assert chisquare(seen, expected).pvalue > 1e-6
