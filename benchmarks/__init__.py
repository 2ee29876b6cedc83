"""Measurements of metricdp: ``python -m benchmarks NAME``, each one file, its page beside it."""

PAPERS = ("paper1", "paper2", "paper3", "paper4", "paper5", "peers")
SHIPPED = ("metricdp.bench.pmed", "metricdp.bench.tsplib")
SUITES = (*SHIPPED, *(f"benchmarks.{name}" for name in PAPERS))
"""Modules of one form: a function ``register(suites)`` as `metricdp.bench` asks for, and a report
of rows. The other files here are scripts with options of their own.
"""
