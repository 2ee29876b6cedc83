"""Several holders against one curator: cost, bytes and seconds, kills, and what a message tells.

    python -m benchmarks federated cost [--draws 4] [--holders 5 20 50] [--only NAME] [--ways TEXT]
    python -m benchmarks federated round [--parts 32768] [--holders 50]
    python -m benchmarks federated kills FOLDER
    python -m benchmarks federated messages [--pairs 2000]

*cost*: records dealt to holders at random, c = 1, epsilon 1, with Laplace noise and, delta 1e-6,
Gaussian; true cost of the release's centers over that of the best found without privacy. Beside it
the same generator with one curator, with both. *round*: one holder's and
the coordinator's work for one histogram. *kills*: three holders, every command a process of its
own, one ``answer`` killed in each round. *messages*: how often the likelier of two demands is
guessed from one holder's message.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

import metricdp as mdp
from benchmarks.adaptive import spots
from benchmarks.sets.graphs import Instance, coquimbo
from metricdp.accounting import Cost
from metricdp.federated.messages import Answer, Invitation, Keys
from metricdp.methods.question import asked_of
from metricdp.partitions.finite.labels import LabelParts
from metricdp.privacy import HistogramQuery, contribute
from metricdp.privacy.noise import Shares
from metricdp.running.runner import Run

EPSILON, DELTA, K = 1, Fraction(1, 10**6), 20
INSTANCES: dict[str, Callable[[], Instance]] = {
    "Coquimbo, 5,000 records": lambda: coquimbo(5000),
    "Coquimbo, 20,000 records": lambda: coquimbo(20_000),
    "Rome, 20,000 records": lambda: spots("rome_osm", 20_000, 7),
}


def central(metric, demand, gaussian: bool) -> Any:
    """The release of one curator."""
    if not gaussian:
        return mdp.release(metric, demand, epsilon=EPSILON)
    cost = Cost.zcdp(EPSILON, DELTA)
    run = Run(demand, mdp.Ledger(EPSILON, DELTA).charge(cost))
    question = replace(asked_of(metric, 1, 1, seed=0), k=0)
    return run.drive(mdp.methods.Partition().work(run.terms, question))


def dealt(metric, at, holders: int, seed: int) -> list[mdp.PrivateDemand]:
    """Records dealt to so many holders."""
    who = np.random.default_rng(seed).integers(holders, size=len(at))
    ids = metric.ids
    return [mdp.PrivateDemand(metric, [ids[i] for i in at[who == h]]) for h in range(holders)]


def costs(name: str, numbers: list[int], draws: int, only: str) -> None:
    metric, at = INSTANCES[name]()
    weights = np.bincount(at, minlength=len(metric)).astype(float)
    best = mdp.k_median(metric, k=K, weights=weights, effort="thorough").centers

    def mean(centers) -> float:
        return float(metric.nearest(centers)[1] @ weights)

    least = mean(best)
    everyone = mdp.PrivateDemand(metric, [metric.ids[i] for i in at])

    def several(holders: int, draw: int, delta: Fraction) -> Any:
        parts = [mdp.federated.Holder(one) for one in dealt(metric, at, holders, draw)]
        return mdp.federated.run(metric, parts, epsilon=EPSILON, delta=delta)

    ways: dict[str, Callable[[int], Any]] = {
        "central, Laplace": lambda draw: central(metric, everyone, False),
        "central, Gaussian": lambda draw: central(metric, everyone, True),
    }
    for distribution, delta in (("Laplace", Fraction(0)), ("Gaussian", DELTA)):
        for n in numbers:
            ways[f"{n} holders, {distribution}"] = lambda draw, n=n, d=delta: several(n, draw, d)
    ways = {way: make for way, make in ways.items() if only in way}
    for way, make in ways.items():
        start, found, bias = time.process_time(), [], []
        for draw in range(draws):
            release = make(draw)
            found.append(mean(release.k_median(k=K).centers) / least)
            bias.append(release.weights.sum() / len(at))
        spread = np.std(found, ddof=1) / np.sqrt(draws) if draws > 1 else 0.0
        seconds = (time.process_time() - start) / draws
        print(
            f"| {name} | {way} | {np.mean(found):.4f} ± {spread:.4f} | {np.mean(bias):.4f} | "
            f"{seconds:.1f} |",
            flush=True,
        )


def one_round(parts: int, holders: int, delta: Fraction) -> None:
    side = int(np.ceil(np.sqrt(parts)))
    metric = mdp.GraphMetric(nx.grid_2d_graph(side, side), weight=None)
    labels = np.minimum(np.arange(len(metric)), parts - 1)
    query = HistogramQuery(LabelParts(metric, labels, parts))
    demand = mdp.PrivateDemand(metric, list(metric.ids)[::7] * 10)
    cost = Cost.zcdp(EPSILON, delta) if delta else Cost.of(EPSILON)
    keys = [Keys(f"holder {i}") for i in range(holders)]
    agreement = {"method": "partition"}
    cards = tuple(one.card for one in keys)
    start = ("0" * 16, keys[0].card, agreement, cards, tuple(range(holders)), (), 1, "0" * 64)
    asked = Invitation(*start)
    reported: dict[str, float] = {"bytes of a first invitation": len(asked.signed(keys[0]))}
    clock = time.process_time()
    others = [card for card in cards if card != keys[0].card]
    mask = keys[0].mask(asked.digest, others, parts)
    reported["seconds of a holder, masks"] = time.process_time() - clock
    clock = time.process_time()
    budget = mdp.Ledger(EPSILON, delta).charge(cost)
    values = contribute(demand, query, cost, budget, holders=holders, honest=holders - 1, mask=mask)
    reported["seconds of a holder, counts and noise"] = time.process_time() - clock
    message = Answer(asked.digest.hex(), 0, values).signed(keys[0])
    reported["bytes of an answer"] = len(message)
    answers = [Answer(asked.digest.hex(), i, values).signed(one) for i, one in enumerate(keys)]
    clock = time.process_time()
    sums = sum(Answer.parsed(answer, asked).values for answer in answers)
    noise = Shares.of(query, "add-remove", 1, cost, holders, holders - 1)
    noise.total(np.asarray(sums, np.uint64))
    reported["seconds of the coordinator"] = time.process_time() - clock
    for what, number in reported.items():
        print(f"| {what} | {number:,.3f} |" if "sec" in what else f"| {what} | {number:,} |")


class World:
    """Commands as processes, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def started(self, *words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "metricdp", "federated", *words, "--json", "-q"]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=self.folder, stdout=pipe, stderr=pipe, text=True)

    def done(self, *words: str) -> tuple[int, dict[str, Any], str]:
        process = self.started(*words)
        out, err = process.communicate()
        return process.returncode, json.loads(out) if out.strip() else {}, err.strip()

    def spent(self, name: str) -> Fraction:
        path = self.folder / f"{name}.ledger"
        return mdp.Ledger.open(path).spent if path.exists() else Fraction(0)


