"""How many records users have, as demand: for a private choice of `max_contributions`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.accounting.binding import Protection
from metricdp.errors import InputError
from metricdp.privacy.demand import PrivateDemand, read
from metricdp.protocols import Finite, trusted
from metricdp.records.engines import opened
from metricdp.records.engines.sizes import Anywhere, LogSizes
from metricdp.records.engines.sources import Source
from metricdp.records.ingestion.encoders import RowEncoder
from metricdp.records.ingestion.users import names_of

MOST = 20
"""Users of more than 2^19 records are counted together."""


class NumbersOfRecords(Finite):
    """The public universe: point j stands for more than 2^(j-1), up to 2^j records."""

    name = "numbers of records"
    unit = 1.0
    ids = tuple(2**j for j in range(MOST + 1))

    def diameter_bound(self) -> float:
        """Doublings."""
        return float(MOST)

    def check(self) -> None:
        """Nothing to look at."""

    def grid_rows(
        self, sources: NDArray[np.int64], targets: NDArray[np.int64] | None = None
    ) -> NDArray[np.int64]:
        """How many doublings lie between."""
        to = np.arange(len(self)) if targets is None else targets
        found: NDArray[np.int64] = np.abs(sources[:, None] - to[None, :])
        return found


NUMBERS = NumbersOfRecords()


@trusted
class Doublings:
    """Every point of that universe a part of its own."""

    def __init__(self) -> None:
        self.universe = NUMBERS
        self.n_parts = MOST + 1

    def encode(self, records: NDArray[np.int64]) -> NDArray[np.int64]:
        """The record's own number."""
        return records


def contributors(users: Any, column: str | None = None, engine: str = "embedded") -> PrivateDemand:
    """One record for each user, at the number of that user's records.

    **Privacy.** *Unit*: one user with all their records, who is one record here, at a point that
    depends on those records alone (`metricdp.records.engines.sizes`): m = 1, for whichever number
    of records is kept of them elsewhere. Nothing leaves; what is asked of it is paid for.
    """
    rule = "user must give one entry per record, none of them missing"
    counted = LogSizes(MOST)
    held: NDArray[Any] | Source
    if column is None:
        if isinstance(users, str | bytes):
            raise InputError("users must give one entry per record; of a file, name user=COLUMN")
        held = read(rule, lambda: counted.held(names_of(users), np.empty(0)))
    else:
        frame = opened(users, engine, [column])
        frame.check([column])
        place = RowEncoder((column,), Anywhere())
        held = read(rule, lambda: frame.records(NUMBERS, place, column, counted))
    demand = PrivateDemand.__new__(PrivateDemand)
    demand._place(NUMBERS, held, Protection("user", 1), None)
    return demand
