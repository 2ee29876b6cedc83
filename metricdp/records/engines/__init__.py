"""Engines that count large demand in files and in tables of many libraries.

Every query of the gate is a sum of integers over records, each of which depends on one record. A
`Source` answers ``total(answer)``: `answer` maps blocks of records to vectors on the workers that
hold the blocks, and the vectors are added up.

- All engines run the same code on each cell, so counts are equal on every engine.
- A block's vector is a function of the block, so a block that is retried counts once.
- Only the query's public part goes to workers; only keys and counts come back.
- Records that break a rule make a worker return "bad", never an exception that an engine would log.
- A table that changes between readings is refused, by its number of rows and a digest.

An engine is a subclass of `Frame`, and one line in `opening`.
"""
