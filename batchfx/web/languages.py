"""The language that a request asks for."""

from __future__ import annotations

import re

from starlette.requests import Request

from batchfx.model.translation import Language

# A code, with its region and the like, and how much it is wanted (RFC 9110, 12.5.4).
WANTED = re.compile(r"([a-z]{2,3})[-a-z0-9]*(?:\s*;\s*q=([01](?:\.[0-9]{1,3})?))?")
MOST = 20  # of those that are asked for


def language_of(request: Request) -> Language:
    """Return the one of the languages spoken here that is wanted most, or English."""
    header = request.headers.get("accept-language", "").lower()
    asked = [WANTED.fullmatch(each.strip()) for each in header.split(",")[:MOST]]
    known = [
        (-float(found[2] or 1), at, Language(found[1]))
        for at, found in enumerate(asked)
        if found is not None and found[1] in {*Language}
    ]
    wanted = [each for each in known if each[0] < 0]
    return min(wanted)[2] if wanted else Language.ENGLISH
