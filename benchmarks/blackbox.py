"""Lower bounds of epsilon from outputs alone: the command line, on files, on two neighbors each.

python -m benchmarks blackbox [--runs 100000] [--only NAME] [--keep FOLDER] [--minutes M]
                              [--write benchmarks/figures/blackbox-bounds.csv]

Nothing here comes from metricdp's audit, and nothing of metricdp is called but its command line, in
this process: 10^5 processes a side would spend days on imports. Its parser of arguments, a third of
a run, is built once. Every run reads a graph and a demand file and writes a result file, all of it
anew; only what is in that file (or on stdout) counts.

Runs take 1 to 80 ms, so 10^5 a side on ten mechanisms take half a day. What was seen is therefore
kept, a line a run, in a folder where the next sitting goes on: `--minutes` ends one. When it ends
does not depend on what was seen, so the bounds hold for whatever number of runs was reached.

The first half of the runs chooses an event that tells the neighbors apart: an output, a set of
outputs that are likelier on one side, a number above, below or at some value. The second half,
which the choice has not seen, bounds the event's two probabilities by Clopper and Pearson, each
with error at most 1e-7, and so epsilon >= ln((p - delta) / q). A private mechanism gets a bound
above its claim with probability at most 4e-7 (both directions, two bounds each).
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import csv
import gc
import io
import json
import math
import os
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
from scipy.stats import beta

import metricdp.cli

ERROR = 1e-7
BATCH = 250
"""Runs of a side between two looks at the clock."""


def line(n: int) -> str:
    """The edges of a path of n vertices."""
    return "source,target,length\n" + "".join(f"{i},{i + 1},1\n" for i in range(n - 1))


PLACES = "id,x,y\n" + "".join(f"{i},{i}.0,0.0\n" for i in range(4))
HERE, THERE, NOBODY = "vertex\n0\n0\n3\n", "vertex\n0\n3\n3\n", "vertex\n0\n3\n"
FILES = {
    "roads.csv": line(4),
    "street.csv": line(300),
    "nodes.csv": PLACES,
    "centers.json": '{"centers": [0], "k": 1}',
}


def cluster(*more):
    """The arguments of `metricdp cluster` on the demand file, with a result file."""
    graph = ["cluster", "roads.csv", "--demand", "demand.csv", "-q", "--output", "result.json"]
    return [*graph, *more]


def centers():
    """What the result file says the centers are: one outcome, no numbers."""
    return [str(json.loads(Path("result.json").read_text())["centers"])], []


def weights():
    """The released weights: an outcome (their signs) and numbers (themselves, and their sum)."""
    rows = Path("weights.csv").read_text().splitlines()[1:]
    found = {int(v): float(w) for v, w in (row.split(",") for row in rows)}
    values = [found.get(v, 0.0) for v in range(4)]
    return [str([v > 0 for v in values])], [*values, sum(values)]


def figures(out):
    """All numbers of a private evaluation."""
    numbers = []

    def walk(value):
        if isinstance(value, dict):
            for part in value.values():
                walk(part)
        elif isinstance(value, list):
            for part in value:
                walk(part)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            numbers.append(float(value))

    reported = json.loads(out)
    reported.pop("receipt", None)
    walk(reported)
    return [], numbers


def messages(line):
    """One message: all its bytes as one outcome, and each as a number."""
    message = base64.b64decode(json.loads(line)["message"])
    return [message.hex()], [float(byte) for byte in message]


EVALUATE = ["evaluate", "roads.csv", "--demand", "demand.csv", "--centers", "centers.json"]
EVALUATE += ["-q", "--epsilon", "1"]
CONTRIBUTIONS = ["contributions", "demand.csv", "--user", "who", "-q", "--epsilon", "1"]
SAVE = ("--coreset", "weights.csv")
USERS = "vertex,who\n0,a\n3,b\n", "vertex,who\n0,a\n3,b\n0,c\n0,c\n0,c\n"
POINTS = "x,y\n0.1,0.0\n2.9,0.0\n", "x,y\n0.1,0.0\n2.9,0.0\n0.2,0.0\n"
SNAP = ("--nodes", "nodes.csv", "--x", "x", "--y", "y")


def device(graph: str, epsilon: float, other: int):
    """A message about vertex 0 or another one; every line of a file is a device of its own."""
    asked = f"parameters-{graph}-{epsilon}.json"
    run = ["encode", "--parameters", asked, "--items", "items.jsonl"]
    return epsilon, 0, ('{"item": 0}\n', f'{{"item": {other}}}\n'), run, messages


CASES = {
    # name: (epsilon, delta, two neighbors, arguments, what is looked at)
    "partition, centers": (2, 0, (HERE, NOBODY), cluster("-k", "1", "--epsilon", "2"), centers),
    "partition, weights": (
        1,
        0,
        (HERE, NOBODY),
        cluster("-k", "1", "--epsilon", "1", *SAVE),
        weights,
    ),
    "partition, weights, replace-one": (
        1,
        0,
        (HERE, THERE),
        cluster("-k", "1", "--epsilon", "1", "--neighboring", "replace-one", *SAVE),
        weights,
    ),
    "partition, weights, users of 2": (
        1,
        0,
        USERS,
        cluster("-k", "1", "--epsilon", "1", "--user", "who", "--max-contributions", "2", *SAVE),
        weights,
    ),
    "partition, weights, coordinates": (
        1,
        0,
        POINTS,
        cluster("-k", "1", "--epsilon", "1", *SNAP, *SAVE),
        weights,
    ),
    "hst, weights": (
        1,
        0,
        (HERE, NOBODY),
        cluster("-k", "1", "--epsilon", "1", "--method", "hst", *SAVE),
        weights,
    ),
    "local-search, centers": (
        2,
        0,
        (HERE, NOBODY),
        cluster("-k", "1", "--epsilon", "2", "--method", "local-search"),
        centers,
    ),
    "max-coverage, centers, delta": (
        2,
        0.01,
        (HERE, NOBODY),
        cluster("-k", "1", "--epsilon", "2", "--delta", "0.01", "--method", "max-coverage"),
        centers,
    ),
    "evaluate": (1, 0, (HERE, NOBODY), EVALUATE, figures),
    "contributions, users": (1, 0, USERS, CONTRIBUTIONS, figures),
    "encode, response among 4": device("roads.csv", 2, 3),
    "encode, subsets of 10": device("street.csv", 1, 299),
    "encode, response among 94": device("street.csv", 6, 299),
    "encode, subsets of 4": device("roads.csv", 0.25, 3),
}


HEADER = ["mechanism", "epsilon", "delta", "runs_a_side", "epsilon_found", "verdict"]


def called(arguments) -> str:
    """Run the command line; what it wrote to stdout."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = metricdp.cli.main(arguments)
    if status:
        raise RuntimeError(f"status {status}: {err.getvalue()}")
    return out.getvalue()


