"""Keys of holders, signatures, and one-time masks that cancel: ChaCha20 under a key that HKDF
derives from an X25519 secret and the hash of the invitation (Bonawitz et al., CCS 2017, section
4.0.1).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metricdp.errors import InputError, MissingExtraError

_INFO = b"metricdp federated, mask, 1"


def _ciphers() -> tuple[Any, Any]:
    """The two modules of key pairs, if the extra is there."""
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519, x25519
    except ImportError:
        raise MissingExtraError("federated release", "federated") from None
    return ed25519, x25519


class Card(NamedTuple):
    """Who somebody is, public: a name, and what checks signatures and seals masks.

    `sign`, `seal`: public keys of Ed25519 and X25519, 32 bytes each.
    """

    name: str
    sign: bytes
    seal: bytes

    def to_dict(self) -> dict[str, str]:
        """JSON-ready form."""
        return {"name": self.name, "sign": self.sign.hex(), "seal": self.seal.hex()}

    @classmethod
    def from_dict(cls, record: dict[str, str]) -> Card:
        """The card whose `to_dict` this is; KeyError, TypeError or ValueError if it is none."""
        sign, seal = (bytes.fromhex(record[name]) for name in ("sign", "seal"))
        if len(sign) != 32 or len(seal) != 32 or not isinstance(record["name"], str):
            raise ValueError("no card")
        return cls(record["name"], sign, seal)


class Keys:
    """Somebody's secret keys.

    `name`: by default the beginning of the public key, which nobody else has; `sign`, `seal`: as
    `secrets` tells them; new ones by default.
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
        """Both private keys, for the holder's own file."""
        own = self._sign.private_bytes_raw(), self._seal.private_bytes_raw()
        return {"sign": own[0].hex(), "seal": own[1].hex()}

    @classmethod
    def from_dict(cls, name: str, record: dict[str, str]) -> Keys:
        """The keys that `to_dict` wrote."""
        return cls(name, *(bytes.fromhex(record[one]) for one in ("sign", "seal")))

    def signature(self, text: bytes) -> bytes:
        """Of some bytes: 64 bytes."""
        return bytes(self._sign.sign(text))

    def mask(self, digest: bytes, others: Iterable[Card], n_values: int) -> NDArray[np.uint64]:
        """This holder's mask: with those of all others, 0 modulo 2^64."""
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
            raise InputError(f"the key of {other.name!r} is none") from None
        info = _INFO + b"".join(sorted((self.card.seal, other.seal)))
        key = HKDF(SHA256(), 32, salt=digest, info=info).derive(shared)
        stream = Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor()
        return np.frombuffer(stream.update(bytes(8 * n_values)), "<u8").astype(np.uint64)


def check_signature(card: Card, text: bytes, signature: bytes) -> None:
    """Refuse what was not signed by whom it names."""
    from cryptography.exceptions import InvalidSignature

    key = _ciphers()[0].Ed25519PublicKey.from_public_bytes(card.sign)
    try:
        key.verify(signature, text)
    except InvalidSignature:
        raise InputError(f"a message is not signed by {card.name!r}, or was changed") from None
