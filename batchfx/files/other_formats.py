"""Text that is something else than a table: known by what it begins with.

Each of these has lines, and most have commas, colons or semicolons in them, so that
they would be read as a table of nonsense.
"""

from __future__ import annotations

import re

HEAD = 4096  # bytes that are looked at

# The start of lines like "Name: value", of which one says that it is MIME.
MIME = (
    rb"(?:[A-Za-z][A-Za-z-]*+:[^\r\n]*+(?:\r?\n[ \t][^\r\n]*+)*+\r?\n){0,40}?"
    rb"MIME-Version:[ \t]*1"
)
YAML_KEY = rb"[\"']?[A-Za-z_][\w-]*+[\"']?:"
YAML = (
    rb"(?:#[^\n]*\n)*+(?:---[ \t]*\r?\n)?(?:[A-Za-z_][\w-]*+:[ \t]*\r?\n)?"
    rb"[ \t]*-[ \t]+(?:\{[^\r\n]*:[ ]|" + YAML_KEY + rb"[ \t][^\r\n]*\r?\n"
    rb"[ \t]*(?:-[ \t]+)?" + YAML_KEY + rb"(?:[ \t\r\n]|\Z))"
)
SQL = (
    rb"(?:\s++|--[^\n]*+\n|/\*[^*]*+(?:\*(?!/)[^*]*+)*+\*/;?|(?:SET|USE)\b[^;\n]*+;)*+"
    rb"(?:INSERT[ \t]+INTO|CREATE[ \t]+(?:TABLE|DATABASE)|DROP[ \t]+TABLE)\b"
)
FORMATS = tuple(
    (re.compile(pattern, re.IGNORECASE), what)
    for pattern, what in (
        (MIME, "a web archive or a message (MIME)"),
        (rb"ID;P[^\n]*\n(?s:.*?)(?<=\n)[CF];[YX][0-9]+;", "a sheet in SYLK"),
        (rb"TABLE\r?\n0,1\r?\n\"", "a table in Data Interchange Format (DIF)"),
        (rb"\s*(?:OFXHEADER[:=]|<\?OFX\b|<OFX>)", "a bank's statement (OFX)"),
        (rb"\s*!(?:Type|Account|Option|Clear)\b[^\n]*\n", "an account's list (QIF)"),
        (
            rb"(?:\{[^\n]*\n|\s)*:20:[^\n]*\n(?:[^\n]*\n){0,8}?:(?:25P?|28C?|60[FM]):",
            "a bank's statement (MT940)",
        ),
        (rb"\s*BEGIN:VCARD\b", "a list of contacts (vCard)"),
        (rb"\s*BEGIN:VCALENDAR\b", "a calendar (iCalendar)"),
        (
            rb"(?:version: 1\s+)?dn::? [^\r\n]+\r?\n(?: [^\r\n]*\r?\n)*[A-Za-z]+::? ",
            "a directory's export (LDIF)",
        ),
        (YAML, "YAML"),
        (SQL, "a script in SQL"),
        (rb"\s*<([A-Za-z_][\w:.-]*)(?:\s[^<>]*)?>\s*<[A-Za-z_!/]", "an XML file"),
    )
)


def text_format_of(head: bytes) -> str | None:
    """Return what text beginning with *head* is; None when it may be a table."""
    start = head[:HEAD]
    return next((what for form, what in FORMATS if form.match(start)), None)
