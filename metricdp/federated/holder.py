"""A holder of private records, who answers invitations to federated releases.

**Privacy.** A round is answered once: the ledger is charged before a record is read, the answer is
saved before it is returned, and the same invitation gets the same bytes again.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Any

from metricdp.accounting import Ledger
from metricdp.arguments import file_path
from metricdp.atomic import durable_file, taking_turns
from metricdp.errors import InputError
from metricdp.federated.course import Agreement, Course
from metricdp.federated.messages import Answer, Card, Invitation, Keys, opened_card, signed_card
from metricdp.interruption import held
from metricdp.privacy import PrivateDemand, contribute
from metricdp.running.charging import check_private
from metricdp.unique import Unique

_FORMATS = ("metricdp holder, 1", "metricdp holder, 2")
"""Versions that are read; the first has no checksum."""


class Holder(Unique):
    """A holder of private records, who takes part in federated releases.

    Parameters
    ----------
    demand : PrivateDemand
        The records held here. If the unit is a user, no user may have records at other holders.
    key : path, optional
        Private file of the holder's secret keys and last answers, created if missing. Without a
        file they are lost with this object.
    name : str, optional
        Public name, unique in a study; by default that of the file, if there is one.
    ledger : Ledger, optional
        Is charged; by default a fresh one of the first release's price, beside the file of keys.
    peers : iterable of bytes, optional
        Cards of all other holders, received from themselves: invitations with others are refused.

    Raises
    ------
    InputError, MissingExtraError
        A bad argument; a damaged file; cryptography is not installed.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> holder = mdp.federated.Holder(mdp.PrivateDemand(metric, [1] * 400), name="North hospital")
    >>> holder.name, len(holder.card) < 400
    ('North hospital', True)
    """

    _why = "a copy would answer a round twice"

    def __init__(
        self,
        demand: PrivateDemand,
        key: str | PathLike[str] | None = None,
        *,
        name: str | None = None,
        ledger: Ledger | None = None,
        peers: Iterable[bytes] | None = None,
    ) -> None:
        check_private(demand)
        if demand.caps is not None or demand.weight_units != 1 or demand.part is not None:
            raise InputError(
                "several holders add up records, or users with max_contributions: not caps, shares "
                "or parts of a split demand"
            )
        if ledger is not None and not isinstance(ledger, Ledger):
            raise InputError(f"ledger must be a Ledger, got {type(ledger).__name__}")
        self._demand, self._ledger = demand, ledger
        self._universe: Any = demand.universe
        self._file = None if key is None else HolderFile(file_path(key, "key"))
        self._runs: dict[str, dict[str, str]] = {}
        self._keys = Keys(name) if self._file is None else self._file.keys(name)
        self._peers = None if peers is None else {opened_card(peer) for peer in peers}

    @property
    def name(self) -> str:
        """The holder's public name."""
        return self._keys.card.name

    @property
    def card(self) -> bytes:
        """Name and public keys, signed, for the coordinator and, if possible, all other holders."""
        return signed_card(self._keys)

    def answer(self, invitation: bytes) -> bytes:
        """Charge the ledger, count, add a share of the noise and a mask, and sign.

        Parameters
        ----------
        invitation : bytes
            The message of `Coordinator.invite`.

        Returns
        -------
        bytes
            Eight bytes for each count and about 300; useless without the answers of all others.

        Raises
        ------
        InputError
            The invitation is damaged, of another universe or unit, contradicts earlier rounds, asks
            for what the method does not, or its answer was lost. Nothing was charged or read.
        BudgetError, JournalError
            The ledger does not hold the price.

        Examples
        --------
        >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
        >>> demands = [mdp.PrivateDemand(metric, [v] * 4000) for v in (1, 7)]
        >>> holders = [mdp.federated.Holder(demand) for demand in demands]
        >>> cards = [holder.card for holder in holders]
        >>> coordinator = mdp.federated.Coordinator(metric, cards, epsilon=1)
        >>> answer = holders[0].answer(coordinator.invite())
        >>> len(answer) < 400, answer == holders[0].answer(coordinator.invite())
        (True, True)
        """
        asked = Invitation.parsed(invitation)
        # an interruption waits until the answer, which was charged, is saved
        with self._locked(), held():
            run = self._runs.get(asked.study, {})
            if run.get("invitation") == asked.digest.hex():
                return base64.b64decode(run["answer"])
            agreement = self._agreed(asked, run)
            answer = self._answered(asked, agreement)
            self._runs[asked.study] = {
                "invitation": asked.digest.hex(),
                "terms": _terms(asked),
                "numbers": f"{len(asked.numbers)} {_sha(asked.numbers)}",
                "answer": base64.b64encode(answer).decode(),
            }
            if self._file is not None:
                self._file.write(self._keys, self._runs)
            return answer

    def check(self, invitation: bytes) -> None:
        """Check that an invitation is intact and for this holder, universe and unit; charge and
        read nothing.

        Raises
        ------
        InputError
            As `answer`.
        """
        asked = Invitation.parsed(invitation)
        with self._locked():
            self._agreed(asked, self._runs.get(asked.study, {}))

    def _agreed(self, asked: Invitation, run: dict[str, str]) -> Agreement:
        """The agreement of an invitation, checked against this holder and the earlier rounds."""
        protects = self._demand.protects
        agreement = Agreement.read(asked.agreement, self._universe)
        if (agreement.unit, agreement.max_contributions) != protects[:2]:
            raise InputError(
                f"the invitation is about {agreement.unit}s of up to "
                f"{agreement.max_contributions} records; this demand protects {protects}"
            )
        mine = [i for i, card in enumerate(asked.holders) if card == self._keys.card]
        if len(asked.holders) != agreement.holders or mine != [
            i for i in asked.present if i in mine
        ]:
            raise InputError("the invitation does not list its holders")
        if not mine:
            raise InputError(f"{self.name!r}, with this key, is not among those who are asked")
        others = set(asked.holders) - {self._keys.card}
        if self._peers is not None and others != self._peers - {self._keys.card}:
            raise InputError("the invitation lists others than the cards in peers=")
        if run:
            length, known = run["numbers"].split()
            if run["terms"] != _terms(asked) or known != _sha(asked.numbers[: int(length)]):
                raise InputError("the invitation does not continue the one answered before")
        return agreement

    def _answered(self, asked: Invitation, agreement: Agreement) -> bytes:
        """A new answer to a checked invitation."""
        course = Course.of(self._universe, agreement)
        step = course.at(asked.past)
        if step.asked is None or step.fingerprint != asked.question:
            raise InputError(
                "the method asks something else in this round, as it runs here: do all parties "
                "have the same versions of metricdp, NumPy and Numba?"
            )
        query, piece = step.query, agreement.piece(step.asked.share)
        noise = course.shares(step.asked, len(asked.present))
        card = self._keys.card
        ledger = self._paying(agreement)
        self._demand._check_relation("add-remove")
        if ledger.neighboring != "add-remove":
            raise InputError("several holders need ledgers of add-remove neighbors")
        name = f"{asked.study}-{_sha(card.sign + _terms(asked).encode())[:24]}"
        turn = (asked.round, asked.attempt)
        budget = ledger.charge_step(
            name, agreement.cost, piece, turn, self._demand.protects, "federated"
        )
        others = [asked.holders[i] for i in asked.present if asked.holders[i] != card]
        values = contribute(
            self._demand,
            query,
            piece,
            budget,
            holders=noise.holders,
            honest=len(asked.present) - agreement.colluding,
            mask=self._keys.mask(asked.digest, others, query.n_values),
        )
        number = asked.holders.index(card)
        return Answer(asked.digest.hex(), number, values).signed(self._keys)

    def _paying(self, agreement: Agreement) -> Ledger:
        if self._ledger is None:
            price = agreement.epsilon, agreement.delta
            if self._file is None:
                self._ledger = Ledger(*price)
            else:
                journal = self._file.path.with_name(self._file.path.name + ".ledger")
                here = journal.exists()
                self._ledger = Ledger.open(journal) if here else Ledger(*price, journal=journal)
        return self._ledger

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the file's lock, with the answers as other processes left them."""
        if self._file is None:
            yield
            return
        with taking_turns(self._file.path):
            self._runs = self._file.read()[1]
            yield

    def __repr__(self) -> str:
        return f"Holder({self.name!r})"


