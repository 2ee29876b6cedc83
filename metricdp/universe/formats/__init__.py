"""Graph files, one format a file."""
