"""The server's side: decodes messages to estimates (noisy counts or sums), in one pass and constant
memory; centers are post-processing.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from itertools import islice
from math import sqrt
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import Bools, Floats
from metricdp.errors import InputError
from metricdp.local.items import BallItems, items_of
from metricdp.local.oracles import FrequencyOracle, Sketch, oracle_of
from metricdp.local.parameters import HEADER, TRUST, VERSION, PublicParameters, Report, Role
from metricdp.local.randomizers import Randomizer, width
from metricdp.local.shuffle import shuffled_epsilon
from metricdp.methods.demand_release import Release
from metricdp.methods.question import Result
from metricdp.metrics.base import Metric
from metricdp.partitions.finite.ward import PartitionTree, upwards
from metricdp.protocols import finite
from metricdp.provenance import Provenance
from metricdp.releases import Mechanism, Receipt
from metricdp.running.attesting import attested, circumstances
from metricdp.solvers.estimate.tree_posterior import Counts, joint_posterior

LOCAL = 16
"""Number of the proof for local reports."""
_NAMES = {
    "k-rr": "k-ary randomized response",
    "local-hashing": "local hashing",
    "subset": "subset selection",
    "top-vectors": "top of random vectors",
}


LocalRelease = Release
"""Older name of the same class."""


class LocalEstimate:
    """Estimates from the messages of one collection; all that is computed from it is
    post-processing, at no further cost.

    Attributes
    ----------
    parameters : PublicParameters
    n_messages, rejected : int
        Numbers of valid and of rejected messages.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> pub = mdp.local.public_parameters(metric, epsilon=4, users=4000, k=2)
    >>> estimate = mdp.local.Decoder(pub).fit(mdp.local.simulated_messages(pub, [1, 7] * 2000))
    >>> len(estimate.counts) > 1, str(estimate.receipt.neighboring)
    (True, 'replace-one')
    """

    def __init__(self, parameters: PublicParameters, items: Any, sketch: Sketch) -> None:
        self.parameters = parameters
        self.items = items
        self.sketch = sketch
        self.n_messages, self.rejected = sketch.n_messages, sketch.rejected

    def __repr__(self) -> str:
        return (
            f"LocalEstimate({self.n_messages:,} messages, {self.rejected:,} rejected, epsilon "
            f"{float(self.receipt.epsilon):.6g})"
        )

    @cached_property
    def receipt(self) -> Receipt:
        """The guarantee of each user, who sends one message: replace-one neighbors."""
        mechanisms = [
            _mechanism(report) for role in self.parameters.roles for report in role.reports
        ]
        local = Receipt.of(mechanisms, "replace-one", "user").paid(
            self.parameters.epsilon, Fraction(0), "one message a user"
        )
        local = attested(local, self._provenance())
        if self.parameters.trust == TRUST[0]:
            return local
        roles = self.parameters.roles
        epsilon, delta = self.parameters.epsilon, self.parameters.delta
        alone = len(roles) == len(roles[0].reports) == 1
        single = roles[0].reports[0].randomizer if alone else epsilon
        bound = f"{self.n_messages:,} messages shuffled, numerical clone bound"
        return local.paid(shuffled_epsilon(single, self.n_messages, delta), delta, bound)

    def _provenance(self) -> Provenance:
        """The public circumstances of the collection."""
        text = self.parameters.to_json()
        name = str(self.parameters.items.get("kind", "items"))
        universe = {"kind": "public parameters of a collection", "name": name}
        universe["sha256"] = sha256(text.encode()).hexdigest()
        asked = {"epsilon": self.parameters.epsilon, "delta": self.parameters.delta}
        facts = circumstances(
            {**asked, "users": self.parameters.users, "roles": len(self.parameters.roles)},
            call="Decoder.fit",
            method=self.parameters.trust,
            model="local" if self.parameters.trust == TRUST[0] else "shuffle",
            max_contributions=1,
            universe=universe,
            chooses=(
                "Parts, randomizers and roles follow from the universe, epsilon and a public "
                "guess of the number of users; a device draws its role with its own coins."
            ),
            afterwards=(
                "Unbiased estimates of counts or sums from the messages, their posterior mean, "
                "and centers by a public solver."
            ),
            messages=self.n_messages,
        )
        return Provenance(facts)

    @cached_property
    def counts(self) -> Floats:
        """Finite universes: unbiased number of users in each part (n_parts,), perhaps negative."""
        return self._level(len(self.parameters.roles) - 1)[0]

    @property
    def deviation(self) -> float:
        """Finite universes: standard deviation of the count of a part with few users."""
        return self._level(len(self.parameters.roles) - 1)[1]

    @property
    def share(self) -> float:
        """Finite universes: most by which one message can change any count."""
        scale = self.n_messages / max(self.sketch.users[-1], 1)
        return self._finite().share * max(scale, 1.0)

    def release(self, metric: Metric, *, signed: bool = False) -> Release:
        """Weights on the public universe, for any number of questions.

        Parameters
        ----------
        metric : Metric
            The universe that the parameters were made for: the same ids in the same order.
        signed : bool
            Unbiased counts, which may be negative, instead of their posterior mean
            (`metricdp.solvers.estimate.tree_posterior`) on the Ward tree of the parts, whose total
            is the public number of messages.
        """
        self._finite()
        ids = self.items.ids
        if len(finite(metric, "metric")) != len(ids) or any(
            a != b for a, b in zip(metric.ids, ids)
        ):
            raise InputError(
                "metric must be the universe that the public parameters were made for: the same "
                "ids in the same order"
            )
        children = np.array(self.items.children, np.int64).reshape(-1, 2)
        labels = np.array(self.items.labels, np.int32)
        sizes = upwards(np.bincount(labels, minlength=self.items.n_parts), children)
        tree = PartitionTree(metric, labels, children, sizes)
        estimate = self.counts
        if not signed and self.n_messages:
            root = np.array([2 * tree.n_parts - 2])
            rounds = [Counts(root, np.array([float(self.n_messages)]), 0.5)]
            rounds += [
                self._counts_of(number, tree) for number in range(len(self.parameters.roles))
            ]
            estimate = joint_posterior(tree, rounds, any_share=bool(self.items.levels)).mean
        weights = tree.spread(estimate)
        return Release(metric, weights, self.receipt, method=self.parameters.trust)

    def k_median(self, k: int, *, metric: Metric | None = None, **asked: Any) -> Result:
        """k centers of low sum of distances.

        Parameters
        ----------
        k : int
        metric : Metric
            Finite universes: the one that the parameters were made for.
        asked
            `candidates`, `opened`, `seed`, `time_limit` as `Release.k_median`; in a box only
            `seed`. Its centers lie in the public ball, perhaps outside the box: `space.clip` moves
            them into it, nearer to all of its points.
        """
        return self._asked(k, 1, metric, asked)

    def k_means(self, k: int, *, metric: Metric | None = None, **asked: Any) -> Result:
        """k centers of low sum of squared distances; parameters as `k_median`."""
        return self._asked(k, 2, metric, asked)

    def _asked(self, k: int, power: int, metric: Metric | None, asked: dict[str, Any]) -> Result:
        if isinstance(self.items, BallItems):
            from metricdp.local.ball import ball_centers

            if metric is not None:
                raise InputError("in a box there is no metric to pass: centers are any points")
            return ball_centers(self, k, power, **asked)
        if metric is None:
            raise InputError("pass metric=, the universe that the public parameters were made for")
        release = self.release(metric)
        return (release.k_median if power == 1 else release.k_means)(k, **asked)

    def _finite(self) -> FrequencyOracle:
        if isinstance(self.items, BallItems):
            raise InputError("items are points of a box here: ask k_means or k_median for centers")
        return oracle_of(self.parameters.roles[-1].reports[0].randomizer)

    def _level(self, number: int) -> tuple[Floats, float]:
        """Counts of a role's view, scaled up to all users, and the standard deviation of a part
        with few users.
        """
        self._finite()
        oracle: Any = oracle_of(self.parameters.roles[number].reports[0].randomizer)
        users = self.sketch.users[number]
        n_parts = self.items.domains[number]
        scale = self.n_messages / max(users, 1)
        found = oracle.counts(self.sketch.arrays[number][0], users)[:n_parts]
        return found * scale, sqrt(users * oracle.variance) * scale

    def _counts_of(self, number: int, tree: PartitionTree) -> Counts:
        """One role's counts with their noise scale. If only m of n users report to the role, the
        sampling variance n p (1 - p) (n / m - 1) of a part with a share p of the users is added.
        """
        values, deviation = self._level(number)
        last = number == len(self.parameters.roles) - 1
        nodes = np.arange(tree.n_parts) if last else np.array(self.items.levels[number], np.int64)
        users = self.sketch.users[number]
        n = self.n_messages
        if users == 0:
            return Counts(nodes, n * tree.sizes[nodes] / tree.sizes[-1], float(n), True)
        share = np.clip(values / n, 0.0, 1.0)
        sampling = n * share * (1 - share) * (n / users - 1)
        scale = np.sqrt((np.maximum(deviation, 0.5) ** 2 + sampling) / 2)
        return Counts(nodes, values, scale, True)


def _mechanism(report: Report) -> Mechanism:
    """A report for the receipt; its scale is the standard deviation that one user adds."""
    oracle = oracle_of(report.randomizer)
    what = "vector" if report.randomizer.kind == "top-vectors" else "part"
    query = f"{what} of one item, view {report.view}"
    scale, epsilon = sqrt(oracle.variance), report.randomizer.epsilon
    return Mechanism(_NAMES[report.randomizer.kind], query, 1, scale, epsilon, proofs=(LOCAL,))


_CHUNK = 1 << 16
"""Messages decoded at a time."""


class Decoder:
    """Decodes messages of one set of public parameters.

    Parameters
    ----------
    parameters : PublicParameters, dict, str or bytes
        The same as the encoders'.

    Notes
    -----
    A message that no encoder could have made is rejected and counted (`LocalEstimate.rejected`).
    Any other message, also of a hostile user or sent twice, changes the count of any part by at
    most `LocalEstimate.share`, and the vector sum of any bucket by at most `VectorOracle.share` in
    length. See ``docs/local.md``.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.cycle_graph(12), weight=None)
    >>> parameters = mdp.local.public_parameters(metric, epsilon=4, users=2000, k=2)
    >>> encoder, decoder = mdp.local.Encoder(parameters), mdp.local.Decoder(parameters)
    >>> estimate = decoder.fit(encoder.encode(node) for node in [0, 6] * 1000)
    >>> sorted(estimate.k_median(metric=metric, k=2).centers)
    [0, 6]
    """

    def __init__(self, parameters: PublicParameters | dict[str, Any] | str | bytes) -> None:
        self.parameters = PublicParameters.of(parameters)
        self.items = items_of(self.parameters.items)
        for role in self.parameters.roles:
            for report in role.reports:
                oracle_of(report.randomizer)

    def fit(self, messages: Any) -> LocalEstimate:
        """Decode messages.

        Parameters
        ----------
        messages : path, binary or text file, iterable of bytes or of text, ndarray of uint8, shape
        (n, message_bytes)
            Bytes as `Encoder.encode` returns them, or JSON lines: a line is a message as a base64
            string, or an object with it under "message".

        Notes
        -----
        One pass; O(message) time for each. Malformed messages are rejected and counted.
        """
        return self.decode(self.sketch(messages))

    def decode(self, sketch: Sketch) -> LocalEstimate:
        """Estimates from a sketch, or from a sum of sketches."""
        if sketch.fingerprint != self.parameters.fingerprint:
            raise InputError("the sketch is of other public parameters")
        return LocalEstimate(self.parameters, self.items, sketch)

    def empty(self) -> Sketch:
        """The sketch of no messages."""
        roles = self.parameters.roles
        arrays = [
            [np.zeros(oracle_of(report.randomizer).shape, np.int64) for report in role.reports]
            for role in roles
        ]
        return Sketch(self.parameters.fingerprint, [0] * len(roles), arrays)

    def sketch(self, messages: Any) -> Sketch:
        """The sketch of messages, as `fit` takes them."""
        found = self.empty()
        for block, rejected in _blocks(messages, self.parameters.message_bytes):
            found.rejected += rejected
            for start in range(0, len(block), _CHUNK):
                self._add(found, block[start : start + _CHUNK])
        return found

    def _add(self, sketch: Sketch, block: NDArray[np.uint8]) -> None:
        head = np.frombuffer(bytes([VERSION]) + self.parameters.fingerprint, np.uint8)
        fits = (block[:, : HEADER - 1] == head).all(axis=1)
        for number, role in enumerate(self.parameters.roles):
            mine = block[fits & (block[:, HEADER - 1] == number)]
            columns, good = _columns(role, mine)
            kept = int(good.sum())
            sketch.users[number] += kept
            sketch.rejected -= kept
            if kept:
                for report, array, numbers in zip(role.reports, sketch.arrays[number], columns):
                    oracle_of(report.randomizer).add(array, [column[good] for column in numbers])
        sketch.rejected += len(block)


def _columns(role: Role, block: NDArray[np.uint8]) -> tuple[list[list[NDArray[Any]]], Bools]:
    """Arrays of numbers for each report of a role, and which messages are valid, shape (n,)."""
    at = HEADER
    found = []
    good = (block[:, HEADER + role.n_bytes :] == 0).all(axis=1)
    for report in role.reports:
        size = report.randomizer.n_bytes
        numbers, inside = numbers_of(report.randomizer, block[:, at : at + size])
        at += size
        good &= inside
        if len(block):
            good &= oracle_of(report.randomizer).valid(numbers)
        found.append(numbers)
    return found, good


def numbers_of(
    randomizer: Randomizer, packed: NDArray[np.uint8]
) -> tuple[list[NDArray[Any]], Bools]:
    """The numbers of n packed outputs, one array each, and which outputs are within the limits."""
    at = 0
    inside = np.ones(len(packed), bool)
    found: list[NDArray[Any]] = []
    for limit in randomizer.limits:
        size = width(limit)
        raw = packed[:, at : at + size]
        at += size
        if size > 8:
            inside &= raw[:, 0] <= (limit - 1) >> 8 * (size - 1)  # limit is a power of two
            found.append(raw)
            continue
        wide = np.zeros((len(packed), 8), np.uint8)
        wide[:, 8 - size :] = raw
        number = wide.view(">u8")[:, 0].astype(np.uint64)
        if limit < 1 << 64:
            inside &= number < np.uint64(limit)
        found.append(number)
    return found, inside


def _blocks(messages: Any, size: int) -> Iterator[tuple[NDArray[np.uint8], int]]:
    """Messages of the right size as arrays (n, size), each with the number of all others."""
    if isinstance(messages, np.ndarray) and messages.dtype == np.uint8 and messages.ndim == 2:
        right = messages.shape[1] == size
        yield (
            (messages if right else np.empty((0, size), np.uint8)),
            (0 if right else len(messages)),
        )
        return
    if isinstance(messages, str | PathLike):
        with Path(messages).open("rb") as file:
            yield from _blocks(file, size)
        return
    if isinstance(messages, bytes | bytearray | memoryview) or not isinstance(messages, Iterable):
        raise InputError(
            "messages must be an iterable of messages, an open file or the path of one"
        )
    lines = hasattr(messages, "readline")
    source = iter(messages)
    while chunk := list(islice(source, _CHUNK)):
        if lines or not all(type(m) is bytes for m in chunk):
            chunk = [_message(m, lines) for m in chunk]
        right_size = [m for m in chunk if len(m) == size]
        yield (
            np.frombuffer(b"".join(right_size), np.uint8).reshape(-1, size),
            len(chunk) - len(right_size),
        )


def _message(given: object, line: bool) -> bytes:
    """A message as bytes, from bytes or a line of JSON; empty if it is neither."""
    if isinstance(given, bytes | bytearray | memoryview) and not line:
        return bytes(given)
    if not isinstance(given, str | bytes):
        return b""
    try:
        plain = json.loads(given)
        return base64.b64decode(
            plain["message"] if isinstance(plain, dict) else plain, validate=True
        )
    except (ValueError, KeyError, TypeError, RecursionError, binascii.Error):
        return b""
