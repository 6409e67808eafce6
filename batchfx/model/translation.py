"""What issues and the command line say, in the languages there are catalogues of.

Everything is written in English, where it is found, and kept in English. A catalogue
has, below the code, the English sentence as a template and the same in its language;
what stands for the template's names is read back out of the message. So whatever the
catalogue says is a translation of this very message: one that an application wrote
itself under a known code, or of another release, stays as it is.

In a template ``{name}`` is any text and ``{name:digits}`` one of digits, which are
never changed; ``{name:count}`` is a whole number and ``{name:decimal}`` one with
decimals, both written as the language does; and ``{name@phrase}`` is a part that the
catalogue's phrases of that name translate.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Protocol

FOLDER = Path(__file__).parent / "messages"
PLACEHOLDER = re.compile(r"\{([a-z_]+)(?:([:@])([a-z_]+))?\}")
FORMS = {
    "": ".+?",
    "digits": "[0-9]+",
    "count": "[0-9]+(?:,[0-9]{3})*",
    "decimal": r"[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?",
}
MARKS = str.maketrans(",.", ".,")
LONGEST = 2_000  # characters of a message that is looked at
NOTHING: Mapping[str, Any] = {}

Target = str | Mapping[str, str]
"""A template, or two: for ``one`` and for any ``other`` number."""


class Language(StrEnum):
    """A language that issues and the command line speak."""

    ENGLISH = "en"
    ITALIAN = "it"
    GERMAN = "de"


class Told(Protocol):
    """An issue, or a group of them: whatever has a code and its English message."""

    @property
    def code(self) -> str:
        """The stable code."""

    @property
    def message(self) -> str:
        """The message, in English."""


def translated(issue: Told, language: Language) -> str:
    """Return the message of *issue* in *language*, in English where that has none."""
    parameters = getattr(issue, "parameters", NOTHING)
    return message_in(language, issue.code, issue.message, parameters)


def message_in(
    language: Language, code: str, message: str, parameters: Mapping[str, Any] = NOTHING
) -> str:
    """Return the *message* of a *code* in *language*, as `translated` does.

    Of *parameters* those count whose names the template has: they say where a value
    ends that has the template's own words in it.
    """
    if language is Language.ENGLISH or len(message) > LONGEST:
        return message
    catalogue = catalogue_of(language)
    found = catalogue.say(catalogue.messages.get(code, ()), message, parameters)
    return message if found is None else found


def words_in(language: Language, words: str) -> str:
    """Return what the command line says, in *language* if that has it."""
    if language is Language.ENGLISH or not words or len(words) > LONGEST:
        return words
    catalogue = catalogue_of(language)
    exactly = catalogue.literal.get(words)
    if exactly is not None:
        return exactly
    found = catalogue.say(catalogue.open, words)
    return words if found is None else found


def phrase_in(language: Language, which: str, phrase: str) -> str:
    """Return a *phrase* of those called *which*, in *language* if that has it."""
    if language is Language.ENGLISH or len(phrase) > LONGEST:
        return phrase
    catalogue = catalogue_of(language)
    found = catalogue.say(catalogue.phrases[which], phrase)
    return phrase if found is None else found


def number_in(language: Language, number: int) -> str:
    """Return a count with its thousands apart, as *language* writes it."""
    written = f"{number:,}"
    return written if language is Language.ENGLISH else written.translate(MARKS)


@dataclass(frozen=True)
class Entry:
    """A *source* template and the *target* that says the same."""

    source: str
    target: Target

    @cached_property
    def names(self) -> Mapping[str, tuple[str, str]]:
        """What each name of the source is: its kind ("", ":" or "@") and which."""
        found = PLACEHOLDER.findall(self.source)
        return {name: (kind, which) for name, kind, which in found}

    def known(self, parameters: Mapping[str, Any]) -> Mapping[str, str]:
        """Return those of the *parameters* that stand in the message as they are."""
        plain = [name for name, (kind, _) in self.names.items() if not kind]
        return {
            name: str(parameters[name])
            for name in plain
            if type(parameters.get(name)) in {int, str}
        }

    def wording(self, found: Mapping[str, str]) -> str:
        """Return the target for the number that is among what was *found*."""
        if isinstance(self.target, str):
            return self.target
        counts = (name for name, each in self.names.items() if each[1] == "count")
        return self.target["one" if found[next(counts)] == "1" else "other"]


@dataclass(frozen=True)
class Catalogue:
    """What is said in one *language*: messages by code, phrases, and plain words."""

    language: Language
    messages: Mapping[str, tuple[Entry, ...]]
    phrases: Mapping[str, tuple[Entry, ...]]
    words: tuple[Entry, ...]

    @cached_property
    def literal(self) -> Mapping[str, str]:
        """The words without names in them."""
        return {
            each.source: each.target
            for each in self.words
            if not each.names and isinstance(each.target, str)
        }

    @cached_property
    def open(self) -> tuple[Entry, ...]:
        """The words with names in them."""
        return tuple(each for each in self.words if each.names)

    @cached_property
    def _patterns(self) -> dict[str, re.Pattern[str]]:
        return {}

    def say(
        self,
        entries: Iterable[Entry],
        text: str,
        parameters: Mapping[str, Any] = NOTHING,
    ) -> str | None:
        """Return *text* by the first of the *entries* that is it, None without one."""
        for entry in entries:
            found = self._read(entry, text, parameters)
            if found is not None:
                said = self._filled(entry, found)
                if said is not None:
                    return said
        return None

    def _read(
        self, entry: Entry, text: str, parameters: Mapping[str, Any]
    ) -> Mapping[str, str] | None:
        """Return what stands in *text* for each name; None if it is another text."""
        if not entry.names:
            return NOTHING if text == entry.source else None
        pattern = self._patterns.get(entry.source)
        if pattern is None:
            pattern = re.compile(self._expression(entry.source), re.DOTALL)
            self._patterns[entry.source] = pattern
        match = pattern.fullmatch(text)
        if match is None:
            return None
        found = match.groupdict(default="")
        known = entry.known(parameters)
        if all(found[name] == value for name, value in known.items()):
            return found
        exact = re.fullmatch(self._expression(entry.source, known), text, re.DOTALL)
        return exact.groupdict(default="") if exact else found

    def _expression(
        self,
        source: str,
        known: Mapping[str, str] = NOTHING,
        inside: tuple[str, ...] = (),
    ) -> str:
        """Return the regular expression of a template, or of a phrase *inside* one."""
        parts: list[str] = []
        end, seen = 0, set[str]()
        for place in PLACEHOLDER.finditer(source):
            name, kind, which = place.groups(default="")
            form = self._phrase(which, inside) if kind == "@" else FORMS[which]
            form = re.escape(known[name]) if name in known else form
            opening = "(?:" if inside else f"(?P<{name}>"
            part = f"(?P={name})" if name in seen else f"{opening}{form})"
            parts += [re.escape(source[end : place.start()]), part]
            end = place.end()
            if not inside:
                seen.add(name)
        return "".join([*parts, re.escape(source[end:])])

    def _phrase(self, which: str, inside: tuple[str, ...]) -> str:
        """Return the expression of a phrase, which may be empty."""
        if which in inside:
            return ".*?"
        within = (*inside, which)
        each = [self._expression(e.source, inside=within) for e in self.phrases[which]]
        return f"(?:{'|'.join(each)})?"

    def _filled(self, entry: Entry, found: Mapping[str, str]) -> str | None:
        said: dict[str, str] = {}
        for name, text in found.items():
            part = self._part(*entry.names[name], text)
            if part is None:
                return None
            said[name] = part
        return PLACEHOLDER.sub(lambda place: said[place[1]], entry.wording(found))

    def _part(self, kind: str, which: str, text: str) -> str | None:
        if kind == "@":
            return self.say(self.phrases[which], text) if text else ""
        if which == "count":
            return number_in(self.language, int(text.replace(",", "")))
        return text.translate(MARKS) if which == "decimal" else text


@cache
def catalogue_of(language: Language) -> Catalogue:
    """Return the catalogue of *language*, which is read once."""
    read: dict[str, Any] = json.loads((FOLDER / f"{language}.json").read_text("utf-8"))
    messages: dict[str, tuple[Entry, ...]] = {}
    for codes, templates in read["messages"].items():
        entries = tuple(_entries(templates))
        for code in codes.split():
            messages[code] = (*messages.get(code, ()), *entries)
    phrases = {name: tuple(_entries(each)) for name, each in read["phrases"].items()}
    return Catalogue(language, messages, phrases, tuple(_entries(read["words"])))


def _entries(templates: Mapping[str, Target]) -> Iterator[Entry]:
    for source, target in templates.items():
        yield Entry(source, target)
