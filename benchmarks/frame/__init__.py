"""What measurements share: options, tables, figures, pages."""
