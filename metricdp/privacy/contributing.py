"""How many records users have, as demand: for a private choice of `max_contributions`."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from metricdp.accounting.binding import Protection
from metricdp.privacy.demand import PrivateDemand, read
from metricdp.protocols import Finite
from metricdp.records.engines import opened
from metricdp.records.engines.bounding import LogSizes
from metricdp.records.engines.sources import Source
from metricdp.records.ingestion.encoders import RowEncoder
from metricdp.records.ingestion.matching import Anywhere
from metricdp.records.ingestion.users import names_of
from metricdp.refusals import InputError


def contributors(
    users: Any, numbers: Finite, column: str | None = None, engine: str = "embedded"
) -> PrivateDemand:
    """One record for each user, at a point of `numbers`: point j of that public universe stands for
    more than 2^(j-1), up to 2^j records, the last for more too.

    **Privacy.** *Unit*: one user with all their records, who is one record here, at a point that
    depends on those records alone (`LogSizes`): m = 1, for whichever number of records is kept of
    them elsewhere. Nothing leaves; what is asked of it is paid for.
    """
    rule = "user must give one entry per record, none of them missing"
    counted = LogSizes(len(numbers) - 1)
    held: NDArray[Any] | Source
    if column is None:
        if isinstance(users, str | bytes):
            raise InputError("users must give one entry per record; of a file, name user=COLUMN")
        held = read(rule, lambda: counted.of(names_of(users)))
    else:
        frame = opened(users, engine, [column])
        frame.check([column])
        place = RowEncoder((column,), Anywhere())
        held = read(rule, lambda: frame.records(numbers, place, column, counted))
    demand = PrivateDemand.__new__(PrivateDemand)
    demand._place(numbers, held, Protection("user", 1), None)
    return demand
