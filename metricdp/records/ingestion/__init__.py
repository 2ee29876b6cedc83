"""How private cells are read: the only code that turns a cell of a table into a record or a user.

**The rule.** A cell is read by a function of that cell and of public facts (the ids of the
universe, the names and places of columns, the layout of a file's first line) *alone*. No cell's
reading, and no refusal, depends on another cell, on how many there are, or on their order. So one
record more adds what it adds and changes nothing else, which every sensitivity takes for granted.
Nothing here asks what type a column has because of what is in it; a table whose library has done so
already is read cell by cell all the same (`cells`).

- `cells`: what one cell means, as text (users, ids) and as a number (coordinates).
- `columns`: the same for whole columns, of pandas, Polars, Arrow, NumPy and lists.
- `matching`: from cells to points of a finite universe.
- `geometry`: what one geometry means, a place.
- `shapefile`: fields and points of Shapefiles, byte by byte.
- `lines`: CSV, TSV and blank-separated files: one line is one record.
- `encoders`: from blocks of a table to records and users, on any engine.
"""

from metricdp.records.ingestion.cells import number_of, text_of
from metricdp.records.ingestion.encoders import Encoder, ids_encoder
from metricdp.records.ingestion.matching import Matcher, matcher

__all__ = ["Encoder", "Matcher", "ids_encoder", "matcher", "number_of", "text_of"]
