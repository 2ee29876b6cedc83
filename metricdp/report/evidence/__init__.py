"""A registry record, a statement for lay readers and a checklist, from a receipt."""
