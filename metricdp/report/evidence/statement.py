"""The statement for lay readers, one sheet, and the checklist behind it, as one HTML page."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from metricdp.report.assets import asset, filled, words
from metricdp.report.evidence.checklist import checklist
from metricdp.report.evidence.facts import Facts
from metricdp.report.evidence.named import filler, product
from metricdp.report.evidence.people import BLANK
from metricdp.report.words import receipt_html

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
    fill = filler(facts, answers or {})
    told = []
    for head, texts in words()["statement"].items():
        kept = [text for text in texts if answers is not None or not text.startswith("{?")]
        lines = [line for text in kept for line in _lines(fill.text(text))]
        told.append(f"<section><h2>{escape(head)}</h2>{''.join(map(_paragraph, lines))}</section>")
    return "".join(told)


def _lines(filled: Any) -> list[str]:
    return filled if isinstance(filled, list) else [filled]


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
