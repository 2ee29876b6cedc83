"""Methods for finite universes, one recipe a file."""
