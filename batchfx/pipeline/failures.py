"""An exception of the application's code, as an issue of the row it was called for."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

from batchfx.errors import BatchfxError, ContractError, EffectError, Invalid
from batchfx.model.issues import Issue, Phase

PACKAGE = Path(__file__).parent.parent


BROKEN = (Exception, SystemExit, GeneratorExit)
"""What the application's code may raise and be at fault with: that row's failure.

A KeyboardInterrupt is not among them: it is a person who wants to stop.
"""


def issue_of(
    error: BaseException,
    phase: Phase,
    *,
    row: int | None,
    field: str | None = None,
    value: str | None = None,
) -> Issue:
    """Return `Invalid` as the issue it states, anything else as a failure.

    A failure's message names the error and the line of the application's code that
    raised it; its detail is the whole traceback.
    """
    if isinstance(error, Invalid):
        named = field if error.field is None else storable(str(error.field))
        return Issue(
            code=storable(str(error.code)),
            message=storable(str(error.message)),
            phase=phase,
            row=row,
            field=named,
            value=value if named == field else None,
            suggestion=None if error.suggestion is None else str(error.suggestion),
            parameters=error.parameters,
        )
    return Issue(
        code=_code(error),
        message=_sentence(error),
        phase=phase,
        row=row,
        field=field,
        value=value,
        parameters={"cause": f"{type(error).__name__}{_place(error)}"},
        detail=storable("".join(traceback.format_exception(error))),
    )


def storable(text: str) -> str:
    """Return *text* without halves of characters, which no database takes."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _code(error: BaseException) -> str:
    if isinstance(error, EffectError):
        return error.code
    return "broken_contract" if isinstance(error, ContractError) else "exception"


def _sentence(error: BaseException) -> str:
    if isinstance(error, BatchfxError):
        return str(error)
    try:
        text = storable(str(error).split("\n", 1)[0])
    except BROKEN:  # its own __str__ raised
        return _bare(error)
    return f"{type(error).__name__}: {text}{_place(error)}" if text else _bare(error)


def _bare(error: BaseException) -> str:
    return f"{type(error).__name__}{_place(error)}"


def _place(error: BaseException) -> str:
    frames: list[Any] = list(traceback.extract_tb(error.__traceback__))
    own = [
        f
        for f in frames
        if not (f.filename.startswith("<") or Path(f.filename).is_relative_to(PACKAGE))
    ]
    written = [f for f in own if "site-packages" not in f.filename] or own
    if not written:
        return ""
    last = written[-1]
    return f" ({Path(last.filename).name}, line {last.lineno}, in {last.name})"
