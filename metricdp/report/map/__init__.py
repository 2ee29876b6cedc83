"""The map page: one release or answer, offline."""
