"""Continual counting: histograms of a public partition, day after day, by the tree mechanism.

A `Counter` holds, for every node that has begun and not ended (`metricdp.accounting.continual`),
noise drawn on its first day plus the exact counts of its days so far. After the node's last day the
sum is released unchanged. Nodes begin and end by the calendar.

**Privacy.** *Guarantee* (proof P11): all counts ever released are epsilon-DP by discrete Laplace
noise of scale levels · s / epsilon in every node, or (epsilon, delta)-DP by discrete Gaussian
noise, also where each day's demand depends on earlier releases. One reading of the counter itself,
on one day, is covered by the same epsilon (B. Dwork et al., "Pan-private streaming algorithms", ICS
2010); two readings reveal exact counts, so its file is private. *Composition*: the whole stream is
charged before a demand is read, in each period of the ledger (``Counter.pay``).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from metricdp.accounting import Cost
from metricdp.accounting.binding import Protection
from metricdp.accounting.continual import DayBlock, Level, Node, Schedule, l1, squared
from metricdp.arguments import Amount, Ints
from metricdp.errors import InputError
from metricdp.kernels.scores import CAP
from metricdp.privacy import _vault
from metricdp.privacy.demand import PrivateDemand
from metricdp.privacy.noise import DiscreteGaussian, DiscreteLaplace, Noise
from metricdp.privacy.queries import HistogramQuery, answered
from metricdp.progress import silent
from metricdp.releases import Neighboring, Receipt
from metricdp.unique import Unique

DAYS, USERS = 11, 15
"""Numbers of the proofs of continual counting, and of users."""

Counts = Ints


@dataclass(frozen=True)
class Counting:
    """The public terms of a counter: what it counts, and its guarantee.

    `query`: of a public partition of a finite universe; `cost`: of the whole stream: epsilon, or
    with a delta a cost of rho (`Cost.zcdp`); `unit`: who is protected: each record ("event"), or
    each user on all days together; `max_contributions`: most records of a user on one day; 1 at
    event level.
    """

    query: HistogramQuery
    schedule: Schedule
    cost: Cost
    neighboring: Neighboring
    unit: Level = "event"
    max_contributions: int = 1
    _noises: dict[DayBlock, Noise] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        if type(self.query) is not HistogramQuery or self.query.labels is None:
            raise InputError("continual counts need a HistogramQuery of a finite universe")
        if self.unit == "user" and self.schedule.horizon is None:
            raise InputError(
                "unit='user' promises something of all days of a user together, so their number "
                "must be known: give horizon="
            )
        if self.schedule.gaussian != bool(self.cost.delta):
            raise InputError("a schedule is for Gaussian noise if there is a delta")
        self.noise(self.schedule.block(0))

    @property
    def protects(self) -> Protection:
        """The unit of protection that a day's demand must have."""
        if self.unit == "event":
            return Protection("record", 1)
        return Protection("user", self.max_contributions)

    def noise(self, block: DayBlock) -> Noise:
        """The noise of every node of a block."""
        if block not in self._noises:
            if self.cost.delta:
                square = self.query.squared_sensitivity(self.neighboring, self.max_contributions)
                whole = squared(self.schedule, block, self.unit, square)
                self._noises[block] = DiscreteGaussian(whole, self.cost)
            else:
                self._noises[block] = DiscreteLaplace(self._l1(block), self.cost.epsilon)
        return self._noises[block]

    def _l1(self, block: DayBlock) -> int:
        daily = self.query.sensitivity(self.neighboring, self.max_contributions)
        return l1(self.schedule, block, self.unit, daily)

    def variance(self, block: DayBlock) -> float:
        """Variance of the noise of each count of a node."""
        noise = self.noise(block)
        return noise.scale**2 * (1.0 if self.cost.delta else 2.0)

    def receipt(self, day: int) -> Receipt:
        """The receipt of the whole stream, past and future: it has one cost."""
        block = self.schedule.block(self.schedule.number_of(max(day, 0)))
        noise, days, cost = self.noise(block), self.schedule.horizon, self.cost
        longest = block.base ** (block.levels - 1)
        text = f"{self.query}, every day"
        if longest > 1:
            text += f", and summed over runs of up to {longest} days ({block.levels} run lengths)"
        proofs = {DAYS, self.query.proof}
        whom = "event level: each record, on whatever day"
        if self.unit == "user":
            proofs |= {USERS}
            whom = (
                f"user level: each user, up to {self.max_contributions:,} records a day, all days "
                f"together"
            )
        mechanism = noise.mechanism(text, self._l1(block), proofs)
        receipt = Receipt.of([mechanism], self.neighboring, self.protects.unit)
        many = "any number of" if days is None else f"{days:,}"
        bound = f"continual counting over {many} days, {whom}"
        return receipt.paid(cost.epsilon, cost.delta, bound)


