"""Results hold nothing private and are functions of the noisy values alone; planted leaks show that
these tests can fail.
"""

import dataclasses
import logging
import pickle
import re
from functools import cache

import numpy as np
import pytest

import metricdp as mdp
from metricdp.methods import question
from metricdp.methods.finite import rounds as rules
from metricdp.methods.finite.rounds import FEWEST_PARTS
from metricdp.privacy import BudgetSlice, CountQuery, HistogramQuery, _vault, measure
from metricdp.releases import Release
from metricdp.running import runner
from tests import path_metric, road_like

SECRET = "CANARY-48611"
NUMBER = 48_611


@cache
class World:
    """A universe, its private demand, and everything that must not be found outside."""

    def __init__(self, kind: str):
        rng = np.random.default_rng(0)
        if kind == "box":
            self.universe = mdp.EuclideanSpace([0, 0], [1, 1])
            self.records = rng.random((NUMBER, 2)) ** 2
            self.records[0] = [0.4861148611, 0.1148611486]
        else:
            self.universe = (
                road_like(14) if kind == "graph" else mdp.EuclideanMetric(rng.random((150, 3)))
            )
            places = rng.integers(0, len(self.universe), (2, NUMBER))
            self.records = places.min(axis=0)
        users = [f"{SECRET}-{i % 20_000}" for i in range(NUMBER)] if kind == "users" else None
        records = self.records if kind == "box" else [self.universe.ids[i] for i in self.records]
        most = 3 if users else None
        self.demand = mdp.PrivateDemand(self.universe, records, user=users, max_contributions=most)

    def secrets(self, release) -> list[np.ndarray]:
        """Records, their positions, exact weights and exact counts of the release's parts: of all
        records, and of those kept of users.
        """
        found = []
        for records in (_vault._open(self.demand), self.records):
            parts, finite = release.partition, release.universe is self.universe
            positions = records if finite else parts.encode(records)
            counts = np.bincount(positions, minlength=len(release.universe))
            of_parts = np.bincount(parts.labels, counts, parts.n_parts) if finite else counts
            found += [records, positions, counts, of_parts]
        return found


def reachable(root) -> list:
    """Everything that attributes, slots, containers and closures of an object lead to, modules and
    classes left out.
    """
    found, seen, todo = [], set(), [root]
    while todo:
        value = todo.pop()
        if id(value) in seen or isinstance(value, type) or type(value).__name__ == "module":
            continue
        seen.add(id(value))
        found.append(value)
        if isinstance(value, dict):
            todo += [*value.keys(), *value.values()]
        elif isinstance(value, list | tuple | set | frozenset):
            todo += list(value)
        elif isinstance(value, np.ndarray):
            todo += [value.base] if value.base is not None else []
        else:
            todo += list(getattr(value, "__dict__", {}).values())
            slots = [s for c in type(value).__mro__ for s in getattr(c, "__slots__", ())]
            slots = [s for s in slots if not s.startswith("__")]
            todo += [getattr(value, s) for s in slots if hasattr(value, s)]
            todo += [cell.cell_contents for cell in getattr(value, "__closure__", None) or ()]
    return found


def tells(text: str) -> bool:
    """Whether a text holds the secret, or the number of records on its own: digits inside noisy
    floats or addresses are chance.
    """
    number = rf"(?<![\w.]){NUMBER}(?!\w|\.\w)"
    return SECRET in text or re.search(number, text.replace(",", "")) is not None


def leaks(result, world) -> list[str]:
    """What of the world's secrets can be found in a result, by any way."""
    found = []
    release = result.release if isinstance(result, mdp.Result) else result
    secrets = world.secrets(release)
    for value in reachable(result):
        if isinstance(value, mdp.PrivateDemand | mdp.Ledger | BudgetSlice):
            found.append(f"a {type(value).__name__}")
        numbers = isinstance(value, np.ndarray) and value.dtype.kind in "iuf"
        if numbers and any(value.shape == s.shape and np.allclose(value, s) for s in secrets):
            found.append("an array of exact numbers")
        is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if is_number and value == NUMBER:
            found.append("the number of records")
        if isinstance(value, str) and tells(value):
            found.append("a text")
    try:
        pickled = pickle.dumps(result)
    except (TypeError, AttributeError):
        found.append("something that cannot be pickled")
    else:
        for secret in secrets:
            kinds = (np.int32, np.int64, np.float32, np.float64) if len(secret) > 8 else ()
            if any(secret.astype(kind).tobytes() in pickled for kind in kinds):
                found.append("bytes of exact numbers")
        if SECRET.encode() in pickled:
            found.append("bytes of a text")
    shown = [repr(result), str(result), repr(vars(result)), str(result.receipt)]
    if tells(" ".join([*shown, repr(result.receipt.to_dict())])):
        found.append("something shown")
    return found


