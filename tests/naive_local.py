"""Slow, obvious reference implementations of the local model: exact distributions by walking
through all coins, hashes one by one, exact shuffles of few users.
"""

from collections import Counter
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np


def distribution(make):
    """Exact distribution of ``make(below)``: every path of coins, each a uniform integer below a
    bound, with its probability.
    """
    found, waiting = {}, [()]
    while waiting:
        path = waiting.pop()
        bounds = []

        def below(bound, path=path, bounds=bounds):
            bounds.append(bound)
            return path[len(bounds) - 1] if len(bounds) <= len(path) else 0

        outcome = make(below)
        # this run took 0 for the coins after the path; branch at the first of them
        if len(bounds) > len(path):
            waiting += [(*path, face) for face in range(bounds[len(path)])]
            continue
        chance = Fraction(1)
        for bound in bounds:
            chance /= bound
        found[outcome] = found.get(outcome, 0) + chance
    return found


def distributions(draw, values):
    """Exact distribution of ``draw(value, below)`` for each value."""
    return [distribution(lambda below, v=value: draw(v, below)) for value in values]


def hash_counts(randomizer, functions, hashes):
    """How many messages support each value, by hashing every value for every message."""
    seen, values = [*zip(map(int, functions), map(int, hashes))], range(randomizer.domain)
    return [sum(randomizer.hash(f, v) == s for f, s in seen) for v in values]


def walsh(table):
    """Walsh–Hadamard transform by its definition."""
    n = len(table)
    return np.array(
        [sum((-1) ** (u & v).bit_count() * table[u] for u in range(n)) for v in range(n)]
    )


def shuffled_delta(distribution_a, distribution_b, others, grown):
    """Exact delta between the shuffled outputs of user 1 with distribution a or b and other users
    with their distributions; grown = exp(epsilon).
    """

    def outputs(first):
        chances = Counter()
        for drawn in product(*([list(first.items())] + [list(other.items()) for other in others])):
            chance = 1.0
            for _, p in drawn:
                chance *= float(p)
            chances[tuple(sorted(Counter(o for o, _ in drawn).items()))] += chance
        return chances

    a, b = outputs(distribution_a), outputs(distribution_b)
    return sum(max(0.0, a[x] - grown * b[x]) for x in a)


def pair_delta(ratio, p, users, grown):
    """Exact delta of the pair of distributions of counts, in rationals."""
    total = Fraction(0)
    for c in range(users):
        chance = comb(users - 1, c) * (2 * p) ** c * (1 - 2 * p) ** (users - 1 - c)
        for a in range(c + 2):
            one = Fraction(comb(c, a - 1) if a else 0, 2**c)
            none = Fraction(comb(c, a), 2**c)
            first, second = (ratio * one + none) / (ratio + 1), (one + ratio * none) / (ratio + 1)
            total += chance * max(Fraction(0), first - grown * second)
    return total


def threshold(frequencies, k, a, most):
    """COMPUTETHRESHOLD as printed: z_1 … z_m in nondecreasing order of frequency."""
    f = sorted(frequencies)
    m = len(f)
    for j in range(1, min(most, m // (k * a)) + 1):
        if sum(f[: m - (j - 1) * k * a]) <= 2 * sum(f[: m - j * k * a]):
            return (j - 1) * k * a
    return min(m, most * k * a)


def report_chance(randomizer, value: int, output: tuple[int, ...]) -> Fraction:
    """The chance of a report: outputs that the value favors have weight A, others B."""
    domain, a, b = randomizer.domain, randomizer.favored, randomizer.unit
    if randomizer.kind == "k-rr":
        return Fraction(a if output[0] == value else b, a + (domain - 1) * b)
    if randomizer.kind == "local-hashing":
        functions, buckets = randomizer.limits
        favored = randomizer.hash(output[0], value) == output[1]
        return Fraction(a if favored else b, functions * (a + (buckets - 1) * b))
    size = randomizer.size
    if output[0].bit_count() != size:
        return Fraction(0)
    total = a * comb(domain - 1, size - 1) + b * comb(domain - 1, size)
    return Fraction(a if output[0] >> value & 1 else b, total)
