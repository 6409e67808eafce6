"""What the web refuses by itself, before a use case is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from batchfx.errors import BatchfxError, NotFoundError


class RefusalError(BatchfxError):
    """A request that is not answered as it was meant.

    *code* is stable, *status* that of HTTP, and *more* goes into the problem document.
    """

    code: ClassVar[str]
    status: ClassVar[int]
    title: ClassVar[str]
    headers: ClassVar[Mapping[str, str]] = {}

    def __init__(self, message: str, **more: Any) -> None:
        super().__init__(message)
        self.more = more


class NotSignedInError(RefusalError):
    """Nobody is known to have sent the request."""

    code, status, title = "not_signed_in", 401, "Not signed in"
    headers: ClassVar[Mapping[str, str]] = {"WWW-Authenticate": "Bearer"}


class WrongTokenError(NotSignedInError):
    """The token is not the one that was printed."""

    code, title = "wrong_token", "Wrong token"


class ForbiddenError(RefusalError):
    """Whoever sent the request may not do this."""

    code, status, title = "forbidden", 403, "Not allowed"


class CrossSiteError(RefusalError):
    """Another site may have made the browser send the request."""

    code, status, title = "cross_site", 403, "Request from elsewhere"


class UnknownImporterError(RefusalError, NotFoundError):
    """There is no importer of that name."""

    code, status, title = "unknown_importer", 404, "Unknown importer"


class NoSuchPageError(RefusalError):
    """There is nothing at the address."""

    code, status, title = "no_such_page", 404, "Nothing here"


class MethodError(RefusalError):
    """The address is known, the method is none of its own."""

    code, status, title = "method_not_allowed", 405, "Method not allowed"


class NotNowError(RefusalError):
    """The batch is in a state from which that can't be done."""

    code, status, title = "illegal_move", 409, "Not possible now"


class HalfUploadError(RefusalError):
    """The body ended before its announced end."""

    code, status, title = "half_upload", 400, "Incomplete upload"


class LengthRequiredError(RefusalError):
    """The body came in pieces, and something on its way lost them."""

    code, status, title = "length_required", 411, "Length required"


class MalformedError(RefusalError):
    """The request can't be understood as HTTP wants it."""

    code, status, title = "malformed", 400, "Malformed request"


class TooLargeError(RefusalError):
    """The body is larger than this application takes."""

    code, status, title = "too_large", 413, "Too large"


class ContentTypeError(RefusalError):
    """The body is of a kind that is not read here."""

    code, status, title = "wrong_content_type", 415, "Wrong content type"


class InvalidRequestError(RefusalError):
    """A part of the request is missing or can't be; *errors* say which."""

    code, status, title = "invalid_request", 422, "Invalid request"


class NoFileError(RefusalError):
    """A form came without a file."""

    code, status, title = "no_file", 422, "No file"


class DiskFullError(RefusalError):
    """There is no room to keep the upload."""

    code, status, title = "disk_full", 507, "No room"


def too_large(limit: int) -> TooLargeError:
    """Return the refusal of a body of more than *limit* bytes."""
    message = f"The body is larger than {limit:,} bytes, the most that is taken here."
    return TooLargeError(message, limit=limit)
