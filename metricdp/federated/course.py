"""The agreed terms and the method's next query, which each party computes from public values."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from metricdp.accounting import Cost, exact
from metricdp.arguments import count
from metricdp.errors import InputError
from metricdp.federated.messages import Past
from metricdp.methods.asking import Account, Ask, Statement, Terms
from metricdp.methods.method import Method
from metricdp.methods.question import Question, asked_of
from metricdp.methods.registry import BY_NAME, answering
from metricdp.metrics.base import Metric
from metricdp.metrics.identity_cache import IdentityCache
from metricdp.metrics.space import EuclideanSpace
from metricdp.privacy import CountQuery, HistogramQuery, LevelsQuery
from metricdp.privacy.noise import Shares
from metricdp.releases import Receipt, Release, Unit, installed_version
from metricdp.running.attesting import public_universe

_KEPT = IdentityCache()
_PLAIN = ("holders", "colluding", "unit", "max_contributions", "seed")
_POINTS = 1 << 12
"""Points of a box whose parts distinguish its partitions in a fingerprint."""


@dataclass(frozen=True)
class Agreement:
    """The public terms of a federated release; `max_contributions` applies to each holder."""

    method: Method
    epsilon: Fraction
    delta: Fraction
    holders: int
    colluding: int
    unit: Unit = "record"
    max_contributions: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.method.adds_up:
            raise InputError(
                f"the method {self.method.name} needs more here than counts of all records: "
                f"several holders answer partition and hst, and partition in a box of up to three "
                f"dimensions"
            )
        count(self.colluding, "colluding", 0, self.holders - 1, "fewer than there are holders")

    @cached_property
    def cost(self) -> Cost:
        """Price of the whole release, in rho if there is a delta."""
        if not self.delta:
            return Cost.of(self.epsilon)
        return Cost.zcdp(self.epsilon, self.delta)

    @property
    def terms(self) -> Terms:
        """The method's terms, at a price whose central noise has the variance of all shares."""
        part = Fraction(self.holders - self.colluding, self.holders)
        if self.cost.rho is None:
            price = Cost.of(self.epsilon * Fraction(math.sqrt(part)))
        else:
            price = replace(self.cost, rho=self.cost.rho * part)
        return Terms(price, "add-remove", self.max_contributions, 1, self.unit)

    def question(self, universe: Metric | EuclideanSpace) -> Question:
        """The question of a release that answers any k."""
        return replace(asked_of(universe, 1, 1, seed=self.seed), k=0)

    def piece(self, share: Fraction) -> Cost:
        """Price of a share of the budget."""
        return self.terms.at(self.cost).cost(share)

    def to_dict(self, universe: Metric | EuclideanSpace) -> dict[str, Any]:
        """JSON-ready form, with version and universe, which must be the same for all parties."""
        return {
            "version": installed_version(),
            "universe": public_universe(universe)["sha256"],
            "method": self.method.name,
            "options": _options(self.method),
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            **{name: getattr(self, name) for name in _PLAIN},
        }

    @classmethod
    def read(cls, record: dict[str, Any], universe: Metric | EuclideanSpace) -> Agreement:
        """The inverse of `to_dict`; raises InputError if version or universe differ."""
        if record.get("version") != installed_version():
            raise InputError(
                f"all parties need the same version of metricdp: the invitation is of "
                f"{str(record.get('version'))[:20]}, this is {installed_version()}"
            )
        if record.get("universe") != public_universe(universe)["sha256"]:
            raise InputError(
                "the invitation is about another universe: all parties read the same file with the "
                "same options"
            )
        found = None
        with suppress(KeyError, TypeError, ZeroDivisionError):
            method = BY_NAME[record["method"]](**record["options"])
            price = exact(record["epsilon"]), exact(record["delta"], "delta")
            numbers: Any = [record[name] for name in _PLAIN]
            found = cls(answering(method, universe), *price, *numbers)
        if found is None or found.to_dict(universe) != record:
            raise InputError("this invitation is damaged: ask for it again")
        return found


def _options(method: Method) -> dict[str, Any]:
    """Fields of a method in JSON-ready form."""
    record = {field.name: getattr(method, field.name) for field in fields(method)}
    if any(not isinstance(value, bool | int | float | str | None) for value in record.values()):
        raise InputError(f"options of {method.name} that are no plain values cannot be sent")
    return record


class CourseRound:
    """A round: the request `asked`, its query and `fingerprint`; or, at the end, the `outcome`."""

    def __init__(self, asked: Ask | None, outcome: Any) -> None:
        self.asked, self.outcome = asked, outcome
        self.query: Any = None if asked is None else asked.query
        self.fingerprint = "" if asked is None else fingerprint(asked)


