"""Black-box lower bounds on epsilon, from many runs of the real mechanism on two neighbors.

Half of the runs select an event; the other half bounds its two probabilities by Clopper–Pearson
[1]_. If P(event) >= p and Q(event) <= q, then epsilon >= ln((p - delta) / q). Events are
thresholds, sets of large likelihood ratio, single outputs, and low bits [2]_. A correct mechanism
is refuted with probability at most `ALARM`.

References
----------
.. [1] C. Clopper, E. Pearson, "The use of confidence or fiducial limits", Biometrika 1934.
.. [2] Z. Ding et al., "Detecting violations of differential privacy", CCS 2018; M. Nasr et al.,
   "Tight auditing of differentially private machine learning", USENIX Security 2023.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from metricdp.accounting import Cost, Ledger, selection_epsilon
from metricdp.arguments import Bools, Floats, Ints
from metricdp.audit.report import Check, Finding, weighed
from metricdp.audit.worlds import answered, finest, worlds
from metricdp.privacy import CoverageQuery, HistogramQuery, PrivateDemand, select
from metricdp.releases import Neighboring

ALARM = 1e-6
CHECK = "black box"
Event = Callable[[NDArray[Any]], Bools]
"""Maps outputs (n_runs, n_values) to whether each is in the event, shape (n_runs,)."""
_MOST = 400
"""Most events of a kind that are tried on the first half."""


def clopper_pearson(hits: int, runs: int, alpha: float) -> tuple[float, float]:
    """Lower and upper bound on a probability, each wrong with probability at most alpha."""
    low = float(betaincinv(hits, runs - hits + 1, alpha)) if hits else 0.0
    high = float(betaincinv(hits + 1, runs - hits, 1 - alpha)) if hits < runs else 1.0
    return low, high


def bound(event: Event, p: NDArray[Any], q: NDArray[Any], delta: float, alpha: float) -> float:
    """Lower bound on epsilon from one fixed event, wrong with probability at most 2 · alpha."""
    low = clopper_pearson(int(event(p).sum()), len(p), alpha)[0]
    high = clopper_pearson(int(event(q).sum()), len(q), alpha)[1]
    return math.log((low - delta) / high) if low > delta else -math.inf


def lower_bound(
    p: NDArray[Any], q: NDArray[Any], delta: float = 0.0, alarm: float = ALARM
) -> tuple[float, str]:
    """The largest lower bound on epsilon from two samples of outputs, and its kind of event."""
    kinds = {"threshold": thresholds, "likelihood ratio": likely}
    kinds |= {"atom": atoms, "low bits": low_bits}
    alpha = alarm / (2 * 2 * len(kinds))
    best = (0.0, "none")
    for left, right in ((p, q), (q, p)):
        m, n = len(left) // 2, len(right) // 2
        first, second = (left[:m], right[:n]), (left[m:], right[n:])
        for kind, propose in kinds.items():
            tried = [
                (bound(event, *first, delta, 0.02), i, event)
                for i, event in enumerate(propose(*first))
            ]
            if tried:
                best = max(best, (bound(max(tried)[2], *second, delta, alpha), kind))
    return best


def thresholds(p: NDArray[Any], q: NDArray[Any]) -> Iterator[Event]:
    """Events "at least t" and "at most t", for each coordinate and for their sum."""
    for column in range(p.shape[1] + (p.shape[1] > 1)):

        def read(outputs: NDArray[Any], column: int = column) -> NDArray[Any]:
            return outputs[:, column] if column < outputs.shape[1] else outputs.sum(axis=1)

        for t in _some(np.unique(np.concatenate([read(p), read(q)])), _MOST // (2 * p.shape[1])):
            yield lambda outputs, read=read, t=t: read(outputs) >= t  # type: ignore[misc]
            yield lambda outputs, read=read, t=t: read(outputs) <= t  # type: ignore[misc]


def likely(p: NDArray[Any], q: NDArray[Any]) -> Iterator[Event]:
    """Events of a likelihood ratio of at least t, estimated with independent coordinates."""
    tables = []
    for column in range(p.shape[1]):
        both = np.concatenate([p[:, column], q[:, column]])
        edges = np.unique(np.quantile(both, np.linspace(0, 1, 17)[1:-1], method="lower"))
        one, other = (
            np.bincount(np.searchsorted(edges, x[:, column]), minlength=len(edges) + 1)
            for x in (p, q)
        )
        tables.append((edges, np.log((one + 1.0) / (other + 1.0))))

    def score(outputs: NDArray[Any]) -> Floats:
        columns = zip(tables, outputs.T)
        ratios = [ratio[np.searchsorted(edges, column)] for (edges, ratio), column in columns]
        return np.sum(ratios, axis=0)

    for t in _some(np.unique(np.concatenate([score(p), score(q)])), 60):
        yield lambda outputs, t=t: score(outputs) >= t  # type: ignore[misc]


def atoms(p: NDArray[Any], q: NDArray[Any]) -> Iterator[Event]:
    """Single outputs, those most frequent in p."""
    values, counts = np.unique(p, axis=0, return_counts=True)
    for value in values[np.argsort(-counts, kind="stable")[: _MOST // 4]]:
        yield lambda outputs, value=value: (outputs == value).all(axis=1)  # type: ignore[misc]


def low_bits(p: NDArray[Any], q: NDArray[Any]) -> Iterator[Event]:
    """Residues of each coordinate modulo 2, 3 and 4: of integers, or of the bits of floats."""
    for column in range(p.shape[1]):
        for base in (2, 3, 4):
            for rest in range(base):
                yield lambda outputs, c=column, b=base, r=rest: _bits(outputs[:, c]) % b == r  # type: ignore[misc]


def _bits(values: NDArray[Any]) -> Ints:
    if values.dtype.kind in "iu":
        return values.astype(np.int64)
    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.int64)
    whole = np.round(values)
    return np.where(values == whole, whole, bits).astype(np.int64)


def _some(values: NDArray[Any], most: int) -> NDArray[Any]:
    at = np.linspace(0, len(values) - 1, min(most, len(values)))
    return values[at.astype(np.int64)]


def judged(
    name: str, p: NDArray[Any], q: NDArray[Any], epsilon: float, delta: float = 0.0
) -> Finding:
    """Compare a claim with the lower bound from two samples."""
    found, kind = lower_bound(p, q, delta)
    claim = f"ε ≤ {epsilon:.4g}" + (f", δ ≤ {delta:.1g}" if delta else "") + f", {len(p):,} runs"
    return weighed(name, claim, f"ε ≥ {max(found, 0):.3g} by {kind}", CHECK, found / epsilon)


Runs = tuple[int, int]
"""Number of runs in the short form, and in the full form."""
TWO = "two points"


def box_checks() -> Iterator[Check]:
    """All checks."""
    one = partial(Cost.of, 1)
    zcdp = partial(Cost.zcdp, 2, Fraction(1, 1000))
    comes, moves = ((0,), ()), ((0,), (1,))
    several, many = partial(_cover, times=5), "5 selections from a zCDP accountant"
    for name, call, pair, relation, cost, runs, essential in (
        ("HistogramQuery", _counts, comes, "add-remove", one, (600, 4000), True),
        ("HistogramQuery, replace-one", _counts, moves, "replace-one", one, (1500, 4000), False),
        ("HistogramQuery, Gaussian", _counts, moves, "replace-one", zcdp, (600, 1500), False),
        ("CoverageQuery", _cover, comes, "add-remove", one, (600, 20_000), True),
        (many, several, comes, "add-remove", zcdp, (1500, 4000), False),
    ):
        yield Check.of(f"{name}, black box", essential, _check, call, pair, relation, cost, runs)


def _check(
    name: str,
    call: Callable[..., Any],
    pair: tuple[tuple[int, ...], tuple[int, ...]],
    relation: Neighboring,
    price: Callable[[], Cost],
    runs: Runs,
    quick: bool,
) -> Finding:
    place = worlds()[TWO]
    cost = price()
    samples = []
    for places in pair:
        demand = PrivateDemand(place.universe, [place.places[i] for i in places])
        ledgers = (Ledger(cost.epsilon, cost.delta, relation) for _ in range(runs[not quick]))
        outputs = [call(demand, ledger, cost) for ledger in ledgers]
        longest = max(map(len, outputs))  # outputs of different lengths are distinguished by it
        samples.append(np.array([[*row, *(longest - len(row)) * [0], len(row)] for row in outputs]))
    wide = max(s.shape[1] for s in samples)
    p, q = (
        np.hstack([s[:, :-1], np.zeros((len(s), wide - s.shape[1]), s.dtype), s[:, -1:]])
        for s in samples
    )
    return judged(name, p, q, float(cost.epsilon), float(cost.delta))


def _counts(demand: PrivateDemand, ledger: Ledger, cost: Cost) -> Sequence[int]:
    query = HistogramQuery(finest(demand.universe))
    return answered(query, cost, demand, ledger.charge(cost)).values.tolist()


def _cover(demand: PrivateDemand, ledger: Ledger, cost: Cost, times: int = 1) -> Sequence[int]:
    budget = ledger.charge(cost)
    query = CoverageQuery(worlds()[TWO].universe, 0)
    each = selection_epsilon(cost, times)
    return [select(demand, query, each, budget)[0] for _ in range(times)]
