"""Write ``v1.json``: inputs, coins, and the outputs that the reference gives for them.

    python -m tests.vectors.make

A version that was published stays as it is; what changes a distribution or its coins gets a new
file.
"""

import json
import random
from fractions import Fraction
from pathlib import Path

from tests.vectors import reference

FILE = Path(__file__).with_name("v1.json")


class Drawn:
    """Coins below what is asked, and a record of them."""

    def __init__(self, source: random.Random) -> None:
        self.source, self.coins = source, []

    def __call__(self, n: int) -> int:
        self.coins.append(self.source.randrange(n))
        return self.coins[-1]


def laplace(source: random.Random) -> list[dict]:
    cases = []
    for t in ("1/3", "1/2", "1", "3/2", "10", "1234567/1000", "10"):
        for _ in range(4):
            drawn = Drawn(source)
            z = reference.discrete_laplace(Fraction(t), drawn)
            cases.append({"scale": t, "coins": drawn.coins, "noise": z})
    return cases


def scales() -> list[dict]:
    asked = [(1, "1/3"), (2, "1/5"), (1, "3/10"), (65_536, "1/7"), (40, "19/60"), (1, "1/1000000")]
    return [
        {"sensitivity": d, "epsilon": e, "scale": reference.scale(d, Fraction(e)).hex()}
        for d, e in asked
    ]


def histograms(source: random.Random) -> list[dict]:
    cases = []
    for n_parts, n in ((1, 0), (3, 10), (7, 100)):
        parts = [source.randrange(n_parts) for _ in range(n)]
        noise = [reference.discrete_laplace(Fraction(5), source.randrange) for _ in range(n_parts)]
        cases.append({"parts": parts, "n_parts": n_parts, "noise": noise})
    cases.append({"parts": [0, 0, 1], "n_parts": 2, "noise": [2**63 - 2, -(2**63)]})  # saturates
    for case in cases:
        case["release"] = reference.histogram(**case)
    return cases


def selections(source: random.Random) -> list[dict]:
    cases = []
    for scores, eta in (
        ([3, 1, 2], "1"),
        ([0, 0, 0, 0, 0], "1/2"),
        ([-5, 10**6, 10**6 - 1, 7], "1/1000"),
        ([2**61, 2**61 - 3, -(2**61)], "7/10"),
        ([source.randrange(-40, 0) for _ in range(60)], "1/10"),
    ):
        for gumbel in (False, True):
            for _ in range(3):
                coins = source.randbytes(8 * len(scores) + 64)
                cases.append({"scores": scores, "eta": eta, "gumbel": gumbel, "coins": coins.hex()})
    tie = (7 << 60).to_bytes(8, "little")  # equal first words: further ones decide
    for gumbel in (False, True):
        for more in ("00" * 8 + "ff" * 8, "ff" * 8 + "00" * 8, "55" * 16 + "01" * 8 + "02" * 8):
            coins = (tie * 2).hex() + more
            cases.append({"scores": [4, 4], "eta": "1", "gumbel": gumbel, "coins": coins})
    for case in cases:
        coins = bytes.fromhex(case["coins"])
        asked = case["scores"], Fraction(case["eta"]), case["gumbel"], coins
        case["position"] = reference.selected(*asked)
    return cases


def ledgers() -> list[dict]:
    cases = [
        {"budget": "1/2", "charges": [0.5 / 11] * 12},
        {"budget": 1, "charges": ["1/3", 0.1, 3 * 0.1, "0.25", "1/60", "1e-9"]},
        {"budget": "0.7", "charges": [0.7 / 3, "7/30", 7 / 30, "1/100000000000000000000"]},
    ]
    return [case | {"left": reference.ledger(**case)} for case in cases]


def responses(source: random.Random) -> list[dict]:
    cases = []
    for epsilon, domain in (("1", 10), ("1/2", 2), ("4", 1000)):
        weight = reference.favored(Fraction(epsilon))
        total = weight + (domain - 1) * 2**32
        for coin in (0, weight - 1, weight, total - 1, *(source.randrange(total) for _ in "ab")):
            value = source.randrange(domain)
            report = reference.randomized_response(Fraction(epsilon), domain, value, coin)
            given = {"epsilon": epsilon, "domain": domain, "value": value, "coin": coin}
            cases.append(given | {"favored": weight, "report": report})
    return cases


def vectors() -> dict:
    """All of them; public coins choose the inputs."""
    source = random.Random(20_261_122)
    return {
        "version": 1,
        "discrete_laplace": laplace(source),
        "laplace_scale": scales(),
        "histogram": histograms(source),
        "selection": selections(source),
        "ledger": ledgers(),
        "randomized_response": responses(source),
    }


if __name__ == "__main__":
    lists = vectors().items()
    text = ",\n".join(
        f'"{name}": {value}'
        if isinstance(value, int)
        else f'"{name}": [\n' + ",\n".join(json.dumps(case) for case in value) + "\n]"
        for name, value in lists
    )
    FILE.write_text("{\n" + text + "\n}\n", "utf-8")
