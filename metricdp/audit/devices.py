"""Exact distributions of messages in the local model, and of a few shuffled messages, against their
claims.

Weights are multiples of a quarter instead of 2^-32, so that all random integers can be enumerated.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import metricdp as mdp
from metricdp.audit.report import Check, Finding, weighed
from metricdp.local import Encoder, public_parameters
from metricdp.local.items import bits_of, items_of
from metricdp.local.parameters import PublicParameters, Report, Role
from metricdp.local.randomizers import KRR, LocalHashing, SubsetSelection, TopVectors
from metricdp.local.shuffle import shuffled_delta

CHECK = "exact distribution of messages"
UNIT = 4
REACH = 0.85
"""Least share of the claim that the worst message must reach, with weights rounded to quarters."""
Distribution = dict[Any, Fraction]


def device_checks() -> Iterator[Check]:
    """All checks."""
    for name, make in _collections().items():
        yield Check.of(f"one message, {name}", True, _exact, make)
    for name, dimension in (("an interval", 1), ("a ball", 2)):  # the ball has 16 times the cases
        made = partial(_of_ball, dimension)
        yield Check.of(f"one message, vectors of {name}", dimension == 1, _exact, made)
    for users in (2, 4, 9):
        yield Check.of(f"{users} shuffled messages", True, _shuffled, users)


def _collections() -> dict[str, Callable[[], tuple[Any, Sequence[Any]]]]:
    """Public parameters that need few random integers, with items of all kinds."""
    one, half = Fraction(1), Fraction(1, 2)
    kinds: dict[str, tuple[Role, ...]] = {
        "k-ary response": (Role(1, (Report(KRR(one, 3, UNIT), 0),)),),
        "local hashing": (Role(1, (Report(LocalHashing(one, 3, 1, UNIT), 0),)),),
        "subset selection": (Role(1, (Report(SubsetSelection(one, 3, 1, UNIT), 0),)),),
        "roles and reports": (
            Role(2, (Report(KRR(half, 3, UNIT), 0), Report(LocalHashing(half, 3, 1, UNIT), 0))),
            Role(1, (Report(KRR(one, 3, UNIT), 0),)),
        ),
    }
    return {name: partial(_of_parts, roles) for name, roles in kinds.items()}


def _of_parts(roles: Any) -> tuple[Any, Sequence[Any]]:
    tree = {"labels": [0, 0, 1, 1, 2, 2], "children": [[0, 1], [3, 2]], "levels": []}
    items = {"kind": "hierarchy", "parts": 3, "ids": {"range": 6}, **tree}
    return PublicParameters("one_round_local", Fraction(1), 10, Fraction(0), items, roles), range(6)


def _of_ball(dimension: int) -> tuple[Any, Sequence[Any]]:
    """A report on a vector and its bucket, in the view with the fewest values."""
    from dataclasses import replace

    box = mdp.EuclideanSpace([0.0] * dimension, [1.0] * dimension)
    parameters = public_parameters(box, 1, users=1000, k=2, depth=1)
    domains = items_of(parameters.items).domains
    view = min(range(len(domains)), key=lambda i: domains[i])
    report = TopVectors(Fraction(1), dimension, 4, 1, bits_of(domains[view]), UNIT)
    role = Role(1, (Report(report, view),))
    items = [(0.0, 0.0)[:dimension], (0.4, 0.9)[:dimension], (1.0, 1.0)[:dimension]]
    return replace(parameters, roles=(role,), epsilon=Fraction(1)), items


def distribution_of(make: Callable[[Callable[[int], int]], Any]) -> Distribution:
    """The exact distribution of ``make(below)``; an integer below 2^53 or more is 0 or the last."""
    found: dict[Any, Counter[int]] = defaultdict(Counter)
    waiting: list[tuple[int, ...]] = [()]
    while waiting:
        path = waiting.pop()
        faces = list[int]()

        def below(bound: int, path: tuple[int, ...] = path, faces: list[int] = faces) -> int:
            faces.append(min(bound, 2) if bound >= 2**53 else bound)
            face = path[len(faces) - 1] if len(faces) <= len(path) else 0
            return face * (bound - 1) if bound >= 2**53 else face

        outcome = make(below)
        if len(faces) > len(path):
            waiting += [(*path, face) for face in range(faces[len(path)])]
            continue
        found[outcome][math.prod(faces)] += 1
    return {
        outcome: sum((Fraction(n, faces) for faces, n in times.items()), Fraction(0))
        for outcome, times in found.items()
    }


def _worst(distributions: Sequence[Distribution]) -> float:
    """The largest log ratio of any two distributions."""
    if any(distribution.keys() != distributions[0].keys() for distribution in distributions):
        return math.inf
    each = (
        [distribution[outcome] for distribution in distributions] for outcome in distributions[0]
    )
    return max(math.log(max(some) / min(some)) for some in each)


def _exact(name: str, make: Callable[[], tuple[Any, Sequence[Any]]], quick: bool) -> Finding:
    parameters, items = make()
    encoder = Encoder(parameters)
    distributions = [distribution_of(partial(encoder._encode, item)) for item in items]
    worst = _worst(distributions)
    claim = float(encoder.epsilon)
    blind = worst < REACH * claim
    return weighed(name, f"ε ≤ {claim:.6g}", f"ε ≥ {worst:.6g}", CHECK, worst / claim, blind)


def _shuffled(name: str, users: int, quick: bool) -> Finding:
    """The exact delta of the multiset of messages against the clone bound, at several epsilons."""
    local = KRR(Fraction(2), 2, UNIT)
    drawn = (distribution_of(partial(local.draw, item)) for item in range(2))
    distributions = [{out[0]: p for out, p in distribution.items()} for distribution in drawn]
    worst = share = 0.0
    for epsilon in (0.0, 0.3, 1.0):
        bound = shuffled_delta(local, users, epsilon)
        for ones in range(users):
            rest = _convolved([distributions[1]] * ones + [distributions[0]] * (users - 1 - ones))
            p, q = (_convolved([distribution], rest) for distribution in distributions)
            for left, right in ((p, q), (q, p)):
                needed = sum(
                    max(0.0, float(probability) - math.exp(epsilon) * float(right.get(count, 0)))
                    for count, probability in left.items()
                )
                worst = max(worst, needed)
                share = max(share, needed / bound)
    claim, found = "δ of the bound, at ε 0, 0.3, 1", f"up to {share:.3f} of it, δ ≥ {worst:.3g}"
    return weighed(name, claim, found, "exact distribution of the shuffled", share, share < 0.3)


def _convolved(
    distributions: Sequence[Distribution], start: Distribution | None = None
) -> Distribution:
    """Distribution of the number of ones among independent messages, added to `start`."""
    total: Distribution = {0: Fraction(1)} if start is None else start
    for distribution in distributions:
        after: Counter[int] = Counter()
        for (count, probability), (out, p) in product(total.items(), distribution.items()):
            after[count + out] += probability * p  # type: ignore[assignment]
        total = dict(after)  # type: ignore[arg-type]
    return total
