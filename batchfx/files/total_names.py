"""What lines of totals are called, in many languages and however it is written.

A word for a total may have others beside it that say of what: "Net total", "Total
amount". Any other word makes it the name of something: "Total Wine".
"""

# ruff: noqa: RUF001 - signs and letters of other scripts are meant

from __future__ import annotations

import re
import unicodedata

from batchfx.files.csv_notes import CURRENCIES, TOTALS

LONGEST = 60  # characters of such a name
MOST_WORDS = 5

# Words for a total that may mean other things too, as in names.
DOUBTFUL = (
    *("ergebnis", "soma", "jumlah", "कुल", "รวม", "tổng", "مجموع", "جمع", "итог"),
    *("разом", "celkom", "součet", "súčet", "összeg", "kokku", "kopā", "viso"),
)

# Single words for a total, beside those that are one with others only ("sub total").
WORDS = frozenset(
    {
        *(name for name in (*TOTALS, *DOUBTFUL) if name.isalpha()),
        *("totales", "totais", "totaux", "totali", "summen", "sums", "somma", "sigma"),
        *("totalsumma", "totalsum", "totaalbedrag", "σ"),
    }
)
# Words that say of what or how it is one.
BESIDE = frozenset(
    {
        *("grand", "sub", "net", "gross", "overall", "final", "general", "running"),
        *("amount", "amounts", "sales", "revenue", "value", "price", "cost", "costs"),
        *("qty", "quantity", "units", "items", "orders", "hours", "count", "due"),
        *("balance", "payable", "tax", "vat", "all", "of", "for", "the", "incl"),
        *("excl", "gran", "général", "générale", "geral", "generale", "complessivo"),
        *("netto", "brutto", "lordo", "bruto", "neto", "ht", "ttc", "montant"),
        *("importe", "importo", "betrag", "menge", "umsatz", "genel", "ogółem", "de"),
        *("der", "die", "i", "alt", "sous", "zwischen", "end", "bruttó", "nettó"),
        *("global", "this", "page", "month", "year", "day", "week", "carried"),
        "forward",
        *CURRENCIES,
    }
)
# Totals of German are written as one word.
ONE_WORD = re.compile(
    r"(?:gesamt|end|zwischen|teil|rechnungs|netto|brutto|monats|jahres|tages)+"
    r"(?:summen?|betrag|beträge|wert|preis|umsatz|menge|kosten|stunden|anzahl|total)"
)
YEAR = re.compile(r"(?:19|20)[0-9]{2}")
BEHIND = re.compile(r"\(.*\)|\[.*\]")

# For whole columns: what may be such a name, or ends like a label.
NAMES = "|".join(
    re.escape(name) for name in sorted({*WORDS, *TOTALS, *DOUBTFUL}) if len(name) > 1
)
STEMS = "sub.?total|sous.?total|summe|betrag|gesamt|Σ|∑|σ|t o t a l"
MAY_BE_CALLED = rf"(?i:(?:^|[^\p{{L}}])(?:{NAMES})(?:[^\p{{L}}]|$)|{STEMS})|:\s*$"
OF_GROUP = re.compile(
    rf"(?:(?:{NAMES})[\s:]\W*(?P<behind>.+)|(?P<ahead>.+)\W*[\s:\-](?:{NAMES}))\W*",
    re.DOTALL,
)


def group_named_by(label: str) -> str | None:
    """Return what a *label* says to be totalled: "North" of "North Total".

    It is folded as `folded_key` does; None where nothing says that it is a total.
    """
    if len(label) > LONGEST:
        return None
    found = OF_GROUP.fullmatch(folded_key(label))
    return (found["behind"] or found["ahead"]).strip(" :-–—") if found else None


def folded_key(text: str) -> str:
    """Return a key, such that equal ones are equal whatever their case and blanks."""
    return " ".join(text.casefold().split())


def is_total_name(label: str) -> bool:
    """Tell whether a line of totals may be called *label*."""
    if not label or len(label) > LONGEST:
        return False
    text = BEHIND.sub(" ", label.replace("∑", "σ").casefold())
    if " ".join(text.strip(" :").split()) in (*TOTALS, *DOUBTFUL):
        return True
    found = re.findall(r"[^\W_]+", unicodedata.normalize("NFC", text))
    if all(len(word) == 1 for word in found):
        found = ["".join(found)]  # T O T A L
    words = [word for word in found if not YEAR.fullmatch(word)]
    named = [word for word in words if word in WORDS or ONE_WORD.fullmatch(word)]
    others = [word for word in words if word not in named]
    signs = set("€$£¥*.:：_-–—=#/,'\"() ")
    strange = set(text) - signs - set("".join(found))
    return (
        bool(named)
        and not strange
        and len(words) <= MOST_WORDS
        and all(word in BESIDE for word in others)
    )
