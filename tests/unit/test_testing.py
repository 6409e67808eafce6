"""Trying an importer on rows without a database."""

from __future__ import annotations

import pytest

from batchfx.errors import SourceError
from batchfx.testing import try_rows
from tests.people import PersonImporter, PersonRow


def test_a_good_row_comes_back_typed() -> None:
    (tried,) = try_rows(PersonImporter, [{"Code": "A", "Name": "Ann", "Age": "31"}])

    assert tried.row == PersonRow(code="A", name="Ann", age=31)
    assert tried.issues == ()


def test_every_phase_has_its_say() -> None:
    tried = try_rows(
        PersonImporter,
        [
            {"Code": "A", "Name": "Ann", "Age": "x"},
            {"Code": "X", "Name": "Ann", "Age": "1"},
            {"Code": "B", "Name": "Boss", "Age": "7"},
            {"Code": None, "Name": "", "Age": "-1"},
        ],
    )

    assert [each.codes for each in tried] == [
        ["int_parsing"],
        ["reserved_code"],
        ["child_boss"],
        ["missing", "missing", "greater_than_equal"],
    ]
    assert all(each.row is None for each in tried)


def test_a_missing_column_is_told_as_for_a_file() -> None:
    with pytest.raises(SourceError, match="has no column 'Age'"):
        try_rows(PersonImporter, [{"Code": "A", "Name": "Ann"}])
