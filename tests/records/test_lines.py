"""One line is one record: what the first lines of a file say of all, and blocks that Arrow parses,
beside each line by itself.
"""

import itertools
import re

import pyarrow as pa
import pytest

from metricdp.records.ingestion import columns, lines
from tests import cases, refuses

ODD = [
    "",
    " ",
    "\t",
    "x,y",
    ",,",
    " , ,",
    '"a",b,c',
    'a"b,c,d',
    "\ufffd,,",
    "\ufeffa,b,c",
    "a\0,b,c",
]
ODD += ["é,ü,\u3000", "a\rb,c,d", "#,a,b", "a,b,c,d", "a\tb\tc", "a b c", "null,NA,", " a , b , c "]
ROWS = [text.encode() for text in ODD] + [b"\xff,a,b", b"a,\xff,b", b"a,b,\xc3", b"a,b,c\x85"]
LONG = 10_000  # bytes from which on Arrow parses a block


def texts_of(block, names):
    return [columns.texts(columns.column(block, name)) for name in names]


@pytest.mark.parametrize("delimiter", [",", "\t", None])
@pytest.mark.parametrize("names", [("a", "b", "c"), ("a", "b"), ("a",), None])
@pytest.mark.parametrize("size", [1, LONG])
def test_blocks_are_read_as_line_by_line(delimiter, names, size):
    form = lines.Layout(names, delimiter)
    asked = ["3", "1"] if names is None else [names[-1], names[0]][: len(names)]
    cells = [mark * 999 for mark in "123"[: len(names or "abc")]]
    plain = (delimiter or " ").join(cells).encode()
    simple = names is not None and len(names) > 1 and delimiter is not None and size == LONG
    for odd, end in itertools.product([None, *ROWS], [b"\n", b"\r\n", b"\n\n"]):
        rows = [plain] * (size // len(plain + end) + 1) + [row for row in (odd,) if row is not None]
        block = lines.Lines(end.join([*rows, plain, b""]), form)
        table = block.table(asked)
        assert texts_of(table, asked) == texts_of(block.columns(asked), asked), odd
        assert odd is not None or isinstance(table, pa.Table) == simple


def test_a_block_without_a_line_end_or_without_a_line():
    form = lines.Layout(("a", "b"), ",")
    for data in (b"", b"\n\n", b"1,2", b"1,2\n" * 5000 + b"3,4", b"\n" * LONG):
        block = lines.Lines(data, form)
        assert texts_of(block.table(["b"]), "b") == texts_of(block.columns(["b"]), "b")


def test_cells_of_a_line():
    form = lines.Layout(("a", "b"), ",")
    rows = b'1,2\n"1" ,2\n"1", "2"\n"a,b",2\n1\n1,2,3\n"1,2\n,\n\n \n\n"a""b",2\n'
    read = lines.Lines(rows, form).columns(["a", "b"])
    assert read["a"] == ["1", None, "1", "a,b", None, None, None, "", 'a"b']
    assert read["b"] == ["2", None, "2", "2", None, None, None, "", "2"]
    bare = lines.Lines(b'1 2  3\n\t\n\t4 5\n"6\n', lines.Layout(None, None))
    assert bare.columns(["2"]) == {"2": ["2", "5", None]}
    assert bare.columns(["3", "1"]) == {"3": ["3", None, None], "1": ["1", None, None]}
    comma = lines.Lines(b"1,2\n3,4,5\n6\n\t\n", lines.Layout(None, ","))
    assert comma.columns(["2"]) == {"2": ["2", "4", None, None]}


@cases(
    ("first", "path", "asked", "names", "delimiter"),
    ("a,b;c,d", "t.csv", ["a"], ("a", "b;c", "d"), ","),
    ("a;b;c,d", "t.csv", ["a"], ("a", "b", "c,d"), ";"),
    ("a|b", "t.txt", ["a"], ("a", "b"), "|"),
    ("a\tb", "t.TSV.GZ", ["a"], ("a", "b"), "\t"),
    ("a b", "t.txt", ["a"], ("a", "b"), None),
    ("a b", "t.csv", ["a"], ("a b",), ","),
    ('"a b"', "t.txt", ["a b"], ("a b",), ","),
    ('"a,b,c";d', "t.csv", ["d"], ("a,b,c", "d"), ";"),
    ('a;"b,c,d,e";f', "t.csv", ["f"], ("a", "b,c,d,e", "f"), ";"),
    (" a ,, c", "t.csv", ["a"], ("a", "2", "c"), ","),
    ("a,b", "t.csv", ["1", "2"], None, ","),
    ("a,b", "t.tsv.gz", ["1"], None, "\t"),
    ("a,b", "t.txt", ["99999"], None, None),
    ("1,2,x", "t.csv", ["1", "x"], ("1", "2", "x"), ","),
    ("a,100000", "t.csv", ["100000"], ("a", "100000"), ","),
    ("01,1", "t.csv", ["01"], ("01", "1"), ","),
)
def test_the_first_row_says_how_lines_are_read(first, path, asked, names, delimiter):
    found = lines.layout(["# of the file", " ", "%", first, "1,2,3"], path, asked)
    assert found == lines.Layout(names, delimiter)
    assert list(found.columns[:2]) == ["1", "2"] if names is None else found.columns == names


@cases(
    ("rows", "rule"),
    ([], "no rows"),
    (["", "# a"], "no rows"),
    (["a\0,b"], "is not UTF-8 text"),
    (['a,"b'], "misplaced quotes"),
    (['a,"b"c'], "misplaced quotes"),
    (["a, a"], "two columns have the same name"),
    (["2,"], "two columns have the same name"),
)
def test_a_first_row_that_names_no_columns_is_refused(rows, rule):
    refuses(rule, lines.layout, rows, "t.csv", ["a"])


@cases(
    "head", [], ["a,b"], ["", "a,b"], ["# a", " % ", "a,b", ""], ["\ufeff# x", "\ufeffa,b"], ids=str
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_the_header_ends_with_the_row_of_names_wherever_a_file_is_cut(head, end):
    """Two chunks may part a line end, also that of the row of names."""
    data = ("".join(line + end for line in head) + f"1,2{end}3,4{end}").encode()
    whole = re.findall(rb"[^\r\n]*(?:\r\n|\r|\n)", data)
    names = next(i for i, line in enumerate(whole) if b"," in line)
    shown = [line.decode().strip("\ufeff\r\n") for line in whole[: names + 1]]
    assert lines.header(data) == [*shown, ""]
    for first, more in itertools.product(range(len(data) + 1), range(3)):
        chunks = [data[:first], data[first : first + more], data[first + more :]]
        found = lines.blocks(chunks, lines.Layout(("a", "b"), ","))
        assert b"".join(block.data for block in found) == b"".join(whole[names + 1 :])
        bare = lines.blocks(chunks, lines.Layout(None, ","))
        assert b"".join(block.data for block in bare) == data


def test_blocks_hold_whole_lines():
    chunks = [b"1,2\n3", b",4", b"\n5,6\n7,8\n", b"9"]
    found = [block.data for block in lines.blocks(chunks, lines.Layout(None, ","))]
    assert found == [b"1,2\n", b"3,4\n5,6\n7,8\n", b"9"]


@pytest.mark.parametrize("data", [b"", b"# a\n", b"a,b", b"# a\r\n\n"])
def test_a_header_that_has_no_end_yet(data):
    assert lines.body(data) is None and lines.header(data) == lines.decoded(data)
