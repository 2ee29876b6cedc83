"""Exact output distributions of the real code on all neighbors of a tiny universe, and
noninterference.

The code runs on each neighbor with each script of recorded randomness. (1) The largest log ratio of
probabilities must be at most the charged epsilon; with delta, the hockey-stick and Rényi
divergences must be within the charge. (2) Equal random outcomes must lead to equal observed bytes.
Both together are the definition of differential privacy.
"""

import math
import os
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from metricdp.accounting import Ledger
from metricdp.accounting import ledger as ledgers
from metricdp.arguments import Floats
from metricdp.audit import distributions
from metricdp.audit.observe import Seen, error_text, forms, watched
from metricdp.audit.patch import patched
from metricdp.audit.public import caches, state
from metricdp.audit.recording import Recording, recorded, scripts
from metricdp.audit.report import Finding
from metricdp.audit.worlds import Demand, World, coins, neighboring_pairs, small_nets
from metricdp.kernels.mixing import hashes
from metricdp.privacy import PrivateDemand
from metricdp.records.engines import bounding
from metricdp.releases import Neighboring

CHECK = "exact distribution"
SLACK = 1e-9
MARGIN = 8
LIMIT = 600
"""Tolerance, as ratios of probabilities have 10 exact digits; largest exact answer on tiny worlds;
most scripts: of more, that many are drawn at random, and findings are lower bounds.
"""

BEHIND = "public objects", "caches"
"""Channels of what a call leaves behind, inspected once for each demand."""
_URANDOM = os.urandom


@dataclass(frozen=True)
class Chance:
    """Equally likely outcomes of the operating system's random bytes.

    `outcomes`: all of them, each a tuple of integers; `bytes_of`: the bytes for an outcome.
    """

    outcomes: Callable[[Demand], Sequence[tuple[int, ...]]]
    bytes_of: Callable[[tuple[int, ...], int], bytes]


@dataclass(frozen=True, eq=False)
class Case:
    """One call, on one tiny world, under one relation.

    `call` makes its charges and returns the published values. `m`: records kept of a user, None if
    records are protected. `reach`: least share of the claim that the worst neighbors must reach.
    `rho`: claim of a zCDP accountant. `refused`: the call must raise. `limit`: most scripts.
    `hold`: makes the demand. `chance`: scripted random bytes. `essential`: part of the short form.
    """

    name: str
    world: World
    call: Callable[[Any, Any], Any]
    demands: Sequence[Demand]
    relation: Neighboring
    m: int | None = None
    budget: tuple[Any, Any] = (1, 0)
    reach: float = 0.999
    journal: bool = False
    rho: Fraction | None = None
    refused: bool = False
    limit: int = LIMIT
    hold: Callable[..., Any] | None = None
    chance: Chance | None = None
    essential: bool = False

    def __str__(self) -> str:
        unit = "" if self.m is None else f", users of {self.m}"
        return f"{self.name}, {self.world.name}, {self.relation}{unit}"


@dataclass(frozen=True)
class Run:
    """One run with one script: recording, observed content, and charges."""

    recording: Recording
    seen: Seen
    epsilon: Fraction
    delta: Fraction


def run(
    case: Case, private: Any, order: tuple[int, ...], script: Sequence[int], behind: bool = False
) -> Run:
    """Run a case on one demand with fixed random bytes and noise, and observe all channels."""
    with ExitStack() as stack:
        recording = Recording(script)
        path = None
        if case.journal:
            path = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "journal"
        epsilon, delta = case.budget
        ledger = Ledger(epsilon, delta, neighboring=case.relation, journal=path)
        if case.chance is not None:
            stack.enter_context(entropy(partial(case.chance.bytes_of, order)))
        shown: Seen = {}
        with watched() as seen, recorded(recording):
            try:
                shown = forms(case.call(private, ledger))
            except Exception as error:
                shown = {"exception": error_text(error)}
        seen.update(shown, ledger=f"{ledger!r} {ledger.entries}")
        if behind:
            left = state(case.call, case.world.universe), state(*caches(case.world.universe))
            seen.update(zip(BEHIND, left))
        if path is not None:
            seen["journal"] = path.read_bytes()
        return Run(recording, seen, ledger.spent, ledger.spent_delta)


