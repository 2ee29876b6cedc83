"""What the site's search is given: words for pages that exist, each word on one of them."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORDS = tomllib.loads((ROOT / "docs" / "search" / "words.toml").read_text("utf-8"))


def test_pages_exist_and_no_word_leads_to_two():
    assert len(WORDS) >= 10
    assert all((ROOT / f"{page}.md").is_file() for page in WORDS)
    listed = [word.lower() for words in WORDS.values() for word in words]
    assert len(set(listed)) == len(listed)
    assert not [word for word in listed if ";" in word or "!" in word]  # signs of Sphinx's own


def test_the_site_is_built_with_them():
    text = (ROOT / "docs" / "conf.py").read_text("utf-8")
    assert '"words.toml"' in text and '"scorer.js"' in text
    scorer = (ROOT / "docs" / "search" / "scorer.js").read_text("utf-8")
    for name in ("objNameMatch", "objPrio", "title", "partialTitle", "term", "partialTerm"):
        assert f"  {name}: " in scorer  # a Scorer that lacks one makes scores NaN
