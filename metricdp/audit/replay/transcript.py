"""Transcript of one call: its queries about private demand, their prices, and all random draws.

Hooks are at the gate's check of a query, at budgets, at OpenDP's constructors of noise and at the
selection; none is in a method.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.audit.patch import all_patched, noise_from


@dataclass(frozen=True)
class Draw:
    """One output, its distribution (`kind`, `scale`), and the exact answers or scores `hidden`."""

    kind: str
    scale: Any
    hidden: NDArray[np.int64]
    output: Any


@dataclass
class Step:
    """One query: its public description, its price, and its draws."""

    query: Any
    name: str
    described: str
    demand: Any
    price: tuple[Fraction, Fraction, Fraction | None] | None = None
    in_rho: bool = False
    draws: list[Draw] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        """Whether it is about the whole demand, not about a part of a split."""
        return getattr(self.demand, "part", None) is None


class Diverged(BaseException):
    """A replay asked for another draw than the recorded run; no method may catch this."""


@dataclass
class Transcript:
    """Queries, prices and draws of one run, in order; `replays`: the recorded run to repeat.

    `beneath`: exact values of draws whose noise is drawn before them (sums over days). With a `tag`
    no noise is drawn: the i-th draw gives i times the tag.
    """

    public: Any
    replays: Transcript | None = None
    beneath: Sequence[Any] = ()
    tag: int = 0
    steps: list[Step] = field(default_factory=list)
    paid: list[tuple[str, ...]] = field(default_factory=list)
    draws: list[Draw] = field(default_factory=list)
    on_step: Callable[[Step], None] = lambda step: None
    diverged: str = ""
    _charged: Any = None

    def asked(self, demand: Any, query: Any, *_: Any) -> None:
        """Record a query that the gate has accepted."""
        name = type(query).__name__
        self.steps.append(Step(query, name, describe(query, self.public), demand))
        self.on_step(self.steps[-1])

    def spent(self, what: str, budget: Any, cost: Any) -> None:
        """Record that a budget was charged, or drawn from."""
        price = (cost.epsilon, cost.delta, cost.rho if cost.delta or _counts_rho(budget) else None)
        self.paid.append((what, type(budget).__name__, *map(str, price)))
        self._charged = price
        if what == "draw" and self.steps and self.steps[-1].price is None:
            self.steps[-1].price = price
            self.steps[-1].in_rho = _counts_rho(budget)

    def noise(self, real: Any, kind: str, scale: float, values: list[int]) -> list[int]:
        """The replacement of an OpenDP measurement."""
        at = len(self.draws)
        under = self.beneath[at] if at < len(self.beneath) else 0
        hidden = np.array(values, dtype=np.int64) + under
        output = self._output(kind, len(hidden), lambda: self._fresh(real, values) + under)
        self._note(Draw(kind, scale, hidden, output))
        return [int(v) for v in output - under]

    def _fresh(self, real: Callable[[list[int]], list[int]], values: list[int]) -> Any:
        if self.tag:
            return np.array(values) + self.tag * (len(self.draws) + 1)
        return np.array(real(values), np.int64)

    def selection(self, blocks: Iterable[Any], eta: Fraction, distribution: str) -> int:
        """The replacement of the gate's selection."""
        scores = np.concatenate([np.asarray(block) for block in blocks])
        output = self._output(
            distribution, len(scores), lambda: self.choose([scores], eta, distribution)
        )
        self._note(Draw(distribution, eta, scores, int(output)))
        return int(output)

    choose: Any = None
    """The real selection."""

    def _output(self, kind: str, length: int, real: Callable[[], Any]) -> Any:
        at = len(self.draws)
        if self.replays is None:
            return real()
        if at >= len(self.replays.draws):
            raise self._diverged(f"draw {at + 1} is one too many")
        planned = self.replays.draws[at]
        if (kind, length) != (planned.kind, len(planned.hidden)):
            raise self._diverged(
                f"draw {at + 1} is {kind} of {length}, not {planned.kind} of {len(planned.hidden)}"
            )
        return planned.output

    def _diverged(self, why: str) -> Diverged:
        self.diverged = self.diverged or why  # the gate may replace the exception
        return Diverged(why)

    def _note(self, draw: Draw) -> None:
        self.draws.append(draw)
        if not self.steps:  # a stream draws before its first query, and is charged once
            self.steps.append(Step(None, "sums over days", "", None, self._charged))
        self.steps[-1].draws.append(draw)


