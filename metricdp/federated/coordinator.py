"""The coordinator of a federated release: invites holders and adds up their masked answers."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path

import numpy as np

from metricdp.accounting import exact
from metricdp.accounting.cost import MIN_EPSILON, Cost
from metricdp.arguments import Amount, chosen, file_path, listed
from metricdp.atomic import durable_file
from metricdp.errors import InputError
from metricdp.federated.course import Agreement, Course
from metricdp.federated.holder import Holder
from metricdp.federated.messages import Answer, Invitation, Keys, Past, opened_card
from metricdp.methods.demand_release import Release
from metricdp.methods.method import Method
from metricdp.methods.registry import answering
from metricdp.metrics.base import Metric
from metricdp.metrics.space import EuclideanSpace
from metricdp.options import Coins, check_distinct, coins
from metricdp.provenance import Provenance
from metricdp.releases import Unit
from metricdp.running.attesting import attest, circumstances, public_universe
from metricdp.running.charging import checked_universe

_FORMAT = "metricdp coordinator, 1"
TRUST = (
    "Computational differential privacy against the coordinator, who is honest but curious, "
    "together with up to {c} of the {n} holders: the noise of the other {m} is what is paid for. "
    "Each {unit} of each holder is protected by itself{whole}."
)


class Coordinator:
    """Coordinates one release of several holders. It holds nothing private.

    Parameters
    ----------
    universe : Metric or EuclideanSpace
        The same for all holders.
    holders : iterable of bytes
        Cards of 2 to 1,024 holders (`Holder.card`).
    epsilon, delta : number
        Price of the release on each holder's ledger. Noise is Gaussian with a delta, else Laplace.
    colluding : int
        Number c of holders that may collude, of n. With 1, no holder learns more than an outsider,
        and the noise has n / (n - 1) times the variance of that of a central release.
    method : str or Method
        One that uses counts only: ``"partition"``, also in a box of up to three dimensions, or
        ``"hst"``.
    unit : {"record", "user"}
    max_contributions : int
        Most records of a user at one holder.
    records_hint, seed, rng
        As `metricdp.release`.

    Raises
    ------
    InputError, MissingExtraError
        A bad argument; cryptography is not installed.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> demands = [mdp.PrivateDemand(metric, [v] * 4000) for v in (1, 7)]
    >>> holders = [mdp.federated.Holder(demand) for demand in demands]
    >>> cards = [holder.card for holder in holders]
    >>> coordinator = mdp.federated.Coordinator(metric, cards, epsilon=1)
    >>> while coordinator.release is None:
    ...     invitation = coordinator.invite()
    ...     release = coordinator.collect([holder.answer(invitation) for holder in holders])
    >>> sorted(release.k_median(k=2).centers)
    [1, 7]
    """

    def __init__(
        self,
        universe: Metric | EuclideanSpace,
        holders: Iterable[bytes],
        *,
        epsilon: Amount,
        delta: Amount = 0,
        colluding: int = 1,
        method: str | Method = "partition",
        unit: Unit = "record",
        max_contributions: int = 1,
        records_hint: float | None = None,
        seed: int = 0,
        rng: Coins | None = None,
    ) -> None:
        recipe = answering(method, checked_universe(universe), records_hint)
        cards = tuple(opened_card(card) for card in listed(holders, "holders"))
        keys = {key for card in cards for key in (card.sign, card.seal)}
        if len(cards) < 2 or len(keys) < 2 * len(cards):
            raise InputError("a release of several holders needs two or more, each with its card")
        check_distinct([card.name for card in cards], "holders need names of their own")
        price = Cost.of(exact(epsilon), exact(delta, "delta"), MIN_EPSILON)
        agreement = Agreement(
            recipe,
            price.epsilon,
            price.delta,
            len(cards),
            colluding,
            chosen(unit, ("record", "user"), "unit"),  # type: ignore[arg-type]
            max_contributions,
            coins(seed, rng),
        )
        self._universe, self._agreement = universe, agreement
        self._keys, self._release = Keys("coordinator"), None
        first = Course.of(universe, agreement).at([])
        record = agreement.to_dict(universe)
        everyone = tuple(range(len(cards)))
        mine = self._keys.card
        start = (secrets.token_hex(8), mine, record, cards, everyone, (), 1, first.fingerprint)
        self._asked = Invitation(*start)

    @property
    def release(self) -> Release | None:
        """The release, after the last round; None before."""
        return self._release

    @property
    def round(self) -> int:
        """Number of the current round, from 1."""
        return self._asked.round

    @property
    def names(self) -> list[str]:
        """Names of the holders in the current round."""
        return [self._asked.holders[i].name for i in self._asked.present]

    def invite(self) -> bytes:
        """The invitation to the current round: public, and the same for all holders and calls."""
        return self._asked.signed(self._keys)

    def again(self, without: Sequence[str] = ()) -> bytes:
        """Repeat the current round, with new masks and noise, if a holder has lost its answer.
        Ledgers that were charged for it are charged again.

        Parameters
        ----------
        without : sequence of str
            Names of holders who left; in the first round only, as later rounds depend on their
            records.

        Raises
        ------
        InputError
            Unknown names, too few holders left, or not the first round.
        """
        gone = set(listed(without, "without"))
        if gone - set(self.names):
            raise InputError(f"without= must name holders among {', '.join(self.names)}")
        asked = self._asked
        if gone and asked.past:
            raise InputError(
                "holders can be left out in the first round only, as the sums of earlier rounds "
                "count their records: begin another release"
            )
        present = tuple(i for i in asked.present if asked.holders[i].name not in gone)
        if len(present) < 2 or len(present) <= self._agreement.colluding:
            raise InputError("too few holders are left: begin another release")
        self._asked = asked.again(present)
        return self.invite()

    def collect(self, answers: Iterable[bytes]) -> Release | None:
        """Add up the answers of one round: one of each invited holder, in any order.

        Returns
        -------
        Release or None
            The release, after the last round; before, None: `invite` to the next one.

        Raises
        ------
        InputError
            An answer is damaged, of another round, duplicate or missing. Nothing has changed.

        Examples
        --------
        >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
        >>> demands = [mdp.PrivateDemand(metric, [v] * 4000) for v in (1, 7)]
        >>> north = mdp.federated.Holder(demands[0], name="North")
        >>> cards = [north.card, mdp.federated.Holder(demands[1], name="South").card]
        >>> coordinator = mdp.federated.Coordinator(metric, cards, epsilon=1)
        >>> coordinator.collect([north.answer(coordinator.invite())])
        Traceback (most recent call last):
            ...
        metricdp.errors.InputError: no answer yet by South
        """
        asked, course = self._asked, Course.of(self._universe, self._agreement)
        step = course.at(asked.past)
        if step.asked is None:
            raise InputError("all rounds are over: see .release")
        found = [Answer.parsed(answer, asked) for answer in listed(answers, "answers")]
        who = [answer.holder for answer in found]
        if len(set(who)) < len(who):
            raise InputError("two answers are of the same holder")
        missing = [asked.holders[i].name for i in asked.present if i not in who]
        if missing:
            raise InputError(f"no answer yet by {', '.join(missing)}")
        n_values = step.query.n_values
        if any(len(answer.values) != n_values for answer in found):
            raise InputError("an answer has another number of counts than was asked for")
        sums = np.zeros(n_values, np.uint64)
        for answer in found:
            sums += answer.values
        values = course.shares(step.asked, len(found)).total(sums)
        past = (*asked.past, Past(values, len(found), asked.attempt))
        everything = replace(asked, past=past, attempt=1)
        self._asked = replace(everything, question=course.at(past).fingerprint)
        self._finish()
        return self._release

    def _finish(self) -> None:
        """Store the release, once the method has no further query."""
        course = Course.of(self._universe, self._agreement)
        outcome = course.at(self._asked.past).outcome
        if outcome is not None:
            outcome.receipt = course.receipt()
            self._release = attest(outcome, self._provenance())

    def _provenance(self) -> Provenance:
        agreed = self._agreement
        n, c = agreed.holders, agreed.colluding
        whole = ""
        if agreed.unit == "user":
            whole = ": a user as a whole where ids of users at different holders are disjoint"
        trust = TRUST.format(c=c, n=n, m=n - c, unit=agreed.unit, whole=whole)
        asked = {"epsilon": agreed.epsilon, "delta": agreed.delta, "holders": n}
        facts = circumstances(
            {**asked, "colluding": c, "seed": agreed.seed},
            agreed.method,
            call="federated",
            model="federated",
            trust=trust,
            max_contributions=agreed.max_contributions,
        )
        return Provenance(facts, partial(public_universe, self._universe))

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the state for `open` to a private file, atomically; return its path."""
        target = file_path(path, "path")
        record = {"format": _FORMAT, **self._keys.to_dict()}
        with durable_file(target) as file:
            file.write(json.dumps(record).encode() + b"\n" + self.invite())
        return target

    @classmethod
    def open(cls, path: str | PathLike[str], universe: Metric | EuclideanSpace) -> Coordinator:
        """The coordinator saved in a file.

        Raises
        ------
        InputError
            The file is not one, damaged, or of another universe.
        """
        first, _, message = file_path(path, "path").read_bytes().partition(b"\n")
        keys = None
        with suppress(ValueError, KeyError, TypeError):
            record = json.loads(first)
            keys = Keys.from_dict("coordinator", record) if record["format"] == _FORMAT else None
        if keys is None:
            raise InputError(f"{path}: is not the file of a coordinator, or is damaged")
        found = cls.__new__(cls)
        found._keys, found._release = keys, None
        found._asked = Invitation.parsed(message)
        found._universe = checked_universe(universe)
        found._agreement = Agreement.read(found._asked.agreement, universe)
        found._finish()
        return found

    def __repr__(self) -> str:
        over = "over" if self._release is not None else f"in round {self.round}"
        return f"Coordinator({', '.join(self.names)}; {over})"


