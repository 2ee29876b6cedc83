"""Public parameters of one collection, shared by devices and server as versioned JSON."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any

from metricdp.errors import InputError
from metricdp.local.randomizers import KINDS, MOST_DOMAIN, Randomizer

FORMAT = "metricdp local parameters"
VERSION = 1
TRUST = ("one_round_local", "one_round_shuffle")
HEADER = 4
"""Bytes before a message's reports: version, two bytes of fingerprint, role."""
_MOST_ROLES = 64  # bounds a device's time, as it checks all roles
_MOST_SHARE = 1 << 20  # bounds the sum of shares on a device
_MOST_CANDIDATES = 1 << 16  # bounds a device's time, as it generates as many vectors
_MOST_DIMENSION = 4096  # bounds a device's memory for these vectors


@dataclass(frozen=True)
class Report:
    """One randomized report of a message: its randomizer, and the index of the reported view."""

    randomizer: Randomizer
    view: int

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        kind, held = self.randomizer.kind, vars(self.randomizer)
        options = {name: value for name, value in held.items() if name in _OPTIONS[kind]}
        epsilon = str(self.randomizer.epsilon)
        return {"kind": kind, **options, "epsilon": epsilon, "view": self.view}

    @classmethod
    def of(cls, plain: Any) -> Report:
        """The inverse of `to_dict`, which checks every number."""
        rule = "a report needs a kind, an epsilon, a view and the options of its kind"
        if not isinstance(plain, dict) or plain.get("kind") not in KINDS:
            raise InputError(f"{rule}; kinds: {', '.join(KINDS)}")
        names = _OPTIONS[plain["kind"]]
        if set(plain) != {"kind", "epsilon", "view", *names}:
            raise InputError(f"{rule}, for {plain['kind']}: {', '.join(names)}")
        options = {name: whole(plain[name], name, *_OPTIONS[plain["kind"]][name]) for name in names}
        if options.get("size", 1) > options.get("domain", MOST_DOMAIN) - 1 or options.get(
            "top", 1
        ) >= options.get("candidates", 2):
            raise InputError(
                f"a report of the kind {plain['kind']} must leave something that is not favored"
            )
        return cls(
            KINDS[plain["kind"]](fraction(plain["epsilon"], "epsilon"), **options),
            whole(plain["view"], "view", 0, 256),
        )


_OPTIONS: dict[str, dict[str, tuple[int, int]]] = {
    "k-rr": {"domain": (2, MOST_DOMAIN)},
    "local-hashing": {"domain": (2, MOST_DOMAIN), "log_buckets": (1, 16)},
    "subset": {"domain": (2, 1 << 16), "size": (1, 1 << 16)},
    "top-vectors": {
        "dimension": (1, _MOST_DIMENSION),
        "candidates": (2, _MOST_CANDIDATES),
        "top": (1, _MOST_CANDIDATES),
        "bucket_bits": (0, 24),
    },
}


@dataclass(frozen=True)
class Role:
    """A kind of message: the reports in it, and the share of users who send it."""

    share: int
    reports: tuple[Report, ...]

    @property
    def epsilon(self) -> Fraction:
        """Sum of the reports' epsilons."""
        return sum((report.randomizer.epsilon for report in self.reports), Fraction(0))

    @property
    def n_bytes(self) -> int:
        """Bytes of the reports."""
        return sum(report.randomizer.n_bytes for report in self.reports)