def of_other_number(make):
    """What is made, anew while noise of 0 (one time in 80 or 130) makes its noisy number the true
    one.
    """
    while True:
        made = make()
        release = getattr(made, "release_", getattr(made, "release", made))
        if not any(NUMBER in counts.values for counts in release.estimate.rounds):
            return made


@pytest.fixture(autouse=True)
def small_nets(monkeypatch):
    monkeypatch.setattr(question, "NET_POINTS", 200)


@pytest.mark.parametrize("kind", ["graph", "points", "users", "box"])
def test_nothing_private_is_reachable(kind, caplog, capfd):
    world = World(kind)
    caplog.set_level(logging.DEBUG)
    asked = {"universe": world.universe, "demand": world.demand, "epsilon": 0.3}
    release = of_other_number(lambda: mdp.release(**asked))
    assert leaks(release, world) == []
    another = of_other_number(lambda: mdp.k_median(**asked, k=4))
    for result in (release.k_median(4), release.k_means(4), another):
        assert leaks(result, world) == []
        written = set(result.to_dict()) - {"coordinates", "crs"}
        assert written == {"centers", "k", "method", "receipt"}
    assert not tells(caplog.text + "".join(capfd.readouterr()))
    assert leaks(release, world) == []  # nor once questions have been asked


def test_what_tells():
    assert tells("48,611 records") and tells("n=48611") and tells("[3, 48611]") and tells("48611.")
    assert tells(f"x{SECRET}-7")
    assert not tells("0x7f48611a0") and not tells("4.48611") and not tells("148611")
    assert not tells("48611.25") and not tells("486110")


LEAKS = {
    "the demand": lambda release, world: world.demand,
    "a function over it": lambda release, world: lambda: world.demand,
    "records": lambda release, world: world.records,
    "exact weights": lambda release, world: {"cache": [world.secrets(release)[2]]},
    "exact weights as floats": lambda release, world: world.secrets(release)[2].astype(np.float32),
    "exact counts of parts": lambda release, world: world.secrets(release)[3],
    "a view of exact counts": lambda release, world: world.secrets(release)[3][:2],
    "the number of records": lambda release, world: (NUMBER,),
    "a message": lambda release, world: f"{NUMBER:,} records read",
    "a user": lambda release, world: SECRET + "-7",
    "the ledger": lambda release, world: mdp.Ledger(1),
}


@pytest.mark.parametrize("leak", LEAKS)
def test_planted_leaks_are_found(leak):
    world = World("graph")
    release = mdp.release(world.universe, world.demand, epsilon=0.3)
    release.extra = LEAKS[leak](release, world)
    assert leaks(release, world) != [] and leaks(release.k_median(2), world) != []


def test_the_release_survives_pickling():
    world = World("points")
    release = mdp.release(world.universe, world.demand, epsilon=0.3)
    again = pickle.loads(pickle.dumps(release))
    np.testing.assert_array_equal(again.weights, release.weights)
    assert again.k_median(5).centers == release.k_median(5).centers
    assert again.receipt == release.receipt


# Post-processing


def fixed(monkeypatch, total=700, seed=5):
    """The gate charges and answers as ever, and then its values are replaced by numbers that know
    nothing of the demand.
    """
    asked = []

    def deaf(demand, query, epsilon, budget, delta=0):
        release = measure(demand, query, epsilon, budget, delta)
        asked.append((type(query), len(release.values), release.receipt))
        rng = np.random.default_rng(seed)
        many = rng.integers(-30, 90, len(release.values))
        values = [total] if isinstance(query, CountQuery) else many
        return Release(np.array(values), query, release.receipt)

    monkeypatch.setattr(runner, "measure", deaf)
    return asked


