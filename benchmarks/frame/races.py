"""Many selections by one call of a kernel, for figures and tests of their distribution."""

from numba import njit

from metricdp.kernels.race import race


@njit(nogil=True)
def races(scores, bits, eta, gumbel, winners):
    """One race a row of `bits` (n_races, n); `winners` gets positions, -1 where too close."""
    for r in range(len(bits)):
        at, leader, _, _, _ = race(scores, bits[r], 0, eta, gumbel, -2, 0, 0.0, 0.0)
        winners[r] = leader if at == len(scores) else -1
