"""An exception of the application's code, as an issue of the row it was called for."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

from batchfx.errors import BatchfxError, ContractError, Invalid
from batchfx.model.issues import Issue, Phase

PACKAGE = Path(__file__).parent.parent


def issue_of(
    error: Exception,
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
        return Issue(
            code=error.code,
            message=error.message,
            phase=phase,
            row=row,
            field=error.field or field,
            value=value,
            suggestion=error.suggestion,
            parameters=error.parameters,
        )
    return Issue(
        code=_code(error),
        message=_sentence(error),
        phase=phase,
        row=row,
        field=field,
        value=value,
        detail="".join(traceback.format_exception(error)),
    )


def _code(error: Exception) -> str:
    return "broken_contract" if isinstance(error, ContractError) else "exception"


def _sentence(error: Exception) -> str:
    if isinstance(error, BatchfxError):
        return str(error)
    text = str(error).split("\n", 1)[0]
    return f"{type(error).__name__}: {text}{_place(error)}" if text else _bare(error)


def _bare(error: Exception) -> str:
    return f"{type(error).__name__}{_place(error)}"


def _place(error: Exception) -> str:
    frames: list[Any] = list(traceback.extract_tb(error.__traceback__))
    own = [f for f in frames if not Path(f.filename).is_relative_to(PACKAGE)]
    written = [f for f in own if "site-packages" not in f.filename] or own
    if not written:
        return ""
    last = written[-1]
    return f" ({Path(last.filename).name}, line {last.lineno}, in {last.name})"
