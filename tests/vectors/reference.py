"""A second implementation of what leaves the gate: the standard library, exact rationals, nothing
of metricdp. Written from the definitions in docs/privacy.md, to be read in ten minutes.

Each function maps inputs and coins to outputs; ``v1.json`` has such triples. Coins of a selection
are bytes, as an operating system gives them; coins of a sampler are integers below what it asks.
"""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

LEAST, MOST = -(2**63), 2**63 - 1


def number(value):
    """A budget as its writer meant it: text at its word, a float as the simple fraction that lies
    within one unit of its last place, if there is one, else its shortest decimal.
    """
    if not isinstance(value, float):
        return Fraction(value)
    simple = Fraction(value).limit_denominator(10**6)
    near = simple != 0 and abs(simple - Fraction(value)) <= Fraction(math.ulp(value))
    return simple if near else Fraction(repr(value))


def scale(sensitivity, epsilon):
    """The least double that is not below sensitivity / epsilon."""
    found = float(Fraction(sensitivity) / epsilon)
    while Fraction(found) < Fraction(sensitivity) / epsilon:
        found = math.nextafter(found, math.inf)
    return found


def bernoulli_exp(x, below):
    """True with probability exp(-x), x >= 0 (Canonne, Kamath & Steinke 2020, algorithm 1)."""
    while x > 1:
        if not bernoulli_exp(Fraction(1), below):
            return False
        x -= 1
    k = 1
    while below((x / k).denominator) < (x / k).numerator:
        k += 1
    return k % 2 == 1


def discrete_laplace(t, below):
    """P(z) proportional to exp(-|z| / t), for rational t > 0 (algorithm 2 there)."""
    s, r = t.denominator, t.numerator
    while True:
        u = below(r)
        if not bernoulli_exp(Fraction(u, r), below):
            continue
        v = 0
        while bernoulli_exp(Fraction(1), below):
            v += 1
        y, negative = (u + r * v) // s, below(2) == 1
        if not (negative and y == 0):
            return -y if negative else y


def histogram(parts, n_parts, noise):
    """Counts of the parts that records lie in, each with its noise, held to 64 bits."""
    counts = [sum(part == i for part in parts) for i in range(n_parts)]
    return [min(max(count + z, LEAST), MOST) for count, z in zip(counts, noise, strict=True)]


def ln(x):
    """Lower and upper bound of ln x, x a positive rational."""
    with localcontext() as context:
        context.prec = 80
        value = Decimal(x.numerator).ln() - Decimal(x.denominator).ln()
    return Fraction(value) - Fraction(1, 10**70), Fraction(value) + Fraction(1, 10**70)


def clock(bits, n_bits, gumbel):
    """Bounds of -ln V, or of -ln(-ln(1 - V)), for V that begins with these bits."""
    low, high = Fraction(bits, 1 << n_bits), Fraction(bits + 1, 1 << n_bits)
    if not gumbel:
        return -ln(high)[1], -ln(low)[0] if low else Fraction(10**30)
    first = -ln(-ln(1 - high)[0])[1] if high < 1 else Fraction(-(10**30))
    return first, -ln(-ln(1 - low)[1])[0] if low else Fraction(10**30)


def selected(scores, eta, gumbel, coins):
    """Number of the candidate with the largest eta · score + clock: permute-and-flip, or with
    `gumbel` the exponential mechanism. Candidates race in order against the leader so far, with
    eight little-endian bytes of coins each; while bounds overlap both get eight more, big-endian,
    the challenger first.
    """
    first, more = coins[: 8 * len(scores)], coins[8 * len(scores) :]
    words = [int.from_bytes(first[8 * i : 8 * i + 8], "little") for i in range(len(scores))]
    leader, led, n_led = 0, words[0], 64
    for i in range(1, len(scores)):
        bits, n_bits = words[i], 64
        lead = eta * (scores[i] - scores[leader])
        while True:
            low, high = (bound + lead for bound in clock(bits, n_bits, gumbel))
            own_low, own_high = clock(led, n_led, gumbel)
            if low > own_high or high < own_low:
                break
            bits = bits << 64 | int.from_bytes(more[:8], "big")
            led = led << 64 | int.from_bytes(more[8:16], "big")
            more, n_bits, n_led = more[16:], n_bits + 64, n_led + 64
        if low > own_high:
            leader, led, n_led = i, bits, n_bits
    return leader


def ledger(budget, charges):
    """What is left after every charge, or "refused" where it does not fit; budgets are exact."""
    left, reported = number(budget), []
    for charge in map(number, charges):
        fits = 0 < charge <= left
        left -= charge if fits else 0
        reported.append(str(left) if fits else "refused")
    return reported


def favored(epsilon, unit=2**32):
    """Integer weight of a true report: partial sums of unit · exp(epsilon), rounded down."""
    term = total = Fraction(unit)
    n = 0
    while term > Fraction(1, 1 << 40) or n < epsilon:
        n += 1
        term = term * epsilon / n
        total += term
    return int(total)


def randomized_response(epsilon, domain, value, coin):
    """The value, or another with the small weight; `coin` lies below the sum of all weights."""
    beyond = coin - favored(epsilon)
    return value if beyond < 0 else (value + 1 + beyond // 2**32) % domain
