"""What the one who signs signs: a record for the public registry of deployments, a statement for
lay readers and a checklist, all from a receipt, with a named blank where only a person knows.
"""