def sample(demand: str, arguments, look, runs: int) -> list[str]:
    """What so many runs show: a line each, an outcome and numbers."""
    if look is messages:
        Path("items.jsonl").write_text(demand * runs)
        return [json.dumps([x[0], y]) for x, y in map(look, called(arguments).splitlines())]
    lines = []
    for _ in range(runs):
        Path("demand.csv").write_text(demand)
        reported = called(arguments)
        some, values = look(reported) if look is figures else look()
        lines.append(json.dumps([some[0] if some else "", values]))
    return lines


def arrays(lines: list[str]):
    """Outcomes, and numbers of shape (runs, values)."""
    rows = [json.loads(line) for line in lines]
    numbers = np.array([values for _, values in rows], dtype=float)
    return np.array([name for name, _ in rows]), numbers.reshape(len(rows), -1)


def candidates(p, q):
    """Events that tell the first halves apart: functions from a sample to truth values."""
    (names_p, values_p), (names_q, values_q) = p, q
    in_p, in_q = Counter(names_p.tolist()), Counter(names_q.tolist())
    often = [name for name, n in (in_p + in_q).most_common(40) if n > 5]
    for name in often:
        yield lambda s, name=name: s[0] == name
    ratio = {n: math.log((in_p[n] + 1) / (in_q[n] + 1)) for n in in_p | in_q}
    for least in (0.0, 0.25, 0.5, 1.0):
        likely = [n for n, r in ratio.items() if r > least]
        yield lambda s, likely=likely: np.isin(s[0], likely)
    for column in range(values_p.shape[1]):
        both = np.concatenate([values_p[:, column], values_q[:, column]])
        for cut in np.unique(np.quantile(both, np.linspace(0.01, 0.99, 41))):
            yield lambda s, c=column, cut=cut: s[1][:, c] >= cut
            yield lambda s, c=column, cut=cut: s[1][:, c] <= cut
        for value, _ in Counter(both.tolist()).most_common(5):
            yield lambda s, c=column, value=value: s[1][:, c] == value


