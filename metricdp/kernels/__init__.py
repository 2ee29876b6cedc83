"""Compiled kernels: arrays in, arrays out, no imports of ours.

Every function is compiled by numba on its first call and cached on disk. They release the GIL, take
lengths as int64 on a public grid, and have reference implementations in ``tests/naive.py``.

Numba compiles a function anew for each type of its arguments, and a kernel that another calls for
each constant too. So kernels pass constants to each other as `np.int64` or `np.bool_`.
"""
