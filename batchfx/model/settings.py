"""What somebody said of one file: its layout, its notation, and what it must hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from batchfx.model.notations import Notation

EVERY_COLUMN = "*"


@dataclass(frozen=True, slots=True)
class Settings:
    """The options given for a file; whatever is not said is found out.

    Columns are named as the person names them, `named` finds them in a header.

    Attributes:
        layout: Overrides for `batchfx.files.open.inspect`, by name.
        notation: How the values of all columns are written.
        columns: How those of single columns are written, where it is otherwise.
        required: Columns that must have a value in every record.
        choices: For a column, the only texts that it may have.
        unique: Sets of columns whose values together may be in the file once.
        unique_fold: Case and outer blanks make no difference to uniqueness.
        expected_columns: Columns that the file must have; they help to find its header.

    """

    layout: Mapping[str, Any] = field(default_factory=dict)
    notation: Notation = field(default_factory=Notation)
    columns: Mapping[str, Notation] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unique: tuple[tuple[str, ...], ...] = ()
    unique_fold: bool = False
    expected_columns: tuple[str, ...] = ()

    @property
    def named(self) -> tuple[str, ...]:
        """Every column that is named, once, in the order of the options."""
        sets = (name for names in self.unique for name in names)
        named = (*self.columns, *self.required, *self.choices, *sets)
        return tuple(dict.fromkeys((*named, *self.expected_columns)))

    def notations(self, find: Callable[[str], str | None]) -> dict[str, Notation]:
        """Return what is said of single fields, over what is said of all.

        *find* returns the field that a column's name means, None when it is none.
        """
        found = ((find(name), each) for name, each in self.columns.items())
        return {
            name: each.over(self.notation) for name, each in found if name is not None
        }
