"""One round, no trusted curator: graphs (local and shuffle) and mixtures of Gaussians, on simulated
users.

    python -m benchmarks local graph [--users 100000] [--epsilons 0.5 1 2 4] [--runs 5]
        [--concentration 10] [--spots]
    python -m benchmarks local shuffle [--users 100000 10000] [--epsilons 0.25]
    python -m benchmarks local mixtures [--users 100000] [--epsilons 1 2 4 8] [-k 8] [--runs 5]
        [--histogram leaves] [--split users]
    python -m benchmarks local speed

Prints tables as in ``local.md``. Coquimbo comes from METRICDP_DATA. Messages are real ones, of
simulated users (`simulated_messages`), but for vector reports of mixtures, which are drawn by their
distribution (`benchmarks.methods.printed_local`).
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import metricdp as mdp
from benchmarks.methods.printed_local import reporting, simulated_sketch
from benchmarks.paper5 import objective, separated
from benchmarks.sets.graphs import DATA, hot_spots, road_network, spots_in_the_plane
from metricdp.local.ball import _SimHash
from metricdp.local.oracles import oracle_of
from metricdp.solvers.kmedian import solve


def coquimbo() -> mdp.GraphMetric:
    """The road network."""
    return mdp.read_graph(
        DATA / "roads/coquimbo/links.csv",
        weight="length_m",
        symmetrize=True,
        largest_component=True,
    )


def graph(options: argparse.Namespace, trust: str) -> None:
    """Cost of the private centers over that of the best non-private ones: mean (largest) of the
    runs.
    """
    metric = road_network("liechtenstein") if options.spots else coquimbo()
    print(
        f"| users | epsilon | parts | randomizer, bytes | cost / non-private, mean (largest) of "
        f"{options.runs} |\n" + "| --- " * 5 + "|"
    )
    for users in options.users:
        if options.spots:
            demand = spots_in_the_plane(np.asarray(metric.coordinates, float), users)
        else:
            demand = hot_spots(metric, users, concentration=options.concentration)
        weights = np.bincount(demand, minlength=len(metric)).astype(float)
        best = solve(metric, weights, options.k, seed=0, starts=5).cost
        items = [metric.ids[i] for i in demand]
        for epsilon in options.epsilons:
            pub = mdp.local.public_parameters(
                metric, epsilon, users=users, k=options.k, trust=trust, parts=options.parts
            )
            decoder, ratios = mdp.local.Decoder(pub), []
            for run in range(options.runs):
                estimate = decoder.fit(mdp.local.simulated_messages(pub, items, seed=run))
                found = metric.positions(estimate.k_median(metric=metric, k=options.k).centers)
                ratios.append(float(weights @ metric.nearest_to(found)[1]) / best)
            randomizer = pub.roles[0].reports[0].randomizer
            shown = (
                f"{epsilon} (local {float(pub.epsilon):.3g})"
                if trust.endswith("shuffle")
                else epsilon
            )
            parts = " / ".join(str(role.reports[0].randomizer.domain) for role in pub.roles)
            print(
                f"| {users:,} | {shown} | {parts} | {randomizer.kind}, "
                f"{pub.message_bytes} | "
                f"{np.mean(ratios):.3f} ({max(ratios):.3f}) |",
                flush=True,
            )


def mixtures(options: argparse.Namespace) -> None:
    """Objective of the private centers, and what noise alone would make of it if all clusters were
    distinguished.
    """
    d, r = 100, 100.0
    space = mdp.EuclideanSpace([-1] * d, [1] * d)
    print(
        f"| users | k | epsilon | median of {options.runs} (smallest, largest) | leaves, median | "
        f"z / (1 + z) |\n" + "| --- " * 6 + "|"
    )
    for users in options.users:
        for epsilon in options.epsilons:
            found, leaves = [], []
            for run in range(options.runs):
                points = separated(users, d, options.k, r, run)
                pub = mdp.local.public_parameters(
                    space, epsilon, users=users, k=options.k, radius=1.0, seed=run
                )
                pub = reporting(pub, options.histogram, options.split)
                estimate = mdp.local.Decoder(pub).decode(simulated_sketch(pub, points, seed=run))
                found.append(objective(points, estimate.k_means(options.k).centers))
                leaves.append(len(_SimHash(estimate).leaves(options.k)[1]))
            vectors = pub.roles[-1]
            share = (
                vectors.share / sum(role.share for role in pub.roles) if len(pub.roles) > 1 else 1.0
            )
            z = options.k**2 * oracle_of(vectors.reports[-1].randomizer).variance / (share * users)
            print(
                f"| {users:,} | {options.k} | {epsilon} | {np.median(found):.4f} "
                f"({min(found):.4f}, {max(found):.4f}) | "
                f"{np.median(leaves):.0f} | {z / (1 + z):.4f} |",
                flush=True,
            )


def speed() -> None:
    """CPU time of one message without numpy, and of a million at the decoder."""
    metric = mdp.EuclideanMetric(np.arange(2000.0)[:, None])
    print(
        "| epsilon | parts | randomizer | bytes | encode, microseconds | decode 10^6, seconds |\n"
        + "| --- " * 6
        + "|"
    )
    for epsilon, parts in (("0.5", 96), (1, 160), (2, 160), (4, 100), (4, 400)):
        pub = mdp.local.public_parameters(metric, epsilon, parts=parts)
        encoder, decoder = mdp.local.Encoder(pub), mdp.local.Decoder(pub)
        start = time.process_time()
        few = [encoder.encode(i % 2000) for i in range(10_000)]
        each = (time.process_time() - start) / len(few)
        decoder.fit(few)
        many = [
            bytes(row)
            for row in mdp.local.simulated_messages(pub, np.arange(1_000_000) % 2000, seed=0)
        ]
        start = time.process_time()
        decoder.fit(many)
        randomizer = pub.roles[0].reports[0].randomizer
        print(
            f"| {epsilon} | {parts} | {randomizer.kind} | {pub.message_bytes} | {each * 1e6:.1f} "
            f"| {time.process_time() - start:.2f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("graph", "shuffle", "mixtures", "speed"))
    parser.add_argument("--users", type=int, nargs="+", default=[100_000])
    parser.add_argument("--epsilons", nargs="+", default=None)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--concentration", type=float, default=10.0)
    parser.add_argument("--parts", type=int)
    parser.add_argument(
        "--spots", action="store_true", help="a dozen spots in Liechtenstein, in place of Coquimbo"
    )
    parser.add_argument("--histogram", default="leaves")
    parser.add_argument("--split", default="users")
    parser.add_argument("-k", type=int, default=None)
    options = parser.parse_args()
    start = time.process_time()
    if options.what in ("graph", "shuffle"):
        options.k = options.k or 10
        options.epsilons = options.epsilons or (
            ["0.5", "1", "2", "4"] if options.what == "graph" else ["0.25"]
        )
        graph(options, "one_round_local" if options.what == "graph" else "one_round_shuffle")
    elif options.what == "mixtures":
        options.k, options.epsilons = options.k or 8, options.epsilons or ["1", "2", "4", "8"]
        mixtures(options)
    else:
        speed()
    print(f"{time.process_time() - start:.0f} CPU seconds")


if __name__ == "__main__":
    main()