def orders_of(case: Case, demand: Demand) -> Sequence[tuple[int, ...]]:
    """All equally likely outcomes of the random bytes that are used to make a demand."""
    return coins(demand, case.m or 1) if case.chance is None else case.chance.outcomes(demand)


def held(case: Case, demand: Demand, order: tuple[int, ...]) -> Any:
    """The private demand of a case, with fixed random bytes."""
    users = None if case.m is None else [i for i, user in enumerate(demand) for _ in user]
    records = [case.world.places[place] for user in demand for place in user]
    given = _URANDOM if case.chance is None else partial(case.chance.bytes_of, order)
    ranks = partial(_ranked, order) if case.chance is None else hashes
    with entropy(given), patched(bounding, "hashes", ranks):
        if case.hold is not None:
            return case.hold(case.world.universe, records, users, case.m)
        return PrivateDemand(case.world.universe, records, user=users, max_contributions=case.m)


@contextmanager
def entropy(source: Callable[[int], bytes]) -> Iterator[None]:
    """Let the operating system's random bytes, and so those of `secrets`, come from `source`."""
    with patched(os, "urandom", source), patched(random, "_urandom", source):
        yield


def _ranked(order: tuple[int, ...], seeds: Any, words: Any) -> Any:
    """Hashes that sort the records in this order."""
    return np.asarray(order, np.uint64) if len(words) == len(order) else hashes(seeds, words)


@dataclass
class Evidence:
    """Claims of a case, and the worst findings of all its runs."""

    epsilon: float
    delta: float
    worst: float = 0.0
    delta_needed: float = 0.0
    rho_needed: float = 0.0
    leak: str = ""
    raised: str = ""


def examine(case: Case, enough: float = math.inf) -> Finding:
    """Compare a case with its claim; stops at a finding of `enough` times the claim."""
    day = patched(ledgers, "today", lambda: "2000-01-01")  # all runs are of one day
    with small_nets(), day:
        evidence = _evidence(case, enough)
    claim, found, excess, blind = _compared(case, evidence)
    if evidence.leak:
        found = evidence.leak
        excess = math.inf
    elif evidence.raised:
        found = evidence.raised
    elif blind:
        found += ", too blind"
    passed = not (evidence.leak or evidence.raised or blind) and excess <= 1 + SLACK
    return Finding(str(case), claim, found, CHECK, passed, excess=excess)


def _compared(case: Case, e: Evidence) -> tuple[str, str, float, bool]:
    """Claim and finding as texts, their ratio, and whether that is too small to be trusted."""
    if not e.delta:
        excess = e.worst / e.epsilon if e.epsilon else (math.inf if e.worst > SLACK else 0.0)
        blind = bool(e.epsilon) and e.worst < case.reach * e.epsilon
        return f"ε ≤ {e.epsilon:.6g}", f"ε ≥ {e.worst:.6g}", excess, blind
    claim = f"δ ≤ {e.delta:.3g} at ε {e.epsilon:.4g}"
    found = f"δ ≥ {e.delta_needed:.3g}"
    excess = e.delta_needed / e.delta
    blind = False
    if case.rho is not None:
        claim = f"{claim}; ρ ≤ {float(case.rho):.4g}"
        found = f"{found}; ρ ≥ {e.rho_needed:.4g}"
        excess = max(excess, e.rho_needed / float(case.rho))
        blind = e.rho_needed < case.reach * float(case.rho)
    return claim, found, excess, blind


