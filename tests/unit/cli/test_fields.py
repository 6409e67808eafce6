from __future__ import annotations

import datetime as dt
import enum
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from pydantic import EmailStr, Field, HttpUrl, PastDate, PositiveInt

from batchfx.cli.fields import kind_of


class Size(enum.Enum):
    SMALL = "S"
    LARGE = "L"


class Code(str):
    __slots__ = ()


@pytest.mark.parametrize(
    ("annotation", "kind"),
    [
        (str, "text"),
        (Code, "text"),
        (int, "whole number"),
        (bool, "yes or no"),
        (PositiveInt, "whole number"),
        (Decimal, "decimal number"),
        (dt.date, "date"),
        (dt.datetime, "date and time"),
        (PastDate, "date in the past"),
        (UUID, "UUID"),
        (EmailStr, "e-mail address"),
        (HttpUrl, "URL"),
        (int | None, "whole number"),
        (Annotated[str, Field(max_length=3)] | None, "text"),
        (int | str, "whole number or text"),
        (Literal["open", 3], "one of open, 3"),
        (Size, "one of S, L"),
        (complex, "complex"),
        (list[int], "list[int]"),
    ],
)
def test_a_type_is_called_by_what_a_person_writes(annotation: Any, kind: str) -> None:
    assert kind_of(annotation) == kind
