"""Non-private solvers on weighted points: what every answer ends in, private or not."""
