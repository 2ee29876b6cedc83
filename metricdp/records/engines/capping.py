"""At most c records of each user in a part of a public partition, and records in at most p parts.

A user's records come in random order. One is kept if its part is among the first p met and holds
fewer than c of that user's so far. The order is SHA-256 of ``key|point|j|user``, where equal rows
are numbered j = 1, 2, …, with one key drawn when the demand is made.

**Privacy.** With the key fixed, what is kept of a user depends on that user's rows alone: 1 to c
records in each of 1 to p parts. This holds for each key and hash. All engines keep the same rows.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.records.engines.by_user import Dialect, UserRule, numbered
from metricdp.records.ingestion.encoders import Reading, RowEncoder


@dataclass(frozen=True)
class Capping(UserRule):
    """At most `records` of each user in a part, in at most `parts` of them.

    `areas` (n_points,): part of each point, public; `parts`, `records`: p and c; `key`: secret, of
    hexadecimal digits.
    """

    areas: NDArray[np.int64]
    parts: int
    records: int
    key: str

    def held(self, users: Sequence[Hashable], records: NDArray[Any]) -> NDArray[Any]:
        """By the same ranks."""
        return records[self.kept(users, records)]

    def kept(self, users: Sequence[Hashable], at: NDArray[np.int64]) -> NDArray[np.int64]:
        """Indices of what is kept of records at these points."""
        return capped(users, at, self.areas[at], (self.parts, self.records), self.key)

    def statement(self, table: str, names: Sequence[str], sql: Dialect) -> str:
        """The first row of a part in the random order says when the part is met."""
        at, area, user = (f"{sql.quote}{name}{sql.quote}" for name in names)
        numbered = (
            f"SELECT *, row_number() OVER (PARTITION BY {at}, {user} ORDER BY {user}) AS _j "
            f"FROM {table}"
        )
        text = f"concat_ws('|', '{self.key}', CAST({at} AS STRING), CAST(_j AS STRING), {user})"
        hashed = f"SELECT *, {sql.hashed.format(text)} AS _h FROM ({numbered}) AS _a"
        whole = f"PARTITION BY {user}, {area}"
        met = (
            f"SELECT *, row_number() OVER ({whole} ORDER BY _h, {at}, _j) AS _n, "
            f"min(_h) OVER ({whole}) AS _m FROM ({hashed}) AS _b"
        )
        ranked = (
            f"SELECT *, dense_rank() OVER (PARTITION BY {user} ORDER BY _m, {area}) AS _p "
            f"FROM ({met}) AS _c"
        )
        kept = f"_n <= {self.records} AND _p <= {self.parts}"
        lost = f"{user} IS NULL"  # of a block that could not be read: says why
        return f"SELECT {at}, {area}, {user} FROM ({ranked}) AS _d WHERE {kept} OR {lost}"

    def rows(self, block: Any, names: Sequence[str]) -> Any:
        """Likewise."""
        at, area, user = names
        plain = block[list(names)].reset_index(drop=True)
        known = plain[user].notna().to_numpy()  # else a block that could not be read says why
        some = np.flatnonzero(known)
        users = plain[user].to_numpy(object)[some].tolist()
        points, areas = (plain[name].to_numpy(np.int64)[some] for name in (at, area))
        kept = capped(users, points, areas, (self.parts, self.records), self.key)
        return plain.iloc[np.sort(np.concatenate([some[kept], np.flatnonzero(~known)]))]

    def reading(self, encode: RowEncoder, user: str) -> Reading:
        """With the part beside each point."""
        return replace(super().reading(encode, user), areas=self.areas)


def capped(
    users: Sequence[Hashable],
    at: NDArray[np.int64],
    areas: NDArray[np.int64],
    caps: tuple[int, int],
    key: str,
) -> NDArray[np.int64]:
    """Indices of records that are kept, in order.

    O(n log n) time; only the records of users who have too many are hashed.
    """
    codes = numbered(users, len(at))
    if not len(at):
        return np.empty(0, np.int64)
    cells, each = np.unique(np.stack([codes, areas]), axis=1, return_counts=True)
    many = np.bincount(cells[0]) > caps[0]
    many[cells[0][each > caps[1]]] = True
    asked = np.flatnonzero(many[codes])
    number_of_equal = _counted(codes[asked], at[asked])
    ranked = [
        (
            sha256(f"{key}|{point}|{j}|{users[i]}".encode("utf-8", "surrogatepass")).hexdigest(),
            point,
            j,
            i,
        )
        for i, point, j in zip(asked.tolist(), at[asked].tolist(), number_of_equal.tolist())
    ]
    held: dict[int, dict[int, int]] = {}
    kept = np.flatnonzero(~many[codes]).tolist()
    for *_, i in sorted(ranked):
        of_user = held.setdefault(int(codes[i]), {})
        area = int(areas[i])
        known = of_user.get(area, 0)
        if known < caps[1] and (known or len(of_user) < caps[0]):
            of_user[area] = known + 1
            kept.append(i)
    return np.sort(np.array(kept, np.int64))


def _counted(codes: NDArray[np.int64], at: NDArray[np.int64]) -> NDArray[np.int64]:
    """Which of a user's records at one point each is, from 1."""
    order = np.lexsort((at, codes))
    first = np.ones(len(order), bool)
    first[1:] = (np.diff(codes[order]) != 0) | (np.diff(at[order]) != 0)
    starts = np.flatnonzero(first)
    found = np.empty(len(order), np.int64)
    found[order] = np.arange(len(order)) - np.repeat(starts, np.diff([*starts, len(order)])) + 1
    return found
