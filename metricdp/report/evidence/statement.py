"""The statement for lay readers, one sheet, and the checklist behind it, as one HTML page."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from math import ceil
from typing import Any

from metricdp.report.assets import asset, filled
from metricdp.report.evidence.checklist import checklist
from metricdp.report.evidence.facts import Facts
from metricdp.report.evidence.people import BLANK, blank
from metricdp.report.evidence.registry import product
from metricdp.report.words import receipt_html, show_number

Answers = Mapping[str, str] | None


def page(facts: Facts, answers: Mapping[str, str]) -> str:
    """The page; it loads nothing and runs no script."""
    title = answers.get("name") or product(facts)
    pieces = {
        "TITLE": escape(f"Privacy statement: {title}"),
        "STYLE": asset("evidence/page.css"),
        "STATEMENT": statement(facts, answers),
        "CHECKLIST": _checklist(facts, answers),
    }
    return filled(asset("evidence/page.html"), pieces)


def embedded(receipt: Any) -> str:
    """The folded statement for a page with a receipt; nothing if its facts are missing."""
    told = receipt.to_dict()
    if not isinstance(told, Mapping) or not told.get("made"):
        return ""
    return (
        '<section class="evidence"><details><summary>Privacy statement</summary>'
        f"{statement(Facts.of(told), None)}</details></section>"
    )


def price_html(receipt: Any) -> str:
    """What was paid for a page, and the folded statement; nothing without a receipt."""
    return "" if receipt is None else receipt_html(receipt) + embedded(receipt)


def statement(facts: Facts, answers: Answers) -> str:
    """The statement's sections, as HTML; without answers and blanks if `answers` is None."""
    sections = {
        "What is published": [product(facts), *_asked(answers, "curator", "intended_use")],
        "What is promised": promise(facts),
        "What is not promised": _limits(facts, answers),
        "How it was made": [*_how(facts), *_asked(answers, "unit_reason", "epsilon_reason")],
        "How good it is": [
            facts.figures() or "Not evaluated under privacy.",
            *_asked(answers, "fitness"),
        ],
        "How much of the budget is spent": [facts.ledger()],
        "How it can be checked": _checks(facts),
    }
    return "".join(
        f"<section><h2>{escape(head)}</h2>{''.join(map(_paragraph, lines))}</section>"
        for head, lines in sections.items()
    )


def promise(facts: Facts) -> list[str]:
    """What the guarantee means for one person, in words and in odds."""
    if not facts.epsilon and not facts.delta:
        return ["No private data was read: nothing can be learned of anybody from it."]
    who = "one person's data (all their records)" if facts.unit == "user" else "one record"
    change = (
        f"whether {who} is among the data"
        if facts.receipt["neighboring"] == "add-remove"
        else f"which of two values {who} has"
    )
    lines = [
        f"Whoever reads what is published, now or later, with whatever else they know, learns "
        f"little about {who}: what is published would come out about as likely without it. The "
        f"promise is a number, {facts.price()}, per {facts.unit}; smaller is stronger.",
        f"In odds: somebody who thinks it as likely as not {change} can become at most "
        f"{_percent(facts.odds())} sure from this publication; who was 10 % sure, at most "
        f"{_percent(facts.odds(0.1))}.",
    ]
    if facts.delta:
        delta = show_number(facts.receipt["delta_exact"])
        lines.append(f"This may fail with a probability of about {delta} (delta).")
    if facts.unit == "record":
        lines.append(
            "It is a promise for each record. For a person with several records it weakens with "
            "their number."
        )
    return lines


def _limits(facts: Facts, answers: Answers) -> list[str]:
    return [
        facts.unprotected(),
        "What is true of a place or a group as a whole is meant to be learned, also by those who "
        "belong to it. Figures have noise on purpose: they are not exact.",
        *_asked(answers, "other_releases", "public_universe"),
    ]


def _how(facts: Facts) -> list[str]:
    laws = list(dict.fromkeys(str(each["name"]) for each in facts.mechanisms)) or ["none"]
    n = len(facts.mechanisms)
    return [
        f"{n:,} noisy answer{'' if n == 1 else 's'} ({', '.join(laws)}), {facts.model.lower()} "
        f"model; {facts.protected()} is protected. Only these answers left the private data; all "
        f"else was computed from them. {facts.made.get('afterwards') or 'NOT ON THE RECEIPT'}"
    ]


def _checks(facts: Facts) -> list[str]:
    package = facts.made.get("package") or {}
    universe = facts.universe
    return [
        f"Made on {facts.made.get('day', 'an unknown day')} (UTC) by metricdp "
        f"{package.get('version', facts.receipt.get('version'))}, an open program. SHA-256 of the "
        f"program {package.get('sha256', 'not on the receipt')}; of the public map or box "
        f"{universe.get('sha256', 'not on the receipt')}.",
        f"Audit of the program: {facts.audited()}",
    ]


def _asked(answers: Answers, *names: str) -> list[str]:
    if answers is None:
        return []
    return [answers.get(name) or blank(name) for name in names]


def _paragraph(text: str) -> str:
    kind = ' class="blank"' if text.startswith(BLANK) else ""
    return f"<p{kind}>{escape(text)}</p>"


def _checklist(facts: Facts, answers: Mapping[str, str]) -> str:
    rows = []
    topic = ""
    for point in checklist(facts, answers):
        if point.topic != topic:
            topic = point.topic
            rows.append(f'<tr><th colspan="2" scope="colgroup">{escape(topic)}</th></tr>')
        kind = "" if point.answered else ' class="blank"'
        question, answer = escape(point.question), escape(point.answer)
        rows.append(f"<tr><td>{question}</td><td{kind}>{answer}</td></tr>")
    return f"<table><tbody>{''.join(rows)}</tbody></table>"


def _percent(share: float) -> str:
    """Never rounded down to less than it is."""
    tenths = ceil(share * 1000 - 1e-9)
    return f"{min(tenths, 1000) / 10:g} %" if share < 0.999 else "almost 100 %"
