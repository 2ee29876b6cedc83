"""The gate: everything computed from private demand leaves the package here.

Each function checks public arguments, draws the cost from the budget slice, and only then reads the
vault. It returns nothing but noisy values or selected candidates, with a receipt, or raises one
fixed message. Refusals come before anything is read or spent: `InputError` for a wrong type or
universe, `BudgetError` for a slice with too little left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.accounting import Budget, BudgetSlice, Cost, ZCDPAccountant, exact
from metricdp.accounting.covering import exponent
from metricdp.arguments import Amount, Floats, Ints, positive, shown
from metricdp.errors import InputError
from metricdp.kernels.scores import CAP
from metricdp.privacy import _vault
from metricdp.privacy.caps import squared_sensitivity
from metricdp.privacy.demand import PrivateDemand
from metricdp.privacy.noise import Noise, Shares, best_noise
from metricdp.privacy.queries import (
    CountQuery,
    HistogramQuery,
    LevelsQuery,
    Query,
    SumsQuery,
    TotalsQuery,
    answered,
)
from metricdp.privacy.scores import CostQuery, CoverageQuery, CoverQuery, SelectionQuery
from metricdp.privacy.selection import Selector, choose
from metricdp.privacy.swaps import CentersQuery, SwapQuery
from metricdp.progress import silent
from metricdp.protocols import Box, CellTree, Finite, Map, Partition, box, finite, is_trusted
from metricdp.records import paths
from metricdp.records.engines import sources
from metricdp.releases import Mechanism, Neighboring, Receipt, Release
from metricdp.unique import IsolatedEncoder

TRUSTED = (CountQuery, HistogramQuery, LevelsQuery, SumsQuery, TotalsQuery)
TRUSTED_SELECTIONS = (CostQuery, CoverageQuery, SwapQuery, CentersQuery)
ADDED = (CountQuery, HistogramQuery, LevelsQuery)
"""Queries with a proof in their own files. `ADDED` can be answered by several holders together."""
Asked = Query | SelectionQuery | CoverQuery
_KINDS: dict[Any, type] = {TRUSTED: Query, TRUSTED_SELECTIONS: SelectionQuery}
"""Base classes of other queries, which must be registered (`protocols.trusted`)."""

SELECTION, PARTS, USERS = 8, 13, 15
"""Numbers of the proofs of the selections, of parts of a split demand, and of users."""
MOST_SPREAD = 2**900
"""Largest range of scores divided by epsilon that a receipt can state."""
_PRIVATE = "failed on private records (details withheld)"
_WITHHELD = "(details withheld); try the partition's encode on public points"


def measure(
    demand: PrivateDemand,
    query: Query,
    epsilon: Amount | Cost,
    budget: BudgetSlice,
    delta: Amount = 0,
) -> Release:
    """Answer `query` about `demand` with integer noise, paid from `budget` with `epsilon`, or a
    cost in rho. `delta` is not spent where Laplace noise is smaller.

    **Privacy.** *Neighboring*: the budget slice's; unit: the demand's. *Sensitivity*: the query's,
    for that relation and the demand's `max_contributions` and `caps`. *Guarantee*: epsilon-DP by
    `DiscreteLaplace`, or (epsilon, delta)-DP by `DiscreteGaussian` where that is less noise. A
    query of sensitivity 0 gives the same number on all neighbors, so its exact release is 0-DP and
    draws nothing. *Composition*: as the budget slice says.

    Examples
    --------
    >>> from metricdp.partitions.finite.labels import LabelParts
    >>> from metricdp.privacy import HistogramQuery, measure
    >>> metric = mdp.GraphMetric(nx.path_graph(2), weight=None)
    >>> demand, budget = mdp.PrivateDemand(metric, [0] * 9000 + [1] * 4000), mdp.Ledger(2).charge(1)
    >>> release = measure(demand, HistogramQuery(LabelParts.of(metric)), 1, budget)
    >>> bool((abs(release.values - [9000, 4000]) < 50).all()), budget.left
    (True, Fraction(0, 1))
    """
    _check(demand, query, TRUSTED, budget)
    loss = exact(delta, "delta")
    asked = Cost.zcdp(epsilon, loss) if loss else Cost.of(epsilon)  # type: ignore[arg-type]
    m = demand.max_contributions
    sensitivity = query.sensitivity(budget.neighboring, m)
    square = squared_sensitivity(query, budget.neighboring, m, demand.caps)
    noise = best_noise(sensitivity, square, asked, budget) if sensitivity else None
    what, proofs = str(query), _proofs(demand, query)
    if noise is None:
        mechanism = Mechanism("exact", what, sensitivity, 0.0, Fraction(0), proofs=proofs)
    else:
        mechanism = noise.mechanism(what, sensitivity, proofs)
    cost = noise.cost if noise else Cost.of(0)
    budget.draw(cost)
    budget.bind(demand.protects)
    rule = f"the query failed on private records {_WITHHELD}"
    values = _vault._quietly(rule, lambda: _noisy(demand, query, noise, budget))
    return Release(values, query, _receipt(mechanism, demand, budget))


def contribute(
    demand: PrivateDemand,
    query: CountQuery | HistogramQuery | LevelsQuery,
    cost: Cost,
    budget: BudgetSlice,
    *,
    holders: int,
    honest: int,
    mask: NDArray[np.uint64],
) -> NDArray[np.uint64]:
    """One holder's counts with its share of the noise, under a mask: (n_values,) numbers modulo
    2^64, in units of `Shares.bits`.

    `cost`: of the sum: a pure epsilon, or with rho; `holders`, `honest`: the number of holders, and
    how many of them are assumed not to collude; `mask` (n_values,): uniform, for this answer alone;
    the masks of all holders add up to 0.

    **Privacy.** *Neighboring*, unit: as `measure`. *Sensitivity*: the query's, as a unit is at one
    holder. *Guarantee*: the sum of all holders' contributions is epsilon-DP, or rho-zCDP, also
    against those who know up to holders - honest of the contributions (P17). One holder's
    contribution is uniform if its mask is, and reveals nothing by itself; against those who know
    the mask it is protected by one share of the noise alone. *Composition*: as the budget slice
    says.

    Examples
    --------
    >>> from metricdp.accounting import Cost
    >>> from metricdp.privacy import CountQuery, contribute
    >>> metric = mdp.GraphMetric(nx.path_graph(4), weight=None)
    >>> demand, budget = mdp.PrivateDemand(metric, [2] * 9000), mdp.Ledger(1).charge(1)
    >>> of, mask = {"holders": 2, "honest": 1}, np.array([123456789], np.uint64)
    >>> sent = contribute(demand, CountQuery(), Cost.of(1), budget, mask=mask, **of)
    >>> bool(abs(int((sent - mask)[0]) - 9000) < 100)
    True
    """
    _check(demand, query, ADDED, budget)
    m = demand.max_contributions
    shares = Shares.of(query, budget.neighboring, m, cost, holders, honest)
    if mask.dtype != np.uint64 or mask.shape != (query.n_values,):
        raise InputError("a mask has one number modulo 2^64 for each that is answered")
    budget.draw(shares.cost)
    budget.bind(demand.protects)
    rule = f"the query failed on private records {_WITHHELD}"
    return _vault._quietly(rule, lambda: shares.masked(_noisy(demand, query, None), mask))


def select(
    demand: PrivateDemand, query: SelectionQuery, epsilon: Amount, budget: BudgetSlice
) -> tuple[int, Receipt]:
    """Select one candidate (a point of the universe, a swap of centers) by private scores. Returns
    its index, which `query.decode` translates (usually a position), and the receipt.

    **Privacy.** *Neighboring*, unit: as `measure`. *Sensitivity*: the query's range. *Guarantee*:
    epsilon-DP by permute-and-flip; from a `ZCDPAccountant`, which counts rho, by the exponential
    mechanism, whose rho is smaller (`Cost.selection`). *Composition*: as the budget slice says.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(4), weight=None)
    >>> from metricdp.privacy import CostQuery, select
    >>> demand = mdp.PrivateDemand(metric, [2] * 9000)
    >>> at, receipt = select(demand, CostQuery(metric), "1/2", mdp.Ledger(1).charge("1/2"))
    >>> metric.ids[at], receipt.epsilon
    (2, Fraction(1, 2))
    """
    _check(demand, query, TRUSTED_SELECTIONS, budget)
    share = exact(epsilon)
    if share <= 0:
        raise InputError(f"epsilon must be positive, got {shown(epsilon)}")
    spread = query.range(budget.neighboring, demand.max_contributions)
    if share * MOST_SPREAD < spread:
        raise InputError(f"epsilon is too small for a selection, got {shown(epsilon)}")
    in_rho = isinstance(budget, ZCDPAccountant)
    name: Selector = "exponential mechanism" if in_rho else "permute-and-flip"
    cost = Cost.selection(share) if in_rho else Cost.of(share)
    rho, proofs = cost.rho if in_rho else None, _proofs(demand, query, SELECTION)
    mechanism = Mechanism(
        name, str(query), spread, float(spread / share), share, rho=rho, proofs=proofs
    )
    budget.draw(cost)
    budget.bind(demand.protects)
    rule = f"the selection {_PRIVATE}"
    position = _vault._quietly(rule, lambda: _selected(demand, query, share / spread, name, budget))
    return position, _receipt(mechanism, demand, budget)


def cover(
    demand: PrivateDemand, query: CoverQuery, cost: Amount | Cost, budget: BudgetSlice
) -> tuple[list[Ints], Receipt]:
    """Select sets in turn, each by the number of records that it covers and no earlier one did.
    Returns the indices of the sets of every stage, in order, and the receipt. `cost`: epsilon, or
    with a delta, of the whole loop, paid at once from `budget` (not a `ZCDPAccountant`: the loop
    has no rho).

    **Privacy.** *Neighboring*, unit: as `measure`. *Sensitivity*: the range m or 2m of one round's
    scores. *Guarantee*: the loop as a whole has (epsilon, delta)-DP, as each round is an
    exponential mechanism with the factor that `metricdp.accounting.covering` proves safe for so
    many rounds; the receipt names the bound. *Composition*: as the budget slice says.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(4), weight=None)
    >>> from metricdp.metrics.set_systems import Balls
    >>> from metricdp.partitions.finite.labels import LabelParts
    >>> from metricdp.privacy import CoverQuery, cover
    >>> query = CoverQuery(LabelParts.of(metric), [(Balls(metric, radius=0), 2)])
    >>> demand = mdp.PrivateDemand(metric, [1] * 9000 + [3] * 5000)
    >>> selected, receipt = cover(demand, query, 1, mdp.Ledger(1).charge(1))
    >>> selected, receipt.epsilon
    ([array([1, 3])], Fraction(1, 1))
    """
    _check(demand, query, (CoverQuery,), budget)
    price, m = Cost.of(cost), demand.max_contributions
    if isinstance(budget, ZCDPAccountant):
        raise InputError("a cover is paid in epsilon, and this budget counts rho (zCDP)")
    if price.epsilon <= 0:
        raise InputError(f"epsilon must be positive, got {float(price.epsilon)!r}")
    if price.epsilon * MOST_SPREAD < query.rounds * 2 * m:
        raise InputError(f"epsilon is too small for a cover, got {shown(cost)}")
    price = Cost(price.epsilon, price.delta)
    eta, bound = exponent(price, query.rounds, budget.neighboring, m)
    what = ("exponential mechanism", f"{query}, by {bound}")
    spread = m * (1 if budget.neighboring == "add-remove" else 2)
    proofs = _proofs(demand, query, SELECTION)
    mechanism = Mechanism(*what, spread, float(1 / eta), price.epsilon, price.delta, proofs=proofs)
    budget.draw(price)
    budget.bind(demand.protects)
    selected = _vault._quietly(f"the cover {_PRIVATE}", lambda: _covered(demand, query, eta))
    return selected, _receipt(mechanism, demand, budget)


def split(
    demand: PrivateDemand,
    partition: Partition,
    epsilon: Amount | Sequence[Amount],
    ledger: Budget,
    purpose: str = "",
) -> list[tuple[PrivateDemand, BudgetSlice]]:
    """Parallel composition: the demand of every part of a public partition, each with a budget
    slice of its own. `epsilon`: one number, or one for each part; `ledger`: pays for all of them.

    **Privacy.** One unit has 1 to m records, so under *add-remove* it changes at most m parts, each
    by records that join or leave; releases of the other parts have the same distribution. So all of
    them together cost the sum of the m largest of the parts' epsilons: one epsilon for records (m =
    1), however many parts. Under *replace-one* one unit leaves and another joins: twice that. The
    number of units in a part is not public, so its budget slice's relation is add-remove in both
    cases. *Composition*: sequential with everything else on the ledger.

    Examples
    --------
    >>> from metricdp.partitions.finite.labels import LabelParts
    >>> from metricdp.privacy import CountQuery, measure, split
    >>> metric = mdp.GraphMetric(nx.path_graph(4), weight=None)
    >>> demand, ledger = mdp.PrivateDemand(metric, [0] * 9000 + [3] * 4000), mdp.Ledger(1)
    >>> west, east = split(demand, LabelParts(metric, np.array([0, 0, 1, 1]), 2), "1/2", ledger)
    >>> noisy = measure(east[0], CountQuery(), "1/2", east[1])
    >>> bool(abs(noisy.values[0] - 4000) < 100), ledger.left
    (True, Fraction(1, 2))
    """
    query = HistogramQuery(partition)
    _check(demand, query, TRUSTED, ledger, Budget)
    several = isinstance(epsilon, Sequence) and not isinstance(epsilon, str)
    shares = [exact(share) for share in (epsilon if several else [epsilon] * query.n_parts)]  # type: ignore
    if len(shares) != query.n_parts or min(shares) <= 0:
        raise InputError(
            f"epsilon must be one positive number, or one for each of the {query.n_parts:,} parts"
        )
    whole = _split_price(shares, demand.max_contributions, ledger.neighboring)
    period = ledger.charge(whole, purpose=purpose, protects=demand.protects).ledger_period
    rule = f"the demand cannot be split {_WITHHELD}"
    parts = _vault._quietly(rule, lambda: _parts(demand, query))
    return [
        (part, BudgetSlice(Cost.of(share), "add-remove", part.part, None, demand.protects, period))
        for part, share in zip(parts, shares)
    ]


def _split_price(shares: list[Fraction], m: int, neighboring: Neighboring) -> Fraction:
    """The sum of the m largest shares, which a unit can affect; twice that under replace-one."""
    touched = sum(sorted(shares, reverse=True)[:m], Fraction(0))
    return touched * (1 if neighboring == "add-remove" else 2)


def moved(demand: PrivateDemand, partition: Partition, universe: Finite) -> PrivateDemand:
    """The demand in another public finite universe: a record in part i of a public (or released)
    partition becomes one at position i.

    **Privacy.** A stable transformation: nothing leaves the gate, so nothing is charged. A record's
    point depends on that record and public facts alone, so a unit of up to m records is still one,
    and neighbors become neighbors, under both relations. Queries about the new demand have their
    usual guarantee, and are paid from the same budget slices.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(4), weight=None)
    >>> from metricdp.partitions.finite.labels import LabelParts
    >>> from metricdp.privacy import moved
    >>> towns = mdp.PrecomputedMetric([[0, 9], [9, 0]], ids=["west", "east"])
    >>> demand = mdp.PrivateDemand(metric, [0] * 9000 + [3] * 4000)
    >>> there = moved(demand, LabelParts(metric, np.array([0, 0, 1, 1]), 2), towns)
    >>> mdp.k_median(towns, there, k=1, epsilon=1).centers
    ['west']
    """
    query = HistogramQuery(partition)
    rule = "a PrivateDemand can be moved to a finite universe of one point for each part"
    points = finite(universe, "demand", rule)
    if not isinstance(demand, PrivateDemand) or len(points) != query.n_parts:
        raise InputError(rule)
    query.check(demand.universe)
    place = lambda: sources.placed(_vault._open(demand), query.parts, query.n_parts)  # noqa: E731
    rule = f"the demand cannot be moved {_WITHHELD}"
    return demand._restricted(_vault._quietly(rule, place), universe)


def mapped(demand: PrivateDemand, rule: Map, space: Box) -> PrivateDemand:
    """The demand in another public box, mapped by a public (or released) map of its own box; images
    outside are clipped to the new box.

    **Privacy.** As `moved`: nothing leaves the gate, a record's image depends on that record and
    public facts alone, and there are as many records as before. ``rule.encode`` must ensure both,
    like the `encode` of a `Partition`.

    Examples
    --------
    >>> from metricdp.privacy import mapped
    >>> plane, line = mdp.EuclideanSpace([0, 0], [1, 1]), mdp.EuclideanSpace([0], [1])
    >>> class FirstCoordinate:
    ...     universe = plane
    ...     def encode(self, records):
    ...         return records[:, :1]
    >>> mapped(mdp.PrivateDemand(plane, [[0.2, 0.7]]), FirstCoordinate(), line)
    PrivateDemand(a box in R^1; protects each record)
    """
    needs = "a PrivateDemand can be mapped into an EuclideanSpace, by a map of its own universe"
    box(space, "demand", needs)
    if not isinstance(demand, PrivateDemand) or rule.universe is not demand.universe:
        raise InputError(needs)
    images = _Images(IsolatedEncoder(rule, demand.universe), space)
    failed = "the demand cannot be mapped (details withheld); try the map's encode on public points"
    found = _vault._quietly(failed, lambda: sources.mapped(_vault._open(demand), images))
    return demand._restricted(found, space)


def preaggregated(demand: PrivateDemand, tree: CellTree) -> PrivateDemand:
    """The same demand in a box, whose records are read once for all cells of a public quadtree that
    queries will be about.

    **Privacy.** The records are the same, and so are all exact answers; nothing leaves the gate.
    The counts that one reading caches are stored with the records.

    Examples
    --------
    >>> from metricdp.partitions.box.quadtree import ShiftedQuadtree
    >>> from metricdp.privacy import preaggregated
    >>> space = mdp.EuclideanSpace([0, 0], [1, 1])
    >>> preaggregated(mdp.PrivateDemand(space, [[0.2, 0.7]]), ShiftedQuadtree(space))
    PrivateDemand(a box in R^2; protects each record)
    """
    known = isinstance(demand, PrivateDemand) and isinstance(tree, CellTree)
    if not known or tree.space is not demand.universe:
        raise InputError("a PrivateDemand in a box and a quadtree of it are needed")
    return demand._restricted(paths.preaggregated(_vault._open(demand), tree), demand.universe)


def subsampled(demand: PrivateDemand, share: float) -> PrivateDemand:
    """A Poisson subsample of the demand: each record with a public (or released) probability, by a
    coin of its own. It is faster to read, where fewer records are enough.

    **Privacy.** Nothing leaves the gate, so nothing is charged. Coins come from the operating
    system and do not depend on records. Give equal coins to the j-th record of a unit in both of
    two neighbors, and to all records that they share. Then the samples differ in the sample of that
    unit, 0 to m records; under replace-one the samples of a and of b records differ in size by at
    most |a - b|. The sensitivities of `queries` and `scores` use nothing else, so each query on the
    sample has its guarantee with the coins fixed, and by joint convexity without. Where large
    demand draws a new sample in each reading, the same holds for each. *Composition*: paid from the
    same budget slices.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(4), weight=None)
    >>> from metricdp.privacy import CountQuery, measure, subsampled
    >>> half = subsampled(mdp.PrivateDemand(metric, [2] * 10_000), 0.5)
    >>> noisy = measure(half, CountQuery(), 1, mdp.Ledger(1).charge(1))
    >>> bool(abs(noisy.values[0] - 5000) < 500)
    True
    """
    if not isinstance(demand, PrivateDemand) or positive(share, "share") > 1:
        raise InputError("a PrivateDemand is subsampled to a share of it, above 0, up to 1")
    rule = "the demand cannot be subsampled (details withheld)"
    kept = _vault._quietly(rule, lambda: sources.subsampled(_vault._open(demand), share))
    return demand._restricted(kept, demand.universe)


def _proofs(demand: PrivateDemand, query: Asked, *mechanisms: int) -> tuple[int, ...]:
    """Numbers of the proofs that a mechanism's guarantee uses: public."""
    levels = {one.proof for one in getattr(query, "levels", ())}
    parts = set() if demand.part is None else {PARTS}
    users = {USERS} if demand.unit == "user" else set()
    return tuple(sorted({query.proof, *mechanisms, *levels, *parts, *users}))


