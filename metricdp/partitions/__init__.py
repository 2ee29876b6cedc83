"""Public hierarchies and partitions of a universe; the private demand plays no part in them."""
