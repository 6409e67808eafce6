"""What is refused when an importer is defined, and what the sentence says."""

from __future__ import annotations

import types
from typing import Annotated, Any

import pytest
from pydantic import BaseModel

from batchfx import Column, Context, Importer
from batchfx.errors import DeclarationError, NotFoundError
from batchfx.importer import find_importer, registered


class ThingRow(BaseModel):
    """A row with two fields."""

    size: int
    colour: Annotated[str, Column("Colour", unique=True)]


def test_a_class_that_overrides_validate_is_told_what_to_write() -> None:
    with pytest.raises(
        DeclarationError,
        match=r"validate: the phases belong to batchfx; "
        "write check_<field> for one field or check_row for several",
    ):

        class ValidatingImporter(Importer[ThingRow]):
            def validate(self) -> None: ...

            def process(self, row: ThingRow, context: Context) -> int:
                return 1


def test_a_check_for_no_field_is_refused_with_the_nearest_field() -> None:
    with pytest.raises(
        DeclarationError, match=r"has no field 'color'\. Did you mean check_colour"
    ):

        class ColorImporter(Importer[ThingRow]):
            def check_color(self, value: str) -> None: ...

            def process(self, row: ThingRow, context: Context) -> int:
                return 1


def test_a_missing_process_is_refused() -> None:
    with pytest.raises(
        DeclarationError, match=r"has no process: write def process\(self, row"
    ):

        class IdleImporter(Importer[ThingRow]):
            pass


def test_two_importers_of_one_name_are_refused() -> None:
    class FirstImporter(Importer[ThingRow]):
        name = "declaration-twin"

        def process(self, row: ThingRow, context: Context) -> int:
            return 1

    with pytest.raises(
        DeclarationError, match="Two importers are named 'declaration-twin'"
    ):

        class SecondImporter(Importer[ThingRow]):
            name = "declaration-twin"

            def process(self, row: ThingRow, context: Context) -> int:
                return 1

    assert find_importer("declaration-twin") is FirstImporter


def test_an_importer_without_a_row_model_is_refused() -> None:
    with pytest.raises(
        DeclarationError, match=r"names no row model: write class Modelless"
    ):

        class ModellessImporter(Importer):  # type: ignore[type-arg]  # the very fault
            def process(self, row: Any, context: Context) -> int:
                return 1


def test_a_row_model_that_is_no_pydantic_model_is_refused() -> None:
    with pytest.raises(DeclarationError, match="is no Pydantic model"):

        class DictImporter(Importer[dict]):  # type: ignore[type-var, type-arg]  # the very fault
            def process(self, row: Any, context: Context) -> int:
                return 1


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (
            {"check_size": lambda self: None},
            r"write check_size\(self, value\) or check_size\(self, value, row\)",
        ),
        ({"check_row": lambda self, row, more: None}, r"write check_row\(self, row\)"),
        ({"process": lambda self, row: 1}, r"write process\(self, row, context\)"),
        ({"prepare": lambda self, rows: None}, r"write prepare\(self, rows, context\)"),
    ],
)
def test_a_method_with_the_wrong_arguments_is_refused(
    body: dict[str, Any], sentence: str
) -> None:
    methods = {"process": lambda self, row, context: 1, **body}
    with pytest.raises(DeclarationError, match=sentence):
        types.new_class(
            "CrookedImporter",
            (Importer[ThingRow],),
            {},
            lambda space: space.update(methods),
        )


def test_an_async_method_is_refused() -> None:
    with pytest.raises(
        DeclarationError, match="must be a plain method, not async or static"
    ):

        class AsyncImporter(Importer[ThingRow]):
            async def process(
                self, row: ThingRow, context: Context
            ) -> int:  # the very fault
                return 1


def test_a_name_is_made_from_the_class_and_must_be_plain() -> None:
    class SmallThingImporter(Importer[ThingRow]):
        def process(self, row: ThingRow, context: Context) -> int:
            return 1

    assert registered()["small_thing"] is SmallThingImporter

    with pytest.raises(DeclarationError, match="a name has lower-case letters"):

        class LoudImporter(Importer[ThingRow]):
            name = "Big Things"

            def process(self, row: ThingRow, context: Context) -> int:
                return 1


def test_a_subclass_of_an_importer_keeps_the_row_model() -> None:
    class ParentImporter(Importer[ThingRow]):
        name = "declaration-parent"

        def process(self, row: ThingRow, context: Context) -> int:
            return 1

    class ChildImporter(ParentImporter):
        name = "declaration-child"

        def check_size(self, value: int) -> None: ...

    assert ChildImporter.row_model is ThingRow
    assert ChildImporter.checks == {"size": False}
    assert ChildImporter.unique_together() == (("colour",),)


def test_an_unknown_importer_is_answered_with_the_nearest_name() -> None:
    class SpecialImporter(Importer[ThingRow]):
        name = "declaration-special"

        def process(self, row: ThingRow, context: Context) -> int:
            return 1

    with pytest.raises(NotFoundError, match="Did you mean 'declaration-special'"):
        find_importer("declaration-specal")
