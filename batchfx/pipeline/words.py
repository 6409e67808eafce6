"""Yes and no, in the words of many languages.

No word means yes in one language and no in another, so every word is read unless a
column names its languages. Single letters that do differ (Turkish *e* is yes, Finnish
*e* is no) are read only where their language is named. Beside the words there are the
marks of ticked boxes; ``x`` is one of them, as on paper. ``true``, ``false``, ``1`` and
``0`` belong to no language.
"""

# ruff: noqa: RUF001 - words in other scripts are meant

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import polars as pl

from batchfx.errors import UsageError
from batchfx.pipeline.reading import Complaint, Reader, exactly
from batchfx.pipeline.suggestions import nearest


class Words(NamedTuple):
    """Words, in lower case, that mean yes and no; *usual* is one of each."""

    yes: frozenset[str]
    no: frozenset[str]
    usual: tuple[str, str] = ("yes", "no")


def _words(yes: str, no: str) -> Words:
    every = yes.split(), no.split()
    usual = every[0][0], every[1][0]
    return Words(frozenset(every[0]), frozenset(every[1]), usual)


ALWAYS = _words("true 1 x ✓ ✔ ☑ ✅", "false 0 ✗ ✘ ☐")

LANGUAGES: Mapping[str, Words] = {
    "ar": _words("نعم صحيح", "لا خطأ"),
    "bg": _words("да вярно истина", "не невярно неистина"),
    "ca": _words("sí si cert", "no fals"),
    "cs": _words("ano pravda", "ne nepravda"),
    "da": _words("ja sand sandt", "nej falsk falskt"),
    "de": _words("ja j wahr", "nein falsch"),
    "el": _words("ναι αληθές αληθες αληθής", "όχι οχι ψευδές ψευδες ψευδής"),
    "en": _words("yes y t on", "no n f off"),
    "es": _words("sí si s verdadero", "no falso"),
    "et": _words("jah tõene", "ei väär"),
    "eu": _words("bai", "ez"),
    "fa": _words("بله", "خیر"),
    "fi": _words("kyllä kylla tosi", "ei epätosi"),
    "fr": _words("oui vrai", "non faux"),
    "gl": _words("si verdadeiro", "non falso"),
    "he": _words("כן", "לא"),
    "hi": _words("हाँ हां", "नहीं"),
    "hr": _words("da istina", "ne neistina"),
    "hu": _words("igen igaz", "nem hamis"),
    "id": _words("ya benar", "tidak salah"),
    "it": _words("sì si s vero", "no falso"),
    "ja": _words("はい 真", "いいえ 偽"),
    "ko": _words("예 네 참", "아니요 아니오 거짓"),
    "lt": _words("taip", "ne"),
    "lv": _words("jā", "nē ne"),
    "nb": _words("ja sann sant", "nei usann usant"),
    "nl": _words("ja waar", "nee neen onwaar"),
    "pl": _words("tak prawda", "nie fałsz falsz"),
    "pt": _words("sim s verdadeiro", "não nao falso"),
    "ro": _words("da adevărat adevarat", "nu fals"),
    "ru": _words("да истина", "нет ложь"),
    "sk": _words("áno ano pravda", "nie nepravda"),
    "sl": _words("da", "ne"),
    "sr": _words("да da", "не ne"),
    "sv": _words("ja sant", "nej falskt"),
    "th": _words("ใช่", "ไม่ใช่"),
    "tr": _words("evet doğru dogru", "hayır hayir yanlış yanlis"),
    "uk": _words("так істина правда", "ні хибність неправда"),
    "vi": _words("có đúng", "không sai"),
    "zh": _words("是 真 对 對", "否 假 错 錯"),
}

# Letters that stand for the words, as in a column headed O/N or E/H.
LETTERS: Mapping[str, Words] = {
    "cs": _words("a", "n"),
    "da": _words("j", "n"),
    "de": _words("w", "n f"),
    "es": _words("v", "n f"),
    "fi": _words("k", "e"),
    "fr": _words("o v", "n f"),
    "hu": _words("i", "n h"),
    "it": _words("v", "n f"),
    "nb": _words("j", "n"),
    "nl": _words("j w", "n o"),
    "pl": _words("t", "n"),
    "pt": _words("v", "n f"),
    "ro": _words("d", "n"),
    "ru": _words("д", "н"),
    "sk": _words("a", "n"),
    "sv": _words("j", "n"),
    "tr": _words("e", "h"),
    "uk": _words("т", "н"),
}


# Words that may mean yes where they mean no in other languages, or the other way.
OTHERWISE = {
    "no": frozenset({"cs", "pl", "sk"}),  # as people say it there
    "na": frozenset({"cs", "pl", "sk", "bg", "hr", "mk", "sl", "sr"}),
    "ne": frozenset({"el"}),
    "da": frozenset({"de", "da", "it", "nb", "no", "sv", "pl"}),
}


def words_of(languages: Iterable[str]) -> Words:
    """Return the words of *languages*, of all that are known when there are none.

    A letter that means both in the languages named means neither.

    Raises:
        UsageError: A language is not known.

    """
    named = list(languages)
    for name in named:
        if name not in LANGUAGES:
            known = ", ".join(sorted(LANGUAGES))
            message = f"The language '{name}' is not known. Known are {known}."
            raise UsageError(message)
    parts = [ALWAYS, *(LANGUAGES[name] for name in named or LANGUAGES)]
    parts += [LETTERS[name] for name in named if name in LETTERS]
    yes = frozenset[str]().union(*(part.yes for part in parts))
    no = frozenset[str]().union(*(part.no for part in parts))
    return Words(yes - no, no - yes)


def _in_usual_case(words: frozenset[str]) -> list[str]:
    """Return the words in small letters, in capitals, and with a capital in front.

    That is quicker than to bring each cell into small letters.
    """
    cases = {case for w in words for case in (w, w.upper(), w.capitalize())}
    return sorted(case for case in cases if case.lower() in words)


def _meant(word: str, usual: tuple[str, str], languages: tuple[str, ...]) -> str | None:
    """Return what to write for a word of a language that the column doesn't name."""
    if not OTHERWISE.get(word, frozenset()).isdisjoint(languages):
        return None
    every = words_of(())
    if word in every.yes or word in every.no:
        return usual[word in every.no]
    return nearest(word, ("true", "false", usual[0]))


def boolean_reader(languages: tuple[str, ...] = ()) -> Reader:
    """Read yes and no, in the words of *languages* or of all; case doesn't count."""
    words = words_of(languages)
    own = LANGUAGES[languages[0]].usual if languages else ("yes", "no")
    told = f"Write true or false, {own[0]} or {own[1]}, or 1 or 0"
    yes, no = _in_usual_case(words.yes), _in_usual_case(words.no)

    def typed(cell: pl.Expr) -> pl.Expr:
        found = pl.when(cell.is_in(yes)).then(pl.lit(value=True))
        return found.when(cell.is_in(no)).then(pl.lit(value=False))

    def read(text: str, _kind: str) -> Any:
        word = text.lower()
        if word in words.yes or word in words.no:
            return word in words.yes
        return Complaint("bool_parsing", told, suggestion=_meant(word, own, languages))

    return Reader("boolean", pl.Boolean(), typed, read, exactly(bool))