def bound(p, q, delta: float) -> float:
    """A lower bound of epsilon, right with probability at least 1 - 4·ERROR."""
    half = len(p[0]) // 2
    first = [tuple(part[:half] for part in side) for side in (p, q)]
    second = [tuple(part[half:] for part in side) for side in (p, q)]
    found = 0.0
    for i, j in ((0, 1), (1, 0)):
        best = max(
            candidates(first[i], first[j]),
            key=lambda event: interval(event(first[i]), event(first[j]), delta),
        )
        found = max(found, interval(best(second[i]), best(second[j]), delta))
    return found


def interval(hits_p, hits_q, delta: float) -> float:
    """ln((p - delta) / q) with p at its lower end and q at its upper one."""
    k, n = int(hits_p.sum()), len(hits_p)
    low = float(beta.ppf(ERROR, k, n - k + 1)) if k else 0.0
    k, n = int(hits_q.sum()), len(hits_q)
    high = float(beta.isf(ERROR, k + 1, n - k)) if k < n else 1.0
    return math.log((low - delta) / high) if low > delta else -math.inf


class Kept:
    """The lines of one mechanism, both sides, in files that only grow."""

    def __init__(self, name: str, folder: Path) -> None:
        stem = "".join(c if c.isalnum() else "-" for c in name)
        self.name, self.seconds = name, 0.0
        self.files = [folder / f"{stem}.{side}.jsonl" for side in (0, 1)]
        both = self.lines()
        self.runs = min(len(lines) for lines in both)
        for file, lines in zip(self.files, both, strict=True):
            file.write_text("".join(lines[: self.runs]))

    def lines(self) -> list[list[str]]:
        """All of both sides that is whole."""
        texts = [file.read_text() if file.exists() else "" for file in self.files]
        return [[x for x in text.splitlines(keepends=True) if x.endswith("\n")] for text in texts]

    def more(self, runs: int) -> None:
        """So many more runs a side, in a folder of their own."""
        start = time.perf_counter()
        _, _, pair, arguments, look = CASES[self.name]
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            for file, text in FILES.items():
                Path(file).write_text(text)
            if look is messages:
                _, graph, epsilon = arguments[2].removesuffix(".json").split("-")
                asked = ["encode", graph, "--epsilon", epsilon, "-k", "2", "--users", "1000"]
                called([*asked, "--write-parameters", arguments[2]])
            sides = [sample(demand, arguments, look, runs) for demand in pair]
        for file, lines in zip(self.files, sides, strict=True):
            with file.open("a") as stream:
                stream.write("".join(f"{line}\n" for line in lines))
        self.runs += runs
        self.seconds += time.perf_counter() - start

    def row(self) -> list[str]:
        """The mechanism's row of the table."""
        epsilon, delta, *_ = CASES[self.name]
        found = bound(*(arrays(lines[: self.runs]) for lines in self.lines()), delta)
        verdict = "below" if found <= epsilon else "ABOVE THE CLAIM"
        facts = (self.name, epsilon, delta, self.runs, f"{max(found, 0):.3f}", verdict)
        return [str(fact) for fact in facts]


def measured(only: str, runs: int, folder: Path, minutes: float) -> list[list[str]]:
    """Rows of the table, after runs that take turns so that each mechanism has the same time."""
    end = time.perf_counter() + 60 * minutes
    kept = [Kept(name, folder) for name in CASES if only in name]
    while (left := [k for k in kept if k.runs < runs]) and time.perf_counter() < end:
        turn = min(left, key=lambda k: k.seconds)
        turn.more(min(BATCH, runs - turn.runs))
        gc.collect()
        gc.freeze()
    return [k.row() for k in kept if k.runs >= 2]


def table(rows: list[list[str]]) -> str:
    """The rows as a file of comma-separated values."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([HEADER, *rows])
    return text.getvalue()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", metavar="FOLDER")
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--write", metavar="FILE")
    options = parser.parse_args()
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")
    target = None if options.write is None else Path(options.write).resolve()
    with tempfile.TemporaryDirectory() as scratch:
        kept_in = Path(options.keep or scratch).resolve()
        kept_in.mkdir(parents=True, exist_ok=True)
        written = table(measured(options.only, options.runs, kept_in, options.minutes))
    print(written, end="")
    if target is not None:
        target.write_text(written, "utf-8")
