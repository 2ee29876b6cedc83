"""The drawing that all pages share: universe, releases, centers and controls."""
