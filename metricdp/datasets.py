"""Public universes by name: OR-Library p-median, TSPLIB points, DIMACS road networks, SNAP social
networks.

A set comes from the folder ``METRICDP_DATA``, a cache, or its publisher. Its checksum must be that
of ``datasets.toml``.

>>> mdp.datasets.describe("pmed1").optimum
5819
>>> len(mdp.datasets.names())
50
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tomllib
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache as cached
from importlib.resources import files
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any

from metricdp.errors import DownloadError, GraphFileError, InputError, need
from metricdp.metrics.graph import GraphMetric, read_graph
from metricdp.metrics.vectors import EuclideanMetric
from metricdp.progress import progress
from metricdp.universe.formats.tsplib import read_points
from metricdp.universe.text import read_bytes

__all__ = ["Dataset", "DatasetInfo", "describe", "fetch", "load", "locate", "names"]


def __dir__() -> list[str]:
    return __all__


FOLDER_VARIABLE = "METRICDP_DATA"
"""Environment variable of a folder of data sets, or of subfolders by collection."""
TIMEOUT = 30.0
"""Seconds to wait for a server's next bytes."""
_ZIP = b"PK\x03\x04"
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class DatasetInfo:
    """Facts about a data set, known without reading it.

    Attributes
    ----------
    name, title : str
    collection : str
        Who publishes it.
    vertices, edges : int
        As loaded; a set of points has no edges.
    lengths : str
        Meaning of the edge lengths.
    k, optimum : int or None
        Its p-median problem: number of centers, and the proven optimum with weight 1 a vertex.
    best : mapping of int to int
        For TSPLIB: from the number of centers to the best known cost, with distances rounded down.
    license, citation, page, url : str
        `license` as its publisher states it; `page` describes the set, `url` is the file.
    file : str
        Name of the unpacked file.
    bytes : int
        Size of the unpacked file.
    sha256 : tuple of str
        Accepted checksums of the unpacked file; a download must have the first.
    folder : str
        Subfolder of a data folder in which it may be.
    read : mapping
        Options with which `metricdp.read_graph` reads it.

    Examples
    --------
    >>> from metricdp import datasets
    >>> info = datasets.describe("pmed1")
    >>> info.vertices, info.k, info.optimum
    (100, 5, 5819)
    """

    name: str
    title: str
    collection: str
    vertices: int
    edges: int
    lengths: str
    license: str
    citation: str
    page: str
    url: str
    file: str
    bytes: int
    sha256: tuple[str, ...]
    folder: str
    read: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    k: int | None = None
    optimum: int | None = None
    best: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True)
class Dataset:
    """A data set in memory: its `metric`, of a graph or of points, and its facts (`info`).

    Examples
    --------
    >>> from metricdp import datasets
    >>> pmed = datasets.load("pmed1")  # doctest: +SKIP
    >>> len(pmed.metric), pmed.k, pmed.optimum  # doctest: +SKIP
    (100, 5, 5819)
    """

    metric: GraphMetric | EuclideanMetric
    info: DatasetInfo

    @property
    def k(self) -> int | None:
        """Number of centers of its p-median problem, if it has one."""
        return self.info.k

    @property
    def optimum(self) -> int | None:
        """Proven optimum of `k` centers with weight 1 a vertex, if it is known."""
        return self.info.optimum


def names() -> list[str]:
    """Names of all data sets, collection by collection.

    Examples
    --------
    >>> names()[0], names()[-1]
    ('pmed1', 'lastfm_asia')
    """
    return list(_registry())


def describe(name: str) -> DatasetInfo:
    """The facts about a data set, without fetching it.

    Parameters
    ----------
    name : str
        One of `names`, in any case.

    Raises
    ------
    InputError
        No such set; the message lists similar names.

    Examples
    --------
    >>> describe("rome99").vertices, dict(describe("rome99").read)
    (3353, {'symmetrize': True})
    """
    registry = _registry()
    lower = {known.lower(): known for known in registry}
    if isinstance(name, str) and name.lower() in lower:
        return registry[lower[name.lower()]]
    asked = str(name).lower()
    near = [n for n in lower if asked and asked in n][:3] or get_close_matches(asked, lower, n=3)
    meant = ", ".join(lower[n] for n in near)
    hint = f"did you mean {meant}?" if near else "metricdp.datasets.names() lists all"
    raise InputError(f"no data set is called {name!r}; {hint}")


