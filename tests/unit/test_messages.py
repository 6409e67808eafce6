"""Messages in Italian and German: none lacks, and none says something else."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import EmailStr, TypeAdapter

from batchfx.model.issues import Issue, Phase
from batchfx.model.translation import (
    FOLDER,
    PLACEHOLDER,
    Catalogue,
    Entry,
    Language,
    catalogue_of,
    translated,
)
from batchfx.pipeline.reading import known
from tests.unit.told import (
    OF_PYDANTIC,
    corpus,
    every_code,
    refusals,
    written_in_the_source,
)

ITALIAN, GERMAN = Language.ITALIAN, Language.GERMAN
OTHERS = [ITALIAN, GERMAN]
# What stands between the words of a template.
PARTS = re.compile(r"\{[a-z_]+(?:[:@][a-z_]+)?\}|[.;:,)](?= |$)")
# They speak to the author of an importer, in the words of the error itself.
OF_AUTHORS = frozenset({"exception", "effect", "after_commit_failed"})
# What a translation may leave out: German and Italian say it by another word.
LEFT_TO_THE_LANGUAGE = frozenset({"again", "reason", "were"})
# Three words that no text of the source has: the sentence is put together there.
JOINTS = frozenset(
    {
        *("sheets have the", "have a table", "in it there", "JSON from line"),
        *("above it is", "above it are", "it are left", "off at line"),
        *("are columns that", "their cells are"),
    }
)
NO_ADDRESSES = ["ann", "@b.it", "ann@", "ann@host", "a..b@c.it", "a b@c.it", "a@b c.it"]


def english() -> Catalogue:
    """A catalogue that says what the Italian one translates, in English."""
    model = catalogue_of(ITALIAN)

    def same(entries: Mapping[str, tuple[Entry, ...]]) -> dict[str, tuple[Entry, ...]]:
        return {
            name: tuple(
                Entry(each.source, PLACEHOLDER.sub(r"{\1}", each.source))
                for each in group
            )
            for name, group in entries.items()
        }

    return Catalogue(Language.ENGLISH, same(model.messages), same(model.phrases), ())


def without_commas(text: str) -> str:
    return re.sub("(?<=[0-9]),(?=[0-9])", "", text)


@pytest.mark.parametrize("language", OTHERS)
def test_every_code_in_the_source_has_messages(language: Language) -> None:
    codes = every_code()
    assert len(codes) > 100
    assert codes - OF_AUTHORS - catalogue_of(language).messages.keys() == set()


@pytest.mark.parametrize("language", OTHERS)
def test_every_message_of_the_cases_is_translated(language: Language) -> None:
    catalogue = catalogue_of(language)
    assert len(corpus()) > 100
    assert {
        issue.message
        for issue in corpus()
        if catalogue.say(
            catalogue.messages[issue.code], issue.message, issue.parameters
        )
        is None
    } == set()


def test_what_is_read_out_of_a_message_is_all_that_it_was_made_from() -> None:
    catalogue = english()
    for issue in corpus():
        said = catalogue.say(
            catalogue.messages[issue.code], issue.message, issue.parameters
        )
        assert said is not None
        assert without_commas(said) == without_commas(issue.message)


def test_both_languages_translate_the_same_sentences() -> None:
    def keys(language: Language) -> dict[str, dict[str, list[str]]]:
        read = json.loads((FOLDER / f"{language}.json").read_text("utf-8"))
        words = {"words": list(read.pop("words"))}
        return {
            part: {name: list(each) for name, each in groups.items()}
            for part, groups in read.items()
        } | {"words": words}

    assert keys(ITALIAN) == keys(GERMAN)


@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_says_all_that_the_english_sentence_says(
    language: Language,
) -> None:
    catalogue = catalogue_of(language)
    groups = [*catalogue.messages.values(), *catalogue.phrases.values()]
    wrong: list[str] = []
    for entry in [each for group in [*groups, catalogue.words] for each in group]:
        targets = (
            [entry.target]
            if isinstance(entry.target, str)
            else [*entry.target.values()]
        )
        for target in targets:
            found = {place[1] for place in PLACEHOLDER.finditer(target)}
            if (
                not entry.names.keys() - LEFT_TO_THE_LANGUAGE
                <= found
                <= entry.names.keys()
            ):
                wrong.append(target)
    assert wrong == []


@pytest.mark.parametrize("language", OTHERS)
def test_two_targets_are_for_one_and_for_other_numbers(language: Language) -> None:
    catalogue = catalogue_of(language)
    for group in [*catalogue.messages.values(), *catalogue.phrases.values()]:
        for entry in group:
            if not isinstance(entry.target, str):
                assert entry.target.keys() == {"one", "other"}
                assert any(kind[1] == "count" for kind in entry.names.values())


def test_every_phrase_that_is_named_is_there() -> None:
    catalogue = catalogue_of(ITALIAN)
    groups = [*catalogue.messages.values(), *catalogue.phrases.values()]
    named = {
        which
        for group in [*groups, catalogue.words]
        for entry in group
        for kind, which in entry.names.values()
        if kind == "@"
    }
    asked_for = {"batch_state", "event", "reason", "verdict", "verdict_one"}
    assert named | asked_for == catalogue.phrases.keys()


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize(("code", "context"), OF_PYDANTIC)
def test_messages_of_pydantic_are_translated_from_its_own_parameters(
    code: str, context: dict[str, Any], language: Language
) -> None:
    complaint = known(code, **context)

    said = translated(
        Issue(code, complaint.message, Phase.RULE, parameters=complaint.parameters),
        language,
    )

    assert said != complaint.message
    for value in context.values():
        if isinstance(value, int):
            assert str(value) in said


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("text", NO_ADDRESSES)
def test_what_is_wrong_with_an_address_is_translated(
    text: str, language: Language
) -> None:
    (complaint,) = refusals(TypeAdapter(EmailStr), text)
    catalogue = catalogue_of(language)
    entries = catalogue.messages["value_error"]
    assert catalogue.say(entries, complaint.message, complaint.parameters)


def test_no_sentence_is_translated_that_nobody_says_any_more() -> None:
    """A message that is worded anew needs its translations: its old words are gone."""
    gone: dict[str, str] = {}
    for group in catalogue_of(ITALIAN).messages.values():
        for entry in group:
            for part in PARTS.split(entry.source):
                words = part.split()
                for place in range(len(words) - 2):
                    window = " ".join(words[place : place + 3])
                    if window not in written_in_the_source():
                        gone[window] = entry.source
    assert gone.keys() == JOINTS, gone
