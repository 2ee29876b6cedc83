"""Private choice of the contribution bound m: a quantile of the number of records per user.

1. Release a histogram of users by their number of records, in 21 parts: up to 1, 2, 4, …
2. Return the least 2^j such that, by the noisy counts, a share `quantile` of users has at most 2^j.

**Privacy.** Step 1 is one histogram of users: sensitivity 1, or 2 under replace-one. *Composition*:
sequential with everything else about these users. From then on the ledger accepts only the bound m.
It keeps the noisy counts, so that the same question again reads nothing (`Ledger.answer_once`).
"""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from metricdp.accounting import BudgetSlice, Cost, Ledger, exact
from metricdp.accounting.binding import Protection
from metricdp.accounting.ledger import Answered
from metricdp.arguments import Amount, Ints, shown
from metricdp.errors import InputError
from metricdp.partitions.finite.labels import LabelParts
from metricdp.privacy import HistogramQuery, PrivateDemand, measure
from metricdp.privacy.demand import contributors as numbered
from metricdp.protocols import Finite
from metricdp.releases import Neighboring, Receipt

MOST = 20
"""Users of more than 2^19 records are counted together."""


class NumbersOfRecords(Finite):
    """The public universe: point j stands for more than 2^(j-1) and at most 2^j records."""

    name = "numbers of records"
    unit = 1.0
    ids = tuple(2**j for j in range(MOST + 1))

    def diameter_bound(self) -> float:
        """The largest number of doublings."""
        return float(MOST)

    def check(self) -> None:
        """It is valid by construction."""

    def grid_rows(self, sources: Ints, targets: Ints | None = None) -> Ints:
        """Number of doublings between two points."""
        to = np.arange(len(self)) if targets is None else targets
        return np.abs(sources[:, None] - to[None, :])


NUMBERS = NumbersOfRecords()


def contributors(users: Any, column: str | None = None, engine: str = "embedded") -> PrivateDemand:
    """A demand of one record a user, located at the user's number of records."""
    return numbered(users, NUMBERS, column, engine)


class Contributions(NamedTuple):
    """A contribution bound; all fields are released values.

    Attributes
    ----------
    max_contributions : int
        A power of two.
    quantile : float
        Share of users with at most `max_contributions` records, by the noisy counts.
    counts : dict
        Noisy number of users by number of records: ``counts[8]`` of more than 4, at most 8.
    receipt : Receipt

    Examples
    --------
    >>> found = mdp.contributions([f"u{i}" for i in range(5000)] * 2, epsilon=1)
    >>> found.max_contributions, sorted(found.counts)[:2]
    (2, [1, 2])
    >>> mdp.Contributions.from_dict(found.to_dict()) == found
    True
    """

    max_contributions: int
    quantile: float
    counts: dict[int, int]
    receipt: Receipt

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        counts = {str(most): count for most, count in self.counts.items()}
        record = {"max_contributions": self.max_contributions, "quantile": self.quantile}
        return {**record, "counts": counts, "receipt": self.receipt.to_dict()}

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Contributions:
        """The inverse of `to_dict`."""
        counts = {int(most): int(count) for most, count in record["counts"].items()}
        m, quantile = int(record["max_contributions"]), float(record["quantile"])
        return cls(m, quantile, counts, Receipt.from_dict(record["receipt"]))


def contributions(
    users: Any,
    user: str | None = None,
    *,
    epsilon: Amount,
    quantile: Amount = "0.9",
    ledger: Ledger | None = None,
    neighboring: Neighboring = "add-remove",
    engine: str = "embedded",
) -> Contributions:
    """Choose `max_contributions` privately: a quantile of the number of records per user.

    Parameters
    ----------
    users : iterable, or table or path
        The user of each record, one entry per record; or, with `user`, a table or a file as
        `PrivateDemand.from_frame` reads.
    user : str, optional
        The column of users.
    epsilon : int, float, str, Decimal or Fraction
        Budget of this choice: a small part of the whole, say a twentieth. With N users the quantile
        is off by about 6 / (epsilon · N).
    quantile : number
        Above 0 and below 1: share of users all of whose records are kept.
    ledger : Ledger, optional
        Is charged; no demand may have been charged to it before. From then on it accepts demand of
        these users with this `max_contributions` only. The same question (epsilon and quantile)
        again is free: the former answer is returned, whatever the users. A call that was
        interrupted after its charge is charged again.
    neighboring : {"add-remove", "replace-one"}
        Relation of a fresh ledger.
    engine : {"embedded", "dask", "spark"}

    Raises
    ------
    InputError, BudgetError
        A bad argument, or a ledger that already protects another unit: nothing was read or charged.

    Notes
    -----
    Shares (``weighting="share"``) need no bound. Noise is proportional to m, so a lower quantile is
    mostly better; a higher one keeps more records of users with many.

    Examples
    --------
    >>> users = [f"u{i}" for i in range(4000) for _ in range(1 + i % 7)]
    >>> ledger = mdp.Ledger(1)
    >>> found = mdp.contributions(users, epsilon="0.05", quantile="0.5", ledger=ledger)
    >>> found.max_contributions, ledger.left
    (4, Fraction(19, 20))
    """
    share = exact(quantile, "quantile")
    if not 0 < share < 1:
        raise InputError(f"quantile must be above 0 and below 1, got {shown(quantile)}")
    price = Cost.of(epsilon)
    if ledger is not None and not isinstance(ledger, Ledger):
        raise InputError(f"ledger must be a Ledger, got {type(ledger).__name__}")
    accountant = Ledger(epsilon, 0, neighboring) if ledger is None else ledger
    question = question_of(epsilon, quantile)
    if (known := accountant.answer(question)) is not None:
        return Contributions.from_dict(json.loads(known))
    query = HistogramQuery(LabelParts.of(NUMBERS))

    def ask(budget: BudgetSlice) -> Answered:
        release = measure(demand, query, price, budget)
        m, reached = _least(release.values, share)
        counts = {2**j: int(count) for j, count in enumerate(release.values)}
        found = Contributions(m, reached, counts, release.receipt)
        return Protection("user", m), json.dumps(found.to_dict())

    demand = contributors(users, user, engine)
    return Contributions.from_dict(
        json.loads(accountant.answer_once(question, price, "contributions", ask))
    )


def question_of(epsilon: Amount, quantile: Amount) -> str:
    """The key by which a ledger recognizes the same question."""
    share, price = exact(quantile, "quantile"), exact(epsilon, "epsilon")
    return f"contributions, quantile {share}, epsilon {price}"


def _least(counts: Ints, share: Fraction) -> tuple[int, float]:
    """The least power of two that a share of users does not exceed, and the share reached."""
    total = max(int(counts.sum()), 1)
    cumulated = np.cumsum(counts)
    j = next((j for j, n in enumerate(cumulated.tolist()) if n >= share * total), len(counts) - 1)
    return 2**j, min(max(float(cumulated[j] / total), 0.0), 1.0)
