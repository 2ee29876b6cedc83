"""Records a call on a demand, replays it on each neighbor, and compares the transcripts."""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import metricdp as mdp
from metricdp.audit.observe import forms
from metricdp.audit.patch import patched
from metricdp.audit.replay import answers, losses
from metricdp.audit.replay.transcript import Diverged, Step, Transcript, recorded
from metricdp.audit.worlds import RELATIONS, Neighboring, demands, kinds_of_users

Units = tuple[tuple[Any, tuple[Any, ...]], ...]
"""Units (records or users), each with its name and the indices of its records' places."""
KEY = b"\x5a"
SLACK = 1e-9


@dataclass(frozen=True)
class Unit:
    """A privacy unit. `sizes`: possible numbers of records of a unit; `hold`: makes the demand."""

    name: str
    sizes: Sequence[int]
    hold: Callable[[Any, list[Any], list[str]], Any]


@dataclass(frozen=True)
class Subject:
    """One call to verify, on a universe, for a unit. `places`: where records may be; `n_units`: of
    the medium demand; `neighbors`: most neighbors of a demand; `essential`, `short`: whether, and
    for which relations, it is in the short form.
    """

    name: str
    universe: Any
    places: Sequence[Any]
    call: Callable[[Any, Any], Any]
    unit: Unit
    relations: tuple[Neighboring, ...] = RELATIONS
    budget: tuple[Any, Any] = (1, 0)
    n_units: int = 24
    neighbors: int = 12
    beneath: Callable[[Any, Any], list[Any]] | None = None
    essential: bool = False
    short: tuple[Neighboring, ...] = RELATIONS[:1]


@dataclass
class Verdict:
    """The result of all pairs of one subject: number of `pairs`, `worst` share of a claim, number
    of `recomputed` of all `drawn` answers, the first `fault`, and `broken` if the call fails on
    both demands alike.
    """

    pairs: int = 0
    worst: float = 0.0
    recomputed: int = 0
    drawn: int = 0
    fault: str = ""
    broken: bool = False


def verify(
    subject: Subject, relation: Neighboring, demands: Sequence[Units], neighbors: int = 0
) -> Verdict:
    """Record on each demand, and replay on its neighbors (with `neighbors`, at most that many)."""
    verdict = Verdict()
    coins = random.Random(f"{subject.name} {relation}")
    for units in demands:
        others = list(_neighbors(units, subject, relation))
        if neighbors and len(others) > neighbors:
            others = coins.sample(others, neighbors)
        first = _run(subject, relation, units)
        _against_naive(first, verdict)
        for other in others:
            again = _run(subject, relation, other, first)
            verdict.pairs += 1
            _compare(first, again, verdict, relation)
            if not verdict.fault:
                _against_naive(again, verdict)
            if verdict.fault:
                return verdict
    return verdict


@dataclass
class Run:
    """One run: transcript, observed result, charges, exception, faults, and reference answers."""

    transcript: Transcript
    seen: dict[str, Any]
    spent: tuple[Fraction, Fraction]
    raised: str
    held: str
    naive: list[tuple[Step, Any]]


def _run(subject: Subject, relation: Neighboring, units: Units, first: Run | None = None) -> Run:
    """Run the call once, with real noise or with the outputs of an earlier run."""
    transcript = Transcript(subject.universe, first.transcript if first else None)
    ledger = mdp.Ledger(*subject.budget, neighboring=relation)
    rows = [(f"u{name}", subject.places[p]) for name, unit in units for p in unit]
    raised, seen, naive = "", {}, []
    # one fixed key, so that neighbors keep the same records of their common users
    with patched(random, "_urandom", lambda n: KEY * n):
        demand = subject.unit.hold(subject.universe, [r for _, r in rows], [u for u, _ in rows])
    held = answers.held(demand, subject.universe, rows, subject.unit.name)
    if subject.beneath is not None:
        fresh = mdp.Ledger(*subject.budget, neighboring=relation)
        transcript.beneath = subject.beneath(demand, fresh)
    transcript.on_step = lambda step: naive.append((step, answers.naive(step)))
    with recorded(transcript):
        try:
            seen = forms(subject.call(demand, ledger))
        except Diverged:
            raised = "another draw"
        except Exception as error:  # a refusal is an outcome like others
            raised = f"{type(error).__name__}: {error}"
    return Run(transcript, seen, (ledger.spent, ledger.spent_delta), raised, held, naive)


