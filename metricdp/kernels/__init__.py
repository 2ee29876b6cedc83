"""Compiled kernels: arrays in, arrays out, no imports of ours.

Every function is compiled by numba on its first call and cached on disk. They release the GIL, take
lengths as int64 on a public grid, and have reference implementations in ``tests/naive.py``.
"""
