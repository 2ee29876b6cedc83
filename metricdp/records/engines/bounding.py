"""At most m records of each user, drawn at random; on an engine the same ones in every reading.

In memory every record draws a key (`sample`). On an engine a row's rank must be a function of the
row, and of one key that is drawn from the operating system when the demand is made:

1. Number equal rows of one user j = 1, 2, … in any order.
2. Rank a user's triples (user, columns, j) by SHA-256(key, user, columns, j), ties by the triple
   itself; keep the m first.

So what is kept is a function of the multiset of rows and of the key.

**Privacy.** With the key fixed, what is kept of a user depends on that user's rows alone, and is at
most m of them. So neighbors keep multisets that differ in one user's 1 to m records, for each key
and hash; averaging over keys keeps it (joint convexity). With a random function as hash, the sample
is uniform without replacement.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from json import dumps
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.records.engines.by_user import Dialect, UserRule, numbered


def sample(users: Sequence[Hashable], n_records: int, m: int) -> NDArray[np.int64]:
    """Indices of at most m records of each user: those with the m smallest 64-bit keys."""
    codes = numbered(users, n_records)
    order = np.lexsort((np.frombuffer(os.urandom(8 * n_records), np.uint64), codes))
    rank = np.arange(n_records) - np.searchsorted(codes[order], codes[order])
    return np.sort(order[rank < m])


@dataclass(frozen=True)
class Bounding(UserRule):
    """At most m records of each user.

    `key`: secret, of hexadecimal digits.
    """

    m: int
    key: str

    def held(self, users: Sequence[Hashable], records: NDArray[Any]) -> NDArray[Any]:
        """By coins of their own."""
        return records[sample(users, len(records), self.m)]

    def statement(self, table: str, names: Sequence[str], sql: Dialect) -> str:
        """Steps 1 and 2."""
        listed = [f"{sql.quote}{name}{sql.quote}" for name in names]
        rows = ", ".join(listed)
        user = listed[-1]
        numbered = (
            f"SELECT *, row_number() OVER (PARTITION BY {rows} ORDER BY {user}) AS _j FROM {table}"
        )
        digest = sql.digest(self.key, [*listed, "_j"])
        hashed = f"SELECT *, {digest} AS _h FROM ({numbered}) AS _a"
        ranked = (
            f"SELECT *, row_number() OVER (PARTITION BY {user} ORDER BY _h, {rows}, _j) AS _r "
            f"FROM ({hashed}) AS _b"
        )
        return f"SELECT {rows} FROM ({ranked}) AS _c WHERE _r <= {self.m}"

    def rows(self, block: Any, names: Sequence[str]) -> Any:
        """Likewise."""
        return bounded(block, names, self.m, self.key)


def bounded(block: Any, names: Sequence[str], m: int, key: str) -> Any:
    """Steps 1 and 2 of a pandas DataFrame that holds all rows of its users."""
    by = list(names)
    user = names[-1]
    plain = block[by].reset_index(drop=True)
    sizes = plain.groupby(user, sort=False)[user].transform("size")  # no user: a mark, kept
    many = plain[sizes > m]
    number = many.groupby(by, sort=False).cumcount()
    rows = zip(*(many[name].tolist() for name in by), number.tolist())
    ranks = [sha256(f"{key}{dumps(row, default=str)}".encode()).hexdigest() for row in rows]
    ranked = many.assign(_h=ranks, _j=number).sort_values(["_h", "_j"], kind="stable")
    beyond = ranked.groupby(user, sort=False).cumcount() >= m
    return plain.drop(index=ranked.index[beyond])
