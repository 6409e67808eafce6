"""E-mail addresses and URLs.

Pydantic asks email-validator about an address, which takes 70 microseconds, and builds
a URL in more than one. So a regular expression picks those that Pydantic would surely
take as they are; it sees only the others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import email_validator
import polars as pl
from email_validator.rfc_constants import CASE_INSENSITIVE_MAILBOX_NAMES
from pydantic_core import SchemaValidator, ValidationError

from batchfx.pipeline.reading import Reader, complaint_of, exactly
from batchfx.pipeline.schemas import validator_of

# A domain that is no longer than one label may be has no label that is too long.
SURE_LENGTH = 64

ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]"
LOWER_ATOM = r"[a-z0-9!#$%&'*+/=?^_`{|}~-]"
NO_LETTER = r"[0-9!#$%&'*+/=?^_`{|}~-]"
# email-validator turns mailboxes such as INFO into lower case, those of letters alone.
LOCAL = (
    rf"(?:{LOWER_ATOM}+(?:\.{LOWER_ATOM}+)*"
    rf"|{ATOM}+(?:\.{ATOM}+)+"
    rf"|{ATOM}*{NO_LETTER}{ATOM}*)"
)
# Without two hyphens in a row there is no Punycode and nothing that looks like it.
LABEL = "[a-z0-9]+(?:-[a-z0-9]+)*"
DOMAIN = rf"(?:{LABEL}\.)+(?:[a-z0-9]+-)*[a-z0-9]*[a-z]"
SURE_EMAIL = f"^{LOCAL}@{DOMAIN}$"
PLAIN_EMAIL = rf"{ATOM}+(?:\.{ATOM}+)*@{DOMAIN}"

HOST = rf"(?:{LABEL}\.)+[a-z]{{2,}}"
SEGMENT = "[A-Za-z0-9_~-][A-Za-z0-9_~.-]*"
QUERY = r"(?:\?[A-Za-z0-9_.~=&-]+)?"
WEB = ("http", "https")

# Doubtful addresses of a file are asked about once, though they are read several times:
# for what repeats in the file, and then with their rows.
REMEMBERED = 16_384


def email_reader(schema: Mapping[str, Any]) -> Reader:
    """Read the addresses that the schema of ``EmailStr`` takes."""
    special = "|".join(map(re.escape, email_validator.SPECIAL_USE_DOMAIN_NAMES))
    special = rf"[.@](?:{special})$"
    validator = validator_of(schema)

    def typed(cell: pl.Expr) -> pl.Expr:
        sure = (
            (cell.str.len_bytes() <= SURE_LENGTH)
            & cell.str.contains(SURE_EMAIL)
            & ~cell.str.contains(special)
        )
        return pl.when(sure).then(cell)

    @lru_cache(REMEMBERED)
    def read(text: str, _kind: str) -> Any:
        local, _, domain = text.rpartition("@")
        address = f"{local}@{domain.lower()}"
        if (
            len(address) <= SURE_LENGTH
            and domain.isascii()
            and local.lower() not in CASE_INSENSITIVE_MAILBOX_NAMES
            and re.fullmatch(PLAIN_EMAIL, address)
            and not re.search(special, address)
        ):
            return address
        return _validated(validator, text)

    return Reader("email", pl.String(), typed, read, exactly(str))


def url_reader(schema: Mapping[str, Any]) -> Reader:
    """Read the URLs that the schema of a URL type takes."""
    inner = schema["schema"]
    schemes = [name for name in WEB if name in inner.get("allowed_schemes", WEB)]
    known = inner.keys() <= {"type", "allowed_schemes", "max_length"} and schemes
    longest = inner.get("max_length")
    sure = rf"^(?:{'|'.join(schemes)})://{HOST}/(?:{SEGMENT}/)*(?:{SEGMENT})?{QUERY}$"
    validator = validator_of(schema)
    several = validator_of(
        {"type": "list", "items_schema": {"type": "nullable", "schema": schema}}
    )

    def typed(cell: pl.Expr) -> pl.Expr:
        if not known:
            return pl.lit(None, pl.String)
        fine = cell.str.contains(sure)
        if longest is not None:
            fine &= cell.str.len_bytes() <= longest
        return pl.when(fine).then(cell)

    return Reader(
        "url",
        pl.String(),
        typed,
        lambda text, _: _validated(validator, text),
        lambda _: False,
        values=lambda series: several.validate_python(series.to_list()),
        held=pl.Object(),
    )


def _validated(validator: SchemaValidator, text: str) -> Any:
    try:
        return validator.validate_python(text)
    except ValidationError as refused:
        return complaint_of(refused.errors(include_url=False)[0])
