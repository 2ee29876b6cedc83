"""Private points in geographic files: what each means, and what one more changes: nothing else."""

import itertools
import logging
import warnings
from functools import partial

import numpy as np
import pytest

import metricdp as mdp
from metricdp.privacy import CountQuery, Ledger, PrivateDemand, measure
from metricdp.records.engines import embedded, geographic, opening
from tests import geo_world as world
from tests import refuses
from tests.records.test_ingestion import OTHERS, TEXTS, counts

gpd, pd = pytest.importorskip("geopandas"), pytest.importorskip("pandas")
shapely = pytest.importorskip("shapely")

FILES = ("gpkg", "geojson", "shp", "fgb", "parquet")
METRIC = mdp.GraphMetric(world.street_graph())
CORNERS = [0, len(METRIC) - 1]
NEVER_WRITTEN = [("shp", "LINESTRING (0 0, 1 1)"), ("fgb", None), ("fgb", "POINT EMPTY")]


@pytest.fixture(params=("frame", *FILES, "gpkg, large", "parquet, large"))
def load(request, tmp_path, monkeypatch):
    number = itertools.count()
    kind, large = request.param.partition(",")[::2]
    if large:
        monkeypatch.setattr(embedded, "AT_ONCE", -1)

    def loaded(frame, universe=METRIC, **options):
        if kind == "frame":
            return PrivateDemand.from_frame(universe, frame, **options)
        path = world.write(frame, tmp_path / f"homes{next(number)}.{kind}")
        return PrivateDemand.from_frame(universe, path, **options)

    loaded.kind, loaded.some = kind, 9 if large else 1
    return loaded


def test_points_of_degrees_come_to_their_corners(load):
    """Within 60 m of two corners; 283 m apart, so each is at its own."""
    found = counts(load(world.homes(400)))
    assert found.sum() == 400 and found[CORNERS].sum() == 400


def test_other_systems_come_to_the_same_places(load):
    for crs in (world.UTM, "EPSG:32718", "EPSG:3857", "EPSG:5361"):
        assert counts(load(world.homes(100, crs)))[CORNERS].tolist() == [50, 50]


def test_a_box_in_meters_takes_points_in_degrees(load):
    low = np.array([world.EAST, world.NORTH]) - 100
    space = mdp.EuclideanSpace(low, low + 1300, crs=world.UTM)
    center = mdp.k_median(space, load(world.homes(3000), space), k=2, epsilon=20).centers
    corners = np.array([[100.0, 100], [1100, 1100]]) + low
    assert np.linalg.norm(center[:, None] - corners[None], axis=2).min(axis=1).max() < 60


def test_one_record_more_adds_that_record_alone(load):
    """Whatever it is: far, on another system's ground, or of a user like no other's."""
    users = OTHERS * 3
    frame = world.homes(len(users), user=users)
    options = {"user": "user", "max_snap": "500m"}
    before = counts(load(frame, **options))
    assert before.sum() == len(set(OTHERS))
    for user in TEXTS[:: 3 * load.some]:
        if load.kind == "shp" and len(user.encode()) > 80:
            continue
        for place in (shapely.Point(-70.0, 30.0), frame.geometry.iloc[0]):
            more = gpd.GeoDataFrame({"user": [user]}, geometry=[place], crs=frame.crs)
            users, places = [*frame["user"], user], [*frame.geometry, *more.geometry]
            both = gpd.GeoDataFrame({"user": users}, geometry=places, crs=frame.crs)
            after = counts(load(both, **options))
            assert abs(after - before).sum() <= (2 if user.strip() in OTHERS else 1), user


def test_numbers_beside_missing_cells_stay_exact(load):
    """As floating-point numbers, which a missing neighbor would make them, these two are one."""
    big = 2**60 if load.kind != "shp" else 2**56
    assert counts(load(world.homes(2, user=[big, big + 1]), user="user")).sum() == 2


def test_far_records_of_a_user_take_no_place_of_a_near_one(load):
    """Left out before a user's records are sampled; who has far ones alone adds nothing."""
    near = world.homes(20, user=list(range(20)))
    users, place = [*range(25)] * 9, shapely.Point(-71.27, -29.5)
    far = gpd.GeoDataFrame({"user": users}, geometry=[place] * len(users), crs=near.crs)
    frame = gpd.GeoDataFrame(pd.concat([far, near, near], ignore_index=True))
    for m in (1, 2, 9):
        demand = load(frame, user="user", max_contributions=m, max_snap="500m")
        assert counts(demand).sum() == 20 * min(m, 2)


