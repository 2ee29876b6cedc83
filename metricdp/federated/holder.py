"""One holder of records, who answers invitations about them.

**Privacy.** A round is answered once: the ledger pays before a record is read, the answer is on
disk before it is sent, and the same invitation gets the same bytes again.
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
from metricdp.federated.keys import Card, Keys
from metricdp.federated.messages import Answer, Invitation, opened_card, signed_card
from metricdp.interruption import held
from metricdp.privacy import PrivateDemand, contribute
from metricdp.running.charging import check_private
from metricdp.unique import Unique

_FORMATS = ("metricdp holder, 1", "metricdp holder, 2")
"""The first had no checksum; it is read, and gone on from."""


class Holder(Unique):
    """A holder of private records, who takes part in releases with others.

    Parameters
    ----------
    demand : PrivateDemand
        The records held here. Whose unit is a user must be one at this holder alone.
    key : path, optional
        File of the holder's secret keys and last answers, for its owner alone; made if there is
        none. Without, all of it is gone with this object.
    name : str, optional
        By which others know it: public, and no two of a study have the same. That of the file by
        default, where there is one.
    ledger : Ledger, optional
        What pays; by default one of just what the first release costs, beside the file of keys.
    peers : iterable of bytes, optional
        Cards of all the others, that came from themselves: an invitation with others is refused.

    Raises
    ------
    InputError, MissingExtraError
        A wrong argument; a damaged file; cryptography is not installed.

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
        """By which others know it."""
        return self._keys.card.name

    @property
    def card(self) -> bytes:
        """Name and public keys, signed: for the coordinator and, best, all the others."""
        return signed_card(self._keys)

    def answer(self, invitation: bytes) -> bytes:
        """Pay, count, add a share of noise and a mask, sign.

        Parameters
        ----------
        invitation : bytes
            As `Coordinator.invite` made it.

        Returns
        -------
        bytes
            8 for each count, and some 300: worth nothing without those of all others.

        Raises
        ------
        InputError
            It is damaged, is not about this universe and unit, goes on from another course, asks
            what the method does not ask, or was answered before and the answer is gone. Nothing was
            charged or read.
        BudgetError, JournalError
            The ledger does not hold it.

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
        with self._turn(), held():  # an interruption waits until what was paid for is saved
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
        """Refuse an invitation that is damaged, or not about this holder, universe and unit; pay
        and read nothing.

        Raises
        ------
        InputError
            As `answer`.
        """
        asked = Invitation.parsed(invitation)
        with self._turn():
            self._agreed(asked, self._runs.get(asked.study, {}))

    def _agreed(self, asked: Invitation, run: dict[str, str]) -> Agreement:
        """Check what is public: the invitation, against this holder and what it knows."""
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
                raise InputError("the invitation does not go on from the one answered before it")
        return agreement

    def _answered(self, asked: Invitation, agreement: Agreement) -> bytes:
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
    def _turn(self) -> Iterator[None]:
        """Alone with the file, and with what it holds now."""
        if self._file is None:
            yield
            return
        with taking_turns(self._file.path):
            self._runs = self._file.read()[1]
            yield

    def __repr__(self) -> str:
        return f"Holder({self.name!r})"


class HolderFile:
    """The file of a holder: secret keys, and the last answer of each study."""

    def __init__(self, path: Path) -> None:
        self.path = Path(os.path.realpath(path))

    def keys(self, name: str | None) -> Keys:
        """Those of the file; new ones, if there is none."""
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
        """What it holds: keys, and the last answer of each study."""
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
        """Put it on disk, whole or not at all."""
        record = {"format": _FORMATS[-1], "name": keys.card.name, **keys.to_dict(), "runs": runs}
        with durable_file(self.path) as file:
            file.write(json.dumps({**record, "check": _check(record)}).encode())


def _check(record: dict[str, Any]) -> str:
    """Checksum of all of a file: a changed bit must not make a holder forget an answer."""
    return _sha(json.dumps(record).encode())


def _sha(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def _terms(asked: Invitation) -> str:
    """Hash of what stays the same in all rounds."""
    cards: tuple[Card, ...] = (asked.coordinator, *asked.holders)
    record = [asked.agreement, [card.to_dict() for card in cards]]
    return _sha(json.dumps(record, sort_keys=True).encode())