def run(
    universe: Metric | EuclideanSpace,
    holders: Iterable[Holder],
    *,
    epsilon: Amount,
    delta: Amount = 0,
    colluding: int = 1,
    method: str | Method = "partition",
    records_hint: float | None = None,
    seed: int = 0,
    rng: Coins | None = None,
) -> Release:
    """One release of several holders in one process, for experiments and tests.

    Parameters
    ----------
    universe : Metric or EuclideanSpace
        The universe of all holders' demand.
    holders : iterable of Holder
    epsilon, delta, colluding, method, records_hint, seed, rng
        As `Coordinator`.

    Raises
    ------
    InputError, BudgetError, MissingExtraError
        As `Coordinator` and `Holder.answer`.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> demands = [mdp.PrivateDemand(metric, [v] * 4000) for v in (1, 7)]
    >>> holders = [mdp.federated.Holder(demand) for demand in demands]
    >>> release = mdp.federated.run(metric, holders, epsilon=1, colluding=1)
    >>> release.receipt.epsilon, sorted(release.k_median(k=2).centers)
    (Fraction(1, 1), [1, 7])
    """
    everyone = list(holders)
    if not everyone or not all(isinstance(one, Holder) for one in everyone):
        raise InputError("holders must be two or more mdp.federated.Holder(demand)")
    protects = everyone[0]._demand.protects
    coordinator = Coordinator(
        universe,
        [one.card for one in everyone],
        epsilon=epsilon,
        delta=delta,
        colluding=colluding,
        method=method,
        unit=protects.unit,
        max_contributions=protects.max_contributions,
        records_hint=records_hint,
        seed=seed,
        rng=rng,
    )
    while True:
        invitation = coordinator.invite()
        release = coordinator.collect([one.answer(invitation) for one in everyone])
        if release is not None:
            return release