def test_far_records_are_left_out_each_by_itself(load):
    near = world.homes(50)
    far = gpd.GeoDataFrame(geometry=[shapely.Point(-71.27, -29.5)], crs=near.crs)
    both = gpd.GeoDataFrame(geometry=[*far.geometry, *near.geometry], crs=near.crs)
    assert counts(load(both)).sum() == 51
    for limit in ("500m", "0.5 km", 500, "1640ft"):
        assert counts(load(both, max_snap=limit)).tolist() == counts(load(near)).tolist()
    demand = load(both, max_snap="500m")
    ledger, words = Ledger(1, neighboring="replace-one"), "ledger of add-remove"
    refuses(words, mdp.k_median, METRIC, demand, k=1, epsilon=1, ledger=ledger)
    refuses(words, measure, demand, CountQuery(), 1, ledger.charge(1))
    assert len(mdp.k_median(METRIC, demand, k=1, epsilon=1, ledger=Ledger(1)).centers) == 1


@pytest.mark.parametrize("shape", [None, "POINT EMPTY", "LINESTRING (0 0, 1 1)"])
def test_what_has_no_place_is_refused(load, shape):
    if (load.kind, shape) in NEVER_WRITTEN:
        pytest.skip("no such file can be")
    odd = None if shape is None else shapely.from_wkt(shape)
    frame = gpd.GeoDataFrame(geometry=[*world.homes(3).geometry, odd], crs="EPSG:4326")
    refuses("every record must be a finite point", load, frame)


def test_one_point_as_a_collection_is_a_point(load):
    points = [shapely.MultiPoint([p]) for p in world.homes(4).geometry]
    assert counts(load(gpd.GeoDataFrame(geometry=points, crs="EPSG:4326"))).sum() == 4


def test_unlike_systems_are_named_both(load):
    plane = mdp.EuclideanMetric([[0.0, 0], [1, 1]])
    refuses(r"EPSG:4326.*no declared coordinate system", lambda: load(world.homes(4), plane))
    if load.kind in ("geojson",):
        return  # always has one
    bare = world.homes(4).set_crs(None, allow_override=True)
    if load.kind != "fgb":
        refuses(r"no declared coordinate system.*EPSG:32719", load, bare)
        assert counts(load(bare, crs="EPSG:4326"))[CORNERS].sum() == 4
    refuses(r"declares EPSG:4326.*not EPSG:3857", lambda: load(world.homes(4), crs=3857))


def test_a_stated_box(load):
    box = (-71.4, -30.1, -71.1, -29.7)
    assert counts(load(world.homes(9), box=box)).sum() == 9
    swapped_box = (-30.1, -71.4, -29.7, -71.1)
    refuses(r"does not meet .*x and y are swapped", load, world.homes(9), box=swapped_box)
    swapped = world.homes(9)
    swapped["geometry"] = shapely.transform(swapped.geometry.array, lambda xy: xy[:, ::-1])
    refuses("inside the box that was stated", load, swapped, box=box)


def test_ids_and_columns_of_layers_are_taken_when_they_are_named(load):
    frame = world.homes(3, vertex=[100, 100, 135])
    assert counts(load(frame, node="vertex"))[CORNERS].tolist() == [2, 1]
    refuses("are about coordinates", load, frame, node="vertex", max_snap=5)


def test_axis_names_of_tables_are_read():
    table = world.as_table(world.homes(8))
    known = {"x": "lon", "y": "lat"}
    read = partial(PrivateDemand.from_frame, METRIC, table)
    refuses(r"named as longitude and latitude.*EPSG:32719", read, **known)
    assert counts(read(**known, crs="EPSG:4326"))[CORNERS].tolist() == [4, 4]
    refuses("axes are swapped", read, x="lat", y="lon", crs="EPSG:4326")
    found = PrivateDemand.from_coordinates(METRIC, table.to_numpy(), crs="EPSG:4326", max_snap=500)
    assert counts(found)[CORNERS].tolist() == [4, 4]


def test_a_universe_outside_its_system_is_refused():
    graph = world.street_graph()
    graph.graph["crs"] = "EPSG:31985"  # eastern Brazil
    for _, data in graph.nodes(data=True):
        data["x"], data["y"] = 1e5, 2e5
    metric = mdp.GraphMetric(graph)
    refuses("cannot be EPSG:31985", lambda: PrivateDemand.from_frame(metric, world.homes(4)))


