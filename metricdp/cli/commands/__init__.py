"""Tables of the commands: what `--help` says, and options."""
