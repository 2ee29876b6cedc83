"""The private demand. Its records are put in the vault here, and no attribute refers to them."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NoReturn, TypeVar

from numpy.typing import ArrayLike, NDArray

from metricdp.accounting.binding import Capped, Protection, UserCaps
from metricdp.arguments import CRS, shown
from metricdp.errors import InputError
from metricdp.privacy import _vault
from metricdp.protocols import Finite, Placing, Space, finite, space_of
from metricdp.records.engines.bounding import WHOLE, Bounding, LogSizes, SharesOfOne, UserRule
from metricdp.records.engines.frames import Wanted, are_ids, asked, present, weighted
from metricdp.records.engines.opening import opened
from metricdp.records.engines.sources import Source
from metricdp.records.ingestion.columns import names_of
from metricdp.records.ingestion.columns import points as points_of
from metricdp.records.ingestion.encoders import RowEncoder
from metricdp.records.ingestion.matching import SECRET, Anywhere, in_hand
from metricdp.records.trouble import FAULT
from metricdp.releases import Neighboring, Weighting
from metricdp.unique import Unique

T = TypeVar("T")
Users = Iterable[Hashable] | None
_ONE_EACH = "user must give one entry per record, none of them missing"
_LINES = (
    ", and be one line of UTF-8 text with as many fields as the first row, quotes closed, "
    "decimals with a point and no empty cell"
)


class PrivateDemand(Unique):
    """An opaque multiset of records in a public universe; repeats are normal, and it may be empty.

    Its size, records and users cannot be asked for: only the functions of the gate read them. It
    cannot be copied, pickled, iterated or compared. A bad record is refused by a message that names
    the rule, never the record.

    **Privacy.** *Unit*: one record; with `user`, one user with all their records, of which a
    uniform sample of at most m = `max_contributions` is kept, drawn once, here. The sample of a
    user depends on that user's records and coins alone, so neighbors keep multisets that differ in
    one user's 1 to m records (proof P15, ``docs/proofs/15-users.md``). How many records were left
    out is never reported. *Neighboring*: the ledger's. *Composition*: all releases are of the same
    sample, and their costs add up.

    Parameters
    ----------
    universe : Metric or EuclideanSpace
        Public.
    records : iterable of ids, or array_like of shape (n, d)
        The user's own ids in a `Metric`; points in an `EuclideanSpace` (those outside are clipped
        to the box).
    user : iterable, optional
        The user of each record, one entry per record, written the same in all records of a user.
    max_contributions : int, optional
        Records kept per user, 1 unless given. Public: never choose it by looking at the data.
    weighting : {"record", "share"}
        What has a weight of 1: each record; or, with `user`, all records of a user together, spread
        over them in exact integers. **Then the mean over people of their mean distance is
        minimized.**
    caps : Caps, optional
        With `user`, instead of `max_contributions`, in a finite universe: at most c records of a
        user are kept in a part of a public partition, in at most p parts. Then m = pc, and with a
        delta the default method's noise is set by the L2 sensitivity c·√p
        (`metricdp.accounting.binding`).

    Examples
    --------
    >>> box = mdp.EuclideanSpace([0, 0], [1, 1])
    >>> mdp.PrivateDemand(box, [[0.5, 0.5], [0.5, 0.5]])
    PrivateDemand(a box in R^2; protects each record)
    >>> mdp.PrivateDemand(box, [[0, 0.5], [1, 0], [0, 1]], user=["a", "a", "b"], weighting="share")
    PrivateDemand(a box in R^2; protects each user, one unit of weight over all records of each)
    """

    __slots__ = ("__weakref__", "_caps", "_leaves_out", "_part", "_protects", "_universe")
    _why = "private records stay where they were put in; make another from the data"
    __iter__ = None
    __contains__ = None

    def __init__(
        self,
        universe: Space,
        records: Any,
        *,
        user: Users = None,
        max_contributions: int | None = None,
        weighting: Weighting = "record",
        caps: UserCaps | None = None,
    ) -> None:
        space_of(universe).check()  # public, so its own error messages may be shown
        kept = read(*in_hand(universe, records))
        self._seal(universe, kept, user, _bound(user, max_contributions, weighting, caps), caps)

    @classmethod
    def from_coordinates(
        cls,
        universe: Space,
        points: ArrayLike,
        *,
        user: Users = None,
        max_contributions: int | None = None,
        weighting: Weighting = "record",
        caps: UserCaps | None = None,
        crs: CRS | None = None,
        max_snap: float | str | None = None,
        box: Sequence[float] | None = None,
    ) -> PrivateDemand:
        """Demand at points of shape (n, d), each moved to the universe's nearest point.

        **Privacy.** As `PrivateDemand`. With `max_snap` a unit adds 0 to m records, by its own
        points alone. Then the number of records is not public even between replace-one neighbors,
        so only ledgers of the add-remove relation pay for it.

        Parameters
        ----------
        universe, user, max_contributions, weighting, caps
            As for `PrivateDemand`.
        points : array_like, shape (n, d)
        crs : anything that pyproj reads, optional
            That of the points; by default the universe's.
        max_snap : float or str, optional
            Leave out records farther than this from every point of the universe, before a user's
            are sampled: "500m", "0.3 mi"; a plain number is in meters where the universe's
            coordinates have a known unit. Not with shares or caps, which are about all records of a
            user.
        box : sequence of four floats, optional
            A public bounding box of all points: least x, least y, largest x, largest y. A box that
            does not intersect the universe is refused, and so is a point outside of it.

        Examples
        --------
        >>> stops = mdp.EuclideanMetric([[0, 0], [4, 0], [4, 3]], ids=["a", "b", "c"])
        >>> demand = mdp.PrivateDemand.from_coordinates(stops, [[0.2, -0.1], [3.9, 2.5]] * 5000)
        >>> sorted(mdp.k_median(stops, demand, k=2, epsilon=1).centers)
        ['a', 'c']
        """
        place = space_of(universe).placing(crs=crs, max_snap=max_snap, box=box)
        bound = _bound(user, max_contributions, weighting, caps, place.limited)
        rule = (
            f"every record must be {place.rule}, points of shape (n, {place.dimension}); {SECRET}"
        )
        array = read(rule, lambda: points_of(points, place.dimension))
        kept = read(rule, lambda: universe.within(place(array), place.limited))
        demand = cls.__new__(cls)
        demand._seal(universe, kept, user, bound, caps, place.limited)
        return demand

    @classmethod
    def from_frame(
        cls,
        universe: Space,
        frame_or_path: Any,
        node: str | None = None,
        x: str | None = None,
        y: str | None = None,
        user: str | None = None,
        max_contributions: int | None = None,
        *,
        columns: Sequence[str] | None = None,
        engine: str = "embedded",
        weighting: Weighting = "record",
        caps: UserCaps | None = None,
        layer: str | None = None,
        crs: CRS | None = None,
        max_snap: float | str | None = None,
        box: Sequence[float] | None = None,
    ) -> PrivateDemand:
        """Demand from columns of a table of any size, counted by the engine that holds it
        (`metricdp.records.engines`).

        In a finite universe the engine counts the rows of each point once, and the counts are
        stored. In a box every query reads a large table again, so it must not change while the
        demand lives. Tables in memory and small files are copied.

        **Privacy.** As `PrivateDemand`. In a large table `metricdp.records.engines.bounding`
        samples at most m rows of each user, as a function of that user's rows and one secret key:
        the same rows in every reading.

        Parameters
        ----------
        frame_or_path : table or path
            A pandas, Polars (also lazy) or PyArrow table, an Arrow data set, a DuckDB relation, a
            Dask or PySpark data frame; a CSV or TSV (also gzipped) or Parquet file, a folder or a
            glob of such; for a box also `numpy.memmap` or an ``.npy`` file, shape (n, d). A
            GeoDataFrame; a GeoPackage, GeoJSON, GeoParquet, Shapefile or FlatGeobuf: unless columns
            are named, its points are the records, transformed from the coordinate system that it
            declares to the universe's.
        node, x, y, user : str, optional
            Columns of ids ("vertex" unless coordinates are named), of coordinates, of users.
        columns : sequence of str, optional
            Columns of coordinates, as many as the universe has, instead of `x` and `y`.
        engine : {"embedded", "dask", "spark"}
            What reads a path: this process, the default Dask client, or the current Spark session.
        layer : str, optional
            The layer to read, of a geographic file that has several.
        universe, max_contributions, weighting, caps, crs, max_snap, box
            As `PrivateDemand` and `from_coordinates`.

        Examples
        --------
        >>> import pandas as pd
        >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
        >>> visits = pd.DataFrame({"vertex": [1] * 5000 + [7] * 5000})
        >>> demand = mdp.PrivateDemand.from_frame(metric, visits, node="vertex")
        >>> sorted(mdp.k_median(metric, demand, k=2, epsilon=1).centers)
        [1, 7]
        """
        if (x is None) != (y is None):
            raise InputError("coordinates need both x= and y=")
        bound = _bound(user, max_contributions, weighting, caps, max_snap is not None)
        capped = None if caps is None else caps.of(universe)
        wanted = Wanted(node, x, y, columns, user, {"crs": crs, "max_snap": max_snap, "box": box})
        frame = opened(frame_or_path, engine, wanted.names, layer)
        encode = asked(frame, universe, wanted)
        place = encode.place
        what = place.rule if isinstance(place, Placing) else "a finite point"
        if are_ids(encode):
            kind = type(finite(universe, "a column of ids").ids[0]).__name__
            what = f"the id ({kind}) of a point of {universe.name}"
        line = "" if frame.form is None else _LINES
        rule = f"every record must be {what}, and have a user if users are named{line}; {SECRET}"
        kept = None
        if user is not None:
            frame.check_users()
            kept = _kept(bound, capped)
        source = read(rule, lambda: frame.records(universe, encode, user, kept))
        demand = cls.__new__(cls)
        far = isinstance(place, Placing) and place.limited
        demand._place(universe, source, bound, None, far, capped)
        return demand

    def _seal(
        self,
        universe: Space,
        records: NDArray[Any],
        user: Users,
        bound: Protection,
        caps: UserCaps | None,
        leaves_out: bool = False,
    ) -> None:
        """Bound each user's contribution, and put the records in the vault."""
        capped = None if caps is None else caps.of(universe)
        _check_column(user)
        held: NDArray[Any] | Source = present(records) if leaves_out and user is None else records
        if user is not None:
            kept = _kept(bound, capped)
            bounded = read(_ONE_EACH, lambda: kept.kept(names_of(user), records))
            held = weighted(bounded) if kept.weighted else bounded
        self._place(universe, held, bound, None, leaves_out, capped)

    def _place(
        self,
        universe: Space,
        records: NDArray[Any] | Source,
        protects: Protection,
        part: object,
        leaves_out: bool = False,
        capped: Capped | None = None,
    ) -> None:
        universe.check()  # public, and before anything can be charged
        _vault._put(self, records)  # only once: before a bound, which is of these records
        self._universe, self._protects, self._part = universe, protects, part
        self._leaves_out, self._caps = leaves_out, capped

    def _restricted(
        self, records: NDArray[Any] | Source, universe: Space | None = None
    ) -> PrivateDemand:
        """Demand of some of the records, with a budget slice of its own (`split`), or of all of
        them in another universe (`moved`).
        """
        demand = type(self).__new__(type(self))
        place = (self._universe, object()) if universe is None else (universe, self._part)
        same = universe is None or universe is self._universe
        caps = self._caps if same else None  # areas are of this universe; the bound m remains
        demand._place(place[0], records, self._protects, place[1], self._leaves_out, caps)
        return demand

    def _check_relation(self, neighboring: Neighboring) -> None:
        """Refuse replace-one where a unit may add no record: its proofs assume 1 to m."""
        if self._leaves_out and neighboring == "replace-one":
            raise InputError(
                "max_snap leaves records out, so that how many there are is no public fact: it "
                "needs a ledger of add-remove neighbors"
            )

    @property
    def universe(self) -> Space:
        """The public universe: the object that was given."""
        return self._universe

    @property
    def caps(self) -> Capped | None:
        """The caps of a user's records by public part, if there are any."""
        return self._caps

    @property
    def protects(self) -> Protection:
        """Unit, contribution bound and weighting together, by which ledgers are bound."""
        return self._protects

    part = property(
        attrgetter("_part"), doc="The scope of the slices that may read it, if it is of a `split`."
    )
    unit = property(attrgetter("_protects.unit"), doc='Who is protected: "record" or "user".')
    weighting = property(
        attrgetter("_protects.weighting"),
        doc='What has a weight of 1: "record", or a user\'s records together, "share".',
    )

    @property
    def weight_units(self) -> int:
        """Fixed-point units in a unit of weight: 65,536 where users have shares, else 1."""
        return WHOLE if self._protects.weighting == "share" else 1

    @property
    def max_contributions(self) -> int:
        """Most contributions of one unit: 1 for records, else the bound, or `weight_units`."""
        return int(self._protects.max_contributions) * self.weight_units

    def __len__(self) -> NoReturn:  # also asked by bool()
        raise TypeError(
            "how many records a PrivateDemand holds is private: measure a CountQuery, for some "
            "epsilon"
        )

    def __repr__(self) -> str:
        unit = "record"
        if self.unit == "user":
            unit = f"user, keeps up to {self._protects.max_contributions} records of each"
        if self.weighting == "share":
            unit = "user, one unit of weight over all records of each"
        return f"PrivateDemand({self._universe.name}; protects each {unit})"


