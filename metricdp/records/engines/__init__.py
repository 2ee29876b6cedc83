"""Where big demand is counted: out of core on this machine (DuckDB, Polars, files of NumPy), on
Dask and on Spark.

All that the gate asks of many records is a sum of integers, each of which depends on one record. So
a demand of any size is a `Source`, which answers ``total(answer)``: `answer` maps a block of
records to a vector, blocks are mapped where they lie, and vectors add up. Ids of a finite universe
are not even mapped: the engine groups and counts them, once.

- *Bit by bit*: integers add up the same in any order, and all engines run the same code on each
  record (`encoders`), so the counts are the same on every engine.
- *Retries*: a vector is a function of its block, and an engine takes one result of each block,
  however many attempts it starts; noise is added once, by the gate, to the sum.
- *What moves*: the query's public part to the workers, keys and counts back.
- *What is said*: records that break a rule make a worker return "bad", never an exception, which
  its engine would log.

Private data passes through here to be counted; only `metricdp.privacy` asks, and it alone lets
noisy numbers out.
"""

from metricdp.records.engines.encoders import Encoder
from metricdp.records.engines.frames import ENGINES, Frame, InMemory, asked
from metricdp.records.engines.opening import opened
from metricdp.records.engines.sources import (
    Source,
    Tally,
    divided,
    mapped,
    placed,
    size,
    thinned,
    total,
)

__all__ = ["ENGINES", "Encoder", "Frame", "InMemory", "Source", "Tally"]
__all__ += ["asked", "divided", "mapped", "opened", "placed", "size", "thinned", "total"]
