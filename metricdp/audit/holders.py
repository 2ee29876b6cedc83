"""Checks of federated releases: the noise of honest holders, masks of messages, repeated answers,
and replays of whole releases on neighbors with the same sums.
"""

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from importlib import import_module
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

import metricdp as mdp
from metricdp.accounting import Cost, budget
from metricdp.arguments import Ints
from metricdp.audit import distributions
from metricdp.audit.observe import forms
from metricdp.audit.patch import all_patched, patched
from metricdp.audit.replay.losses import rho_of
from metricdp.audit.report import Check, Finding, refuted, weighed
from metricdp.partitions.finite.labels import LabelParts
from metricdp.privacy import HistogramQuery, contribute
from metricdp.privacy.noise import Shares

CHECK = "several holders"
ALARM = 1e-8
"""False-alarm rate of each statistical check."""
DISTRIBUTIONS = {"Laplace": Fraction(0), "Gaussian": Fraction(1, 10**6)}
RECORDS = ([0] * 9 + [5] * 4, [0] * 5 + [15] * 6, [10] * 12)
"""Records of three holders on a 4 x 4 grid; one holder may collude."""
RUNS = (4, 40)
"""Number of histograms of 400 parts, in the short and in the full form."""


def holder_checks() -> Iterator[Check]:
    """All checks."""
    for distribution, delta in DISTRIBUTIONS.items():
        for kind, check in (("honest shares", _shares), ("replay", _replayed)):
            yield Check.of(f"several holders, {kind}, {distribution}", True, check, delta)
    yield Check.of("several holders, messages", True, _messages)
    yield Check.of("several holders, each once", True, _once)


def _grid(side: int = 4) -> Any:
    grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(side, side))
    return mdp.GraphMetric(grid, weight=None)


def _chance(seen: int, times: int, p: float) -> float:
    """Two-sided p-value of a binomial count."""
    return float(min(2 * min(binom.cdf(seen, times, p), binom.sf(seen - 1, times, p)), 1.0))


def _shares(name: str, delta: Fraction, quick: bool) -> Finding:
    """The noise of three honest holders of four is near 0 as often as the noise of the price."""
    universe = _grid(20)
    query = HistogramQuery(LabelParts.of(universe))
    cost = Cost.zcdp(2, delta) if delta else Cost.of(Fraction(1, 2))
    empty, nothing = mdp.PrivateDemand(universe, []), np.zeros(400, np.uint64)

    def one() -> Ints:
        budget_slice = mdp.Ledger(cost.epsilon, delta).charge(cost)
        sent = contribute(empty, query, cost, budget_slice, holders=4, honest=3, mask=nothing)
        return sent.view(np.int64)

    unit = 2 ** Shares.of(query, "add-remove", 1, cost, 4, 3).bits
    scale = unit / np.sqrt(2 * float(cost.rho or 1)) if delta else 1 / float(cost.epsilon)
    log_probability = distributions.log_gaussian if delta else distributions.log_laplace
    near = int(scale / 2)
    p = float(np.exp(log_probability(np.arange(-near, near + 1), scale)).sum())
    draws = np.concatenate([one() + one() + one() for _ in range(RUNS[not quick])])
    seen, times = int((np.abs(draws) <= near).sum()), len(draws)
    right = _chance(seen, times, p) > ALARM
    found = f"{seen / times:.4f} of {times:,}"
    claim = f"near 0 with probability {p:.4f}"
    return Finding(name, claim, found, CHECK, right, excess=seen / times / p)


def _keys(name: str) -> Any:
    """Keys that are equal in every run."""
    from metricdp.federated.messages import Keys

    return Keys(name, *(f"{kind} of {name}".ljust(32)[:32].encode() for kind in ("sign", "seal")))


def _parties(
    universe: Any, rows: Sequence[list[int]], delta: Fraction, **options: Any
) -> tuple[list[Any], Any]:
    """Holders with ample budget, and their coordinator."""
    made = import_module("metricdp.federated.coordinator")
    holders = []
    for number, places in enumerate(rows):
        ledger = mdp.Ledger(900, 900 * delta)
        holders.append(mdp.federated.Holder(mdp.PrivateDemand(universe, places), ledger=ledger))
        holders[-1]._keys = _keys(f"holder {number}")
    with patched(made, "Keys", _keys), patched(secrets, "token_hex", lambda n: "5a" * n):
        cards = [one.card for one in holders]
        return holders, made.Coordinator(universe, cards, epsilon=4, delta=delta, **options)


@dataclass
class _Run:
    """A recorded release: messages, unmasked counts, noise scales, sums, and charges."""

    sent: list[Any] = field(default_factory=list)
    hidden: list[Ints] = field(default_factory=list)
    noise: list[tuple[float, int]] = field(default_factory=list)
    sums: list[Ints] = field(default_factory=list)
    prices: list[Any] = field(default_factory=list)
    spent: Any = None


