"""The explore page: several privacy levels, offline."""
