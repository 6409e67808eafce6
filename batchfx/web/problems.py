"""Errors as problem documents (RFC 9457); the status comes from the error's class.

The texts of errors are written for whoever sits at a command line as well. Sentences
about its commands and options are left out here.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from http import HTTPStatus
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from batchfx.errors import (
    AccessError,
    AlreadyImportedError,
    BatchfxError,
    ConflictError,
    ContractError,
    CursorExpiredError,
    CursorUnknownError,
    DeclarationError,
    IllegalMoveError,
    NotFoundError,
    SourceError,
    StoreError,
    UsageError,
)
from batchfx.model.translation import Language, message_in, words_in
from batchfx.web.asked import question_of
from batchfx.web.refusals import (
    HalfUploadError,
    InvalidRequestError,
    MalformedError,
    MethodError,
    NoSuchPageError,
    RefusalError,
    too_large,
)

MEDIA_TYPE = "application/problem+json"
PREFIX = "urn:batchfx:problem:"
RETRY_AFTER = "5"  # seconds, when the database can't be used
SENTENCES = re.compile(r"(?<=[.!?]) (?=['\"-]|[A-Z])")
NO_BATCH = re.compile(r"\ATenant '.*' has no batch(?= [0-9])", re.DOTALL)  # to the web
OPTION = re.compile(r"--set(?= )")
AT_WORK = re.compile(r"\A(Batch [0-9]+ is being worked on) by .+(?=\.\Z)", re.DOTALL)
COMMAND = re.compile(r"'batchfx |(?<![\w-])--[a-z]|BATCHFX_")
INTERNAL = (
    "Something broke inside the application. It was written to its log; nothing that "
    "was not reported as done has been done."
)

_log = logging.getLogger("batchfx.web")


@dataclass(frozen=True, slots=True)
class Kind:
    """What the errors of one class are as a problem."""

    status: int
    code: str
    title: str
    headers: Mapping[str, str] = field(default_factory=dict)


# The first class that an error is of counts.
KINDS: Mapping[type[BatchfxError], Kind] = {
    SourceError: Kind(422, "source", "The file can't be taken"),
    NotFoundError: Kind(404, "not_found", "Not found"),
    AlreadyImportedError: Kind(409, "already_imported", "Imported before"),
    ConflictError: Kind(409, "conflict", "In conflict with what was done before"),
    IllegalMoveError: Kind(409, "illegal_move", "Not possible now"),
    CursorExpiredError: Kind(410, "cursor_expired", "No longer kept"),
    CursorUnknownError: Kind(422, "cursor_unknown", "Unknown cursor"),
    UsageError: Kind(422, "usage", "Not possible"),
    AccessError: Kind(403, "access", "Not let in"),
    StoreError: Kind(
        503, "database", "The database can't be used", {"Retry-After": RETRY_AFTER}
    ),
    DeclarationError: Kind(500, "declaration", "The importer can't work"),
    ContractError: Kind(500, "contract", "The importer broke its contract"),
}
STATUSES = frozenset(kind.status for kind in KINDS.values())


def problem(
    code: str,
    status: int,
    title: str,
    detail: str,
    *,
    headers: Mapping[str, str] | None = None,
    more: Mapping[str, Any] | None = None,
) -> Response:
    """Return an answer that says what is wrong."""
    content = {
        **(more or {}),
        "type": PREFIX + code,
        "title": title,
        "status": status,
        "detail": detail,
    }
    return Problem(content, status, dict(headers or {}))


class Problem(JSONResponse):
    """A problem document; what JSON has no type for is written as its text."""

    media_type = MEDIA_TYPE

    def render(self, content: Any) -> bytes:
        """Return the document, with every parameter as something that JSON has."""
        return super().render(_plain(content))


def of_error(error: BatchfxError, language: Language = Language.ENGLISH) -> Response:
    """Return the problem that *error* is; of a file, it is told in the *language*."""
    if isinstance(error, RefusalError):
        return problem(
            error.code,
            error.status,
            error.title,
            words_in(language, str(error)),
            headers=error.headers,
            more=error.more,
        )
    kind = kind_of(error)
    if kind.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        _log.error("%s: %s", type(error).__name__, error)
    code = error.code if isinstance(error, SourceError) else kind.code
    return problem(
        code,
        kind.status,
        kind.title,
        _told(error, language),
        headers=kind.headers,
        more=_members(error),
    )


def kind_of(error: BatchfxError) -> Kind:
    """Return what the class of *error* is as a problem."""
    for each, kind in KINDS.items():
        if isinstance(error, each):
            return kind
    return Kind(500, "internal", "Internal error")


def of_http(error: HTTPException, path: str, allowed: Collection[str] = ()) -> Response:
    """Return the problem that the framework's own *error* is.

    *allowed* are the methods with which the *path* can be asked.
    """
    refusal: RefusalError
    if error.status_code == HTTPStatus.NOT_FOUND:
        refusal = NoSuchPageError(f"There is nothing at '{path}'.")
    elif error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        methods = ", ".join(sorted(allowed))
        refusal = MethodError(f"'{path}' can be asked with {methods} only.")
        return _with_headers(of_error(refusal), {"Allow": methods})
    else:
        refusal = MalformedError("The request's body can't be read as what it says.")
    return _with_headers(of_error(refusal), error.headers or {})


def _with_headers(answer: Response, headers: Mapping[str, str]) -> Response:
    answer.headers.update(headers)
    return answer


def of_invalid(errors: Sequence[Any]) -> Response:
    """Return the problem of a request with parts that can't be."""
    found = [
        {"where": ".".join(map(str, each["loc"])), "message": each["msg"]}
        for each in errors
    ]
    told = "; ".join(
        f"{each['where'].partition('.')[2] or each['where']}: {each['message']}"
        for each in found[:5]
    )
    message = f"The request can't be understood: {told}."
    return of_error(InvalidRequestError(message, errors=found))


def of_fault() -> Response:
    """Return the problem of what nobody expected; the server logs it."""
    return problem("internal", 500, "Internal error", INTERNAL)


def without_commands(text: str, but: re.Pattern[str] | None = None) -> str:
    """Return *text* without its sentences about the command line, *but* for some.

    `OPTION` are those that a page has controls for. Which worker is at a batch is left
    out as well: its name tells a host.
    """
    first, *others = SENTENCES.split(text)
    kept = [
        each
        for each in others
        if not COMMAND.search(but.sub("", each) if but else each)
    ]
    return " ".join([AT_WORK.sub(r"\1", first), *kept])


def refuse_size(limit: int) -> Response:
    """Return the problem of a body of more than *limit* bytes."""
    return of_error(too_large(limit))


def half() -> HalfUploadError:
    """Return the refusal of a body that broke off."""
    message = "The upload ended before its end. Nothing was kept; send it again."
    return HalfUploadError(message)


def _told(error: BatchfxError, language: Language) -> str:
    if isinstance(error, SourceError):
        said = message_in(language, error.code, str(error), error.parameters)
        return without_commands(said)
    plain = without_commands(str(error))
    return words_in(language, NO_BATCH.sub("There is no batch", plain))


def _members(error: BatchfxError) -> dict[str, Any]:
    if isinstance(error, SourceError):
        asked = question_of(error)
        question = {} if asked is None else asdict(asked)
        return {"parameters": error.parameters, **question}
    if isinstance(error, AlreadyImportedError):
        return {"batch": error.batch}
    return {}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each) for each in value]
    is_number = isinstance(value, float) and math.isfinite(value)
    return value if is_number or isinstance(value, int | None) else str(value)
