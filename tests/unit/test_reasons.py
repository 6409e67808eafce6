"""Why a file was understood as it was: told in every language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import groupby, islice

import pytest

from batchfx.errors import SourceError
from batchfx.files.open import inspect
from batchfx.model.translation import Catalogue, Language, catalogue_of
from tests.cases.checking import EXPECTED, FILES

OF_EACH_KIND = 30  # files
LARGEST = 200_000  # bytes
ANYTHING = "{any}"  # what is told as it is, in no language


def catalogue_without_ways_out(language: Language) -> Catalogue:
    """Return a catalogue that says nothing of what it has no words for."""
    found = catalogue_of(language)
    phrases = {
        name: tuple(entry for entry in entries if entry.source != ANYTHING)
        for name, entries in found.phrases.items()
    }
    return replace(found, phrases=phrases)


def reasons() -> Iterator[tuple[str, str]]:
    """Yield what some files of each kind are known by, and the files' names."""
    paths = sorted(
        (path.suffix, path)
        for path in FILES.iterdir()
        if EXPECTED not in path.name and path.stat().st_size < LARGEST
    )
    for _, group in groupby(paths, key=lambda each: each[0]):
        for _, path in islice(group, OF_EACH_KIND):
            try:
                with path.open("rb") as source:
                    found: Mapping[str, str] = inspect(source).reasons
            except SourceError:
                continue
            for name, reason in found.items():
                is_row = name == "header_row" and reason[:1].isdigit()
                yield path.name, f"row {reason}" if is_row else reason


@pytest.fixture(scope="module")
def told() -> list[tuple[str, str]]:
    """What many files are known by."""
    return list(reasons())


@pytest.mark.parametrize("language", [Language.GERMAN, Language.ITALIAN])
def test_every_reason_is_told_in_every_language(
    told: list[tuple[str, str]], language: Language
) -> None:
    catalogue = catalogue_without_ways_out(language)
    entries = catalogue.phrases["reason"]
    assert len(told) > 200
    assert {each for each in told if catalogue.say(entries, each[1]) is None} == set()
