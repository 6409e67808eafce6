"""Everything that can be wrong with a row or a file, as a value."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from enum import StrEnum
from typing import Any


class Level(StrEnum):
    """How bad an issue is: an error keeps the row out, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


class Phase(StrEnum):
    """The step that found the issue, in the order in which the steps run."""

    FILE = "file"  # the file as a whole: unreadable, cut, a guess that was made
    RECORD = "record"  # the record as text: ragged, badly quoted, undecodable
    VALUE = "value"  # text that is no value of the field's type
    RULE = "rule"  # declared on the row model
    UNIQUE = "unique"  # a value that an earlier row of the file has already
    CHECK = "check"  # a check_<field> method
    ROW = "row"  # check_row and the model's own validators
    PROCESS = "process"  # the processor, its look-ups and the database


@dataclasses.dataclass(frozen=True, slots=True)
class Issue:
    """One thing wrong with one row, or with the file when *row* is None.

    *code* is stable and meant for machines (Pydantic's own code where one exists);
    *message* is for the person who made the file. *value* is the text that was read.
    *detail* is for the developer: the traceback of an exception in user code.
    """

    code: str
    message: str
    phase: Phase
    row: int | None = None
    field: str | None = None
    value: str | None = None
    suggestion: str | None = None
    parameters: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    level: Level = Level.ERROR
    detail: str | None = None

    @property
    def keeps_out(self) -> bool:
        """True when the row can't be processed with it."""
        return self.level is Level.ERROR

    @property
    def is_failure(self) -> bool:
        """True when user code broke, so that the row failed rather than was invalid."""
        return self.detail is not None