def kills(folder: Path, names: tuple[str, ...] = ("north", "south", "west")) -> bool:
    """A whole study, one answer killed in each round at another moment; whether all is paid once
    or said.
    """
    world, coins = World(folder), np.random.default_rng(1)
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(30, 30))
    lines = "".join(f"{a},{b},1\n" for a, b in graph.edges)
    (folder / "roads.csv").write_text("from,to,length\n" + lines)
    cards = []
    for name in names:
        rows = coins.integers(900, size=1) + coins.integers(3, size=3000)
        (folder / f"{name}.csv").write_text("vertex\n" + "\n".join(map(str, rows % 900)) + "\n")
        assert world.done("join", f"{name}.key", "--output", f"{name}.card")[0] == 0
        cards += ["--holder", f"{name}.card"]
    invite = ("invite", "study", "roads.csv")
    status, reported, err = world.done(*invite, *cards, "--epsilon", "1", "--output", "now")
    assert status == 0, err
    number = 0
    while "release" not in reported:
        number += 1
        victim = names[number % len(names)]
        for name in names:
            answer = ("answer", "now", "roads.csv", "--key", f"{name}.key")
            answer += ("--demand", f"{name}.csv", "--ledger", f"{name}.ledger")
            answer += ("--epsilon-budget", "9", "--delta-budget", "9e-6")
            answer += ("--output", f"{name}.answer")
            if name == victim:
                path, before = folder / f"{name}.ledger", world.spent(name)
                steps = _steps(path)
                process = world.started(*answer)
                while process.poll() is None and not _due(path, number, steps):
                    time.sleep(0.0005)
                process.send_signal(signal.SIGKILL)
                process.communicate()
                print(
                    f"round {number}: {name} killed; ledger {float(before):.3f} to "
                    f"{float(world.spent(name)):.3f}"
                )
            status, _, err = world.done(*answer)
            if status:
                print(f"round {number}: {name} is reported: {err}")
                assert world.done(*invite, "--again", "--output", "now")[0] == 0
                for other in names[: names.index(name) + 1]:
                    words = [word.replace(name, other) for word in answer]
                    assert world.done(*words)[0] == 0
        files = [f"{name}.answer" for name in names]
        collect = ("collect", "study", "roads.csv", *files, "--output", "now")
        status, reported, err = world.done(*collect, "--save-release", "places.release")
        assert status == 0, err
        print(f"round {number}: collected; {[f'{float(world.spent(n)):.3f}' for n in names]}")
    paid = max(world.spent(name) for name in names)
    claimed = Fraction(reported["receipt"]["epsilon_exact"])
    print(f"release: epsilon {float(claimed):.3f}; most paid {float(paid):.3f}")
    return paid <= claimed


