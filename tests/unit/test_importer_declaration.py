"""What is refused when an importer is defined, and what the sentence says."""

from __future__ import annotations

import re
import types
from enum import Enum
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, create_model

from batchfx import Column, Context, Importer
from batchfx.errors import DeclarationError, NotFoundError
from batchfx.execution import settings
from batchfx.importer import LAYOUT, find_importer, registered


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


def define(model: type[BaseModel], **body: Any) -> None:
    """Define an importer of rows of *model* that has *body* and processes nothing."""
    methods = {"process": lambda self, row, context: 1, **body}
    types.new_class(
        "RefusedImporter",
        (Importer[model],),  # type: ignore[valid-type]  # made by the test
        {},
        lambda space: space.update(methods),
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Column("Mail"), Column("Mail")),
        (Column("Mail"), Column("Post", aliases=(" mail",))),
        (Column(aliases=("B",)), Column()),
    ],
)
def test_two_fields_of_one_header_are_refused(first: Column, second: Column) -> None:
    row = create_model(
        "Row", a=(Annotated[str, first], ...), b=(Annotated[str, second], ...)
    )

    with pytest.raises(
        DeclarationError,
        match=r"the fields 'a' and 'b' of Row are both called '.+' in a file\. "
        r"Give each its own name and aliases\.",
    ):
        define(row)


def test_headers_that_differ_in_a_sign_are_told_apart() -> None:
    class PriceRow(BaseModel):
        euros: Annotated[int, Column("Price €", aliases=("price €",))]
        dollars: Annotated[int, Column("Price $")]

    class SignImporter(Importer[PriceRow]):
        name = "declaration-signs"

        def process(self, row: PriceRow, context: Context) -> int:
            return 1

    assert registered()["declaration-signs"] is SignImporter


def test_a_lookup_outside_a_table_importer_is_refused() -> None:
    class LookupRow(BaseModel):
        owner: Annotated[int, Column(lookup="owner.code")]

    with pytest.raises(
        DeclarationError, match=r"the lookup of 'owner' works in a TableImporter alone"
    ):
        define(LookupRow)


@pytest.mark.parametrize("given", ["rows", "", None, True])
def test_unknown_savepoints_are_refused(given: object) -> None:
    sentence = re.escape(f'savepoints = {given!r} is unknown. Write "group" or "row".')
    with pytest.raises(DeclarationError, match=sentence):
        define(ThingRow, savepoints=given)


@pytest.mark.parametrize("given", [0, -5, True, 2.5, "100", None])
def test_a_chunk_size_that_is_no_number_of_rows_is_refused(given: object) -> None:
    sentence = re.escape(
        f"chunk_size = {given!r} is no number of rows. "
        "Write a whole number from 1, such as 5000."
    )
    with pytest.raises(DeclarationError, match=sentence):
        define(ThingRow, chunk_size=given)


def test_a_row_model_without_fields_is_refused() -> None:
    class EmptyRow(BaseModel):
        pass

    with pytest.raises(
        DeclarationError, match=r"EmptyRow has no fields\. Write one for each column"
    ):
        define(EmptyRow)


class UnknowingRow(BaseModel):
    """A row that names a type which is nowhere."""

    a: Nowhere  # type: ignore[name-defined]  # noqa: F821 - the very fault


class EarlyRow(BaseModel):
    """A row that names a type which is defined after it."""

    a: Later


class Later(Enum):
    """A type that is named before."""

    ONE = "one"


def test_a_type_that_is_not_defined_is_refused() -> None:
    with pytest.raises(
        DeclarationError,
        match=r"UnknowingRow names a type that is not defined, 'Nowhere'\. "
        "Define or import it before the importer of UnknowingRow",
    ):
        define(UnknowingRow)


def test_a_type_that_is_defined_after_the_row_is_found() -> None:
    define(EarlyRow, name="declaration-early")

    assert EarlyRow.model_fields["a"].annotation is Later


def test_a_layout_is_kept_and_its_options_are_those_of_a_file() -> None:
    class LaidOutImporter(Importer[ThingRow]):
        name = "declaration-laid-out"
        layout = {"delimiter": ";", "header_row": 3}  # noqa: RUF012 - as authors write it

        def process(self, row: ThingRow, context: Context) -> int:
            return 1

    assert LaidOutImporter.layout == {"delimiter": ";", "header_row": 3}
    assert set(LAYOUT) == {*settings.LAYOUT, "expected_columns"}


def test_an_unknown_option_of_the_layout_is_refused_with_the_nearest() -> None:
    with pytest.raises(
        DeclarationError,
        match=r"layout has no option 'delimeter'\. Did you mean 'delimiter'\? "
        "There are encoding, delimiter, quote",
    ):

        class MislaidImporter(Importer[ThingRow]):
            layout = {"delimeter": ";"}  # noqa: RUF012 - as authors write it

            def process(self, row: ThingRow, context: Context) -> int:
                return 1


def test_a_layout_that_is_no_mapping_is_refused() -> None:
    with pytest.raises(
        DeclarationError, match=r"layout = ';' is no mapping\. Write one such as"
    ):

        class PlainLayoutImporter(Importer[ThingRow]):
            layout = ";"  # type: ignore[assignment]  # the mistake

            def process(self, row: ThingRow, context: Context) -> int:
                return 1
