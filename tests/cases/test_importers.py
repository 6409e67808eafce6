"""The same files through an importer: its rows are what `check` prints as good."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import BaseModel

from batchfx import Context, Importer, Options, Store, import_source, open_store
from batchfx.cli.file_json import ENCODERS
from batchfx.execution.row_models import row_model
from tests.cases.checking import NO_TYPES, OPTIONS, case_of, differences, parsed
from tests.cases.test_cases import REFUSED, VALUES, expected_rows, file_of
from tests.oracle import check_batch

OTHERWISE = {
    "csv_10000_columns": "takes an importer of 10,000 fields a minute",
    "csv_header_only": "an import of no rows is refused",
    "csv_keys_spaces_case": "only `check` compares keys without regard to case",
}
NAMES = [name for name in VALUES if name not in {*REFUSED, *OTHERWISE}]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty database."""
    opened = open_store(f"sqlite:///{tmp_path / 'case.db'}")
    yield opened
    opened.close()


def importer_of(
    model: type[BaseModel], taken: dict[int, BaseModel]
) -> type[Importer[Any]]:
    """Return an importer that keeps the rows of *model* that it is given."""

    class CaseRows(Importer[model]):  # type: ignore[valid-type]  # made for the case
        """Keeps its rows."""

        name = "case-rows"

        def process(self, row: BaseModel, context: Context) -> str:
            """Keep the row."""
            taken[cast("int", context.row)] = row
            return str(context.row)

    return CaseRows


@pytest.mark.parametrize("name", NAMES)
def test_an_importer_is_given_the_rows_that_are_good(store: Store, name: str) -> None:
    case = case_of(name)
    given = case.get("given", {})
    types = {
        place: NO_TYPES.get(kind, kind) for place, kind in enumerate(case["types"])
    }
    required = [case["header"].index(each) for each in given.get("required", [])]
    settings = {
        each: given[each] for each in OPTIONS & given.keys() if each != "required"
    }
    taken: dict[int, BaseModel] = {}
    importer = importer_of(row_model(case["header"], types, required), taken)

    report = import_source(
        store,
        importer,
        io.BytesIO(file_of(case).read_bytes()),
        name="upload",
        options=Options(settings=settings, chunk_size=3),
    )

    check_batch(store, report.key)
    expected = [
        row
        for row in expected_rows(name, case)
        if isinstance(row, list) and not any(_is_error(cell) for cell in row)
    ]
    lines = [_line(number, row, types) for number, row in sorted(taken.items())]
    first = json.dumps({"header": case["header"], "issues": []})
    found = parsed(0, "\n".join([first, *lines, "{}\n"]))
    assert differences(case, expected, found) == []
    assert report.tally.created == len(expected)
    assert report.tally.faulty == len(expected_rows(name, case)) - len(expected)


def _is_error(cell: Any) -> bool:
    return isinstance(cell, dict) and "error" in cell


def _line(number: int, row: BaseModel, types: dict[int, str]) -> str:
    cells = (getattr(row, name) for name in type(row).model_fields)
    values = ", ".join(
        "null" if cell is None else ENCODERS.get(types[place], json.dumps)(cell)
        for place, cell in enumerate(cells)
    )
    return f'{{"row": {number}, "values": [{values}], "issues": []}}'
