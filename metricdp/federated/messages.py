"""Messages of a federated release: a line of JSON, 64-bit numbers, and a signature of 64 bytes.

An answer has 8 bytes for each count; an invitation 8 for each count of all earlier rounds, and
about 250 for each holder. Masks are pairwise, of one time, and cancel in the sum (Bonawitz et al.,
CCS 2017, Section 4.0.1): ChaCha20 streams, whose keys HKDF derives from a shared X25519 secret and
the hash of the invitation. Signatures are Ed25519.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import Ints
from metricdp.errors import InputError, need

_INFO = b"metricdp federated, mask, 1"


def _ciphers() -> tuple[Any, Any]:
    """The modules of Ed25519 and X25519 keys; raises MissingExtraError without cryptography."""
    need("federated release", "federated", "cryptography")
    from cryptography.hazmat.primitives.asymmetric import ed25519, x25519

    return ed25519, x25519


class Card(NamedTuple):
    """The public identity of a party.

    `sign`, `seal`: public keys of 32 bytes, Ed25519 for signatures and X25519 for masks.
    """

    name: str
    sign: bytes
    seal: bytes

    def to_dict(self) -> dict[str, str]:
        """JSON-ready form."""
        return {"name": self.name, "sign": self.sign.hex(), "seal": self.seal.hex()}

    @classmethod
    def from_dict(cls, record: dict[str, str]) -> Card:
        """The inverse of `to_dict`; raises KeyError, TypeError or ValueError for other content."""
        sign, seal = (bytes.fromhex(record[name]) for name in ("sign", "seal"))
        if len(sign) != 32 or len(seal) != 32 or not isinstance(record["name"], str):
            raise ValueError("no card")
        return cls(record["name"], sign, seal)


class Keys:
    """The secret keys of a party.

    `name`: by default the beginning of the public key; `sign`, `seal`: private keys of 32 bytes, by
    default new ones.
    """

    def __init__(
        self, name: str | None, sign: bytes | None = None, seal: bytes | None = None
    ) -> None:
        ed25519, x25519 = _ciphers()
        one, other = ed25519.Ed25519PrivateKey, x25519.X25519PrivateKey
        self._sign = one.generate() if sign is None else one.from_private_bytes(sign)
        self._seal = other.generate() if seal is None else other.from_private_bytes(seal)
        public = self._sign.public_key().public_bytes_raw(), self._seal.public_key()
        name = name or f"holder {public[0].hex()[:12]}"
        self.card = Card(name, public[0], public[1].public_bytes_raw())

    def to_dict(self) -> dict[str, str]:
        """Both private keys, for the party's own file."""
        own = self._sign.private_bytes_raw(), self._seal.private_bytes_raw()
        return {"sign": own[0].hex(), "seal": own[1].hex()}

    @classmethod
    def from_dict(cls, name: str, record: dict[str, str]) -> Keys:
        """The inverse of `to_dict`."""
        return cls(name, *(bytes.fromhex(record[one]) for one in ("sign", "seal")))

    def signature(self, text: bytes) -> bytes:
        """The signature of some bytes, 64 bytes."""
        return bytes(self._sign.sign(text))

    def mask(self, digest: bytes, others: Iterable[Card], n_values: int) -> NDArray[np.uint64]:
        """This holder's mask (n_values,): the masks of all holders sum to 0 modulo 2^64."""
        mask = np.zeros(n_values, np.uint64)
        for other in others:
            stream = self._stream(digest, other, n_values)
            mask += stream if self.card.seal < other.seal else -stream
        return mask

    def _stream(self, digest: bytes, other: Card, n_values: int) -> NDArray[np.uint64]:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        public = _ciphers()[1].X25519PublicKey.from_public_bytes(other.seal)
        try:
            shared = self._seal.exchange(public)
        except ValueError:
            raise InputError(f"the key of {other.name!r} is not valid") from None
        info = _INFO + b"".join(sorted((self.card.seal, other.seal)))
        key = HKDF(SHA256(), 32, salt=digest, info=info).derive(shared)
        stream = Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor()
        return np.frombuffer(stream.update(bytes(8 * n_values)), "<u8").astype(np.uint64)


def check_signature(card: Card, text: bytes, signature: bytes) -> None:
    """Raise InputError unless a text was signed with the card's key."""
    from cryptography.exceptions import InvalidSignature

    key = _ciphers()[0].Ed25519PublicKey.from_public_bytes(card.sign)
    try:
        key.verify(signature, text)
    except InvalidSignature:
        raise InputError(f"a message is not signed by {card.name!r}, or was changed") from None


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