def _counts_rho(budget: Any) -> bool:
    return getattr(budget, "rho", None) is not None


@contextmanager
def recorded(transcript: Transcript) -> Iterator[Transcript]:
    """Record all queries, prices and draws of a block."""
    places = ("privacy.gate", "accounting.budget", "accounting.ledger")
    gate, budget, ledger = (import_module(f"metricdp.{name}") for name in places)
    check, charge, draw = gate._check, budget.Budget.charge, budget.BudgetSlice.draw
    once, price = ledger.Ledger.charge_once, budget.Cost.of
    transcript.choose = gate.choose

    def checked(demand: Any, query: Any, *others: Any) -> Any:
        check(demand, query, *others)
        transcript.asked(demand, query)

    def charged(self: Any, epsilon: Any, delta: Any = 0, *others: Any, **named: Any) -> Any:
        bought = charge(self, epsilon, delta, *others, **named)
        transcript.spent("charge", self, price(epsilon, delta))
        return bought

    def charged_once(self: Any, name: str, cost: Any, *others: Any) -> Any:
        bought = once(self, name, cost, *others)
        transcript.spent("charge", self, cost)
        return bought

    def drew(self: Any, epsilon: Any, delta: Any = 0) -> None:
        draw(self, epsilon, delta)
        transcript.spent("draw", self, price(epsilon, delta))

    hooks: list[Any] = [(gate, "_check", checked), (gate, "choose", transcript.selection)]
    hooks += [(budget.Budget, "charge", charged), (budget.BudgetSlice, "draw", drew)]
    hooks.append((ledger.Ledger, "charge_once", charged_once))
    with all_patched(hooks), noise_from(transcript.noise):
        yield transcript


PROBES = 33
"""Points for each axis of a box of up to two dimensions; with more, on a line along each axis."""


def describe(value: Any, public: Any) -> str:
    """A description of a public object with a digest; `public`: the universe, which is skipped."""
    digest = hashlib.blake2b(digest_size=12)
    _add(value, public, digest.update, 0)
    return f"{type(value).__name__} {value} {digest.hexdigest()}"


def _add(value: Any, public: Any, add: Any, depth: int) -> None:
    name = type(value).__name__
    if value is public or callable(value) or depth > 8:
        add(name.encode())
    elif isinstance(value, np.ndarray) and value.dtype.kind != "O":
        add(f"{value.dtype} {value.shape}".encode() + np.ascontiguousarray(value).tobytes())
    elif hasattr(value, "grid_rows") or (hasattr(value, "lower") and hasattr(value, "clip")):
        shape = len(value) if hasattr(value, "grid_rows") else (value.lower, value.upper)
        add(f"{name} {shape}".encode())
    elif hasattr(value, "encode") and hasattr(value, "n_parts"):
        add(f"{name} {value.n_parts}".encode())
        _add(np.asarray(value.encode(probes(value.universe))), public, add, depth + 1)
    elif isinstance(value, Mapping):
        for key in value:
            _add((key, value[key]), public, add, depth + 1)
    elif isinstance(value, list | tuple):
        for one in value:
            _add(one, public, add, depth + 1)
    elif hasattr(value, "__dict__"):  # queries, and objects in them
        add(name.encode())
        for key, one in sorted(vars(value).items()):
            add(key.encode())
            _add(one, public, add, depth + 1)
    else:
        add(repr(value).encode())


def probes(universe: Any) -> Any:
    """All positions of a finite universe, or some points of a box."""
    if not hasattr(universe, "lower"):
        return np.arange(len(universe))
    low, high = universe.lower, universe.upper
    d = len(low)
    steps = np.linspace(0, 1, PROBES)
    if d <= 2:
        shares = np.stack(np.meshgrid(*[steps] * d), axis=-1).reshape(-1, d)
    else:
        shares = np.concatenate([np.full((PROBES, d), 0.37) for _ in range(d)])
        for axis in range(d):
            shares[axis * PROBES : (axis + 1) * PROBES, axis] = steps
    return low + shares * (high - low)
