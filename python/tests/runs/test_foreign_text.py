"""Words that others have written."""

import pytest
from craton.errors import one_line
from craton.foreign_text import begins_a_formula, quoted, whole_number


@pytest.mark.parametrize(("word", "number"), [("0", 0), ("0012", 12), (18 * "9", 10**18 - 1)])
def test_whole_numbers(word, number):
    assert whole_number(word) == number


@pytest.mark.parametrize("word", ["", "-1", "+1", "1.0", "1e3", " 1", "²", "٣", "1_000", 19 * "9", 5000 * "9"])
def test_what_is_no_whole_number(word):
    assert whole_number(word) is None


@pytest.mark.parametrize("name", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", ' =HYPERLINK("http://a.invalid")'])
def test_what_a_spreadsheet_would_compute(name):
    assert begins_a_formula(name)


@pytest.mark.parametrize("name", ["", "-", "IU.ANMO", "a=b", "201305240544A"])
def test_what_a_spreadsheet_leaves(name):
    assert not begins_a_formula(name)


def test_words_are_named_in_short():
    assert quoted(" a\n b\t") == "'a b'"
    assert quoted(100 * "x") == f"'{60 * 'x'}...'" and quoted("four", 3) == "'fou...'"


def test_a_terminal_gets_one_printable_line():
    assert one_line("a\nb\x1b[31mred\x07") == r"a b\x1b[31mred\x07"
    assert one_line("größer: 3 km²") == "größer: 3 km²"
    said = one_line(f"basis set {100000 * 'b'} ; allowed: names")
    assert said == f"basis set {100 * 'b'}... (100,000 characters) ; allowed: names"