def test_meters_taken_for_degrees_are_refused():
    metric = mdp.HaversineMetric([[-71.3, -29.9], [-71.2, -29.9]])
    read = partial(PrivateDemand.from_coordinates, metric, max_snap=500)
    refuses("of longitude and latitude", read, [[280000.0, 6690000.0]])
    assert counts(read([[-71.3, -29.9], [-71.25, -29.9]])).sum() == 1


def test_gdal_and_its_logs_say_nothing_of_a_cell(tmp_path, capfd, caplog):
    import sqlite3

    path = world.write(world.homes(5, user=[1, 2, 3, 4, 5]), tmp_path / "homes.gpkg")
    with sqlite3.connect(path) as file:
        triggers = file.execute("select name from sqlite_master where type='trigger'")
        for name in [r[0] for r in triggers]:
            file.execute(f'drop trigger "{name}"')
        file.execute("update homes set user = 'canary-7' || char(0) where fid = 3")
    refused = refuses("", PrivateDemand.from_frame, METRIC, path, user="user")
    said = capfd.readouterr()
    assert "canary" not in said.out + said.err + caplog.text + str(refused)


def test_other_engines_and_layers_are_refused_in_words(tmp_path):
    path = world.write(world.homes(3), tmp_path / "homes.gpkg")
    refuses("embedded engine", opening.opened, path, "spark")
    refuses("no layer 'b'; layers: homes", PrivateDemand.from_frame, METRIC, path, layer="b")
    csv = tmp_path / "homes.csv"
    csv.write_text("vertex\n100\n")
    refuses("has no layers", PrivateDemand.from_frame, METRIC, csv, layer="b")


def test_which_parquet_is_geographic_its_header_says(tmp_path):
    world.write(world.homes(3), tmp_path / "places.parquet")
    pd.DataFrame({"vertex": [1]}).to_parquet(tmp_path / "plain.parquet")
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1")
    found = [path.name for path in tmp_path.iterdir() if geographic.is_geographic(str(path))]
    assert found == ["places.parquet"]
    for elsewhere in ("s3://homes/places.parquet", str(tmp_path / "absent.parquet")):
        assert not geographic.is_geographic(elsewhere)
    absent = str(tmp_path / "absent.geojson")
    refuses("absent.geojson: no such file", PrivateDemand.from_frame, METRIC, absent)


def test_geojson_has_features_and_no_layers(tmp_path):
    path = world.write(world.homes(3, user=[1, 2, 3]), tmp_path / "homes.geojson")
    read = partial(PrivateDemand.from_frame, METRIC, path)
    refuses("has no layers", read, layer="homes")
    refuses("a property's name is text, not 7", read, user=7)
    for content in ('{"features": {}}', '{"type": "FeatureCollection"}', "{"):
        path.write_text(content)
        refuses("is not a readable GeoJSON FeatureCollection", read)


def test_logs_and_warnings_of_gdal_are_off_while_rows_are_read(caplog):
    log = logging.getLogger("pyogrio._io")
    log.setLevel(logging.INFO)
    with geographic.quiet_gdal():
        log.critical("a cell")
        warnings.warn("a cell", stacklevel=1)
    assert not caplog.records
    assert log.level == logging.INFO
    log.setLevel(logging.NOTSET)


@pytest.mark.parametrize("name", ["a.gpkg", "a.shp", "a.fgb", "a.geojson", "a.parquet"])
@pytest.mark.parametrize("content", world.CONTENTS)
def test_a_file_is_what_its_bytes_and_its_name_say_together(tmp_path, name, content):
    """GDAL opened by content: GeoJSON by another name was typed by all its features, so that one
    user more made two of one.
    """
    path = tmp_path / name
    path.write_bytes(world.CONTENTS[content](tmp_path, ["2020/01/01", "2020-01-01", "x"]))
    if content == name.partition(".")[2]:
        if content == "shp":  # three files
            pytest.skip("has others beside it")
        assert counts(PrivateDemand.from_frame(METRIC, path, user="user")).sum() == 3
        return
    rule = r"begin like such a file|readable|read as Parquet"
    refuses(rule, PrivateDemand.from_frame, METRIC, path, user="user")


def test_users_of_geojson_keep_all_their_digits(tmp_path):
    path = world.write(world.homes(3, user=["1.00", "1.01", "1.02"]), tmp_path / "homes.geojson")
    digits = path.read_text().replace('"1.01"', "0.1").replace('"1.02"', "0.1" + "0" * 20 + "1")
    path.write_text(digits)
    assert counts(PrivateDemand.from_frame(METRIC, path, user="user")).sum() == 3
