"""Days of the week in front of a date, in the languages of the files that people send.

"Mon, 5 Jan 2026" and "Montag, 5. Januar 2026" say no more than the date does, but may
contradict it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from batchfx.pipeline.months import folded

# By language (ISO 639-1), Monday first; accents and case don't count.
NAMES = {
    "de": "montag mo|dienstag di|mittwoch mi|donnerstag do|freitag fr|samstag sonnabend"
    " sa|sonntag so",
    "en": "monday mon|tuesday tue tues|wednesday wed|thursday thu thur thurs|friday fri"
    "|saturday sat|sunday sun",
    "es": "lunes lun|martes mar|miércoles mié|jueves jue|viernes vie"
    "|sábado sáb|domingo dom",
    "fr": "lundi lun|mardi mar|mercredi mer|jeudi jeu|vendredi ven|samedi sam"
    "|dimanche dim",
    "it": "lunedì lun|martedì mar|mercoledì mer|giovedì gio"
    "|venerdì ven|sabato sab|domenica dom",
    "nl": "maandag ma|dinsdag di|woensdag wo|donderdag do|vrijdag vr|zaterdag za"
    "|zondag zo",
    "pl": "poniedziałek pon|wtorek wt|środa śr|czwartek czw|piątek pt"
    "|sobota sob|niedziela nd niedz",
    "pt": "segunda-feira segunda seg|terça-feira terça ter|quarta-feira quarta"
    " qua|quinta-feira quinta qui|sexta-feira sexta sex|sábado sáb|domingo dom",
}

BEFORE = re.compile(r"([^\W\d_]{2,13}(?:-[^\W\d_]{5})?)(?:\.?, ?|\.? )(?=\w)(.+)")
LONGEST = 80


class Named(NamedTuple):
    """The text behind a day of the week, whose *numbers* are these, Monday 0."""

    rest: str
    numbers: frozenset[int]


def _numbers() -> dict[str, frozenset[int]]:
    found: dict[str, frozenset[int]] = {}
    for week in NAMES.values():
        for number, names in enumerate(week.split("|")):
            for name in map(folded, names.split()):
                found[name] = found.get(name, frozenset()) | {number}
    return found


NUMBERS = _numbers()


def weekday_before(text: str) -> Named | None:
    """Return what stands behind a day of the week in *text*; None without one."""
    found = BEFORE.fullmatch(text) if len(text) <= LONGEST else None
    numbers = NUMBERS.get(folded(found[1])) if found else None
    return Named(found[2], numbers) if found and numbers else None