def fingerprint(asked: Ask) -> str:
    """SHA-256 of a request; a histogram enters by the part of each point (in a box, of some)."""
    query = asked.query
    counts = query.levels if type(query) is LevelsQuery else (query,)
    added = all(type(one) in (CountQuery, HistogramQuery) for one in counts)
    if not added or asked.image is not None:
        raise InputError(
            f"several holders add up counts, of all their records: this method asks for "
            f"{'images of records' if asked.image is not None else query}"
        )
    digest = hashlib.sha256(f"{query} {asked.share}".encode())
    for one in counts:
        if isinstance(one, HistogramQuery):
            labels = one.labels
            if labels is None:
                labels = one.encode(one.universe.net(_POINTS, 0).points)
            digest.update(np.ascontiguousarray(labels, "<i8").tobytes())
    return digest.hexdigest()


class Course:
    """The state of a method: its next request, given the answers of earlier rounds."""

    def __init__(self, universe: Metric | EuclideanSpace, agreement: Agreement) -> None:
        self.universe, self.agreement = universe, agreement
        self._restart()

    @classmethod
    def of(cls, universe: Metric | EuclideanSpace, agreement: Agreement) -> Course:
        """The course of a universe and an agreement; the one last used is cached."""
        cache, key = _KEPT.of(universe), json.dumps(agreement.to_dict(universe), sort_keys=True)
        if cache.get("key") != key:
            course = cls(universe, agreement)
            course._confirm()
            cache.update(key=key, course=course)
        return cache["course"]

    def _confirm(self) -> None:
        """Raise InputError if, by public facts, the method cannot answer at this price."""
        agreed, question = self.agreement, self.agreement.question(self.universe)
        agreed.method.confirm(agreed.terms, question)
        for asked in agreed.method.least(agreed.terms, question):
            if isinstance(asked.query, HistogramQuery):
                self.shares(asked, agreed.holders)

    def at(self, past: Sequence[Past]) -> CourseRound:
        """The round that follows the answers of some rounds."""
        known = self._past
        same = all(
            (one.values is two.values or np.array_equal(one.values, two.values))
            and one[1:] == two[1:]
            for one, two in zip(known, past)
        )
        if len(known) > len(past) or not same:
            self._restart()
        for one in past[len(self._past) :]:
            self._send(one)
        return self._step

    def shares(self, asked: Ask, holders: int) -> Shares:
        """The noise shares of a round that a number of holders answer."""
        agreed = self.agreement
        m, cost = agreed.max_contributions, agreed.piece(asked.share)
        honest = holders - agreed.colluding
        return Shares.of(asked.query, "add-remove", m, cost, holders, honest)

    def receipt(self) -> Receipt:
        """The receipt of all rounds: the price of the release, and those of repeated rounds."""
        agreed = self.agreement
        if not self._receipts:
            return agreed.terms.nothing()
        receipt = Receipt.combined(self._receipts)
        rounds = zip(self._past, self._shares)
        repeated = sum((one.attempt - 1) * agreed.piece(share).epsilon for one, share in rounds)
        times = sum(one.attempt - 1 for one in self._past)
        bound = "zCDP" if agreed.delta else "basic composition"
        who = (
            f"{bound}, against an honest-but-curious coordinator together with up to "
            f"{agreed.colluding} of {agreed.holders} holders (computational)"
        )
        return receipt.paid(agreed.epsilon + repeated, agreed.delta * (1 + times), who)

    def _restart(self) -> None:
        self._past: list[Past] = []
        self._shares: list[Fraction] = []
        self._receipts: list[Receipt] = []
        agreed = self.agreement
        self._work = agreed.method.work(agreed.terms, agreed.question(self.universe))
        self._advance(None)

    def _send(self, past: Past) -> None:
        """Send the method the answer to its current request."""
        asked = self._step.asked
        if asked is None or len(past.values) != self._step.query.n_values:
            raise InputError("the answers so far do not fit what the method asks")
        agreed = self.agreement
        sensitivity = asked.query.sensitivity("add-remove", agreed.max_contributions)
        record = self.shares(asked, past.holders).mechanism_of(asked.query, sensitivity)
        receipt = Receipt.of([record], "add-remove", agreed.unit)
        self._past.append(past)
        self._shares.append(asked.share)
        self._receipts.append(receipt)
        self._advance(Release(past.values, asked.query, receipt))

    def _advance(self, answer: Release | Statement | None) -> None:
        """Run the method to its next request for counts, or to its end."""
        while True:
            try:
                request = self._work.send(answer)
            except StopIteration as end:
                self._step = CourseRound(None, end.value)
                return
            if isinstance(request, Ask):
                self._step = CourseRound(request, None)
                return
            if not isinstance(request, Account):
                raise InputError("several holders can answer counts only; the method asks for more")
            left = 1 - sum(self._shares, Fraction(0))
            answer = Statement(left, tuple(self._receipts), self.receipt())
