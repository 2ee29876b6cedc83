"""Everything that may hold private records, or exact sums of them."""
