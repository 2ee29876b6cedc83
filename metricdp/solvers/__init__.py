"""Non-private solvers on weighted points, which every method calls in the end, private or not.

Arguments mean the same in all of them. `weights` (n_points,) is the demand at every position, in
the order of ``metric.ids``. `centers` and `candidates` are distinct positions; any position is a
candidate by default. `opened` are required facilities, which come first among the centers and count
towards `k`. `power` is 1 for k-median, 2 for k-means. `seed` and `rng` are public coins. After a
`deadline` (or `time_limit`, in seconds) the best so far is returned. Arguments out of range raise
`InputError`.
"""