def locate(name: str, *, cache: str | Path | None = None) -> Path | None:
    """Path of a data set on this machine, or None. Downloads and verifies nothing; parameters as
    `fetch`.

    Examples
    --------
    >>> from metricdp import datasets
    >>> path = datasets.locate("pmed1")
    >>> path is None or path.is_file()
    True
    """
    info = describe(name)
    offline = _offline(info)
    if offline is not None:
        return offline
    folder = _cache_folder(cache)
    return folder / info.file if folder is not None and (folder / info.file).is_file() else None


def fetch(name: str, *, cache: str | Path | None = None) -> Path:
    """Path of a data set's file, downloaded if it is not on this machine.

    Parameters
    ----------
    name : str
        One of `names`, in any case.
    cache : path-like, optional
        Folder of downloads; by default the user's cache folder for metricdp, as pooch finds it.

    Returns
    -------
    Path
        A file whose content has the recorded checksum: in the folder ``METRICDP_DATA``
        (perhaps gzipped) if it lies there, else in the cache (unpacked).

    Raises
    ------
    InputError
        No such set; ``METRICDP_DATA`` is no directory.
    GraphFileError
        The file in ``METRICDP_DATA`` has another checksum.
    MissingExtraError
        It must be downloaded, and pooch is not installed.
    DownloadError
        No connection, an error of the server, another checksum, or a cache that cannot be written.
        Nothing is stored then.

    Notes
    -----
    The file is read and hashed at every call: 0.2 s for 16 MB.

    Examples
    --------
    >>> from metricdp import datasets
    >>> datasets.fetch("pmed1").name  # doctest: +SKIP
    'pmed1.txt'
    """
    info = describe(name)
    offline = _offline(info)
    if offline is None:
        return _download(info, cache)
    digest = hashlib.sha256(read_bytes(offline)).hexdigest()
    if digest not in info.sha256:
        other = f"its sha256 is {digest}, recorded is {info.sha256[0]}"
        instead = f"remove it from {FOLDER_VARIABLE}, or read it with metricdp.read_graph"
        raise GraphFileError(offline, f"is not the data set {info.name}: {other}; {instead}")
    return offline


def load(name: str, *, cache: str | Path | None = None) -> Dataset:
    """Fetch a data set and read it with its own options; parameters and errors as `fetch`.

    Returns
    -------
    Dataset
        The metric, and the number of centers and the optimum where the set is a p-median problem.

    Examples
    --------
    >>> problem = load("pmed1")  # doctest: +SKIP
    >>> problem.metric, problem.k, problem.optimum  # doctest: +SKIP
    (GraphMetric('pmed1.txt', 100 points), 5, 5819)
    """
    info = describe(name)
    path = fetch(name, cache=cache)
    if info.edges == 0:
        return Dataset(EuclideanMetric(read_points(path)), info)
    return Dataset(read_graph(path, **info.read), info)


@cached
def _registry() -> dict[str, DatasetInfo]:
    """All sets of ``datasets.toml``; facts of a collection apply to its sets."""
    known: dict[str, DatasetInfo] = {}
    table = tomllib.loads(files("metricdp").joinpath("datasets.toml").read_text("utf-8"))
    for collection in table.values():
        shared = {key: value for key, value in collection.items() if key != "sets"}
        for name, own in collection["sets"].items():
            facts = {**shared, **own, "collection": shared["title"]}
            facts["title"] = own.get("title", f"{shared['title']}: {name}")
            facts["url"] = facts["url"].format(file=facts["file"])
            facts["sha256"] = tuple(facts["sha256"])
            facts["read"] = MappingProxyType(facts.get("read", {}))
            best = {int(k): cost for k, cost in facts.get("best", {}).items()}
            facts["best"] = MappingProxyType(best)
            known[name] = DatasetInfo(name=name, **facts)
    return known


