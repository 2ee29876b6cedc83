"""Bugs of one place each: of the runner that pays for a method, and of readers."""

from metricdp.audit.planted.mutating import Mutation

TABLE = (
    (
        "a look unpaid",
        "A look before the last has all of epsilon, from a grant of its own that no ledger knows "
        "of; what the others have is left as it was.",
        (
            "release, two looks, two pairs, add-remove",
            "release, two looks, two pairs, replace-one",
        ),
        Mutation(
            "running.runner:Run._measured",
            "measure(self._seen(image), query, self.terms.part(share), self.grant)",
            "measure(self._seen(image), query, *(\n"
            "        (self.terms.part(share), self.grant)\n"
            "        if type(query).__name__ != 'HistogramQuery' or share >= self._left\n"
            "        else (self.terms.part(Fraction(1)), type(self.grant)(\n"
            "            _price(self.grant), self.grant.neighboring, self.grant.scope))))",
        ),
    ),
    (
        "quotes swallow lines",
        "Text files are read by a parser of CSV that lets quoted cells hold line breaks: a quote "
        "that one record leaves open swallows the records after it.",
        ("a line is a record",),
        Mutation(
            "records.ingestion.lines:Lines.columns",
            "list(map(split, kept, repeat(self.layout.delimiter)))",
            "list(__import__('csv').reader([f'{line}\\n' for line in kept]))",
        ),
    ),
)