def _neighbors(units: Units, subject: Subject, relation: Neighboring) -> Iterator[Units]:
    """All neighbors of a demand; of equal units only one is removed."""
    alike = {places: at for at, (_, places) in enumerate(units)}
    kinds = kinds_of_users(len(subject.places), subject.unit.sizes)
    new = "new"
    for at in (*alike.values(), len(units)):
        rest = units[:at] + units[at + 1 :]
        if relation == "add-remove":
            if at < len(units):
                yield rest
            else:
                middle = len(units) // 2
                for kind in kinds:
                    yield (*units[:middle], (new, kind), *units[middle:])
        elif at < len(units):
            for kind in kinds:
                if kind != units[at][1]:
                    yield (*units[:at], (new, kind), *units[at + 1 :])


def tiny(subject: Subject, most_units: int) -> list[Units]:
    """All demands of up to `most_units` units."""
    some = demands(len(subject.places), most_units, max(subject.unit.sizes))
    return [tuple(enumerate(units)) for units in some]


def medium(subject: Subject, seed: int) -> Units:
    """A random demand of `n_units` units, drawn by public coins, dense at the first places."""
    coins = random.Random(f"{len(subject.places)} places {seed}")
    n = len(subject.places)
    some = [
        tuple(int(n * coins.random() ** 2) for _ in range(coins.choice(list(subject.unit.sizes))))
        for _ in range(subject.n_units)
    ]
    return tuple(enumerate(some))


def _compare(first: Run, again: Run, verdict: Verdict, relation: Neighboring) -> None:
    """Compare one pair: public facts must be equal, and the loss at most the price."""
    verdict.fault = again.transcript.diverged
    if bool(first.spent[0]) != bool(first.transcript.draws):
        verdict.fault = "charged, and nothing drawn" if first.spent[0] else "drawn for nothing"
    if verdict.fault:
        return
    if again.raised or first.raised:
        verdict.fault = f"ends with {again.raised or first.raised}"
        verdict.broken = again.raised == first.raised
        return
    one, other = first.transcript, again.transcript
    verdict.fault = losses.difference(one, other)
    if not verdict.fault and first.spent != again.spent:
        verdict.fault = "another price"
    if not verdict.fault and first.seen != again.seen:
        keys = [k for k in {**first.seen, **again.seen} if first.seen.get(k) != again.seen.get(k)]
        verdict.fault = f"the same outputs, another result: {', '.join(keys[:3])}"
    if verdict.fault:
        return
    each = [losses.of_step(a, b) for a, b in zip(one.steps, other.steps)]
    for step, loss in zip(one.steps, each):
        share = losses.share_of_price(step, loss)
        if relation == "replace-one" and not step.whole:
            # a split is charged twice, as the removed and the new record may be in one part
            share /= 2
        verdict.worst = max(verdict.worst, share)
        if share > 1 + SLACK:
            verdict.fault = f"{step.name} loses {share:.4g} of its price"
            return
    total = losses.share_of_all(one.steps, each, first.spent)
    verdict.worst = max(verdict.worst, total)
    if total > 1 + SLACK or math.isnan(total):
        verdict.fault = f"the transcript loses {total:.4g} of what was charged"


def _against_naive(run: Run, verdict: Verdict) -> None:
    """Compare the exact answers of a run with those of the reference implementations."""
    verdict.fault = verdict.fault or run.held
    for step, expected in run.naive:
        verdict.drawn += bool(step.draws)
        if expected is None or not step.draws:
            continue
        verdict.recomputed += 1
        if not answers.agree(step, expected):
            verdict.fault = verdict.fault or f"{step.name}: not its exact answer"
