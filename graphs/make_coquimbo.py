"""Make coquimbo.csv.gz and coquimbo_nodes.csv.gz from the sample project inside the Python package
aequilibrae 1.7.2.

The package holds ``aequilibrae/reference_files/coquimbo.zip``, a SpatiaLite database of the road
network of La Serena and Coquimbo, Chile, drawn from OpenStreetMap. Any wheel of that version will
do (the zip inside is the same on every platform):

    python -m pip download aequilibrae==1.7.2 --no-deps --dest /tmp/wheel
    python graphs/make_coquimbo.py /tmp/wheel/aequilibrae-1.7.2-*.whl

Map data (c) OpenStreetMap contributors, available under the Open Database License
(https://www.openstreetmap.org/copyright).
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import sqlite3
import struct
import tempfile
import zipfile
from pathlib import Path

ZIP_NAME = "aequilibrae/reference_files/coquimbo.zip"
ZIP_SHA256 = "43de7e2ac90e87eb8d9ea8149e16f48c0c4e5bdf3ac8946a8f116f3bc51dc2a2"
DATABASE = "project_database.sqlite"


def open_database(wheel: Path, folder: Path) -> sqlite3.Connection:
    """Extract the network's database from the wheel after checking that it is the expected one."""
    data = zipfile.ZipFile(wheel).read(ZIP_NAME)
    found = hashlib.sha256(data).hexdigest()
    if found != ZIP_SHA256:
        raise SystemExit(
            f"{ZIP_NAME} has sha256 {found}, expected {ZIP_SHA256}: another version of the package?"
        )
    zipfile.ZipFile(io.BytesIO(data)).extract(DATABASE, folder)
    return sqlite3.connect(folder / DATABASE)


def point(blob: bytes) -> tuple[float, float]:
    """Longitude and latitude of a SpatiaLite POINT.

    Layout: 0x00, byte order (1 = little), int32 SRID, bounding box of four doubles, 0x7C, int32
    type, x, y, 0xFE.
    """
    order = "<" if blob[1] == 1 else ">"
    srid, kind = (
        struct.unpack_from(order + "i", blob, 2)[0],
        struct.unpack_from(order + "i", blob, 39)[0],
    )
    if blob[0] != 0 or blob[38] != 0x7C or blob[-1] != 0xFE or (srid, kind) != (4326, 1):
        raise SystemExit("a node's geometry is not a SpatiaLite point in longitude and latitude")
    x, y = struct.unpack_from(order + "dd", blob, 43)
    return x, y


def write_gzip(path: Path, rows: list[str]) -> None:
    """Write lines as gzip without time stamp or name, so that the same lines give the same
    bytes.
    """
    text = "\n".join(rows) + "\n"
    path.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))
    print(  # noqa: T201
        f"{path}: {len(rows) - 1:,} rows, content sha256 "
        f"{hashlib.sha256(text.encode()).hexdigest()}"
    )


def main() -> None:
    """Read the wheel named on the command line and write both files."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("wheel", type=Path, help="aequilibrae-1.7.2-*.whl")
    parser.add_argument(
        "--output", type=Path, default=Path(__file__).parent, help="folder to write to"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        database = open_database(arguments.wheel, Path(folder))
        nodes = database.execute("SELECT node_id, geometry FROM nodes ORDER BY node_id").fetchall()
        links = database.execute(
            "SELECT a_node, b_node, distance, direction FROM links ORDER BY link_id"
        ).fetchall()
        database.close()
    edges = ["from,to,length_m,direction"]
    edges += [f"{a},{b},{length:.3f},{direction}" for a, b, length, direction in links]
    points = ["id,lon,lat"] + ["{},{:.7f},{:.7f}".format(i, *point(blob)) for i, blob in nodes]
    write_gzip(arguments.output / "coquimbo.csv.gz", edges)
    write_gzip(arguments.output / "coquimbo_nodes.csv.gz", points)


if __name__ == "__main__":
    main()
