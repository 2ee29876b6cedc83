"""A release, step by step; each step alone, or ``all`` of them.

    python tools/release.py fill             what packaging/project.toml says, into other files
    python tools/release.py check            one version, a changelog section, no placeholders
    python tools/release.py build            sdist and wheel of the last commit, into dist/: twice,
                                             and compared byte by byte
    python tools/release.py smoke            the wheel in fresh environments: Python 3.11 to 3.14
    python tools/release.py smoke --sdist    the sdist
    python tools/release.py smoke --oldest   with the oldest dependencies that setup.cfg admits
    python tools/release.py sbom             what the wheel installs (CycloneDX), in build/release/
    python tools/release.py plugin           the QGIS plugin's package, in build/release/
    python tools/release.py all              check, build, smoke, sbom; then says how to tag

Nothing is uploaded and nothing is tagged: that is for whoever answers for the release. The workflow
.github/workflows/release.yml publishes what a tag builds, without any password.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
BESIDE = ROOT / "build" / "release"
"""What belongs to a release, and not to the index of packages."""
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
OLDEST = ROOT / "tools" / "oldest.txt"
MUST_HOLD = (
    "metricdp/py.typed",
    "metricdp/datasets.toml",
    "graphs/coquimbo.csv.gz",
    "LICENSE",
    "LICENSES/ODbL-1.0.txt",
    "LICENSES/CC0-1.0.txt",
    "NOTICE",
)


def beside(name: str) -> ModuleType:
    """Another file of this folder, which is no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


project, qgis_package = beside("project"), beside("qgis_package")
version = project.version


