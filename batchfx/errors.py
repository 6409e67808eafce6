"""Every exception, grouped by who must act on it.

Bad data is a value (`Issue`), not an exception. What is raised here asks a person to do
something, and its message says what. `Invalid` and `Skip` are no faults: an importer
raises them to give a verdict on a row.
"""

from __future__ import annotations

from typing import Any


class BatchfxError(Exception):
    """Something that a person must act on; the message says what to do."""


# The importer's author must act.


class DeclarationError(BatchfxError, TypeError):
    """An importer, a row model or a column is declared in a way that can't work."""


class ContractError(BatchfxError):
    """A part of an importer returned what it must not return."""


class TransactionEndedError(BatchfxError):
    """A processor ended the chunk's transaction, which is the framework's to end."""


class EffectError(BatchfxError):
    """What a row acts on outside has come to no end that the row could go on from."""

    code = "effect"


class EffectChangedError(EffectError):
    """The key of an effect was used before with another payload."""

    code = "effect_changed"


class EffectUnknownError(EffectError):
    """Nobody knows whether an effect has happened."""

    code = "effect_unknown"


# The caller must act: the person at the command line, the program that calls.


class SourceError(BatchfxError):
    """The source can't be read, or is not what was asked for. Nothing was written.

    *code* is stable, for machines: ``empty_file``, ``no_header``, ``wrong_format`` …
    """

    def __init__(self, code: str, message: str, **parameters: Any) -> None:
        super().__init__(message)
        self.code = code
        self.parameters = parameters


class UsageError(BatchfxError):
    """What was asked for can't be done, or not with these arguments."""


class NotFoundError(UsageError):
    """The batch or the importer does not exist, or not for this tenant."""


class AlreadyImportedError(UsageError):
    """The same content was imported before; *batch* is the batch that did."""

    def __init__(self, message: str, batch: int) -> None:
        super().__init__(message)
        self.batch = batch


class IllegalMoveError(UsageError):
    """The batch is in a state from which the move asked for is not possible."""


class MisfitError(UsageError):
    """The importer here is of a version that can't go on with the batch."""


class ConflictError(UsageError):
    """Somebody else was first, with something else; nothing was overwritten."""


class CursorUnknownError(UsageError):
    """The cursor is none of this batch's: it comes from elsewhere, or is no cursor."""


class CursorExpiredError(UsageError):
    """The events after the cursor are no longer kept; *earliest* is where to go on."""

    def __init__(self, message: str, earliest: str) -> None:
        super().__init__(message)
        self.earliest = earliest


# The operator must act.


class StoreError(BatchfxError):
    """The database can't be used: unreachable, read-only, of another version."""


class EffectHeldError(BatchfxError):
    """An effect must not be run now; its chunk is tried again later."""


class AccessError(BatchfxError):
    """Who wants to work is not let in. It does not say which part was wrong."""


class LeaseLostError(BatchfxError):
    """The right to work was taken over or ended: nothing was committed.

    It is neither success nor failure: somebody else owns the work now.
    """


# Raised by importers, as verdicts on a row.


class Invalid(Exception):  # noqa: N818 - a verdict, not a fault
    """The row's data is wrong; raised by a check or by a processor.

    Args:
        code: Stable and for machines, such as ``vip_needs_credit``.
        message: For the person who made the file: what is wrong, what to do.
        field: The field at fault; in ``check_<field>`` it is known already.
        suggestion: A value that would be right, when one is safe to propose.
        parameters: What the message was made from, for translation.

    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        field: str | None = None,
        suggestion: str | None = None,
        **parameters: Any,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.field = field
        self.suggestion = suggestion
        self.parameters = parameters


class Skip(Exception):  # noqa: N818 - a verdict, not a fault
    """The row is left out on purpose, for *reason*; raised by a processor."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
