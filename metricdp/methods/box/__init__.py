"""Methods for boxes of R^d, one recipe a file."""
