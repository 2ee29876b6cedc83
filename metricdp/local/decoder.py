"""The server's side: decodes messages to estimates, in one pass and constant memory."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Iterator
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import Bools
from metricdp.errors import InputError
from metricdp.local.estimate import LocalEstimate
from metricdp.local.items import items_of
from metricdp.local.oracles import Sketch, oracle_of
from metricdp.local.parameters import HEADER, VERSION, PublicParameters, Role
from metricdp.local.randomizers import Randomizer, width

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
