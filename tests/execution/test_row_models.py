"""The plan of rows of a file that no class describes."""

from __future__ import annotations

import io
from decimal import Decimal

import polars as pl

from batchfx.execution.checking import portions, survey
from batchfx.execution.row_models import row_model, row_plan
from batchfx.model.blocks import ROW
from batchfx.model.notations import Notation
from batchfx.model.settings import Settings
from batchfx.pipeline.validate import declared

TITLES = ("sku", "price", "", "note")


def test_columns_of_which_nothing_is_said_share_a_field_of_the_model() -> None:
    titles = [f"column {place}" for place in range(2_000)]

    plan = row_plan(titles, row_model(titles, {7: "integer"}, required=[9]))

    assert len(plan.model.model_fields) == 3
    assert list(plan.fields) == [f"c{place}" for place in range(2_000)]
    assert [plan.fields[name].kind for name in ("c6", "c7")] == ["text", "integer"]
    assert [plan.fields[name].required for name in ("c8", "c9")] == [False, True]
    assert plan.columns["c1999"].name == "column 1999"


def test_shared_columns_are_read_in_the_notation_of_each() -> None:
    plan = row_plan(TITLES, row_model(TITLES, {1: "decimal"}))
    plan = plan.written(
        {
            "c0": Notation(trim=True),
            "c1": Notation(decimal=","),
            "c3": Notation(values={"n/a": "none"}),
        }
    )
    schema = {ROW: pl.UInt32(), **dict.fromkeys(plan.fields, pl.String())}
    rows = [(2, " a ", "1,50", "x", "n/a"), (3, None, "1.5", " ", "x")]
    frame = pl.DataFrame(rows, schema=schema, orient="row")

    validated = declared(plan, frame, {name: i for i, name in enumerate(plan.fields)})

    assert validated.values("c0") == ["a", None]
    assert validated.values("c1") == [Decimal("1.50"), None]
    assert validated.values("c2") == ["x", " "]
    assert validated.values("c3") == ["none", "x"]
    assert [(each.row, each.field) for each in validated.issues] == [(3, "c1")]


def test_more_columns_than_one_query_has_are_all_read_and_judged() -> None:
    width = 1_203
    titles = ",".join(f"n{place}" for place in range(width))
    source = io.BytesIO(f"{titles}\n{'1,' * (width - 1)}x\n".encode())
    types = dict.fromkeys(("n0", "n499", "n500", "n1202"), "integer")

    ((validated, blank),) = portions(source, survey(source, types, Settings()))

    assert blank == 0
    assert [validated.values(f"c{place}") for place in (0, 499, 500, 501)] == [
        [1],
        [1],
        [1],
        ["1"],
    ]
    assert [(each.field, each.code) for each in validated.issues] == [
        ("c1202", "int_parsing")
    ]


def test_the_columns_that_are_given_types_help_to_find_the_header() -> None:
    source = io.BytesIO(b"north,south\n1,2\nsku,qty\nA,1\n")

    found = survey(source, {"sku": "text", "qty": "integer"}, Settings())

    assert (found.titles, found.damage) == (("sku", "qty"), None)
    assert [validated.values("c1") for validated, _ in portions(source, found)] == [[1]]
