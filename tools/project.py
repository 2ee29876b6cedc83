"""What the project says of itself in several files, from the one place of each fact.

The version stands in ``setup.cfg``, the day of a release in ``CHANGELOG.md``, and what only a
maintainer knows in ``packaging/project.toml``. `derived` puts them into the files that other
programs read; ``python tools/release.py fill`` writes these.
"""

from __future__ import annotations

import configparser
import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PROJECT = Path("packaging/project.toml")
EMPTY = "FILL IN"
"""What placeholders begin with."""
URLS = {
    "Source": "repository",
    "Tracker": "tracker",
    "Documentation": "documentation",
    "Changelog": "changelog",
}


def version() -> str:
    """Of setup.cfg, where alone it is decided."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", "utf-8")
    return setup["metadata"]["version"]


def day(changes: str, number: str) -> str | None:
    """When a version was released, by the changelog."""
    found = re.search(rf"^## \[{re.escape(number)}\] - (\d{{4}}-\d\d-\d\d)$", changes, re.M)
    return found[1] if found else None


def facts() -> dict[str, Any]:
    """What packaging/project.toml holds."""
    return tomllib.loads((ROOT / PROJECT).read_text("utf-8"))


def placeholders(known: dict[str, Any]) -> list[str]:
    """Names of what nobody has filled in yet."""
    flat = {**known, **{f"authors.{k}": v for each in known["authors"] for k, v in each.items()}}
    return [name for name, value in flat.items() if str(value).startswith(EMPTY)]


def derived(known: dict[str, Any]) -> dict[str, str]:
    """Whole texts of the files that repeat a fact, by path; placeholders are left out."""
    filled = {name: value for name, value in known.items() if not str(value).startswith(EMPTY)}
    number = version()
    released = day(_text("CHANGELOG.md"), number)
    plugin = {"version": number} | {
        key: filled.get(name)
        for key, name in {
            "email": "contact",
            "homepage": "documentation",
            "tracker": "tracker",
            "repository": "repository",
        }.items()
    }
    citation = {"version": number, "date-released": released}
    citation["repository-code"] = filled.get("repository")
    urls = {label: filled[name] for label, name in URLS.items() if name in filled}
    return {
        "setup.cfg": _with_urls(_text("setup.cfg"), urls),
        "CITATION.cff": _with_lines(_text("CITATION.cff"), citation, ": "),
        "qgis/metricdp_qgis/metadata.txt": _with_lines(
            _text("qgis/metricdp_qgis/metadata.txt"), plugin, "="
        ),
        "packaging/conda/recipe.yaml": _with_version(_text("packaging/conda/recipe.yaml"), number),
        "paper/paper.md": _with_authors(_text("paper/paper.md"), known["authors"]),
    }


def problems() -> list[str]:
    """Placeholders that are left, and files that do not say what `derived` says."""
    known = facts()
    left = placeholders(known)
    reported = [f"{PROJECT} has placeholders: {', '.join(left)}"] if left else []
    stale = [path for path, text in derived(known).items() if text != _text(path)]
    return reported + [f"{path} is not up to date: run the step fill" for path in stale]


def fill() -> list[str]:
    """Write what is derived; names what nobody has filled in yet."""
    known = facts()
    for path, text in derived(known).items():
        (ROOT / path).write_text(text, "utf-8", newline="\n")
    return [f"{PROJECT}: {name} is a placeholder" for name in placeholders(known)]


def _text(path: str) -> str:
    return (ROOT / path).read_text("utf-8")


def _with_urls(setup: str, urls: dict[str, str]) -> str:
    """setup.cfg with these `project_urls`, or none."""
    bare = re.sub(r"^project_urls =\n(    .*\n)*", "", setup, flags=re.M)
    block = "".join(f"    {label} = {address}\n" for label, address in urls.items())
    if not block:
        return bare
    return re.sub(r"^(author = .*\n)", rf"\1project_urls =\n{block}", bare, count=1, flags=re.M)


def _with_lines(text: str, values: dict[str, str | None], sign: str) -> str:
    """The text with one line ``key`` `sign` ``value`` each at its end; without those of None."""
    for key, value in values.items():
        text = re.sub(rf"^{key}{sign}.*\n", "", text, flags=re.M)
        text += "" if value is None else f"{key}{sign}{value}\n"
    return text


def _with_authors(paper: str, authors: list[dict[str, str]]) -> str:
    """The paper with these authors, in the form that its journal asks for."""
    named = [a for a in authors if not any(str(v).startswith(EMPTY) for v in a.values())]
    if not named:
        return paper
    places = list(dict.fromkeys(a["affiliation"] for a in named))
    lines = ["authors:"]
    for author in named:
        lines += [f"  - name: {author['name']}", f"    orcid: {author['orcid']}"]
        lines += [f"    affiliation: {places.index(author['affiliation']) + 1}"]
    lines.append("affiliations:")
    for i, place in enumerate(places, 1):
        lines += [f"  - name: {place}", f"    index: {i}"]
    block = "\n".join(lines) + "\n"
    return re.sub(r"^authors:\n(?:  .*\n)*affiliations:\n(?:  .*\n)*", block, paper, flags=re.M)


def _with_version(recipe: str, number: str) -> str:
    """The recipe for a version."""
    return re.sub(r'^(  version: )".*"$', rf'\g<1>"{number}"', recipe, flags=re.M)
