"""One HTML page with the statement for lay readers (one sheet) and the checklist."""

from collections.abc import Mapping
from html import escape
from typing import Any, Literal, NamedTuple

from metricdp.report.assets import asset, filled, words
from metricdp.report.evidence.facts import UNKNOWN, Facts
from metricdp.report.evidence.named import BLANK, filler, product
from metricdp.report.words import exactly, show_number, sureness

Answers = Mapping[str, str] | None
Basis = Literal["public", "non-private", "weights"]


def page(facts: Facts, answers: Mapping[str, str]) -> str:
    """The HTML page; it loads nothing and runs no script."""
    title = answers.get("name") or product(facts)
    pieces = {
        "TITLE": escape(f"Privacy statement: {title}"),
        "STYLE": asset("evidence/page.css"),
        "STATEMENT": statement(facts, answers),
        "CHECKLIST": _checklist(facts, answers),
    }
    return filled(asset("evidence/page.html"), pieces)


def embedded(receipt: Any) -> str:
    """The collapsed statement for a page with a receipt; empty if its circumstances are missing."""
    facts = receipt.to_dict()
    if not isinstance(facts, Mapping) or not facts.get("made"):
        return ""
    return (
        '<section class="evidence"><details><summary>Privacy statement</summary>'
        f"{statement(Facts.of(facts), None)}</details></section>"
    )


def receipt_html(receipt: Any, basis: Basis | None = None, *, exposed: bool = False) -> str:
    """The receipt in HTML, or the statement that there is no guarantee. `exposed`: the page also
    shows what was computed without protection.
    """
    if receipt is None:
        title, text = words()["receipts"][basis or "none"]
        tone = "plain" if basis == "public" else "warn"
        return f'<section class="receipt {tone}"><h2>{title}</h2><p>{text}</p></section>'
    facts = Facts.of(receipt.to_dict())
    rows_text = {
        "ε (epsilon)": exactly(facts.epsilon),
        "δ (delta)": exactly(facts.delta),
        "Protected": facts.protected(),
        "Neighboring relation": facts.adjacency(),
        "Composition": facts.composition(),
        "Proofs": "; ".join(" ".join(one) for one in facts.receipt.get("proofs", {}).items()),
        "Version": str(facts.receipt.get("version", UNKNOWN)),
    }
    rows = "".join(
        f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in rows_text.items() if text
    )
    noise = "".join(f"<li>{escape(line)}</li>" for line in facts.mechanism_lines())
    said = f"<p>{words()['receipts']['exposed' if exposed else 'sealed']}</p>"
    said += "" if exposed else f"<p>{escape(_meaning(facts))}</p>"
    return (
        f'<section class="receipt{" warn" if exposed else ""}"><h2>Privacy receipt</h2>'
        f"{said}<dl>{rows}<dt>Mechanisms</dt><dd><ul>{noise}</ul></dd></dl></section>"
    )


def _meaning(facts: Facts) -> str:
    """A sentence on the meaning of the epsilon."""
    exchanged = facts.receipt["neighboring"] == "replace-one"
    happened = "was this one rather than another" if exchanged else "took part"
    but = f", except with a probability of about {show_number(facts.delta)}" if facts.delta else ""
    return (
        f"Somebody who was 50 % sure that a {facts.unit} {happened} can become at most "
        f"{sureness(facts.epsilon)} sure of it from this page{but}."
    )


def price_html(receipt: Any, *, exposed: bool = False) -> str:
    """The receipt and, unless `exposed`, the collapsed statement; empty without a receipt."""
    if receipt is None:
        return ""
    return receipt_html(receipt, exposed=exposed) + ("" if exposed else embedded(receipt))


def statement(facts: Facts, answers: Answers) -> str:
    """The sections of the statement in HTML; without answers and blanks if `answers` is None."""
    fill = filler(facts, answers or {})
    sections = []
    for head, texts in words()["statement"].items():
        kept = [text for text in texts if answers is not None or not text.startswith("{?")]
        lines = [line for text in kept for line in _lines(fill.text(text))]
        sections.append(
            f"<section><h2>{escape(head)}</h2>{''.join(map(_paragraph, lines))}</section>"
        )
    return "".join(sections)


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


class Point(NamedTuple):
    """A point of the checklist; if it is not `answered`, `answer` tells what a person must
    answer.
    """

    topic: str
    question: str
    answer: str
    answered: bool


def checklist(facts: Facts, answers: Mapping[str, str]) -> list[Point]:
    """All points of the checklist, in order."""
    fill = filler(facts, answers)
    return [
        Point(topic, question, fill.text(text), text[:2] != "{?" or text[2:-1] in answers)
        for topic, questions in words()["checklist"].items()
        for question, text in questions.items()
    ]
