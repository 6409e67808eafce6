"""The catalogues of the widgets' texts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import batchfx.web
from batchfx.model.revisions import Action
from batchfx.model.states import BatchState
from batchfx.model.verdicts import Verdict

STATIC = Path(batchfx.web.__file__).parent / "static"
LANGUAGES = ("en", "it", "de")
FORMS = {"one", "other"}  # of these three languages, for whole numbers


def catalogue(language: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        (STATIC / "messages" / f"{language}.json").read_text("utf-8")
    )
    return found


def places(message: Any) -> set[str]:
    texts = [message] if isinstance(message, str) else list(message.values())
    return {place for text in texts for place in re.findall(r"\{(\w+)\}", text)}


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_language_says_everything_with_the_same_values(language: str) -> None:
    english, other = catalogue("en"), catalogue(language)
    assert list(other) == list(english)
    for key, message in english.items():
        assert places(other[key]) == places(message), key
        if isinstance(other[key], dict):
            assert set(other[key]) == FORMS, key


def test_every_text_that_the_scripts_name_is_there_and_none_beside() -> None:
    known = set(catalogue("en"))
    source = "\n".join(path.read_text("utf-8") for path in STATIC.glob("*.js"))
    quoted = set(re.findall(r'"([a-z][a-z_]*(?:\.[a-z_]+)*)"', source))
    quoted |= set(re.findall(r"\b([a-z_]+): \[", source))
    said = set(re.findall(r'[sS]ay\(\s*"([^"]+)"', source))
    assert said <= known
    starts = tuple(set(re.findall(r"`([a-z_]+\.)\$\{", source)))
    unsaid = {
        key
        for key in known - quoted
        if not key.startswith(starts)
        and not set(key.split(".")) <= quoted | {"done", "sure"}
    }
    assert unsaid == set()


def test_every_state_verdict_and_action_has_a_name() -> None:
    known = set(catalogue("en"))
    assert {f"name.{each}" for each in BatchState} <= known
    assert {f"verdict.{each}" for each in Verdict} <= known
    assert {f"history.{each}" for each in Action} <= known
