"""What the API takes, as JSON: unknown names are refused, and so is odd text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

MOST_ROWS_SAID = 10_000  # numbers of rows in one request
MOST_CELLS = 10_000
LARGEST_ROW = 2**31 - 1
LONGEST_TEXT = 1_000_000
ODD = "U+0000 and halves of characters (U+D800 to U+DFFF) are no text"
UNKEPT = re.compile("[\x00\ud800-\udfff]")


class Body(BaseModel):
    """What a request says; a name that is unknown is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_odd_texts(cls, said: Any) -> Any:
        """Refuse texts that no database keeps, wherever in the body they are."""
        if odd_text(said):
            raise ValueError(ODD)
        return said


class TokenBody(Body):
    """The token that `batchfx serve` printed."""

    token: str = Field(max_length=1_000)


class DraftBody(Body):
    """How the file is read, said anew; what is left out stays as it is."""

    settings: dict[str, JsonValue] | None = None
    mapping: dict[str, str | None] | None = None


class StartBody(Body):
    """How to begin."""

    dry_run: bool = Field(default=False, description="Check all rows, write none.")
    again: bool = Field(default=False, description="Although it was imported before.")


class RerunBody(Body):
    """Answers for the next attempt, such as {"date_order": "dmy"}."""

    settings: dict[str, JsonValue] = Field(default_factory=dict)
    dry_run: bool | None = Field(
        default=None,
        description="Check the rows, or import them. Where it isn't said, what was "
        "only checked is checked again; `approve` imports it.",
    )


class EditBody(Body):
    """New texts by field, and the version of the row that the editor saw."""

    values: dict[str, str | None] = Field(min_length=1, max_length=MOST_CELLS)
    version: int = Field(ge=0, le=LARGEST_ROW)


RowNumber = Annotated[int, Field(ge=1, le=LARGEST_ROW)]


class RowsBody(Body):
    """Numbers of rows."""

    rows: list[RowNumber] = Field(min_length=1, max_length=MOST_ROWS_SAID)


class ExcludeBody(RowsBody):
    """Rows that are not to be imported, and why."""

    reason: str | None = Field(default=None, max_length=1_000)


class FixBody(Body):
    """One value in the place of another, in every row that has this issue with it."""

    code: str = Field(max_length=200)
    field: str = Field(max_length=1_000)
    value: str | None = Field(max_length=LONGEST_TEXT)
    replacement: str | None = Field(max_length=LONGEST_TEXT)


def odd_text(said: Any) -> bool:
    """Tell whether plain JSON data has a text that no database keeps."""
    waiting = [said]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str) and UNKEPT.search(each):
            return True
        if isinstance(each, Mapping):
            waiting += [*each, *each.values()]
        elif isinstance(each, list | tuple):
            waiting += each
    return False
