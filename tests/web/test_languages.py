"""Issues and problems in the language that a request asks for."""

from __future__ import annotations

import pytest
from starlette.requests import Request

from batchfx.model.translation import Language
from batchfx.web.languages import language_of
from tests.web.site import RAW, Site


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"),
        ("de", "de"),
        ("fr, de-AT;q=0.8, en;q=0.5", "de"),
        ("en;q=0.2, it;q=0.9", "it"),
        ("it;q=0, de;q=0.1", "de"),
        ("de;q=0", "en"),
        ("*", "en"),
        ("de;q=nonsense, it", "it"),
        ("," * 100_000, "en"),
    ],
)
def test_the_language_that_is_wanted_most_is_spoken(header: str, language: str) -> None:
    headers = [(b"accept-language", header.encode())]
    request = Request({"type": "http", "headers": headers})
    assert language_of(request) is Language(language)


def test_issues_are_told_in_the_language_of_the_request(here: Site) -> None:
    number = here.done(dry_run=True)

    def told(language: str) -> list[str]:
        headers = {"Accept-Language": language}
        row = here.get(f"/api/batches/{number}/rows/4", headers=headers).json()
        groups = here.get(f"/api/batches/{number}/issues", headers=headers).json()
        (group,) = [g for g in groups["groups"] if g["code"] == "less_than_equal"]
        return [row["row"]["issues"][0]["message"], group["message"]]

    english, german = told("fr"), told("de")
    assert english[0] == english[1]
    assert german[0] == german[1]
    assert "150" in german[0]
    assert german[0] != english[0]


def test_what_is_wrong_with_a_file_is_told_in_the_language_of_the_request(
    here: Site,
) -> None:
    def detail(language: str) -> str:
        headers = RAW | {"Accept-Language": language}
        answer = here.post("/api/batches?importer=people", content=b"", headers=headers)
        return str(answer.json()["detail"])

    assert detail("en") != detail("it")
