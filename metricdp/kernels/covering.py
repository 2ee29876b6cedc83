"""Set cover by a fixed number of columns: local search guided by row weights; dominated columns.
Maximum coverage by local search on CSR lists of who reaches whom.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def maximal_columns(starts: NDArray, rows: NDArray, n_rows: int, order: NDArray) -> NDArray:
    """Whether each column (ascending rows from ``starts[c]``) is maximal: no other contains its
    rows; of equal columns one is. `order` lists columns of more rows first.
    """
    n = len(starts) - 1
    kept = np.zeros(n, np.bool_)
    n_holders = np.zeros(n_rows, np.int64)
    first_holder = np.zeros(n_rows + 1, np.int64)
    for a in range(len(rows)):
        first_holder[rows[a] + 1] += 1
    for r in range(n_rows):
        first_holder[r + 1] += first_holder[r]
    holders = np.empty(len(rows), np.int64)
    for c in order:
        # Only columns in the rarest of its rows can contain a column.
        rarest = rows[starts[c]]
        for a in range(starts[c], starts[c + 1]):
            if n_holders[rows[a]] < n_holders[rarest]:
                rarest = rows[a]
        inside = False
        for b in range(first_holder[rarest], first_holder[rarest] + n_holders[rarest]):
            other = holders[b]
            at = starts[other]
            end = starts[other + 1]
            inside = True
            for a in range(starts[c], starts[c + 1]):
                while at < end and rows[at] < rows[a]:
                    at += 1
                if at == end or rows[at] > rows[a]:
                    inside = False
                    break
            if inside:
                break
        if inside:
            continue
        kept[c] = True
        for a in range(starts[c], starts[c + 1]):
            holders[first_holder[rows[a]] + n_holders[rows[a]]] = c
            n_holders[rows[a]] += 1
    return kept


@njit(cache=True, nogil=True)
def cover_rows(
    columns: tuple, rows: tuple, chosen: NDArray, steps: int, updates: int, seed: int
) -> tuple[bool, int]:
    """Exchange the `chosen` columns until they cover all rows; whether they do, and steps.

    At most so many steps and, but for the last step, `updates` of scores, a nanosecond or two each.

    Each step removes the column whose rows weigh least, and adds the best one for a random
    uncovered row; then uncovered rows gain weight. The newest column stays for a step, and the one
    removed does not return at once (Gao, Weise & Li, EJOR 246, 2015).
    """
    np.random.seed(seed % 2**32)  # noqa: NPY002  the compiled generator, one a thread
    starts, entries = columns
    row_starts, row_entries = rows
    n_rows = len(row_starts) - 1
    n = len(starts) - 1
    weight = np.ones(n_rows, np.int64)
    covered = np.zeros(n_rows, np.int64)
    inside = np.zeros(n, np.bool_)
    score = np.zeros(n, np.int64)  # weight lost without a chosen column, or gained by another
    changed = np.zeros(n, np.int64)
    open_rows, place = np.empty(n_rows, np.int64), np.full(n_rows, -1)
    for c in chosen:
        inside[c] = True
        for a in range(starts[c], starts[c + 1]):
            covered[entries[a]] += 1
    n_open = 0
    for r in range(n_rows):
        if covered[r] == 0:
            open_rows[n_open], place[r] = r, n_open
            n_open += 1
    for c in range(n):
        for a in range(starts[c], starts[c + 1]):
            score[c] += covered[entries[a]] == (1 if inside[c] else 0)
    newest = -1
    for step in range(steps):
        if n_open == 0 or updates < 0:
            return n_open == 0, step
        slot = -1
        for i in range(len(chosen)):
            c = chosen[i]
            if c == newest and len(chosen) > 1:
                continue
            if slot < 0 or (score[c], changed[c]) < (score[chosen[slot]], changed[chosen[slot]]):
                slot = i
        # Remove the column of least score; update scores of the columns in its rows.
        leaves = chosen[slot]
        inside[leaves] = False
        changed[leaves] = step
        for a in range(starts[leaves], starts[leaves + 1]):
            r = entries[a]
            covered[r] -= 1
            if covered[r] == 0:
                open_rows[n_open], place[r] = r, n_open
                n_open += 1
            if covered[r] > 1:
                continue
            updates -= row_starts[r + 1] - row_starts[r]
            for b in range(row_starts[r], row_starts[r + 1]):
                other = row_entries[b]
                if covered[r] == 0 and other != leaves:
                    score[other] += weight[r]
                elif covered[r] == 1 and inside[other]:
                    score[other] += weight[r]
                    break
        # Add the column of largest score in a random uncovered row.
        r = open_rows[np.random.randint(n_open)]  # noqa: NPY002
        enters = -1
        for b in range(row_starts[r], row_starts[r + 1]):
            c = row_entries[b]
            if c == leaves:
                continue
            if enters < 0 or (-score[c], changed[c]) < (-score[enters], changed[enters]):
                enters = c
        enters = leaves if enters < 0 else enters
        chosen[slot] = enters
        newest = enters
        inside[enters] = True
        changed[enters] = step
        for a in range(starts[enters], starts[enters + 1]):
            r = entries[a]
            covered[r] += 1
            if covered[r] == 1:
                n_open -= 1
                swapped = open_rows[n_open]
                open_rows[place[r]], place[swapped] = swapped, place[r]
                place[r] = -1
            if covered[r] > 2:
                continue
            updates -= row_starts[r + 1] - row_starts[r]
            for b in range(row_starts[r], row_starts[r + 1]):
                other = row_entries[b]
                if covered[r] == 1 and other != enters:
                    score[other] -= weight[r]
                elif covered[r] == 2 and inside[other] and other != enters:
                    score[other] -= weight[r]
                    break
        for i in range(n_open):
            r = open_rows[i]
            weight[r] += 1
            updates -= row_starts[r + 1] - row_starts[r]
            for b in range(row_starts[r], row_starts[r + 1]):
                score[row_entries[b]] += 1
    return n_open == 0, steps


@njit(cache=True, nogil=True)
def change_count(state: tuple, site: int, step: int) -> None:
    """Open (step 1) or close (step -1) a site: update how often clients are covered and what each
    site would gain.

    `state`: `reach`, clients of every site and sites of every client (CSR); `gains` (n_sites,);
    `worth` (n_levels + 1, n_clients): what covering a client once more is worth at each count;
    `count` (n_clients,); the sites `chosen` (k,), and whether each site `is_open`.
    """
    (indptr, clients, back, sites), gains, worth, count, _, _ = state
    last = len(worth) - 1
    for a in range(indptr[site], indptr[site + 1]):
        j = clients[a]
        before = worth[min(count[j], last), j]
        count[j] += step
        change = worth[min(count[j], last), j] - before
        if change != 0.0:
            for b in range(back[j], back[j + 1]):
                gains[sites[b]] += change


@njit(cache=True, nogil=True)
def removal_loss(state: tuple, site: int) -> float:
    """Coverage lost by closing an open site."""
    (indptr, clients, _, _), _, worth, count, _, _ = state
    last = len(worth) - 1
    loss = 0.0
    for a in range(indptr[site], indptr[site + 1]):
        j = clients[a]
        loss += worth[min(count[j] - 1, last), j]
    return loss


@njit(cache=True, nogil=True)
def cover_local_search(state: tuple, n_fixed: int, passes: int) -> None:
    """Swap single sites, except the first `n_fixed`, while coverage grows; updates all."""
    _, gains, _, _, chosen, is_open = state
    k = len(chosen)
    for _ in range(passes):
        better = False
        for i in range(n_fixed, k):
            old = chosen[i]
            loss = removal_loss(state, old)
            change_count(state, old, np.int64(-1))
            is_open[old] = False
            best = old
            most = loss
            for site in range(len(gains)):
                if not is_open[site] and gains[site] > most + 1e-9 * abs(most):
                    best, most = site, gains[site]
            change_count(state, best, np.int64(1))
            is_open[best] = True
            chosen[i] = best
            better = better or best != old
        if not better:
            break


@njit(cache=True, nogil=True)
def fill_greedily(state: tuple, n_chosen: int) -> None:
    """Fill ``chosen[n_chosen:]`` with the site of largest gain each time."""
    _, gains, _, _, chosen, is_open = state
    for i in range(n_chosen, len(chosen)):
        best = -1
        for site in range(len(gains)):
            if not is_open[site] and (best < 0 or gains[site] > gains[best]):
                best = site
        chosen[i] = best
        is_open[best] = True
        change_count(state, best, np.int64(1))
