"""Integer noise from OpenDP: the one place where randomness hides an exact answer."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from metricdp.errors import InputError
from metricdp.progress import progress

_BLOCK = 1 << 16


def laplace_scale(sensitivity: int, epsilon: Fraction) -> float:
    """Smallest float64 at or above ``sensitivity / epsilon``, so that ``sensitivity / scale <= epsilon`` holds exactly.

    Raises
    ------
    InputError
        `epsilon` is not positive, or so small that noise would overflow 64-bit integers.

    Examples
    --------
    >>> laplace_scale(2, Fraction(1, 5)), Fraction(laplace_scale(1, Fraction(3, 10))) >= Fraction(10, 3)
    (10.0, True)
    """
    if epsilon * 2**56 <= sensitivity:
        raise InputError(f"epsilon must be positive, and large enough for noise of 64 bits; got {float(epsilon)!r}")
    exact = sensitivity / epsilon
    scale = float(exact)
    return scale if Fraction(scale) >= exact else math.nextafter(scale, math.inf)


class DiscreteLaplace:
    """Independent noise on integers, ready to be added: P(noise = z) = tanh(1 / (2 scale)) · exp(-abs(z) / scale).

    OpenDP draws it exactly, by rational arithmetic ([1]_, algorithm 2) on bytes of OpenSSL's generator, seeded by
    the operating system and by nothing else. Sums saturate at the ends of int64, which is post-processing.

    **Privacy.** *Neighboring, sensitivity*: those of the query, whose answers v, w on neighbors are at most
    `sensitivity` apart in L1. *Guarantee*: for every output y the log ratio of its two probabilities is
    ``sum(|y - w| - |y - v|) / scale <= |v - w| / scale <= sensitivity / scale <= epsilon`` by the triangle inequality:
    epsilon-DP, with equality for y beyond both; delta = 0. *Composition*: sequential. Coordinates are independent and
    the sum runs over all of them, so drawing in blocks changes nothing.

    Parameters
    ----------
    sensitivity : int
        At least 1.
    epsilon : Fraction
        Positive.

    Attributes
    ----------
    scale : float
        `laplace_scale` of both.

    References
    ----------
    .. [1] C. Canonne, G. Kamath, T. Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020.
    """

    def __init__(self, sensitivity: int, epsilon: Fraction) -> None:
        self.scale = laplace_scale(sensitivity, epsilon)
        from opendp.domains import atom_domain, vector_domain  # opendp.prelude would load sklearn, polars and pandas too
        from opendp.measurements import make_laplace
        from opendp.metrics import l1_distance
        from opendp.mod import enable_features

        enable_features("contrib")
        self._mechanism = make_laplace(vector_domain(atom_domain(T="i64")), l1_distance(T="i64"), scale=self.scale)
        if self._mechanism.map(sensitivity) > float(epsilon) * (1 + 1e-12):  # OpenDP's own account, floats rounded up
            raise InputError("OpenDP does not confirm the privacy of this noise")

    def __call__(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return noisy `values`, shape (n_values,); about 6 s for 10^6."""
        noisy = np.empty(len(values), dtype=np.int64)
        with progress(total=len(values), label="adding noise", unit="count") as bar:
            for start in range(0, len(values), _BLOCK):
                block = values[start : start + _BLOCK].tolist()
                noisy[start : start + _BLOCK] = self._mechanism(block)
                bar.update(len(block))
        return noisy