class Counter(Unique):
    """The noisy sums of the unfinished nodes after some days: opaque.

    `fresh` makes the first counter, `observe` each next one. `days`: counted so far; `pay`: called
    before each day is read, to charge the stream or refuse.
    """

    __slots__ = ("__weakref__", "counting", "days", "nodes", "pay")
    _why = "what it holds is private, and a copy would release a day twice"

    def __init__(
        self,
        counting: Counting,
        days: int,
        nodes: tuple[Node, ...],
        sums: Counts,
        pay: Callable[[], None],
    ) -> None:
        self.counting, self.days, self.nodes, self.pay = counting, days, nodes, pay
        _vault._put(self, sums)

    def __repr__(self) -> str:
        return f"Counter({self.days:,} days, {len(self.nodes)} sums under way)"


def observe(counter: Counter, demand: PrivateDemand) -> tuple[Counter, dict[Node, Counts]]:
    """Count one more day; return the next counter, and the released counts of the nodes that end.

    **Privacy.** See the module: paid when the counter was made, or by its `pay` now. Which nodes
    begin and end follows from the calendar, never from the demand. `counter` must not be used
    again: a day counted from it twice would be released twice, with partly the same noise.
    """
    _check(counter, demand)
    counter.pay()
    counting = counter.counting
    schedule = counting.schedule
    day = counter.days
    rule = "the day failed on private records (details withheld)"
    nodes = tuple(schedule.nodes(day))
    held = {node: i for i, node in enumerate(counter.nodes)}
    sums = _vault._quietly(rule, lambda: _added(counter, demand, nodes, held))
    ended = [i for i, node in enumerate(nodes) if schedule.ends(node, day)]
    going = [i for i in range(len(nodes)) if i not in ended]
    after = Counter(counting, day + 1, tuple(nodes[i] for i in going), sums[going], counter.pay)
    return after, {nodes[i]: sums[i] for i in ended}


def stored(counter: Counter) -> Counts:
    """The sums of the unfinished nodes, for the stream's own file: private, see the module."""
    return np.array(_vault._open(counter))


def restored(counting: Counting, days: int, nodes: tuple[Node, ...], sums: Counts) -> Counter:
    """The counter of a file; it reads no day before its `pay` is set."""
    if sums.dtype != np.int64 or sums.shape != (len(nodes), counting.query.n_parts):
        raise InputError("the sums of a stream's file have another shape")
    return Counter(counting, days, nodes, sums, _unpaid)


def fresh(counting: Counting) -> Counter:
    """The counter before the first day; it reads no day before its `pay` is set."""
    return restored(counting, 0, (), np.zeros((0, counting.query.n_parts), np.int64))


def _unpaid() -> None:
    raise InputError("nothing was paid for this day")


def _check(counter: Counter, demand: PrivateDemand) -> None:
    """All that can be refused without looking at the data."""
    if not isinstance(counter, Counter) or not isinstance(demand, PrivateDemand):
        raise InputError(
            f"a day's demand must be a PrivateDemand, got {type(demand).__name__}: "
            f"mdp.PrivateDemand(metric, ids) makes one, also of no records"
        )
    counting = counter.counting
    counting.query.check(demand.universe)
    demand._check_relation(counting.neighboring)
    if demand.part is not None:
        raise InputError("a part of a split demand is paid from the budget slice of the split")
    if demand.protects != counting.protects:
        raise InputError(
            f"a stream of unit='{counting.unit}' protects {counting.protects}; this day's demand "
            f"protects {demand.protects}"
        )
    horizon = counting.schedule.horizon
    if horizon is not None and counter.days >= horizon:
        raise InputError(
            f"the stream's horizon of {horizon:,} days is over, and its budget paid for no more: "
            f"begin another stream, with a budget of its own"
        )


def _added(
    counter: Counter, demand: PrivateDemand, nodes: tuple[Node, ...], held: dict[Node, int]
) -> Counts:
    """The sums of a day's nodes after that day. Only here and in `_opening` are counts exact."""
    with silent():
        exact = answered(counter.counting.query, _vault._open(demand))
        before = _vault._open(counter)
        sums = np.empty((len(nodes), len(exact)), np.int64)
        for i, node in enumerate(nodes):
            start = before[held[node]] if node in held else _opening(counter.counting, node)
            sums[i] = np.minimum(start, CAP - exact) + exact
    return sums


def _opening(counting: Counting, node: Node) -> Counts:
    """The sums of a node before its first day: its noise."""
    block = counting.schedule.block(node.block)
    return counting.noise(block)(np.zeros(counting.query.n_parts, np.int64))


def whole_cost(epsilon: Amount, delta: Amount) -> Cost:
    """The cost of a whole stream, in rho where there is a delta."""
    cost = Cost.of(epsilon, delta)
    if cost.epsilon <= 0:
        raise InputError(f"epsilon must be positive, got {float(cost.epsilon)!r}")
    return Cost.zcdp(cost.epsilon, cost.delta) if cost.delta else Cost.of(Fraction(cost.epsilon))
