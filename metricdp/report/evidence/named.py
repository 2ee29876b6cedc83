"""Template texts of evidence, filled with facts of a receipt and answers of a person.

In a text, ``{price}`` is a fact, and ``{?curator}`` an answer, or a blank until there is one.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from metricdp.errors import InputError
from metricdp.report.assets import words
from metricdp.report.evidence.facts import UNKNOWN, Facts
from metricdp.report.words import show_number, sureness

_NAME = re.compile(r"\{(\??)(\w+)\}")
_OPTIONAL = ("sector", "units")
_ASKED: tuple[str, ...] = ("adjacency", "audited", "composition", "domain", "figures")
_ASKED += ("ledger", "price", "protected", "unprotected")
"""Facts that are methods of `Facts`."""
_PRODUCTS = {"evaluate": "95 % intervals of how well public centers serve the records"}


@dataclass(frozen=True)
class Filler:
    """Fills template texts with facts and answers, by name."""

    facts: Mapping[str, Any]
    answers: Mapping[str, str]

    def fill(self, tree: Any) -> Any:
        """A tree of texts, filled; entries of mappings that are None are dropped."""
        if isinstance(tree, Mapping):
            filled = {name: self.fill(inner) for name, inner in tree.items()}
            return {name: inner for name, inner in filled.items() if inner is not None}
        if isinstance(tree, list):
            return list(map(self.fill, tree))
        return self.text(tree)

    def text(self, text: str) -> Any:
        """A text, filled, without empty items; a text that is only a name gives the value
        itself.
        """
        if whole := _NAME.fullmatch(text):
            return self._named(whole)
        filled = _NAME.sub(self._in_line, text)
        return "\n".join(line for line in filled.split("\n") if line != "- ").strip()

    def _named(self, found: re.Match[str]) -> Any:
        asked, name = found.groups()
        if not asked:
            return self.facts[name]
        return self.answers.get(name) or (None if name in _OPTIONAL else blank(name))

    def _in_line(self, found: re.Match[str]) -> str:
        value = self._named(found)
        return "\n- ".join(value) if isinstance(value, list) else str(value)


def filler(facts: Facts, answers: Mapping[str, str]) -> Filler:
    """A filler with all facts of a receipt, and answers."""
    made, package = facts.made, facts.made.get("package") or {}
    mechanisms, choices = facts.mechanism_lines(), facts.choices()
    n = len(facts.mechanisms)
    version = package.get("version", facts.receipt.get("version", UNKNOWN))
    libraries = ", ".join(f"{k} {v}" for k, v in (package.get("libraries") or {}).items())
    sha256 = package.get("sha256", UNKNOWN)
    parameters = {"epsilon": float(facts.epsilon)}
    if facts.delta:
        parameters["delta"] = float(facts.delta)
    incomplete = any(name not in answers for name in QUESTIONS if name not in _OPTIONAL)
    filled = words()["said"] | {name: getattr(facts, name)() for name in _ASKED}
    filled |= {
        "afterwards": made.get("afterwards") or UNKNOWN,
        "choices": choices,
        "choices_in_line": " ".join(choices),
        "curator_type": answers.get("curator_type") or CHOICES["curator_type"][0],
        "day": str(made.get("day", UNKNOWN)),
        "judged": filled["figures"] or "Not evaluated under privacy.",
        "kind": f"{'(epsilon, delta)-' if facts.delta else 'pure '}differential privacy",
        "distributions": ", ".join(dict.fromkeys(str(each["name"]) for each in facts.mechanisms))
        or "none",
        "mechanisms": mechanisms,
        "mechanisms_in_line": "; ".join(mechanisms),
        "model": facts.model,
        "model_in_line": facts.model.lower(),
        "neighboring": facts.receipt["neighboring"],
        "noisy_answers": f"{n:,} noisy answer{'' if n == 1 else 's'}",
        "parameters": parameters,
        "placeholder": "" if "curator_type" in answers else words()["said"]["placeholder"],
        "product": product(facts),
        "product_type": ("Summary statistics", "Synthetic data")[made.get("method") == "coreset"],
        "promise": promise(facts),
        "protected_first": filled["protected"].capitalize(),
        "sha256": sha256,
        "software": f"metricdp {version}, SHA-256 of the package {sha256}; "
        f"Python {package.get('python', UNKNOWN)}; {libraries}.",
        "tier": 2 if incomplete else 3,
        "unit": "User (one message)" if facts.devices else facts.unit.capitalize(),
        "units": made.get("messages", answers.get("units")),
        "universe_sha256": facts.universe.get("sha256", UNKNOWN),
        "variant": "Approximate DP" if facts.delta else "Pure DP",
        "version": str(version),
    }
    model = {f"model_{name}": text for name, text in words()["models"][facts.model].items()}
    return Filler(filled | model, answers)


def product(facts: Facts) -> str:
    """A sentence on what was published."""
    call = facts.made.get("call", "a release")
    method = facts.made.get("method", "")
    options = facts.made.get("options") or {}
    k = (options.get("k") or {}).get("value")
    counts = "noisy counts of public areas, and what was computed from them"
    centers = f"{k:,} cluster centers" if isinstance(k, int) else counts
    what = _PRODUCTS.get(call, centers)
    return f"{what[0].upper()}{what[1:]}, made by metricdp.{call} (method: {method})."


def promise(facts: Facts) -> list[str]:
    """Sentences on what the guarantee means for one person, with odds."""
    if not facts.epsilon and not facts.delta:
        return ["No private data was read: nothing can be learned of anybody from it."]
    texts = words()["promise"]
    who, relation = texts[facts.unit], facts.receipt["neighboring"]
    filled = {
        "who": who,
        "change": texts[relation].format(who=who),
        "price": facts.price(),
        "unit": facts.unit,
        "sure": sureness(facts.epsilon),
        "surer": sureness(facts.epsilon, 0.1),
        "delta": show_number(facts.receipt["delta_exact"]),
    }
    names = ["likely", "odds", *["fails"] * bool(facts.delta), *["each"] * (facts.unit == "record")]
    return [texts[name].format(**filled) for name in names]


BLANK = "FOR YOU TO ANSWER"
"""Marks blanks, so that none is taken for an answer."""

QUESTIONS: dict[str, str] = words()["questions"]
"""Questions to a person, by name."""

CHOICES: dict[str, list[str]] = words()["choices"]


def blank(name: str) -> str:
    """The text of a blank."""
    return f"{BLANK} ({name}): {QUESTIONS[name]}"


def checked_answers(given: Any) -> dict[str, str]:
    """Answers by name, each a text."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError("answers must be a mapping from names of blanks to texts")
    for name, text in given.items():
        if name not in QUESTIONS:
            known = ", ".join(QUESTIONS)
            raise InputError(f"there is no blank {str(name)[:80]!r}; there are: {known}")
        if not isinstance(text, str | int) or isinstance(text, bool) or not str(text).strip():
            raise InputError(f"the answer to {name} must be a text")
        if name in CHOICES and text not in CHOICES[name]:
            raise InputError(f"the answer to {name} must be one of {', '.join(CHOICES[name])}")
        if name == "units" and not str(text).replace(",", "").strip().isdecimal():
            raise InputError("the answer to units must be a whole number")
    return {str(name): str(text).strip() for name, text in given.items()}