def outcome(release):
    results = [release.k_median(k) for k in (1, 5)] + [release.k_means(3)]
    return {
        "weights": release.weights.tobytes(),
        **{
            name: array.tobytes()
            for name, array in vars(release.partition).items()
            if isinstance(array, np.ndarray)
        },
        "coreset": [np.asarray(part).tolist() for part in release.coreset()],
        "answers": [(np.asarray(r.centers).tolist(), r.to_dict(), repr(r)) for r in results],
        "shown": (repr(release), str(release.receipt), repr(release.histogram)),
        "receipt": dataclasses.asdict(release.receipt),
    }


@pytest.mark.parametrize("neighboring", ["add-remove", "replace-one"])
@pytest.mark.parametrize("hint", [None, 400])
@pytest.mark.parametrize("kind", ["graph", "box"])
def test_results_are_functions_of_the_noisy_values(kind, hint, neighboring, monkeypatch):
    rng = np.random.default_rng(1)
    universe = road_like(12) if kind == "graph" else mdp.EuclideanSpace([0, 0], [1, 1])
    few, many = (
        [mdp.PrivateDemand(universe, rng.choice(20, n).tolist()) for n in (3, 9000)]
        if kind == "graph"
        else [mdp.PrivateDemand(universe, rng.random((n, 2)) ** p) for n, p in ((3, 1), (9000, 4))]
    )
    asked = fixed(monkeypatch)
    outcomes = []
    for demand in (few, many):
        ledger, before = mdp.Ledger(3, neighboring=neighboring), len(asked)
        release = mdp.release(universe, demand, epsilon=0.8, ledger=ledger, records_hint=hint)
        reads = [kind for kind, *_ in asked[before:]]
        found = mdp.k_means(universe, demand, 4, epsilon=1.92, ledger=ledger)
        later = [kind for kind, *_ in asked[before + len(reads) :]]
        answers = outcome(release), found.to_dict(), outcome(found.release)
        outcomes.append((answers, ledger.entries, ledger.left))
    assert outcomes[0] == outcomes[1]
    # the same questions at the same price
    assert asked[: len(asked) // 2] == asked[len(asked) // 2 :]
    n_rounds = len(release.histograms) if kind == "graph" else 1
    assert reads[:1] == [CountQuery] * (hint is None) + [HistogramQuery] * (hint is not None)
    assert reads[-n_rounds:] == [HistogramQuery] * n_rounds
    assert kind == "box" or len(reads) == n_rounds + (hint is None)
    assert later[0] is CountQuery and set(later[1:]) == {HistogramQuery}
    assert kind == "graph" or len(later) > 2  # rounds


def test_other_noisy_values_give_other_results(monkeypatch):
    universe = road_like(12)
    demand, seen = mdp.PrivateDemand(universe, [0, 1]), []
    for seed in (1, 2):
        fixed(monkeypatch, seed=seed)
        seen.append(outcome(mdp.release(universe, demand, epsilon=0.8))["weights"])
    assert seen[0] != seen[1]


def test_the_number_of_parts_follows_the_noisy_count_only(monkeypatch):
    universe = road_like(20)
    demand, parts = mdp.PrivateDemand(universe, list(range(300)) * 10), []
    for total in (-500, 0, 3000, 100_000):
        fixed(monkeypatch, total=total)
        parts.append(mdp.release(universe, demand, epsilon=1).histograms[0].query.n_parts)
    assert parts[0] == parts[1] == FEWEST_PARTS
    assert parts == sorted(parts) and parts[2] < parts[3]


def test_exactly_two_reads(monkeypatch):
    real, opened = _vault._open, []
    monkeypatch.setattr(_vault, "_open", lambda holder: opened.append(1) or real(holder))
    monkeypatch.setattr(rules, "ENOUGH", np.inf)  # one round, whatever the noise
    metric = path_metric(30)
    demand = mdp.PrivateDemand(metric, [3] * 50)
    release = mdp.release(metric, demand, epsilon=1)
    assert len(opened) == 2
    for k in range(1, 31):
        release.k_median(k)
    release.coreset(), repr(release), release.k_means(4).to_dict()
    assert len(opened) == 2
    mdp.release(metric, demand, epsilon=1, records_hint=100)
    assert len(opened) == 3
