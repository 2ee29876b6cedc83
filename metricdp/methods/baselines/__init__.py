"""Private clustering in a box as others do it, by exact integer mechanisms: for comparison."""
