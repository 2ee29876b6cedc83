"""The device's side: encodes an item as one randomized message.

A message consists of a version (1 byte), two bytes of the parameters' fingerprint, the role (1
byte), the reports of that role, and zeros up to the fixed size. Randomness comes from `secrets`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from secrets import randbelow
from typing import Any

from metricdp.errors import InputError
from metricdp.local.items import Items, items_of
from metricdp.local.parameters import VERSION, PublicParameters, fraction
from metricdp.local.randomizers import FrequencyRandomizer, Randomizer, TopVectors


class Encoder:
    """Encodes items as messages, each of which is epsilon-DP for its user, whoever sees it.

    `parameters`: the public parameters, or their JSON; `most_epsilon`: the device's own limit, by
    which parameters with a larger epsilon are refused.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(40), weight=None)
    >>> parameters = mdp.local.public_parameters(metric, epsilon=2, users=1000)
    >>> message = mdp.local.Encoder(parameters).encode(7)
    >>> len(message) == parameters.message_bytes <= 16
    True

    Notes
    -----
    **Privacy.** The role is drawn independently of the item. Given the role, a message is a list of
    independent reports, whose epsilons, exact rationals, add up to `epsilon` at most
    (`metricdp.local.parameters`). Each report is DP in its epsilon for every two inputs
    (`metricdp.local.randomizers`), so by composition the message is epsilon-DP for every two items,
    in the local model. The device computes all weights itself from the epsilons, which
    `most_epsilon` bounds; it trusts no other number of the server. The epsilons of several messages
    of one user add up.
    """

    def __init__(self, parameters: Any, *, most_epsilon: Any = None) -> None:
        self.parameters = PublicParameters.of(parameters)
        if most_epsilon is not None and self.parameters.epsilon > fraction(
            _plain(most_epsilon), "most_epsilon"
        ):
            raise InputError(
                f"these parameters would spend epsilon {self.parameters.epsilon} a message, more "
                f"than this device allows"
            )
        self._items = items_of(self.parameters.items)
        self._size = self.parameters.message_bytes
        self._head = bytes([VERSION]) + self.parameters.fingerprint
        self._shares = sum(role.share for role in self.parameters.roles)
        for role in self.parameters.roles:
            for report in role.reports:
                _check(report.randomizer, report.view, self._items)
                report.randomizer.favored  # noqa: B018  # computed once; raises now if epsilon is out of range

    @property
    def epsilon(self) -> Fraction:
        """Most that a message spends."""
        return self.parameters.epsilon

    def encode(self, item: Any) -> bytes:
        """One message for an item: an id of the finite universe, or d coordinates."""
        return self._encode(item, randbelow)

    def _encode(self, item: Any, below: Callable[[int], int]) -> bytes:
        views, vector = self._items.values(item)
        return self._message(views, vector, below)

    def _message(self, views: Sequence[int], vector: Any, below: Callable[[int], int]) -> bytes:
        """A message of a random role; `below`: random integers, as `secrets.randbelow`."""
        number = 0
        roles = self.parameters.roles
        if len(roles) > 1:  # draw a role in proportion to the shares
            rest = below(self._shares) - roles[0].share
            while rest >= 0:
                number += 1
                rest -= roles[number].share
        parts = [self._head, bytes([number])]
        for report in roles[number].reports:
            randomizer = report.randomizer
            view = views[report.view]
            value = (view, vector) if isinstance(randomizer, TopVectors) else view
            parts.append(randomizer.pack(randomizer.draw(value, below)))
        return b"".join(parts).ljust(self._size, b"\0")


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, float | Fraction) else value


def _check(randomizer: Randomizer, view: int, items: Items) -> None:
    """Raise InputError unless a report is about an existing view and covers its whole domain."""
    if view >= len(items.domains):
        raise InputError("a report is about a view that these items do not have")
    if isinstance(randomizer, TopVectors):
        if (
            items.dimension != randomizer.dimension
            or 1 << randomizer.bucket_bits < items.domains[view]
        ):
            raise InputError(
                "a vector report needs the points' dimension, and bits for all buckets"
            )
    elif isinstance(randomizer, FrequencyRandomizer) and randomizer.domain < items.domains[view]:
        raise InputError("a report's domain must hold all values of its view")
