from __future__ import annotations

import re

import pytest

from batchfx.cli.file_pages import FORMATS, NAMES, OPEN, WORDS
from batchfx.cli.interruption import STOPPING
from batchfx.cli.languages import language_of, sentence
from batchfx.cli.summary import CORRECT, LOOK, TAKE_VALID
from batchfx.cli.words import STATES, WAITING
from batchfx.errors import SourceError, UsageError
from batchfx.execution.prepare import INTERRUPTED
from batchfx.model.events import EventKind
from batchfx.model.states import BatchState
from batchfx.model.translation import Language, catalogue_of, words_in
from batchfx.model.verdicts import Verdict


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({}, Language.ENGLISH),
        ({"LANG": "C.UTF-8"}, Language.ENGLISH),
        ({"LANG": "fr_FR.UTF-8"}, Language.ENGLISH),
        ({"LANG": "italiano"}, Language.ENGLISH),
        ({"LANG": "it_IT.UTF-8"}, Language.ITALIAN),
        ({"LANG": "de"}, Language.GERMAN),
        ({"LANG": "de@euro"}, Language.GERMAN),
        ({"LANG": "it_IT", "LC_MESSAGES": "de_AT"}, Language.GERMAN),
        ({"LANG": "it_IT", "LC_MESSAGES": ""}, Language.ITALIAN),
        ({"LC_MESSAGES": "it", "LC_ALL": "C"}, Language.ENGLISH),
        ({"LANG": "de_DE", "BATCHFX_LANGUAGE": "it"}, Language.ITALIAN),
        ({"LANG": "de_DE", "BATCHFX_LANGUAGE": " EN "}, Language.ENGLISH),
        ({"LANG": "de_DE", "BATCHFX_LANGUAGE": ""}, Language.GERMAN),
    ],
)
def test_what_is_said_nearest_decides(
    environment: dict[str, str], language: Language
) -> None:
    assert language_of(environment) is language


def test_a_language_that_is_not_spoken_is_refused() -> None:
    message = "BATCHFX_LANGUAGE is 'fr_fr', which isn't spoken. Set it to: en, it, de."
    with pytest.raises(UsageError, match=re.escape(message)):
        language_of({"BATCHFX_LANGUAGE": "fr_FR"})


def test_errors_begin_in_the_language_of_their_sentence() -> None:
    assert sentence(UsageError("No.")) == "Error: No."
    assert sentence(SourceError("empty_file", "The file is empty.")) == (
        "Error: The file is empty."
    )


def has(language: Language, which: str, phrase: str) -> bool:
    """Whether the catalogue has the phrase, which may be the same in it."""
    catalogue = catalogue_of(language)
    return catalogue.say(catalogue.phrases[which], phrase) is not None


@pytest.mark.parametrize("language", [Language.ITALIAN, Language.GERMAN])
def test_every_state_event_and_verdict_has_its_words(language: Language) -> None:
    states = [*STATES.values(), *WAITING.values()]
    kinds = [kind.replace("_", " ") for kind in EventKind]
    lacking = [
        *(each for each in states if not has(language, "state", each)),
        *(each for each in BatchState if not has(language, "batch_state", each)),
        *(each for each in kinds if not has(language, "event", each)),
        *(each for each in Verdict if not has(language, "verdict", each)),
        *(each for each in Verdict if not has(language, "verdict_one", each)),
        *(each for each in FORMATS.values() if not has(language, "file_format", each)),
    ]
    assert lacking == []


@pytest.mark.parametrize("language", [Language.ITALIAN, Language.GERMAN])
def test_the_words_of_tables_and_next_steps_are_there(language: Language) -> None:
    notations = [*OPEN.values(), *WORDS.values()]
    steps = [CORRECT, LOOK, TAKE_VALID, STOPPING, INTERRUPTED]
    said = [*NAMES.values(), *notations, *steps]
    literal = catalogue_of(language).literal
    assert [each for each in said if each not in literal] == []


@pytest.mark.parametrize(
    ("english", "german"),
    [
        (
            "Batch 1 is running. 12 of 1,000 rows are done, 1 needs attention.",
            (
                "Batch 1 läuft. 12 von 1.000 Zeilen erledigt, 1 braucht Ihre "
                "Aufmerksamkeit."
            ),
        ),
        ("Batch 1 was not started yet.", "Batch 1 wurde noch nicht begonnen."),
        (
            "Batch 2 failed. 7 rows were read so far.",
            "Batch 2 ist fehlgeschlagen. Bisher wurden 7 Zeilen gelesen.",
        ),
        (
            "1,200 blank rows of the file were passed over.",
            "1.200 leere Zeilen der Datei wurden übergangen.",
        ),
        (
            (
                "12 of the first 1,000 rows are faulty (1.2%), more than the 1.0% "
                "that was allowed."
            ),
            (
                "12 der ersten 1.000 Zeilen sind fehlerhaft (1,2 %), mehr als die "
                "erlaubten 1,0 %."
            ),
        ),
        ("42%, 420 of 1,000 rows", "42 %, 420 von 1.000 Zeilen"),
        ("3 min 5 s left", "noch 3 min 5 s"),
        ("1 created", "1 angelegt"),
        (
            "and 3 other causes: batchfx issues 1",
            "und 3 weitere Ursachen: batchfx issues 1",
        ),
    ],
)
def test_sentences_are_translated_with_their_numbers(english: str, german: str) -> None:
    assert words_in(Language.GERMAN, english) == german