def _offline(info: DatasetInfo) -> Path | None:
    """The set's file in the folder ``METRICDP_DATA``, gzipped or not."""
    named = os.environ.get(FOLDER_VARIABLE)
    if not named:
        return None
    top = Path(named)
    if not top.is_dir():
        wrong = f"{FOLDER_VARIABLE}={named} is not a directory"
        raise InputError(f"{wrong}; unset it to download data sets")
    places = product((top / info.folder, top), ("", ".gz"))
    found = (folder / (info.file + ending) for folder, ending in places)
    return next((path for path in found if path.is_file()), None)


def _cache_folder(cache: str | Path | None) -> Path | None:
    """The folder given, else the user's cache folder; None if pooch is not installed."""
    if cache is not None:
        return Path(cache)
    try:
        import pooch
    except ImportError:
        return None
    return Path(pooch.os_cache("metricdp"))


def _download(info: DatasetInfo, cache: str | Path | None) -> Path:
    """The set's file in the cache, downloaded if it is not there or damaged."""
    need(f"downloading the data set {info.name}", "datasets", "pooch")
    import pooch
    from requests.exceptions import RequestException

    folder = _cache_folder(cache)
    reason = ""
    try:
        options = {"fname": info.file, "path": folder, "downloader": _downloader(info)}
        return Path(pooch.retrieve(info.url, f"sha256:{info.sha256[0]}", **options))
    except RequestException as error:
        reason = _network_reason(error)
    except OSError as error:
        reason = f"the cache {folder} cannot be written ({error.strerror or type(error).__name__})"
    except ValueError as error:
        reason = "the file is not the recorded one, its sha256 differs"
        if isinstance(error, _DamagedError):
            reason = str(error)
    raise DownloadError(info.name, info.url, reason)


def _downloader(info: DatasetInfo) -> Callable[[str, str, Any], None]:
    """A downloader for pooch that unpacks, so that pooch verifies and stores the content."""

    def download(url: str, output_file: str, keeper: Any) -> None:
        import pooch

        received = io.BytesIO()
        with progress(total=info.bytes, label=info.name, unit="B") as bar:
            pooch.HTTPDownloader(progressbar=bar, timeout=TIMEOUT)(url, received, keeper)
        Path(output_file).write_bytes(_unpacked(received.getvalue(), info.file, info.bytes))

    return download


class _DamagedError(ValueError):
    """What was received cannot be unpacked."""


def _unpacked(data: bytes, file: str, size: int) -> bytes:
    """Content of a plain, gzipped or zipped file: at most `size` + 1 bytes."""
    problem = ""
    try:
        if data.startswith(_ZIP):
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                member = next((m for m in archive.namelist() if m.rsplit("/", 1)[-1] == file), None)
                if member is not None:
                    with archive.open(member) as stream:
                        return stream.read(size + 1)
            problem = f"the archive has no {file}"
        elif data.startswith(_GZIP):
            with gzip.open(io.BytesIO(data)) as stream:
                return stream.read(size + 1)
        else:
            return data
    except (EOFError, OSError, zlib.error, zipfile.BadZipFile):
        problem = "the file is damaged or truncated"
    raise _DamagedError(problem)


def _network_reason(error: Any) -> str:
    """A short reason in place of the exception's long text."""
    from requests.exceptions import ChunkedEncodingError, ConnectionError, HTTPError, Timeout

    if isinstance(error, HTTPError) and error.response is not None:
        return f"the server says {error.response.status_code} {error.response.reason}"
    if isinstance(error, Timeout):
        return f"no answer within {TIMEOUT:g} s"
    if isinstance(error, ConnectionError | ChunkedEncodingError):
        return "no connection, or one that broke off"
    return f"the download failed ({type(error).__name__})"