def _receipt(mechanism: Mechanism, demand: PrivateDemand, budget: Budget) -> Receipt:
    return Receipt.of([mechanism], budget.neighboring, demand.unit, demand.weight_units)


def _check(
    demand: PrivateDemand,
    query: Asked,
    trusted: tuple[type, ...],
    budget: Budget,
    needed: type = BudgetSlice,
) -> None:
    """Everything that can be refused without looking at the data."""
    for value, kind in ((demand, PrivateDemand), (budget, needed)):
        if not isinstance(value, kind):
            raise InputError(f"the gate needs a {kind.__name__}, got {type(value).__name__}")
    registered = trusted in _KINDS and isinstance(query, _KINDS[trusted]) and is_trusted(query)
    if type(query) not in trusted and not registered:
        raise InputError(
            f"query must be one of {', '.join(c.__name__ for c in trusted)}, got "
            f"{type(query).__name__}"
        )
    query.check(demand.universe)
    if demand.part is not budget.scope:
        raise InputError(
            "the parts of a split demand are paid from the budget slices that split returned with "
            "them, and nothing else is"
        )
    budget.check(demand.protects)
    demand._check_relation(budget.neighboring)


def _noisy(
    demand: PrivateDemand, query: Query, noise: Noise | None, budget: BudgetSlice | None = None
) -> Ints:
    """With `_selected`, `_covered`, `_parts`, `moved`, `mapped`: the only exact answers."""
    with silent():
        records = _vault._open(demand)
        answer = query.resumed(records, _vault._memory(demand, budget) if budget else {})
    return noise(answer) if noise else answer