def _due(path: Path, number: int, steps: int) -> bool:
    """In odd rounds as soon as the ledger has noted the round, in even ones before it is paid."""
    if number % 2 == 0:
        time.sleep(0.3)
        return True
    return _steps(path) > steps


def _steps(path: Path) -> int:
    return path.read_text().count('"step"') if path.exists() else 0


def messages(pairs: int, values: int = 256) -> None:
    """A classifier by bytes, trained on half of the messages, on the other half."""
    one, other = Keys("one"), Keys("other")
    kinds = [np.zeros(values, np.uint64), np.full(values, 10**6, np.uint64)]
    rows, truth = [], []
    for number in range(2 * pairs):
        mask = one.mask(number.to_bytes(32, "big"), [other.card], values)
        rows.append(np.unpackbits((kinds[number % 2] + mask).view(np.uint8)))
        truth.append(number % 2)
    data, kind = np.array(rows, np.float64), np.array(truth)
    learn = np.arange(len(kind)) < pairs
    means = [data[learn & (kind == label)].mean(axis=0) for label in (0, 1)]
    guess = data @ (means[1] - means[0]) > (means[1] + means[0]) @ (means[1] - means[0]) / 2
    right = (guess == kind)[~learn].mean()
    print(f"{pairs:,} messages: right {right:.4f}, chance .5 ± {1 / (2 * np.sqrt(pairs)):.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("cost", "round", "kills", "messages"))
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--holders", type=int, nargs="+", default=[5, 20, 50])
    parser.add_argument("--parts", type=int, default=1 << 15)
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--only", choices=INSTANCES)
    parser.add_argument("--ways", default="", help="those alone that have this in their name")
    args = parser.parse_args()
    if args.what == "cost":
        print("| instance | who | cost | weights / records | seconds |")
        print("| --- | --- | --- | --- | --- |")
        for name in [args.only] if args.only else INSTANCES:
            costs(name, args.holders, args.draws, args.ways)
    elif args.what == "round":
        for distribution, delta in (("Laplace", Fraction(0)), ("Gaussian", DELTA)):
            print(f"| {distribution} noise | |")
            one_round(args.parts, max(args.holders), delta)
    elif args.what == "kills":
        if args.folder is None:
            parser.error("kills needs a FOLDER")
        print("paid once or said" if kills(args.folder) else "PAID MORE THAN SAID")
    else:
        messages(args.pairs)


if __name__ == "__main__":
    main()