def _evidence(case: Case, enough: float) -> Evidence:
    orders = [orders_of(case, demand) for demand in case.demands]
    each = zip(case.demands, orders)
    every = [[held(case, demand, order) for order in some] for demand, some in each]
    pairs = neighboring_pairs(case.demands, case.relation)
    largest = max(range(len(case.demands)), key=lambda i: len(case.demands[i]))

    def probe(script: Sequence[int]) -> Recording:
        return run(case, every[largest][0], orders[largest][0], script).recording

    probe(())  # fills public caches, so that all later runs find the same
    evidence = None
    columns: list[list[float]] = []
    n_scripts = 0
    for script in scripts(probe, case.limit):
        n_scripts += 1
        runs = [
            [
                run(case, private, order, script, behind=i == 0 and not columns)
                for i, (private, order) in enumerate(zip(kept, some))
            ]
            for kept, some in zip(every, orders)
        ]
        first = runs[0][0]
        if evidence is None:
            evidence = Evidence(float(first.epsilon), float(first.delta))
        evidence.leak = evidence.leak or _difference(runs, pairs)
        if ("exception" in first.seen) != case.refused and not evidence.raised:
            text = str(first.seen.get("exception", "not refused"))
            evidence.raised = text.strip().splitlines()[-1]
        if evidence.leak:
            return evidence
        columns.append([_mean([r.recording.log_p for r in some]) for some in runs])
        if evidence.delta and any(d.kind == "gaussian" for d in first.recording.draws):
            columns = _on_grid([[r.recording for r in some] for some in runs])
            break
        elif enough < math.inf and n_scripts.bit_count() == 1:
            # some of the outcomes already give lower bounds on the divergences
            _compare(case, evidence, np.array(columns).T, pairs)
            if _compared(case, evidence)[2] > enough:
                return evidence
    assert evidence is not None
    log_p = np.array(columns).T
    if (
        n_scripts < case.limit
        and all(d.kind in distributions.DISTRIBUTIONS for d in first.recording.draws)
        and abs(float(np.exp(log_p[0]).sum()) - 1) > SLACK
    ):
        evidence.leak = f"probabilities add up to {np.exp(log_p[0]).sum():.6g}"
    _compare(case, evidence, log_p, pairs)
    return evidence


def _mean(logs: Sequence[float]) -> float:
    return float(np.logaddexp.reduce(logs)) - math.log(len(logs))


def _difference(runs: Sequence[Sequence[Run]], pairs: Sequence[tuple[int, int]]) -> str:
    """A channel in which two neighbors differ with the same script; empty if there is none."""
    for i, j in pairs:
        one = runs[i][0]
        for other in runs[j]:
            if one.recording.shape != other.recording.shape:
                return "probability 0: other draws"
            if (one.epsilon, one.delta) != (other.epsilon, other.delta):
                return "another price"
            if one.seen != other.seen:
                keys = [k for k in one.seen | other.seen if one.seen.get(k) != other.seen.get(k)]
                keys = [key for key in keys if key not in BEHIND or other is runs[j][0]]
                if keys:
                    return f"shows in {', '.join(keys[:3])}"
            if (one.recording.log_p == -math.inf) != (other.recording.log_p == -math.inf):
                return "probability 0"
    return ""


def _compare(
    case: Case, evidence: Evidence, log_p: Floats, pairs: Sequence[tuple[int, int]]
) -> None:
    """Update the worst divergences over all ordered pairs of neighbors."""
    for i, j in pairs:
        evidence.worst = max(evidence.worst, distributions.log_ratio(log_p[i], log_p[j]))
        if evidence.delta:
            evidence.delta_needed = max(
                evidence.delta_needed,
                distributions.hockey_stick(log_p[i], log_p[j], evidence.epsilon),
            )
            evidence.rho_needed = max(
                evidence.rho_needed, distributions.needed_rho(log_p[i], log_p[j])
            )


def _on_grid(recordings: Sequence[Sequence[Recording]]) -> list[list[float]]:
    """Log probabilities of all outputs of one noise draw: a column an output, a row a demand."""
    draws = [[recording.draws[0] for recording in some] for some in recordings]
    kind = draws[0][0].kind
    reach = math.ceil(max(14 * draw.scale for some in draws for draw in some)) + MARGIN
    axis = np.arange(-reach, reach + 1)
    log_pmf = distributions.log_laplace if kind == "laplace" else distributions.log_gaussian
    rows = []
    for some in draws:
        each = []
        for draw in some:
            total: Floats = np.zeros(1)
            for answer in draw.exact:
                total = (total[:, None] + log_pmf(axis - answer, draw.scale)[None, :]).ravel()
            each.append(total)
        rows.append(np.logaddexp.reduce(each, axis=0) - math.log(len(each)))
    return [list(column) for column in np.array(rows).T]
