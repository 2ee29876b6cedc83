"""Messages of a federated release: a line of JSON, 64-bit numbers, and a signature of 64 bytes.

An answer has 8 bytes for each count; an invitation 8 for each count of all earlier rounds, and
about 250 for each holder.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import Ints
from metricdp.errors import InputError
from metricdp.federated.keys import Card, Keys, check_signature

_FIRST = b"metricdp federated, 1\n"
_SIGNED = 64
_LONGEST = 1 << 20
"""Most bytes of the line of JSON."""
_NUMBERS = 1 << 30  # most bytes of an answer's numbers
_DAMAGE = (KeyError, TypeError, ValueError, OverflowError, AttributeError, RecursionError)
Counts = Ints


class Past(NamedTuple):
    """A finished round: noisy counts, number of holders that answered, number of the attempt."""

    values: Counts
    holders: int
    attempt: int


@dataclass(frozen=True, eq=False)
class Invitation:
    """An invitation to a round: random name of the `study`, the `agreement`, all `holders`, indices
    of those `present`, all `past` rounds, the `attempt`, and the fingerprint of the `question`.
    """

    study: str
    coordinator: Card
    agreement: dict[str, Any]
    holders: tuple[Card, ...]
    present: tuple[int, ...]
    past: tuple[Past, ...]
    attempt: int
    question: str

    @property
    def round(self) -> int:
        """Number of the round, from 1."""
        return len(self.past) + 1

    @cached_property
    def header(self) -> bytes:
        """The first two lines: all but numbers and signature."""
        record = {
            "kind": "invitation",
            "study": self.study,
            "coordinator": self.coordinator.to_dict(),
            "agreement": self.agreement,
            "holders": [card.to_dict() for card in self.holders],
            "present": list(self.present),
            "past": [[len(one.values), one.holders, one.attempt] for one in self.past],
            "attempt": self.attempt,
            "question": self.question,
        }
        return _text(record, self.numbers)

    @cached_property
    def numbers(self) -> bytes:
        """The noisy counts of all past rounds, as bytes."""
        return b"".join(one.values.astype("<i8").tobytes() for one in self.past)

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the transcript so far."""
        return hashlib.sha256(self.header + self.numbers).digest()

    def again(self, present: tuple[int, ...]) -> Invitation:
        """An invitation to repeat the round."""
        return replace(self, present=present, attempt=self.attempt + 1)

    def signed(self, keys: Keys) -> bytes:
        """The message, signed with these keys."""
        return _signed(self.header + self.numbers, keys)

    @classmethod
    def parsed(cls, message: bytes) -> Invitation:
        """The invitation in a message; raises InputError if it is damaged or not signed."""
        record, numbers, text = _parsed(message, "invitation")
        with _readable("invitation"):
            values = np.frombuffer(numbers, "<i8").astype(np.int64)
            sizes = [int(size) for size, _, _ in record["past"]]
            if sum(sizes) != len(values) or min(sizes, default=1) < 1:
                raise ValueError
            parts = np.split(values, np.cumsum(sizes)[:-1]) if sizes else []
            found = cls(
                str(record["study"]),
                Card.from_dict(record["coordinator"]),
                dict(record["agreement"]),
                tuple(Card.from_dict(one) for one in record["holders"]),
                tuple(int(one) for one in record["present"]),
                tuple(Past(v, int(n), int(a)) for v, (_, n, a) in zip(parts, record["past"])),
                int(record["attempt"]),
                str(record["question"]),
            )
            if found.header + found.numbers != text or not found._sound():
                raise ValueError
        check_signature(found.coordinator, text, message[-_SIGNED:])
        return found

    def _sound(self) -> bool:
        """Whether keys are distinct, indices valid, and numbers in range."""
        n = len(self.holders)
        keys = {key for card in self.holders for key in (card.sign, card.seal)}
        present = sorted(set(self.present)) == list(self.present)
        here = all(0 <= one < n for one in self.present)
        counted = all(one.attempt >= 1 and 2 <= one.holders <= n for one in self.past)
        return len(keys) == 2 * n and present and here and counted and self.attempt >= 1


class Answer(NamedTuple):
    """A holder's answer: its counts plus noise plus mask, modulo 2^64.

    `invitation`: hash of the invitation; `holder`: index among its holders.
    """

    invitation: str
    holder: int
    values: NDArray[np.uint64]

    def signed(self, keys: Keys) -> bytes:
        """The message, signed with these keys."""
        numbers = self.values.astype("<u8").tobytes()
        record = {"kind": "answer", "invitation": self.invitation, "holder": self.holder}
        return _signed(_text(record, numbers) + numbers, keys)

    @classmethod
    def parsed(cls, message: bytes, invitation: Invitation) -> Answer:
        """The answer in a message; raises InputError if it is not a signed answer to the
        invitation.
        """
        record, numbers, text = _parsed(message, "answer")
        with _readable("answer"):
            values = np.frombuffer(numbers, "<u8").astype(np.uint64)
            found = cls(str(record["invitation"]), int(record["holder"]), values)
        if found.holder not in invitation.present:
            raise InputError("an answer is of a holder who was not invited")
        card = invitation.holders[found.holder]
        if found.invitation != invitation.digest.hex():
            raise InputError(f"the answer of {card.name!r} is of another round, attempt or study")
        check_signature(card, text, message[-_SIGNED:])
        return found


def signed_card(keys: Keys) -> bytes:
    """A holder's card as signed bytes, about 300."""
    return _signed(_text({"kind": "card", **keys.card.to_dict()}, b""), keys)


def opened_card(message: bytes) -> Card:
    """The card in a message; raises InputError if it is damaged or not signed."""
    record, _, text = _parsed(message, "card")
    with _readable("card"):
        card = Card.from_dict(record)
    check_signature(card, text, message[-_SIGNED:])
    return card


@contextmanager
def _readable(kind: str) -> Iterator[None]:
    """Report errors of parsing as damage of the message."""
    try:
        yield
    except InputError:
        raise
    except _DAMAGE:
        raise InputError(f"this {kind} is damaged: ask for it again") from None


def _text(record: dict[str, Any], numbers: bytes) -> bytes:
    line = json.dumps({**record, "bytes": len(numbers)}, sort_keys=True, separators=(",", ":"))
    return _FIRST + line.encode() + b"\n"


def _signed(text: bytes, keys: Keys) -> bytes:
    return text + keys.signature(text)


def _parsed(message: bytes, kind: str) -> tuple[dict[str, Any], bytes, bytes]:
    """The JSON record of a message, its numbers, and the signed text."""
    if not isinstance(message, bytes) or not message.startswith(_FIRST):
        raise InputError(f"this is no {kind} of this version of metricdp.federated")
    text, start = message[:-_SIGNED], len(_FIRST)
    end = text.find(b"\n", start, start + _LONGEST)
    with _readable(kind):
        record = json.loads(text[start:end]) if end >= 0 else {}
        if record["kind"] != kind:
            raise InputError(f"this is not an {kind} but of kind {str(record['kind'])[:20]!r}")
        numbers = text[end + 1 :]
        if len(numbers) != record["bytes"] or len(numbers) % 8 or len(numbers) > _NUMBERS:
            raise ValueError
    return record, numbers, text