def _released(delta: Fraction, mine: list[int], handed: _Run | None = None) -> _Run:
    """A release whose first holder has the records `mine`; with the sums of the run `handed`."""
    run, scales = _Run(), [0.0]
    measurements = import_module("opendp.measurements")
    makers = {name: getattr(measurements, name) for name in ("make_laplace", "make_gaussian")}
    masked, total, draw = Shares.masked, Shares.total, budget.BudgetSlice.draw

    def making(name: str, *domains: Any, scale: float) -> Any:
        scales[0] = scale
        return makers[name](*domains, scale=scale)

    def hiding(self: Any, counts: Any, mask: Any) -> Any:
        run.hidden.append(counts.copy())
        run.noise.append((scales[0], self.bits))
        return masked(self, counts, mask)

    def adding(self: Any, sums: Any) -> Any:
        at = len(run.sums)
        run.sums.append(total(self, sums) if handed is None else handed.sums[at])
        return run.sums[-1]

    def drawing(self: Any, epsilon: Any, delta: Any = 0) -> None:
        run.prices.append(epsilon)
        draw(self, epsilon, delta)

    holders, coordinator = _parties(_grid(), [mine, *RECORDS[1:]], delta)
    hooks: list[Any] = [(Shares, "masked", hiding), (Shares, "total", adding)]
    hooks += [(measurements, name, partial(making, name)) for name in makers]
    with all_patched([*hooks, (budget.BudgetSlice, "draw", drawing)]):
        while coordinator.release is None:
            asked = coordinator.invite()
            answers = [one.answer(asked) for one in holders]
            run.sent += [asked, *(answer.split(b"\n")[1] for answer in answers)]
            coordinator.collect(answers)
    run.sent.append(forms([coordinator.release, coordinator.release.receipt]))
    run.spent = [(one._ledger.spent, one._ledger.spent_delta) for one in holders]
    return run


def _replayed(name: str, delta: Fraction, quick: bool) -> Finding:
    """On neighbors of the first holder's records, equal sums must lead to equal invitations,
    headers of answers, release and charges. The privacy loss of all sums must be at most the price.
    """
    mine = RECORDS[0]
    neighbors = [mine[1:], [*mine, 12]] if quick else [mine[1:], mine[:-1], [*mine, 12], [*mine, 0]]
    first = _released(delta, mine)
    fault, worst = "", 0.0
    for other in neighbors:
        again = _released(delta, other, first)
        if (first.sent, first.spent, first.noise) != (again.sent, again.spent, again.noise):
            fault = "other messages or charges for the same sums"
            break
        worst = max(worst, _loss(first, again, delta))
    found = fault or f"{len(neighbors)} neighbors, worst {worst:.4f}"
    claim = "the same messages; loss <= 1 of the price"
    return weighed(name, claim, found, CHECK, float("inf") if fault else worst)


def _loss(one: _Run, other: _Run, delta: Fraction) -> float:
    """The largest share of its price that the privacy loss of one round, or of all rounds, uses,
    without the noise of one (colluding) holder.
    """
    n, total, worst = len(RECORDS), 0.0, 0.0
    for at in range(0, len(one.hidden), n):  # the first holder's of each round
        difference = np.abs(one.hidden[at] - other.hidden[at]).astype(float)
        (scale, bits), price = one.noise[at], one.prices[at]
        loss = float(difference.sum()) / scale
        if delta:
            loss = 4**bits * float(difference @ difference) / (2 * (n - 1) * scale**2)
        worst = max(worst, loss / float(price.rho if delta else price.epsilon))
        total += loss
    epsilon, loss_of_all = (float(x) for x in one.spent[0])
    return max(worst, total / (rho_of(epsilon, loss_of_all) if delta else epsilon))


def _messages(name: str, quick: bool) -> Finding:
    """The coordinator's view before the sum must be uniform: answers, differences of answers to two
    attempts, and the sum of all but one. The two highest bits of uniform numbers agree half of the
    time; those of unmasked counts and noise always.
    """
    from metricdp.federated.messages import Answer, Invitation

    rows = [[0] * 400, [], [5] * 10]
    seen: dict[str, list[NDArray[np.uint64]]] = {"one": [], "apart": [], "some": []}
    holders, coordinator = _parties(_grid(12), rows, DISTRIBUTIONS["Gaussian"], records_hint=3000.0)
    for attempt in range(RUNS[not quick]):
        asked = coordinator.again() if attempt else coordinator.invite()
        parsed = Invitation.parsed(asked)
        answers = [Answer.parsed(one.answer(asked), parsed).values for one in holders]
        if attempt:
            seen["apart"].append(answers[0] - seen["one"][-1])
        seen["some"].append(answers[0] + answers[1])
        seen["one"].append(answers[0])
    worst, right = 0.5, True
    for values in seen.values():
        top = np.concatenate(values) >> np.uint64(62)
        agree = int(((top == 0) | (top == 3)).sum())
        right &= _chance(agree, len(top), 0.5) > ALARM / len(seen)
        worst = max(worst, agree / len(top))
    return Finding(name, "at chance", f"{worst:.3f} agree", CHECK, right, excess=2 * worst)


def _once(name: str, quick: bool) -> Finding:
    """A holder is counted once, and answers a round once, even if its answer was lost."""
    holders, coordinator = _parties(_grid(), RECORDS, DISTRIBUTIONS["Gaussian"])
    asked = coordinator.invite()
    answers = [one.answer(asked) for one in holders]
    holders[0]._runs.clear()
    fault = ""
    for what, ask in (
        ("a round is answered twice", lambda: holders[0].answer(asked)),
        ("a holder is counted twice", lambda: coordinator.collect([*answers, answers[0]])),
    ):
        try:
            ask()
        except mdp.InputError:
            continue
        fault = what
    paid = {float(one._ledger.spent) for one in holders}
    if not fault and paid != {4.0}:
        fault = "something else is paid"
    return refuted(name, "refused", fault or "refused", CHECK, bool(fault))
