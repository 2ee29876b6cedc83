"""Where big demand is counted: out of core on this machine (text, DuckDB, Polars, arrays of NumPy),
on Dask and on Spark.

All that the gate asks of many records is a sum of integers, each of which depends on one record. So
a demand of any size is a `Source`, which answers ``total(answer)``: `answer` maps a block of
records to a vector, blocks are mapped where they lie, and vectors add up. Records of a finite
universe are counted at its points, once.

- *Bit by bit*: integers add up the same in any order, and all engines run the same code on each
  cell (`metricdp.records.ingestion`), so the counts are the same on every engine.
- *Retries*: a vector is a function of its block, and an engine takes one result of each block,
  however many attempts it starts; noise is added once, by the gate, to the sum.
- *What moves*: the query's public part to the workers, keys and counts back.
- *What is said*: records that break a rule make a worker return "bad", never an exception, which
  its engine would log; faults, lack of memory and interruptions are told apart from them
  (`metricdp.records.trouble`).
- *Reading twice*: each reading is sealed by its number of rows and a digest of its records; a table
  that has changed since the first one is refused.

An engine is one file and one line in `registry`. Private data passes through here to be counted;
only `metricdp.privacy` asks, and it alone lets noisy numbers out.
"""

from metricdp.records.engines.frames import Frame, asked
from metricdp.records.engines.local import LocalFrame
from metricdp.records.engines.opening import opened
from metricdp.records.engines.registry import READERS, Engine
from metricdp.records.engines.sources import (
    Source,
    Tally,
    divided,
    mapped,
    placed,
    size,
    sums,
    thinned,
    total,
)
from metricdp.records.ingestion.encoders import Encoder

__all__ = ["READERS", "Encoder", "Engine", "Frame", "LocalFrame", "Source", "Tally"]
__all__ += ["asked", "divided", "mapped", "opened", "placed", "size", "sums", "thinned", "total"]
