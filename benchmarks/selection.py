"""Exact private selection: time and memory against the number of candidates, and its distribution
against OpenDP's sampler.

    python -m benchmarks selection [--draws 1000000] [--opendp-draws 1000000]

Prints the tables of ``selection.md``. Scores are made block by block, so that the candidates are
never all in memory.
"""

from __future__ import annotations

import argparse
import itertools
import os
import resource
import statistics
import time
from collections.abc import Iterator
from fractions import Fraction
from functools import partial

import numpy as np
from scipy.stats import chi2_contingency, chisquare

from benchmarks.frame.races import races
from metricdp.privacy.selection import BLOCK, _Leader, choose

DISTRIBUTIONS = ("exponential mechanism", "permute-and-flip")


def blocks(n: int, top: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    for start in range(0, n, BLOCK):
        yield rng.integers(0, top, min(BLOCK, n - start))


def opendp(monotonic: bool, pure: bool, scale: float):
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_noisy_max
    from opendp.measures import max_divergence, zero_concentrated_divergence
    from opendp.metrics import linf_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    measure = max_divergence() if pure else zero_concentrated_divergence()
    return make_noisy_max(
        vector_domain(atom_domain(T="i64")),
        linf_distance(T="i64", monotonic=monotonic),
        measure,
        scale=scale,
    )


def drawn(n: int, top: int, rng: np.random.Generator, eta: Fraction, distribution: str) -> int:
    return choose(blocks(n, top, rng), eta, distribution)


def timed(work, repeats: int) -> float:
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def times(repeats: int) -> None:
    print(
        "| candidates | scores up to | making the scores, s | exponential mechanism, s | "
        "permute-and-flip, s | OpenDP noisy max, s |"
    )
    print("| --- | --- | --- | --- | --- | --- |")
    for n in (10**4, 10**5, 10**6, 10**7):
        for top in (10, 10**6, 10**12):
            rng, eta = np.random.default_rng(0), Fraction(50, top)
            making = timed(lambda: [None for _ in blocks(n, top, rng)], repeats)  # noqa: B023
            own = [
                timed(partial(drawn, n, top, rng, eta, distribution), repeats) - making
                for distribution in DISTRIBUTIONS
            ]
            theirs = ""
            if n <= 10**6 and top == 10**6:
                scores, mechanism = (
                    rng.integers(0, top, n).tolist(),
                    opendp(True, True, float(1 / eta)),
                )
                theirs = f"{timed(lambda: mechanism(scores), min(repeats, 3)):.3f}"  # noqa: B023
            print(
                f"| {n:,} | {top:,} | {making:.3f} | {own[0]:.3f} | {own[1]:.3f} | {theirs} |",
                flush=True,
            )
    print(
        f"\nlargest resident memory of the process: "
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB"
    )


def draws(scores: np.ndarray, eta: Fraction, distribution: str, n: int) -> np.ndarray:
    counts, gumbel = np.zeros(len(scores), np.int64), distribution == DISTRIBUTIONS[0]
    for start in range(0, n, 100_000):
        bits = np.frombuffer(
            os.urandom(8 * min(100_000, n - start) * len(scores)), np.uint64
        ).reshape(-1, len(scores))
        winners = np.empty(len(bits), np.int64)
        races(scores, bits, float(eta), gumbel, winners)
        for row in np.flatnonzero(winners < 0):
            leader = _Leader(gumbel, eta)
            leader.challenge(scores, bits[row], 0)
            winners[row] = leader.position
        counts += np.bincount(winners, minlength=len(scores))
    return counts


def exact_distribution(scores: np.ndarray, eta: float, distribution: str) -> np.ndarray:
    """Probability of each candidate: softmax, or over all orders of permute-and-flip's coins."""
    heads = np.exp(eta * (scores - scores.max()))
    if distribution == DISTRIBUTIONS[0]:
        return heads / heads.sum()
    chance, orders = np.zeros(len(scores)), list(itertools.permutations(range(len(scores))))
    for order in orders:
        all_tails = np.r_[1.0, np.cumprod(1 - heads[list(order)])[:-1]]
        chance[list(order)] += all_tails * heads[list(order)] / len(orders)
    return chance


def distributions(n: int, n_opendp: int) -> None:
    scores, eta = np.array([3, 0, 3, 1, 2, -4]), Fraction(1, 2)
    exact = {
        distribution: exact_distribution(scores, float(eta), distribution)
        for distribution in DISTRIBUTIONS
    }
    print(
        "\n| distribution | own draws | p, exact distribution | p, scale 1 % off | OpenDP draws "
        "| p, exact distribution | p, own against OpenDP |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for distribution in DISTRIBUTIONS:
        own = draws(scores, eta, distribution, n)
        mechanism = opendp(True, distribution == DISTRIBUTIONS[1], float(1 / eta))
        listed = scores.tolist()
        theirs = np.bincount([mechanism(listed) for _ in range(n_opendp)], minlength=len(scores))
        off = exact_distribution(scores, 1.01 * float(eta), distribution)
        ps = [
            chisquare(own, exact[distribution] * n).pvalue,
            chisquare(own, off * n).pvalue,
            chisquare(theirs, exact[distribution] * n_opendp).pvalue,
        ]
        both = chi2_contingency(np.array([own, theirs])).pvalue
        print(
            f"| {distribution} | {n:,} | {ps[0]:.3f} | {ps[1]:.1e} | {n_opendp:,} | {ps[2]:.3f} | "
            f"{both:.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--draws", type=int, default=10**6)
    parser.add_argument("--opendp-draws", type=int, default=10**6)
    args = parser.parse_args()
    choose([np.arange(3)], Fraction(1), "permute-and-flip")
    times(args.repeats)
    distributions(args.draws, args.opendp_draws)
