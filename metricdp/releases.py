"""What leaves the gate: noisy values, the query they answer, and the receipt."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

import numpy as np

from metricdp.arguments import Ints
from metricdp.errors import InputError

Neighboring = Literal["add-remove", "replace-one"]
Unit = Literal["record", "user"]
Weighting = Literal["record", "share"]
"""What has a weight of 1: each record, or all records of a user together."""


PROOFS: tuple[str, ...] = ("discrete-laplace", "discrete-gaussian", "histograms", "sums")
PROOFS += ("opening", "scores", "swaps", "selection", "peeling", "covering", "days", "composition")
PROOFS += ("parallel", "maps", "users", "local", "shares")
"""Names of the proofs P1, P2, …: one page each."""


def proof_page(number: int) -> str:
    """The page of a proof, by its number on receipts, in the repository and on the site.

    Examples
    --------
    >>> proof_page(8)
    'docs/proofs/08-selection.md'
    """
    return f"docs/proofs/{number:02d}-{PROOFS[number - 1]}.md"


@cache
def installed_version(package: str = "metricdp") -> str:
    """The version of an installed package, by its metadata."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


@dataclass(frozen=True)
class Mechanism:
    """One mechanism of a receipt: the query, its sensitivity, and the noise.

    `name`: distribution of the noise (``"discrete Laplace"``, ``"discrete Gaussian"``) or name of a
    selection (``"exponential mechanism"``, ``"permute-and-flip"``); ``"exact"`` for a query of
    sensitivity 0. `query`: in public terms. `sensitivity`: L1, under the receipt's neighboring
    relation and unit; for a selection the range of its scores' changes. `scale`: P(noise = z) is
    proportional to exp(-abs(z) / scale), or to exp(-z² / (2 scale²)) if Gaussian; for a selection,
    the unit in which scores are distinguished; 0 for no noise. `epsilon`, `delta`: its exact cost
    alone; `rho`: its zCDP parameter, where that was paid. `proofs`: numbers of the proofs that its
    guarantee uses (`proof_page`): of the distribution, the query, and users with many records;
    empty on receipts of older versions.

    Examples
    --------
    >>> from metricdp.releases import Mechanism
    >>> print(Mechanism("discrete Laplace", "histogram of 8 parts", 1, 10.0, Fraction(1, 10)))
    histogram of 8 parts: discrete Laplace, scale 10, sensitivity 1, epsilon 0.1 (1/10)
    """

    name: str
    query: str
    sensitivity: int
    scale: float
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    proofs: tuple[int, ...] = field(default=(), compare=False)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form: epsilon and delta as a float and as an exact string."""
        record = ("name", "query", "sensitivity", "scale")
        noise = {name: getattr(self, name) for name in record}
        rho = {} if self.rho is None else {"rho": float(self.rho), "rho_exact": str(self.rho)}
        proofs = {"proofs": [f"P{number}" for number in self.proofs]} if self.proofs else {}
        return {**noise, **_cost(self.epsilon, self.delta), **rho, **proofs}

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Mechanism:
        """The mechanism of a `to_dict`; KeyError, TypeError or ValueError if it is not one."""
        return cls(
            str(record["name"]),
            str(record["query"]),
            int(record["sensitivity"]),
            float(record["scale"]),
            Fraction(record["epsilon_exact"]),
            Fraction(record["delta_exact"]),
            Fraction(record["rho_exact"]) if "rho_exact" in record else None,
            tuple(int(str(number).removeprefix("P")) for number in record.get("proofs", ())),
        )

    def __str__(self) -> str:
        noise = f"{self.name}, scale {self.scale:.6g}" if self.scale else self.name
        cost = f"epsilon {_show(self.epsilon)}" if self.rho is None else f"rho {_show(self.rho)}"
        return f"{self.query}: {noise}, sensitivity {self.sensitivity}, {cost}"


class Provenance:
    """Public facts of the call that made a release, as names and plain values
    (`metricdp.provenance.KEYS`).

    `facts`: known at once; `universe`: gives those of the universe when they are first needed, as
    the checksum of a large one takes a while.

    Examples
    --------
    >>> Provenance({"call": "release", "day": "2031-02-03"}).to_dict()
    {'call': 'release', 'day': '2031-02-03'}
    """

    __slots__ = ("_facts", "_universe")

    def __init__(self, facts: Mapping[str, Any], universe: Callable[[], Any] | None = None) -> None:
        self._facts = dict(facts)
        self._universe = universe

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        if self._universe is not None:
            self._facts["universe"] = self._universe()
            self._universe = None
        return dict(self._facts)

    def __reduce__(self) -> tuple[Any, ...]:
        return Provenance, (self.to_dict(),)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Provenance):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Provenance({self._facts.get('call')}, {self._facts.get('day')})"


@dataclass(frozen=True)
class Receipt:
    """The privacy cost and guarantee of a result.

    `mechanisms`: all mechanisms the result was computed from, in order. `epsilon`, `delta`: the
    guarantee of all together: changing the demand by one unit changes the probability of any event
    by at most a factor exp(epsilon), plus delta. `neighboring`: a unit joins or leaves
    ("add-remove"), or is replaced by another ("replace-one"). `unit`: who is protected: one record,
    or all records of one user. `version`: of the metricdp that made it. `bound`: by which the costs
    were composed. `grains`: fixed-point weight units in a user's unit of weight, where users have
    one unit of weight each; sensitivities and scales are then in weight units, and the mean over
    people is minimized; else 1. `made`: the provenance (`metricdp.provenance`).

    Examples
    --------
    >>> counts = Mechanism("discrete Laplace", "histogram of 8 parts", 1, 10.0, Fraction(1, 10))
    >>> receipt = Receipt.of([counts], "add-remove", "record")
    >>> (receipt + receipt).to_dict()["epsilon_exact"]
    '1/5'
    """

    mechanisms: tuple[Mechanism, ...]
    epsilon: Fraction
    delta: Fraction
    neighboring: Neighboring
    unit: Unit
    version: str
    bound: str = "basic composition"
    grains: int = 1
    made: Provenance | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(
        cls, mechanisms: Iterable[Mechanism], neighboring: Neighboring, unit: Unit, grains: int = 1
    ) -> Receipt:
        """Receipt of mechanisms on one demand: epsilons and deltas add up."""
        run = tuple(mechanisms)
        epsilon = sum((m.epsilon for m in run), Fraction(0))
        delta = sum((m.delta for m in run), Fraction(0))
        version = installed_version()
        return cls(run, epsilon, delta, neighboring, unit, version, grains=grains)

    def paid(self, epsilon: Fraction, delta: Fraction, bound: str) -> Receipt:
        """The same mechanisms, with the cost that one budget paid for all of them together."""
        return replace(self, epsilon=epsilon, delta=delta, bound=bound)

    def __add__(self, other: Receipt) -> Receipt:
        """Receipt of both, by sequential composition; refused for different relations or units."""
        if not isinstance(other, Receipt):
            return NotImplemented
        mine, theirs = self._promise, other._promise
        if mine != theirs:
            raise InputError(f"receipts of different guarantees do not add up: {mine}, {theirs}")
        run, whom = self.mechanisms + other.mechanisms, (self.neighboring, self.unit)
        total = (self.epsilon + other.epsilon, self.delta + other.delta)
        return Receipt(run, *total, *whom, installed_version(), grains=self.grains)

    @classmethod
    def combined(cls, receipts: Iterable[Receipt]) -> Receipt:
        """Sum of the receipts of one call, at least one."""
        first, *others = receipts
        for receipt in others:
            first = first + receipt
        return first

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form; nothing in it is private."""
        return {
            **_cost(self.epsilon, self.delta),
            "neighboring": self.neighboring,
            "unit": self.unit,
            **self._weighting(),
            "composition": self.bound,
            "mechanisms": [mechanism.to_dict() for mechanism in self.mechanisms],
            **self._proven(),
            "version": self.version,
            **({} if self.made is None else {"made": self.made.to_dict()}),
        }

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Receipt:
        """The receipt of a `to_dict`; KeyError, TypeError or ValueError if it is not one."""
        made = record.get("made")
        return cls(
            tuple(Mechanism.from_dict(one) for one in record["mechanisms"]),
            Fraction(record["epsilon_exact"]),
            Fraction(record["delta_exact"]),
            neighboring=record["neighboring"],
            unit=record["unit"],
            version=record["version"],
            bound=str(record["composition"]),
            grains=record.get("grains", 1),
            made=Provenance(made) if isinstance(made, dict) else None,
        )

    def _proven(self) -> dict[str, Any]:
        """Pages of the proofs of all mechanisms, and of composition if there are several."""
        numbers = {number for mechanism in self.mechanisms for number in mechanism.proofs}
        if not numbers:
            return {}
        many = {12} if len(self.mechanisms) > 1 else set()
        return {"proofs": {f"P{n}": proof_page(n) for n in sorted(numbers | many)}}

    def _weighting(self) -> dict[str, Any]:
        if self.grains == 1:
            return {}
        return {"weighting": "share", "grains": self.grains, "objective": "mean over people"}

    @property
    def _promise(self) -> str:
        shares = ", one unit of weight each" if self.grains > 1 else ""
        return f"{self.neighboring} per {self.unit}{shares}"

    def __str__(self) -> str:
        delta = f", delta {_show(self.delta)}" if self.delta else ""
        whom = f"per {self.unit}, {self.neighboring} neighbors"
        promise = f"epsilon {_show(self.epsilon)}{delta} {whom}"
        by = f", by {self.bound}" if self.bound != "basic composition" else ""
        head = f"{promise}{by} (metricdp {self.version})"
        if self.grains > 1:
            unit = f"one unit of weight a user, counted in {self.grains:,} weight units"
            head += f"\n  {unit}: the objective is the mean over people"
        return "\n".join([head, *(f"  {mechanism}" for mechanism in self.mechanisms)])


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """A noisy answer of the gate. Everything computed from it is post-processing: free, any number
    of times.

    `values` (n_values,): noisy counts, read-only; negative values are normal; `query`: the public
    query they answer (`metricdp.privacy.HistogramQuery`, …); `receipt`.

    Examples
    --------
    >>> from metricdp.privacy import CountQuery, measure
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> budget = mdp.Ledger(1).charge("0.5")
    >>> release = measure(mdp.PrivateDemand(metric, [2] * 9000), CountQuery(), "0.5", budget)
    >>> bool(abs(release.values[0] - 9000) < 100), release.receipt.epsilon
    (True, Fraction(1, 2))
    """

    values: Ints
    query: Any
    receipt: Receipt

    def __post_init__(self) -> None:
        values = np.array(self.values, dtype=np.int64)
        values.setflags(write=False)
        object.__setattr__(self, "values", values)

    def __repr__(self) -> str:
        values = f"{len(self.values):,} noisy values of {self.query}"
        return f"Release({values}, epsilon {_show(self.receipt.epsilon)})"


def _cost(epsilon: Fraction, delta: Fraction) -> dict[str, Any]:
    first = {"epsilon": float(epsilon), "epsilon_exact": str(epsilon)}
    return first | {"delta": float(delta), "delta_exact": str(delta)}


def _show(value: Fraction) -> str:
    """A fraction as text: its decimals, and the exact fraction if that is short."""
    exact = str(value)
    short = f"{float(value):.6g}"
    return f"{short} ({exact})" if "/" in exact and len(exact) <= 12 else short
