"""A release, step by step; each step alone, or ``all`` of them.

    python tools/release.py check            one version, a changelog section, nothing left out
    python tools/release.py build            sdist and wheel of the last commit, into dist/
    python tools/release.py smoke            the wheel in fresh environments: Python 3.11 to 3.13
    python tools/release.py smoke --oldest   with the oldest dependencies that setup.cfg admits
    python tools/release.py all              all of these; then says how to tag

Nothing is uploaded and nothing is tagged: that is for whoever answers for the release.
"""

from __future__ import annotations

import argparse
import configparser
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
PYTHONS = ("3.11", "3.12", "3.13")
OLDEST = ROOT / "tools" / "oldest.txt"
MUST_HOLD = ("metricdp/py.typed", "metricdp/datasets.toml", "graphs/coquimbo.csv.gz", "LICENSE")


def main(arguments: list[str] | None = None) -> int:
    """Run a step; 0 if it went well."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=("check", "build", "smoke", "all"))
    parser.add_argument("--oldest", action="store_true", help="smoke: dependencies of oldest.txt")
    parser.add_argument(
        "--python", action="append", metavar="PATH", help="smoke: this interpreter; may be repeated"
    )
    asked = parser.parse_args(arguments)
    steps = {
        "check": check,
        "build": build,
        "smoke": lambda: smoke(asked.python, oldest=asked.oldest),
        "all": lambda: everything(asked.python),
    }
    problems = steps[asked.step]()
    for problem in problems:
        print(f"problem: {problem}")
    return int(bool(problems))


def version() -> str:
    """Of setup.cfg, where alone it stands."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", "utf-8")
    return setup["metadata"]["version"]


def check() -> list[str]:
    """What stands in the way of a release."""
    number = version()
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    plugin = (ROOT / "qgis" / "metricdp_qgis" / "metadata.txt").read_text("utf-8")
    problems = changelog_problems(changes, number)
    if f"\nversion={number}\n" not in plugin:
        problems.append(f"qgis/metricdp_qgis/metadata.txt does not have version={number}")
    changed = git("status", "--porcelain")
    if changed:
        problems.append(f"the tree has changes that are not committed: {changed.split()[-1]} …")
    if git("tag", "--list", f"v{number}"):
        problems.append(f"v{number} is tagged already: raise the version in setup.cfg")
    print(f"version {number}: {len(problems)} problem(s)")
    return problems


def changelog_problems(changes: str, number: str) -> list[str]:
    """A release's changes stand under its number and day, and nothing is left under Unreleased."""
    sections = re.split(r"^## ", changes, flags=re.MULTILINE)[1:]
    heads = [section.splitlines()[0] for section in sections]
    problems = []
    mine = [s for s in sections if re.match(rf"\[{re.escape(number)}\] - \d{{4}}-\d\d-\d\d\n", s)]
    if not mine:
        problems.append(f"CHANGELOG.md has no section '## [{number}] - YYYY-MM-DD'")
    elif not re.search(r"^- ", mine[0], re.MULTILINE):
        problems.append(f"the section of {number} in CHANGELOG.md is empty")
    if heads[:1] != ["[Unreleased]"]:
        problems.append("CHANGELOG.md must begin with '## [Unreleased]'")
    elif re.search(r"^- ", sections[0], re.MULTILINE):
        problems.append("CHANGELOG.md has changes under [Unreleased]: move them to the release")
    return problems


def build() -> list[str]:
    """sdist and wheel of what is committed: files that are not stay out."""
    shutil.rmtree(DIST, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        source, env = Path(folder) / "source", Path(folder) / "env"
        archive = Path(folder) / "source.tar"
        run("git", "-C", ROOT, "archive", "-o", archive, "HEAD")
        with tarfile.open(archive) as tar:
            tar.extractall(source, filter="data")
        python = fresh(sys.executable, env)
        run(python, "-m", "pip", "install", "-q", "build")
        run(python, "-m", "build", "-q", "--outdir", DIST, source)
    print(*sorted(path.name for path in DIST.iterdir()), sep="\n")
    return built_problems()


def built_problems() -> list[str]:
    """What the wheel and the sdist lack."""
    (wheel,), (sdist,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as zipped, tarfile.open(sdist) as tar:
        held = {"the wheel": zipped.namelist(), "the sdist": tar.getnames()}
    return [
        f"{where} lacks {file}"
        for where, names in held.items()
        for file in MUST_HOLD
        if not any(name.endswith(file) for name in names)
    ]


def smoke(pythons: list[str] | None = None, *, oldest: bool = False) -> list[str]:
    """The wheel of dist/, installed in fresh environments, does what tools/smoke.py asks."""
    wheels = list(DIST.glob("*.whl"))
    if len(wheels) != 1:
        return ["dist/ holds no wheel: run the step build first"]
    found, problems = interpreters(pythons)
    for python in found[:1] if oldest else found:
        with tempfile.TemporaryDirectory() as folder:
            inside = fresh(python, Path(folder) / "env")
            pins = ["-c", OLDEST] if oldest else []
            try:
                run(inside, "-m", "pip", "install", "-q", *pins, wheels[0])
                run(inside, ROOT / "tools" / "smoke.py", cwd=folder)
            except subprocess.CalledProcessError:
                problems.append(f"{python} does not pass{' with oldest.txt' if oldest else ''}")
    return problems


def interpreters(asked: list[str] | None) -> tuple[list[str], list[str]]:
    """Those asked for, or one of every supported version; and which are not to be found."""
    if asked:
        return asked, []
    found, missing = [], []
    for number in PYTHONS:
        places = [shutil.which(f"python{number}")]
        places += sorted(map(str, Path.home().glob(f".pyenv/versions/{number}.*/bin/python")))
        works = [p for p in places if p and answers(p, number)]
        found += works[:1]
        missing += [] if works else [f"no Python {number} here: name one by --python"]
    return found, missing


def answers(python: str, number: str) -> bool:
    """Whether it runs, and is of that version: launchers are there for versions that are not."""
    told = subprocess.run([python, "--version"], capture_output=True, text=True, check=False)
    return told.stdout.startswith(f"Python {number}.")


def everything(pythons: list[str] | None) -> list[str]:
    """All steps; the first that fails ends it."""
    for step in (check, build, lambda: smoke(pythons), lambda: smoke(pythons, oldest=True)):
        problems = step()
        if problems:
            return problems
    print(f"ready: git tag -a v{version()} -m 'metricdp {version()}', push the tag, publish dist/*")
    return []


def fresh(python: str | Path, folder: Path) -> Path:
    """The interpreter of a new environment."""
    run(python, "-m", "venv", folder)
    inside = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    return inside


def run(*command: object, cwd: str | Path | None = None) -> None:
    """Run a command, shown when it fails."""
    subprocess.run([str(part) for part in command], check=True, cwd=cwd)


def git(*command: str) -> str:
    """What git tells about this repository."""
    told = subprocess.run(["git", "-C", ROOT, *command], capture_output=True, text=True, check=True)
    return told.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