@dataclass(frozen=True)
class PublicParameters:
    """The public parameters of one collection. Nothing in them depends on any user.

    `trust`: "one_round_local", or "one_round_shuffle" with a trusted shuffler between users and
    server; `epsilon`: most that each message spends, in the local model; `users`: a public guess of
    the number of users, by which sizes were chosen; `delta`: with a shuffler, the delta of the
    receipt's guarantee; `items`: the universe and the views of an item (`metricdp.local.items`);
    `roles`: each user draws one at random, in proportion to the shares.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> pub = mdp.local.public_parameters(metric, epsilon=4, users=4000, k=2)
    >>> again = mdp.local.PublicParameters.of(pub.to_json())
    >>> again.message_bytes == pub.message_bytes, again.users
    (True, 4000)
    """

    trust: str
    epsilon: Fraction
    users: int
    delta: Fraction
    items: dict[str, Any]
    roles: tuple[Role, ...]

    def __post_init__(self) -> None:
        full = bool(self.roles) and all(role.reports for role in self.roles)
        if not full or max(role.epsilon for role in self.roles) > self.epsilon:
            raise InputError(
                "every role needs reports, whose epsilons add up to no more than the message's "
                "epsilon"
            )

    @property
    def message_bytes(self) -> int:
        """Size of every message."""
        return HEADER + max(role.n_bytes for role in self.roles)

    @cached_property
    def fingerprint(self) -> bytes:
        """Two bytes by which a decoder rejects messages of other parameters."""
        return sha256(self.to_json().encode()).digest()[:2]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "trust": self.trust,
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "users": self.users,
            "message_bytes": self.message_bytes,
            "roles": [
                {"share": role.share, "reports": [report.to_dict() for report in role.reports]}
                for role in self.roles
            ],
            "items": self.items,
        }

    def to_json(self) -> str:
        """One line of JSON, equal for equal parameters."""
        try:
            return json.dumps(
                self.to_dict(), ensure_ascii=False, allow_nan=False, separators=(",", ":")
            )
        except (TypeError, ValueError):
            raise InputError(
                "ids must be text, numbers or tuples of them to be written into public parameters"
            ) from None

    @classmethod
    def load(cls, path: str | PathLike[str]) -> PublicParameters:
        """Read the parameters in a file written by `to_json`."""
        return cls.of(Path(path).read_bytes())

    @classmethod
    def of(cls, given: Any) -> PublicParameters:
        """Parameters from an object of this class, its JSON, or its `to_dict`."""
        if isinstance(given, cls):
            return given
        if isinstance(given, str | bytes):
            try:
                given = json.loads(given)
            except ValueError:
                raise InputError(
                    "public parameters must be the JSON that PublicParameters.to_json writes"
                ) from None
        if not isinstance(given, dict) or given.get("format") != FORMAT:
            raise InputError(f'public parameters must be a JSON object with "format": "{FORMAT}"')
        if given.get("version") != VERSION:
            raise InputError(
                f"this version of metricdp reads version {VERSION} of public parameters"
            )
        if given.get("trust") not in TRUST:
            raise InputError(f"trust must be one of {', '.join(TRUST)}")
        roles: Any = given.get("roles")
        items: Any = given.get("items")
        known = isinstance(roles, list) and isinstance(items, dict)
        if not known or not 0 < len(roles) <= _MOST_ROLES:
            raise InputError(f"public parameters need items and 1 to {_MOST_ROLES} roles")
        users = whole(given.get("users"), "users", 1, 1 << 50)
        delta = fraction(given.get("delta"), "delta")
        epsilon = fraction(given.get("epsilon"), "epsilon")
        found = cls(given["trust"], epsilon, users, delta, items, tuple(map(_role, roles)))
        if given.get("message_bytes") != found.message_bytes:
            raise InputError("message_bytes is not the size of these messages")
        return found


def _role(plain: Any) -> Role:
    if (
        not isinstance(plain, dict)
        or set(plain) != {"share", "reports"}
        or not isinstance(plain["reports"], list)
    ):
        raise InputError("a role needs a share and a list of reports")
    return Role(
        whole(plain["share"], "share", 1, _MOST_SHARE), tuple(map(Report.of, plain["reports"]))
    )


def whole(value: Any, name: str, least: int, most: int) -> int:
    """An integer within bounds."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise InputError(f"{name} must be a whole number from {least:,} to {most:,}")
    return value


def fraction(value: Any, name: str) -> Fraction:
    """A non-negative number from text, such as "1/2" or "0.5", or from an integer."""
    number = None
    read = isinstance(value, str | int) and not isinstance(value, bool)
    if read and len(str(value)) <= 200 and "e" not in str(value).lower():
        with suppress(ValueError, ZeroDivisionError):
            number = Fraction(value)
    if number is None or number < 0:
        raise InputError(f'{name} must be a number as text, such as "2" or "1/2"')
    return number
