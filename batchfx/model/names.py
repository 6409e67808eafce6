"""Names of columns, compared as people compare them."""

from __future__ import annotations

import unicodedata

# Letters that have no accent to take off, as they are written without it.
LETTERS = str.maketrans(
    {"ø": "o", "Ø": "o", "ł": "l", "Ł": "l", "đ": "d", "Đ": "d", "\u0131": "i"}
    | {"æ": "ae", "Æ": "ae", "œ": "oe", "Œ": "oe"}
)
# Combining classes of signs that make another letter, not an accented one: nukta, the
# voicing marks of Kana, virama (Unicode Standard, table 3-14 of its data files).
MARKS_OF_LETTERS = frozenset({7, 8, 9})
VARIATION_SELECTORS = frozenset(range(0xFE00, 0xFE10))


def folded(name: str) -> str:
    """Return *name* without case, accents, blanks, punctuation and invisible signs."""
    if name.isascii():
        kept = "".join(c for c in name.lower() if c.isalnum())
    else:
        spelt = unicodedata.normalize("NFKD", name.translate(LETTERS)).casefold()
        kept = "".join(c for c in spelt if _counts(c))
    return kept or name


def _counts(character: str) -> bool:
    if character.isalnum():
        return True
    is_mark = unicodedata.category(character) in {"Mn", "Mc"}
    if not is_mark or ord(character) in VARIATION_SELECTORS:
        return False
    combining = unicodedata.combining(character)
    return combining in MARKS_OF_LETTERS or combining == 0