def _selected(
    demand: PrivateDemand, query: SelectionQuery, eta: Fraction, name: Selector, budget: BudgetSlice
) -> int:
    with silent():
        records = _vault._open(demand)
        blocks = query.resumed(records, _vault._memory(demand, budget))
        low, high = query.bounds(sources.size(records))
        return choose(_within(blocks, low, high), eta, name)


def _covered(demand: PrivateDemand, query: CoverQuery, eta: Fraction) -> list[Ints]:
    with silent():
        counts = answered(query.histogram, _vault._open(demand))
        name: Selector = "exponential mechanism"
        return query.selected(counts, lambda scores: choose(_within([scores], 0, CAP), eta, name))


def _within(blocks: Iterable[Ints], low: int, high: int) -> Iterator[Ints]:
    """The blocks of scores, each checked against the range that its query states."""
    for block in blocks:
        if block.dtype != np.int64 or not (block >= low).all() or not (block <= high).all():
            raise AssertionError("a score is beyond its stated range")
        yield block


@dataclass(frozen=True)
class _Images:
    """The checked images of a block of records under a public map; it is sent to workers."""

    encode: Callable[[NDArray[Any]], Any]
    space: Box

    def __call__(self, block: NDArray[Any]) -> Floats:
        images = np.asarray(self.encode(block))
        shape = (len(block), self.space.dimension)
        if images.shape != shape or images.dtype.kind not in "iuf" or np.isnan(images).any():
            raise AssertionError("a map must give every record one place")
        return self.space.clip(images.astype(np.float64, copy=False))


def _parts(demand: PrivateDemand, query: HistogramQuery) -> list[PrivateDemand]:
    return [
        demand._restricted(part)
        for part in sources.divided(_vault._open(demand), query.parts, query.n_parts)
    ]
