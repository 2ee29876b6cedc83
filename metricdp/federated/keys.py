"""Keys of holders, Ed25519 signatures, and pairwise one-time masks that cancel in the sum (Bonawitz
et al., CCS 2017, Section 4.0.1): ChaCha20 streams, whose keys HKDF derives from a shared X25519
secret and the hash of the invitation.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metricdp.errors import InputError, MissingExtraError

_INFO = b"metricdp federated, mask, 1"


def _ciphers() -> tuple[Any, Any]:
    """The modules of Ed25519 and X25519 keys; raises MissingExtraError without cryptography."""
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519, x25519
    except ImportError:
        raise MissingExtraError("federated release", "federated") from None
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
