"""Measurements of metricdp: ``python -m benchmarks NAME``, each one file, its page beside it."""

PAPERS = ("paper1", "paper2", "paper3", "paper4", "paper5", "peers")
SHIPPED = ("metricdp.bench.pmed", "metricdp.bench.tsplib")
SUITES = (*SHIPPED, *(f"benchmarks.{name}" for name in PAPERS))
"""Modules of one form: ``measure(args)`` makes a report of rows; those of papers have a function
``register(suites)`` for their options. The other files here are scripts with options of their own.
"""