def main(arguments: list[str] | None = None) -> int:
    """Run a step; 0 if it went well."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    steps = ("fill", "check", "build", "smoke", "sbom", "plugin", "all")
    parser.add_argument("step", choices=steps)
    parser.add_argument("--oldest", action="store_true", help="smoke: dependencies of oldest.txt")
    parser.add_argument("--sdist", action="store_true", help="smoke: the sdist, not the wheel")
    parser.add_argument(
        "--python", action="append", metavar="PATH", help="smoke: this interpreter; may be repeated"
    )
    parser.add_argument("--tagged", metavar="TAG", help="check: this tag is the release's")
    asked = parser.parse_args(arguments)
    does = {
        "fill": project.fill,
        "check": lambda: check(asked.tagged),
        "build": build,
        "smoke": lambda: smoke(asked.python, oldest=asked.oldest, sdist=asked.sdist),
        "sbom": sbom,
        "plugin": plugin,
        "all": lambda: everything(asked.python),
    }
    problems = does[asked.step]()
    for problem in problems:
        print(f"problem: {problem}")
    return int(bool(problems))


def check(tagged: str | None = None) -> list[str]:
    """What stands in the way of a release; of one that is tagged already, if a tag is named."""
    number = version()
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    problems = changelog_problems(changes, number) + project.problems()
    changed = git("status", "--porcelain")
    if changed:
        problems.append(f"the tree has changes that are not committed: {changed.split()[-1]} …")
    if tagged not in (None, f"v{number}"):
        problems.append(f"the tag {tagged} is not v{number}, the version of setup.cfg")
    elif tagged is None and git("tag", "--list", f"v{number}"):
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
    """sdist and wheel of what is committed, twice: files that are not committed stay out."""
    shutil.rmtree(DIST, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        python = fresh(sys.executable, Path(folder) / "env")
        run(python, "-m", "pip", "install", "-q", "build", "twine")
        for place in (DIST, Path(folder) / "again"):
            built(python, Path(tempfile.mkdtemp(dir=folder)), place)
        files = sorted(DIST.iterdir())
        again = Path(folder) / "again"
        unlike = [f.name for f in files if f.read_bytes() != (again / f.name).read_bytes()]
        run(python, "-m", "twine", "check", "--strict", *files)
    print(*(path.name for path in files), sep="\n")
    print("built twice, the same bytes" if not unlike else "two builds differ")
    return [f"two builds of {name} differ" for name in unlike] + built_problems()


def built(python: Path, folder: Path, target: Path) -> None:
    """The sdist of the last commit, and the wheel of that sdist, in `target`. Every time in them is
    the commit's.
    """
    archive = folder / "source.tar"
    run("git", "-C", ROOT, "archive", "-o", archive, "HEAD")
    with tarfile.open(archive) as tar:
        tar.extractall(folder / "source", filter="data")
    seconds = int(git("log", "-1", "--format=%ct"))
    environment = {"SOURCE_DATE_EPOCH": str(seconds), "PYTHONHASHSEED": "0"}
    make = (python, "-m", "build", "-q", "--outdir", target)
    run(*make, "--sdist", folder / "source", environment=environment)
    (sdist,) = target.glob("*.tar.gz")
    sdist.write_bytes(settled(sdist.read_bytes(), seconds))
    with tarfile.open(sdist) as tar:
        tar.extractall(folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    run(*make, "--wheel", unpacked, environment=environment)


def settled(sdist: bytes, seconds: int) -> bytes:
    """The same archive without what differs between two builds: order, owners, times.

    Setuptools stamps an sdist with the time of day; wheels obey ``SOURCE_DATE_EPOCH``.
    """
    packed = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(sdist)) as old,
        gzip.GzipFile("", "wb", fileobj=packed, mtime=seconds) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as new,
    ):
        for member in sorted(old.getmembers(), key=lambda m: m.name):
            member.mtime, member.uid, member.gid, member.uname, member.gname = seconds, 0, 0, "", ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            member.pax_headers = {}
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    return packed.getvalue()


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


def smoke(
    pythons: list[str] | None = None, *, oldest: bool = False, sdist: bool = False
) -> list[str]:
    """What is in dist/, installed in fresh environments, does what tools/smoke.py asks."""
    files = list(DIST.glob("*.tar.gz" if sdist else "*.whl"))
    if len(files) != 1:
        return ["dist/ holds no wheel and sdist: run the step build first"]
    found, problems = interpreters(pythons)
    for python in found[:1] if oldest else found:
        with tempfile.TemporaryDirectory() as folder:
            inside = fresh(python, Path(folder) / "env")
            pins = ["-c", OLDEST] if oldest else []
            try:
                run(inside, "-m", "pip", "install", "-q", *pins, files[0])
                run(inside, ROOT / "tools" / "smoke.py", cwd=folder)
            except subprocess.CalledProcessError:
                problems.append(f"{python} does not pass{' with oldest.txt' if oldest else ''}")
    return problems


def sbom() -> list[str]:
    """What an installation of the wheel consists of, as CycloneDX writes it."""
    BESIDE.mkdir(parents=True, exist_ok=True)
    target = BESIDE / f"metricdp-{version()}.cdx.json"
    with tempfile.TemporaryDirectory() as folder:
        tool = fresh(sys.executable, Path(folder) / "tool")
        inside = fresh(sys.executable, Path(folder) / "env")
        run(tool, "-m", "pip", "install", "-q", "cyclonedx-bom")
        run(inside, "-m", "pip", "install", "-q", *DIST.glob("*.whl"))
        made = ("--output-reproducible", "--of", "JSON", "-o", target)
        run(tool, "-m", "cyclonedx_py", "environment", *made, inside)
    print(target.relative_to(ROOT))
    return [] if f'"version": "{version()}"' in target.read_text("utf-8") else ["an empty SBOM"]


def plugin() -> list[str]:
    """The package of the QGIS plugin, held to the rules of its index."""
    BESIDE.mkdir(parents=True, exist_ok=True)
    reported = datetime.fromtimestamp(int(git("log", "-1", "--format=%ct")), UTC)
    target = BESIDE / f"{qgis_package.NAME}-{version()}.zip"
    path = qgis_package.package(ROOT, target, (reported.year, reported.month, reported.day))
    print(path.relative_to(ROOT))
    return list(qgis_package.problems(path))


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
    reported = subprocess.run([python, "--version"], capture_output=True, text=True, check=False)
    return reported.stdout.startswith(f"Python {number}.")


def everything(pythons: list[str] | None) -> list[str]:
    """All steps; the first that fails ends it."""
    smokes = ({}, {"sdist": True}, {"oldest": True})
    tried = [lambda how=how: smoke(pythons, **how) for how in smokes]
    for step in (check, build, *tried, sbom, plugin):
        problems = step()
        if problems:
            return problems
    print(f"ready: git tag -a v{version()} -m 'metricdp {version()}', push the tag")
    return []


def fresh(python: str | Path, folder: Path) -> Path:
    """The interpreter of a new environment."""
    run(python, "-m", "venv", folder)
    inside = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    return inside


def run(
    *command: object, cwd: str | Path | None = None, environment: dict[str, str] | None = None
) -> None:
    """Run a command, shown when it fails."""
    env = {**os.environ, **(environment or {})}
    subprocess.run([str(part) for part in command], check=True, cwd=cwd, env=env)


def git(*command: str) -> str:
    """What git tells about this repository."""
    reported = subprocess.run(
        ["git", "-C", ROOT, *command], capture_output=True, text=True, check=True
    )
    return reported.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
