"""Answers from a receipt to the questions about a publication that software can answer.

Facts that an old or partial receipt lacks are listed in `Facts.missing`, never invented.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from metricdp.accounting.binding import Policy
from metricdp.errors import InputError
from metricdp.provenance import KEYS
from metricdp.report.assets import words
from metricdp.report.words import exactly, figures_of, show_number

UNKNOWN = "NOT ON THE RECEIPT"
"""Marks facts that the receipt should state but does not."""

_RECEIPT = ("epsilon_exact", "delta_exact", "neighboring", "unit", "composition", "mechanisms")

_DEVICES = "integer coins of each user's device, two exact weights"


@dataclass(frozen=True)
class Facts:
    """The facts of a receipt as texts.

    `receipt`, `made`: the receipt's JSON form, and the circumstances on it; `audit`: JSON of
    ``python -m metricdp.audit --json``; `missing`: facts that the receipt lacks; `evaluation`: JSON
    of a private evaluation of the published result.
    """

    receipt: Mapping[str, Any]
    made: Mapping[str, Any]
    audit: Mapping[str, Any] | None = None
    missing: list[str] = field(default_factory=list)
    evaluation: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, receipt: Any, audit: Any = None, evaluation: Any = None) -> Facts:
        """Read a receipt's JSON form."""
        lacks = [] if isinstance(receipt, Mapping) else ["everything"]
        lacks = lacks or [name for name in _RECEIPT if name not in receipt]
        if lacks or not isinstance(receipt["mechanisms"], list):
            raise InputError(f"this is no receipt of metricdp: it lacks {', '.join(lacks)}")
        if audit is not None and not _is_audit(audit):
            raise InputError("this is no result of `python -m metricdp.audit --json`")
        facts = receipt.get("made")
        made = facts if isinstance(facts, Mapping) else {}
        missing = [f"{name}: {what}" for name, what in KEYS.items() if _lacks(made, name)]
        if evaluation is not None and not is_evaluation(evaluation):
            raise InputError("this is no private evaluation, as mdp.evaluate or --epsilon tells it")
        return cls(receipt, made, audit, missing, evaluation)

    @property
    def epsilon(self) -> Fraction:
        """Epsilon of the guarantee."""
        return Fraction(self.receipt["epsilon_exact"])

    @property
    def delta(self) -> Fraction:
        """Delta of the guarantee."""
        return Fraction(self.receipt["delta_exact"])

    @property
    def unit(self) -> str:
        """The privacy unit: "record" or "user"."""
        return str(self.receipt["unit"])

    @property
    def model(self) -> str:
        """The trust model in the registry's terms: Central, Local, Shuffle or Federated."""
        return str(self.made.get("model", "central")).capitalize()

    @property
    def devices(self) -> bool:
        """Whether users' devices randomize."""
        return self.model in ("Local", "Shuffle")

    @property
    def universe(self) -> Mapping[str, Any]:
        """Kind, size and checksum of the universe; empty if not stated."""
        return self.made.get("universe") or {}

    @property
    def mechanisms(self) -> list[Mapping[str, Any]]:
        """Mechanisms of the receipt, in order."""
        return list(self.receipt["mechanisms"])

    def price(self) -> str:
        """Epsilon, and delta if there is one, with the exact fractions."""
        facts = f"epsilon = {exactly(self.epsilon)}"
        return facts + (f", delta = {exactly(self.delta)}" if self.delta else "")

    @property
    def shared(self) -> bool:
        """Whether each user has one unit of weight over all records."""
        return self.receipt.get("weighting") == "share"

    def protected(self) -> str:
        """The unit of privacy with its contribution bound."""
        m = self.made.get("max_contributions")
        if self.unit == "record" or self.shared:
            return _text("protected", "record" if self.unit == "record" else "share")
        if m is None:
            return f"one user; {UNKNOWN}: how many records of a user are kept"
        return _text("protected", "device" if self.devices else "user", m=m)

    def adjacency(self) -> str:
        """The exact definition of neighboring demands."""
        if self.devices:
            return _text("adjacency", "devices")
        m = self.made.get("max_contributions", 1)
        kept = "" if self.unit == "record" else "share" if self.shared else "sample"
        bound = kept and _text("kept", kept, m=m, grains=self.receipt.get("grains"))
        change = _text("adjacency", f"{self.unit}, {self.receipt['neighboring']}", bound=bound)
        data = "Demands are multisets of records of the public universe."
        return f"{data} Two are adjacent if {change}."

    def domain(self) -> str:
        """The data to which the guarantee applies."""
        facts = self.universe
        if not facts:
            return f"{UNKNOWN}: the public universe"
        kind = next((kind for kind in ("box", "points") if kind in facts), "other")
        low, high = facts.get("box", (None, None))
        return _text("domain", kind, **{"low": low, "high": high, **facts})

    def unprotected(self) -> str:
        """What is public and not protected."""
        facts = [
            "the universe (network, points or box) with its distances",
            "all options of the call, the receipt and the ledger",
        ]
        options = self.made.get("options") or {}
        if expected := (options.get("expected") or {}).get("value"):
            facts.append(f"what was expected where, which was not made of this data: {expected}")
        if self.devices:
            facts.append("the number of messages and who sent one")
        elif self.receipt["neighboring"] == "replace-one":
            facts.append(f"the number of {self.unit}s")
        facts.append("that a call was answered or refused, and anything published beside it")
        return "Public, and not protected: " + "; ".join(facts) + "."

    def composition(self) -> str:
        """The composition of all mechanisms to the total price."""
        n, how = len(self.mechanisms), self.receipt["composition"]
        bought = words()["compositions"].get(str(how), "as stated on the receipt")
        return (
            f"{n:,} mechanism{'' if n == 1 else 's'}, {how}: {bought}. Together {self.price()}; "
            f"arithmetic in exact rationals."
        )

    def mechanism_lines(self) -> list[str]:
        """One line for each mechanism: distribution, query, sensitivity, scale, price and
        sampler.
        """
        lines = []
        for each in self.mechanisms:
            scale = f", scale {show_number(each['scale'])}" if each["scale"] else ""
            price = f"epsilon {exactly(Fraction(each['epsilon_exact']))}"
            if "rho_exact" in each:
                price = f"rho {exactly(Fraction(each['rho_exact']))}"
            if proofs := each.get("proofs"):
                price += f", proven as {' and '.join(map(str, proofs))}"
            how = words()["samplers"].get(each["name"], _DEVICES if self.devices else "")
            lines.append(
                f"{each['name']} on {each['query']}: sensitivity {each['sensitivity']}{scale}, "
                f"{price}; {how or UNKNOWN + ': its sampler'}"
            )
        return lines or ["none: no private data was read"]

    def audited(self) -> str:
        """The result of the audit, if one is attached, and whether it was of the same package."""
        if self.audit is None:
            how = "`python -m metricdp.audit --json > audit.json` and `--audit audit.json`"
            return f"none is attached; {how} attach one."
        package = (self.made.get("package") or {}).get("sha256")
        checked = (self.audit.get("package") or {}).get("sha256")
        of = "of this very package" if checked and checked == package else "of ANOTHER package"
        verdict = "passed" if self.audit["passed"] else "FAILED"
        scope = self.audit.get("scope", "scope unknown")
        good = sum(bool(check["passed"]) for check in self.audit["checks"])
        caught = sum(bool(bug["caught"]) for bug in self.audit["planted"])
        return (
            f"{verdict}, {of} ({scope}): {good:,} of {len(self.audit['checks']):,} checks passed, "
            f"{caught:,} of {len(self.audit['planted']):,} planted bugs were caught."
        )

    def choices(self) -> list[str]:
        """Options of the call with their values; then what the method chooses itself."""
        lines = []
        for name, facts in (self.made.get("options") or {}).items():
            how = {True: "the default", False: "chosen by the caller"}.get(facts.get("default"))
            value = "none" if facts["value"] is None else facts["value"]
            lines.append(f"{name} = {value}" + (f" ({how})" if how else ""))
        lines = [f"Public options of the call: {'; '.join(lines) or UNKNOWN}."]
        return [*lines, self.made.get("chooses") or f"{UNKNOWN}: how the method chooses."]

    def ledger(self) -> str:
        """The state of the ledger after this call."""
        if self.devices:
            local = (self.made.get("options") or {}).get("epsilon", {}).get("value", "0")
            spent = f"epsilon = {exactly(Fraction(local))} once, in its one message"
            return f"None: every device spends {spent}, whatever the server does."
        facts = self.made.get("ledger")
        if self.model == "Federated":
            return "Every holder has its own, which paid this price before its records were read."
        if facts is None:
            free = not self.mechanisms and not self.epsilon
            return "None: nothing was charged." if free else f"{UNKNOWN}: the ledger."
        names = ("spent", "left", "spent_delta", "left_delta")
        shown = {name: show_number(facts[name]) for name in names}
        text = _text("ledger", "spent", **{**facts, **shown, "th": _th(facts["charges"])})
        more = {"purpose": "named purpose", "who": "charged by", "dataset": "data set"}
        more |= {"anchor": "anchor of the journal"}
        named = [f"{what} {facts[key]}" for key, what in more.items() if facts.get(key)]
        policy = str(Policy(facts.get("renews"), facts.get("expires")))
        named += [f"the budget {policy}"] * bool(policy)
        return "; ".join([text, *named]) + "."

    def figures(self) -> str:
        """Figures of a private evaluation with intervals, if there is one."""
        if self.evaluation is None:
            return ""
        each = []
        for name, ends in figures_of(self.evaluation):
            estimate, low, high = (show_number(ends[end]) for end in ("estimate", "low", "high"))
            each.append(f"{name} {estimate} ({low} to {high})")
        price = (self.evaluation.get("receipt") or {}).get("epsilon_exact")
        paid = f" It was paid for with epsilon {show_number(price)} of its own."
        return f"Private evaluation, 95 % intervals: {'; '.join(each)}.{paid if price else ''}"


def is_evaluation(facts: Any) -> bool:
    """Whether a mapping is the JSON of a private evaluation."""
    return isinstance(facts, Mapping) and all(
        isinstance(facts.get(name), Mapping) and {"estimate", "low", "high"} <= facts[name].keys()
        for name in ("mean", "median", "p90", "share")
    )


def _is_audit(audit: Any) -> bool:
    if not isinstance(audit, Mapping) or not isinstance(audit.get("passed"), bool):
        return False
    return all(
        isinstance(audit.get(name), list)
        and all(isinstance(row, Mapping) and verdict in row for row in audit[name])
        for name, verdict in (("checks", "passed"), ("planted", "caught"))
    )


def _text(about: str, which: str, **values: Any) -> str:
    """A text of ``[facts]`` in the words, filled with values."""
    text: str = words()["facts"][about][which]
    return text.format(**values)


def _lacks(made: Mapping[str, Any], name: str) -> bool:
    if name == "ledger":
        return name not in made
    return made.get(name) in (None, "", {}, [])


def _th(number: int) -> str:
    if number % 100 in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