class HolderFile:
    """The file of a holder: its secret keys, and its last answer in each study."""

    def __init__(self, path: Path) -> None:
        self.path = Path(os.path.realpath(path))

    def keys(self, name: str | None) -> Keys:
        """The keys in the file, which is created if missing."""
        with taking_turns(self.path):
            if not self.path.exists():
                keys = Keys(name or self.path.stem)
                self.write(keys, {})
                return keys
            keys, _ = self.read()
        if name is not None and keys.card.name != name:
            raise InputError(f"{self.path}: is the key of another holder than {name!r}")
        return keys

    def read(self) -> tuple[Keys, dict[str, dict[str, str]]]:
        """The keys, and the last answer in each study."""
        with suppress(ValueError, KeyError, TypeError, AttributeError):
            record = json.loads(self.path.read_bytes())
            found = record.pop("check", None)
            checks = dict(zip(_FORMATS, (None, _check(record))))
            keys, runs = Keys.from_dict(record["name"], record), record["runs"]
            texts = [record["name"]]
            for run in runs.values():
                length, known = run["numbers"].split()
                texts += [str(int(length)), known, run["invitation"], run["terms"]]
                base64.b64decode(run["answer"], validate=True)
            if checks[record["format"]] == found and all(text.encode() for text in texts):
                return keys, runs
        raise InputError(f"{self.path}: is not the key of a holder, or is damaged")

    def write(self, keys: Keys, runs: dict[str, dict[str, str]]) -> None:
        """Write the file atomically."""
        record = {"format": _FORMATS[-1], "name": keys.card.name, **keys.to_dict(), "runs": runs}
        with durable_file(self.path) as file:
            file.write(json.dumps({**record, "check": _check(record)}).encode())


def _check(record: dict[str, Any]) -> str:
    """Checksum of the file's content: a flipped bit must not make a holder answer twice."""
    return _sha(json.dumps(record).encode())


def _sha(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def _terms(asked: Invitation) -> str:
    """Hash of the parts of an invitation that are the same in all rounds."""
    cards: tuple[Card, ...] = (asked.coordinator, *asked.holders)
    record = [asked.agreement, [card.to_dict() for card in cards]]
    return _sha(json.dumps(record, sort_keys=True).encode())
