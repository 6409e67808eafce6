"""What was done to a row's values, or to its fate, by a person or a corrected file."""

from __future__ import annotations

from enum import StrEnum


class Action(StrEnum):
    """Why a row has a new version."""

    CORRECTED = "corrected"  # by a file
    DOUBTED = "doubted"  # the file may be written otherwise than the batch
    EDITED = "edited"  # by a person
    FIXED = "fixed"  # by a person, with every row that had the same value
    EXCLUDED = "excluded"  # a person wants it not to be imported
    APPROVED = "approved"  # a person takes it as it is; nothing more is tried
