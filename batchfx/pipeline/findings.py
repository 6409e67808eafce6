"""Complaints about values, as issues of the rows that have them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pydantic_core import SchemaValidator, ValidationError

from batchfx.model.issues import Issue, Phase
from batchfx.pipeline.failures import issue_of
from batchfx.pipeline.reading import Complaint, complaint_of

HIDDEN = "•••"

REFUSED = "The value is refused"
TELLING = 3


class Found(NamedTuple):
    """A complaint about the row *at* an index of a frame.

    *place* puts the complaints about one cell in order: -1 is about its reading, then
    come the rules.
    """

    at: int
    place: int
    complaint: Complaint


def issues_of(
    found: Iterable[Found],
    field: str | None,
    numbers: Mapping[int, int],
    texts: Mapping[int, str | None],
    secrets: Sequence[Mapping[int, str | None]],
) -> list[tuple[int, Issue]]:
    """Return each complaint as an issue of its row, with the row's index.

    *numbers* and *texts* are the row numbers and the field's cells by index; *secrets*
    are the columns of sensitive cells, *texts* among them if the field is sensitive.
    """
    ordered = sorted(found, key=lambda each: (each.at, each.place))
    if secrets:
        ordered = [
            _without(each, [texts[each.at] or "" for texts in secrets])
            for each in ordered
        ]
    hidden = any(column is texts for column in secrets)
    return [
        (
            index,
            Issue(
                complaint.code,
                complaint.message,
                complaint.phase,
                numbers[index],
                field,
                HIDDEN if hidden and texts[index] else texts[index],
                complaint.suggestion,
                complaint.parameters,
                detail=complaint.detail,
            ),
        )
        for index, _, complaint in ordered
    ]


def _without(found: Found, secrets: Sequence[str]) -> Found:
    """Take sensitive values, and what may be a part of them, out of a complaint."""
    complaint = replace(found.complaint, suggestion=None)
    if complaint.quotes:
        said = complaint.message
        hides = complaint.phase is Phase.VALUE or any(
            _overlap(secret, said) for secret in secrets
        )
        complaint = replace(
            complaint,
            message=REFUSED if hides else said,
            parameters={},
            # A traceback ends with what the exception says.
            detail=complaint.detail and complaint.code,
        )
    return found._replace(complaint=complaint)


def _overlap(text: str, message: str) -> bool:
    """Tell whether *message* has three characters in a row of *text*, or all."""
    text = text.strip()
    if not text:
        return False
    parts = {text[i : i + TELLING] for i in range(max(1, len(text) - TELLING + 1))}
    return any(part in message for part in parts)


class Answer(NamedTuple):
    """What Pydantic makes of a value: another value, or complaints by field."""

    value: Any
    complaints: tuple[tuple[str | None, Complaint], ...] = ()


def ask(validator: SchemaValidator, value: Any, phase: Phase | None = None) -> Answer:
    """Have Pydantic, and the model's own validators, judge *value*.

    The complaints are of *phase*, or of the phase that their code belongs to.
    """
    return attempt(lambda: validator.validate_python(value), phase)


def attempt(call: Callable[[], Any], phase: Phase | None = None) -> Answer:
    """Run code of the row model; what it raises is what it has to complain of."""
    try:
        return Answer(call())
    except ValidationError as refused:
        errors = refused.errors(include_url=False)
        complaints = [
            (_place(error["loc"]), _phased(complaint_of(error), phase))
            for error in errors
        ]
        return Answer(None, tuple(complaints))
    except Exception as error:  # noqa: BLE001 - code of the row model's author
        return Answer(None, ((None, _broken(error, phase or Phase.RULE)),))


def _place(location: tuple[int | str, ...]) -> str | None:
    return str(location[0]) if location else None


def _phased(complaint: Complaint, phase: Phase | None) -> Complaint:
    if phase is None:
        unread = complaint.code.endswith(("_parsing", "_type", "_parsing_size"))
        refused = complaint.code in ("literal_error", "enum")
        phase = Phase.VALUE if unread or refused else Phase.RULE
    return replace(complaint, phase=phase)


def _broken(error: Exception, phase: Phase) -> Complaint:
    told = issue_of(error, phase, row=None)
    return Complaint(
        "validator_error", told.message, phase=phase, detail=told.detail, quotes=True
    )
