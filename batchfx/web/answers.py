"""Which answers an operation may give, for the document that describes the API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from batchfx.web.problems import MEDIA_TYPE

PROBLEM = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemShape"}}}
MEANINGS: Mapping[int, str] = {
    400: "The request is malformed, or its body broke off.",
    401: "Nobody is signed in.",
    403: "It is not allowed, or another site may have sent it.",
    404: "There is no such thing, or not for your tenant.",
    409: "It is not possible now, or somebody else was first.",
    411: "The body came without its length, and was lost on the way.",
    413: "The body is too large.",
    415: "The body is of another kind than is read here.",
    422: "A part of the request, or the file, can't be taken.",
    500: "Something broke inside.",
    503: "The database can't be used now.",
    507: "There is no room for the upload.",
}
ALWAYS = (400, 401, 403, 422, 500, 503)
OF_BATCH = (404, 409)
OF_BODY = (411, 413)
OF_FILE = (404, 409, 411, 413, 415, 507)

Answers = dict[int | str, dict[str, Any]]


def answers(*statuses: int) -> Answers:
    """Return the problems of *statuses*, beside those that are always possible."""
    return {
        status: {"description": MEANINGS[status], "content": PROBLEM}
        for status in sorted({*ALWAYS, *statuses})
    }


def file_body(*, is_optional: bool = False) -> dict[str, Any]:
    """Return the body of an upload, as an operation's document has it."""
    binary = {"type": "string", "format": "binary"}
    form = {
        "type": "object",
        "properties": {"file": {**binary, "description": "The one file."}},
        "required": ["file"],
    }
    content: dict[str, Any] = {
        "application/octet-stream": {"schema": binary},
        "multipart/form-data": {"schema": form},
    }
    if is_optional:
        content["application/json"] = {
            "schema": {"$ref": "#/components/schemas/RerunBody"}
        }
    return {"requestBody": {"required": not is_optional, "content": content}}
