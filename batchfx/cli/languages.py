"""The language that the command line speaks: of an option, or of the environment.

What is said is written in English where it is said, and comes through here on its way
to the screen. Help texts, and errors that are not about a file, stay English.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from batchfx.errors import BatchfxError, SourceError, UsageError
from batchfx.model.translation import (
    Language,
    Told,
    message_in,
    number_in,
    phrase_in,
    translated,
    words_in,
)

VARIABLE = "BATCHFX_LANGUAGE"
LOCALES = ("LC_ALL", "LC_MESSAGES", "LANG")  # POSIX: the first that is set counts


@dataclass
class _Speech:
    language: Language = Language.ENGLISH


_SPEECH = _Speech()  # of the whole process, as its locale is


def speak(language: Language) -> None:
    """Speak *language* from now on."""
    _SPEECH.language = language


def language_of(environment: Mapping[str, str]) -> Language:
    """Return the language that *environment* asks for, English by default.

    Raises:
        UsageError: ``BATCHFX_LANGUAGE`` names a language that isn't spoken.

    """
    said = environment.get(VARIABLE, "").strip().lower()
    if not said:
        locale = next(filter(None, map(environment.get, LOCALES)), "")
        said = locale.lower()[:2] if locale[2:3] in {"", "_", ".", "@"} else ""
        return Language(said) if said in {*Language} else Language.ENGLISH
    if said not in {*Language}:
        spoken = ", ".join(Language)
        message = f"{VARIABLE} is '{said}', which isn't spoken. Set it to: {spoken}."
        raise UsageError(message)
    return Language(said)


def words(text: str) -> str:
    """Return what the command line says, in the language that it speaks."""
    return words_in(_SPEECH.language, text)


def message(issue: Told) -> str:
    """Return the message of an issue, in the language that is spoken."""
    return translated(issue, _SPEECH.language)


def phrase(which: str, text: str) -> str:
    """Return a phrase whose words alone don't tell what it is said of."""
    return phrase_in(_SPEECH.language, which, text)


def fate(name: str, count: int = 1) -> str:
    """Return what *count* rows are: created, invalid, pending or the like."""
    return phrase("verdict_one" if count == 1 else "verdict", name)


def sentence(error: BatchfxError) -> str:
    """Return what is wrong: about a file in the language spoken, else in English."""
    if not isinstance(error, SourceError):
        return f"Error: {error}"
    spoken = _SPEECH.language
    said = message_in(spoken, error.code, str(error), error.parameters)
    return f"{words('Error')}: {said}"


def number(count: int) -> str:
    """Return a count with its thousands apart."""
    return number_in(_SPEECH.language, count)
