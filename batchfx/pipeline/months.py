"""Names of months, in the languages of the files that people send."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping

from batchfx.pipeline.orders import Parts

# By language (ISO 639-1), January first; accents and case don't count.
NAMES: Mapping[str, tuple[str, ...]] = {
    "de": (
        "januar jan jänner jän",
        "februar feb feber",
        "märz mär mrz maerz",
        "april apr",
        "mai",
        "juni jun",
        "juli jul",
        "august aug",
        "september sep sept",
        "oktober okt",
        "november nov",
        "dezember dez",
    ),
    "en": (
        "january jan",
        "february feb",
        "march mar",
        "april apr",
        "may",
        "june jun",
        "july jul",
        "august aug",
        "september sep sept",
        "october oct",
        "november nov",
        "december dec",
    ),
    "es": (
        "enero ene",
        "febrero feb",
        "marzo mar",
        "abril abr",
        "mayo may",
        "junio jun",
        "julio jul",
        "agosto ago",
        "septiembre setiembre sep sept set",
        "octubre oct",
        "noviembre nov",
        "diciembre dic",
    ),
    "fr": (
        "janvier janv jan",
        "février févr fév",
        "mars mar",
        "avril avr",
        "mai",
        "juin",
        "juillet juil",
        "août aout",
        "septembre sept sep",
        "octobre oct",
        "novembre nov",
        "décembre déc",
    ),
    "it": (
        "gennaio gen genn",
        "febbraio feb febbr",
        "marzo mar",
        "aprile apr",
        "maggio mag magg",
        "giugno giu",
        "luglio lug",
        "agosto ago",
        "settembre set sett",
        "ottobre ott",
        "novembre nov",
        "dicembre dic",
    ),
    "nl": (
        "januari jan",
        "februari feb",
        "maart mrt",
        "april apr",
        "mei",
        "juni jun",
        "juli jul",
        "augustus aug",
        "september sep sept",
        "oktober okt",
        "november nov",
        "december dec",
    ),
    "pt": (
        "janeiro jan",
        "fevereiro fev",
        "março mar",
        "abril abr",
        "maio mai",
        "junho jun",
        "julho jul",
        "agosto ago",
        "setembro set",
        "outubro out",
        "novembro nov",
        "dezembro dez",
    ),
}


def folded(text: str) -> str:
    """Return *text* without accents and in lower case: ``März`` is ``marz``."""
    apart = unicodedata.normalize("NFKD", text)
    return "".join(each for each in apart if not unicodedata.combining(each)).casefold()


def _numbers(languages: Iterable[str]) -> dict[str, int]:
    return {
        folded(name): number
        for language in languages
        for number, names in enumerate(NAMES[language], 1)
        for name in names.split()
    }


EVERY = _numbers(NAMES)


def numbers_of_months(languages: Iterable[str]) -> Mapping[str, int]:
    """Return the number, from 1, of every folded name; of all languages if none named.

    A language that is not in `NAMES` adds none. No name means two months.
    """
    asked = {language.casefold()[:2] for language in languages}
    return _numbers(sorted(NAMES.keys() & asked)) if asked else EVERY


# A day with its month in letters, folded: "3. marz 2024", "3-mar-24", "may 3, 2024",
# "1 de enero de 2025", "2024-mar-03".
NUMBER = r"(?P<day>[0-9]{1,2})"
NAME = r"(?P<name>[a-z]{3,10})\.?"
YEAR = r"(?P<year>[0-9]{4}|[0-9]{2})"
NAMED = (
    re.compile(
        rf"{NUMBER}(?:\.|st|nd|rd|th|er|o|a)?[ ./-]*(?:de |di |of )?"
        rf"{NAME}[ ,./-]*(?:de |del |di |of )?'?{YEAR}"
    ),
    re.compile(rf"{NAME}[ ./-]?{NUMBER}(?:st|nd|rd|th)?(?:, ?|[ ./-]){YEAR}"),
    re.compile(rf"(?P<year>[0-9]{{4}})[ ./-]{NAME}[ ./-]{NUMBER}"),
)
# Year, month and day as they are written in China, Japan and Korea.
MARKED = re.compile("([0-9]{4}) ?[年년] ?([0-9]{1,2}) ?[月월] ?([0-9]{1,2}) ?[日일]")
LONGEST = 40


def named_parts(text: str, months: Mapping[str, int]) -> Parts | None:
    """Return the parts of a date whose month is one of *months*, by its name.

    Or of a date that says itself which of its numbers is the month.
    """
    if len(text) > LONGEST:
        return None
    if marked := MARKED.fullmatch(text):
        return Parts(marked[1], int(marked[2]), int(marked[3]))
    plain = folded(text)
    for form in NAMED:
        match = form.fullmatch(plain)
        month = months.get(match["name"]) if match else None
        if match and month:
            return Parts(match["year"], month, int(match["day"]))
    return None