def read(rule: str, work: Callable[[], T]) -> T:
    """Return ``work()``, or raise the rule that a record breaks."""
    return _vault._quietly(rule, work, FAULT)


def _kept(bound: Protection, capped: Capped | None) -> UserRule:
    """The rule by which each user's records are bounded, under a fresh key."""
    if bound.weighting == "share":
        return SharesOfOne()
    key = secrets.token_hex(32)
    if capped is None:
        return Bounding(1, bound.max_contributions, key)
    return Bounding(capped.parts, capped.records, key, capped.areas)


def _bound(
    user: Users | str,
    max_contributions: int | None,
    weighting: Weighting,
    caps: UserCaps | None,
    limited: bool = False,
) -> Protection:
    """The unit of protection, by public arguments."""
    if caps is not None and not isinstance(caps, UserCaps):
        raise InputError(f"caps must be mdp.Caps(parts, records), got {shown(caps)}")
    capped = None if caps is None else caps.max_contributions
    return Protection.asked(user is not None, max_contributions, weighting, capped, limited)


def _check_column(user: Any) -> None:
    """Refuse what is not one column of users, by its public kind."""
    several = isinstance(user, str | bytes | Mapping) or hasattr(user, "columns")
    if several or getattr(user, "ndim", 1) != 1:
        raise InputError(
            "user must give one entry per record; of a table or a file, name its column (user= of "
            "from_frame or contributions)"
        )


def contributors(
    users: Any, numbers: Finite, column: str | None = None, engine: str = "embedded"
) -> PrivateDemand:
    """Demand of one record for each user, by the user's number of records: point j of the public
    universe `numbers` represents more than 2^(j-1), up to 2^j records, the last one also more.

    **Privacy.** *Unit*: one user with all their records, who is one record here, at a point that
    depends on those records alone (`LogSizes`): m = 1, whatever bound is used elsewhere. Nothing is
    released here; queries about it are paid for.
    """
    counted = LogSizes(len(numbers) - 1)
    held: NDArray[Any] | Source
    if column is None:
        _check_column(users)
        held = read(_ONE_EACH, lambda: counted.of(names_of(users)))
    else:
        frame = opened(users, engine, [column])
        frame.check([column])
        frame.check_users()
        place = RowEncoder((column,), Anywhere())
        held = read(_ONE_EACH, lambda: frame.records(numbers, place, column, counted))
    demand = PrivateDemand.__new__(PrivateDemand)
    demand._place(numbers, held, Protection("user", 1), None)
    return demand
