"""Private clustering of points in a box as others do it, by exact integer mechanisms and with a
budget that adds up: for comparison.
"""
