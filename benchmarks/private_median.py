"""The private 1-median and 1-mean beside the best without privacy, and beside objective
perturbation in floating point.

Data: n records whose median distance from their median is 1/200 of the box's diagonal (an effective
diameter of 1/100), Gaussian or skewed, around a place drawn in the box; with --outliers, a part of
the records anywhere in the box. Reported: the distance of the private center from the best one, in
median distances, and the cost above the best, in percent; means of several runs, each with fresh
data and noise.

Objective perturbation (approximate minima perturbation: Iyengar et al., IEEE S&P 2019, on the
smoothed norm of Cohen-Addad et al.) is here for comparison alone: its noise is continuous, it knows
n, and it reads public data. `metricdp.running.private_centers` says why it is not offered.

    python -m benchmarks private_median [--runs 5] [--epsilon 1] [--records 1000 10000]
    [--dimensions 2 10 50] [--outliers 0.05]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

import metricdp as mdp
from benchmarks.methods.rings import ring_median
from metricdp.solvers.lloyd import converged

Points = NDArray[np.float64]


def cloud(n: int, d: int, seed: int, outliers: float) -> Points:
    """Records in the box [-1, 1]^d."""
    rng = np.random.default_rng([seed, n, d])
    offsets = rng.normal(size=(n, d)) if seed % 2 else rng.exponential(size=(n, d))
    offsets *= (
        2
        * np.sqrt(d)
        / 200
        / np.median(np.linalg.norm(offsets - np.median(offsets, axis=0), axis=1))
    )
    points = rng.uniform(-0.7, 0.7, d) + offsets
    far = rng.random(n) < outliers
    points[far] = rng.uniform(-1, 1, (int(far.sum()), d))
    return points.clip(-1, 1)


def best_median(points: Points) -> Points:
    """The 1-median by Weiszfeld's steps."""
    start = np.median(points, axis=0)[None]
    return converged(points, np.ones(len(points)), start, power=1, smooth=1e-7, steps=300)


def objective_perturbation(
    points: Points, epsilon: float, delta: float, smooth: float, rng: np.random.Generator
) -> Points:
    """Approximate minima perturbation of the smoothed sum of distances: floating-point noise, not
    for release.
    """
    d = points.shape[1]
    own, rest, curvature = (
        0.9 * epsilon,
        0.1 * epsilon,
        1 / (2 * smooth),
    )  # of the minimizer, and of the last noise; f'' is at most that
    shift = 0.5 * own
    ridge = d * curvature / (own - shift)
    linear = rng.normal(0, 2 * (1 + np.sqrt(2 * np.log(2 / delta))) / shift, d)

    def objective(center: Points) -> tuple[float, Points]:
        away = center - points
        length = np.sqrt((away**2).sum(axis=1))
        value = (
            length + 2 * smooth * np.log1p(np.exp(-length / smooth)) - 2 * smooth * np.log(2)
        ).sum()
        slope = np.tanh(length / (2 * smooth)) / np.maximum(length, 1e-12)
        gradient = slope @ away + ridge * center + linear
        return float(value + ridge / 2 * center @ center + linear @ center), gradient

    found = minimize(
        objective,
        np.zeros(d),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 500, "ftol": 1e-14, "gtol": 1e-6},
    )
    reached = float(np.linalg.norm(found.jac)) + 1e-6
    return (
        found.x + rng.normal(0, reached / ridge * (1 + np.sqrt(2 * np.log(2 / delta))) / rest, d)
    )[None].clip(-1, 1)


def ways(
    epsilon: float, delta: float, rng: np.random.Generator
) -> dict[str, Callable[[Points], Points]]:
    """Every way to a center, by its name in the table."""

    def ask(
        call: Callable[..., mdp.Result], price: float, **options: object
    ) -> Callable[[Points], Points]:
        def answer(points: Points) -> Points:
            space = mdp.EuclideanSpace([-1] * points.shape[1], [1] * points.shape[1])
            return call(
                space, mdp.PrivateDemand(space, points), epsilon=epsilon, delta=price, **options
            ).centers

        return answer

    return {
        "geometric": ask(mdp.private_median, delta),
        "geometric, pure": ask(mdp.private_median, 0),
        "rings": ask(ring_median, delta),
        "rings, sample 0.1": ask(ring_median, delta, sample=0.1),
        "objective perturbation, 0.2": lambda points: objective_perturbation(
            points, epsilon, delta, 0.2, rng
        ),
        "objective perturbation, 0.02": lambda points: objective_perturbation(
            points, epsilon, delta, 0.02, rng
        ),
        "mean": ask(mdp.private_mean, delta),
        "mean, pure": ask(mdp.private_mean, 0),
        "mean, one step of the whole box": lambda points: ask(
            mdp.private_mean, delta, radius=2 * np.sqrt(points.shape[1])
        )(points),
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", nargs="+", type=int, default=[1000, 10_000, 100_000])
    parser.add_argument("--dimensions", nargs="+", type=int, default=[2, 10, 50])
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--delta", type=float, default=1e-6)
    parser.add_argument("--outliers", type=float, default=0.0)
    parser.add_argument("--runs", type=int, default=4)
    options = parser.parse_args()
    names = list(ways(1.0, 1e-6, np.random.default_rng()))
    print("| n | d |", " | ".join(names), "|")
    for n in options.records:
        for d in options.dimensions:
            cells = []
            for name in names:
                errors, above = [], []
                for run in range(options.runs):
                    points = cloud(n, d, run, options.outliers)
                    power = 2 if name.startswith("mean") else 1
                    best = points.mean(axis=0)[None] if power == 2 else best_median(points)
                    scale = np.median(np.linalg.norm(points - best, axis=1))
                    found = ways(options.epsilon, options.delta, np.random.default_rng())[name](
                        points
                    )
                    errors.append(float(np.linalg.norm(found - best)) / scale)
                    costs = [
                        float((np.linalg.norm(points - c, axis=1) ** power).sum())
                        for c in (found, best)
                    ]
                    above.append(100 * (costs[0] / costs[1] - 1))
                cells.append(f"{np.mean(errors):.3g} ({np.mean(above):.2g} %)")
            print(f"| {n:,} | {d} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
