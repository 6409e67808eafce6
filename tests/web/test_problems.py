"""Errors as problem documents: the status comes from the kind, never from the text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.requests import Request

from batchfx import errors
from batchfx.errors import BatchfxError, SourceError
from batchfx.web import Principal, create_app
from batchfx.web.problems import of_error, without_commands
from tests.web.site import Site


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (SourceError("empty_file", "It is empty.", size=0), 422, "empty_file"),
        (errors.NotFoundError("x"), 404, "not_found"),
        (errors.AlreadyImportedError("x", 7), 409, "already_imported"),
        (errors.ConflictError("x"), 409, "conflict"),
        (errors.IllegalMoveError("x"), 409, "illegal_move"),
        (errors.CursorExpiredError("x", "1.2.3"), 410, "cursor_expired"),
        (errors.CursorUnknownError("x"), 422, "cursor_unknown"),
        (errors.UsageError("x"), 422, "usage"),
        (errors.AccessError("x"), 403, "access"),
        (errors.StoreError("x"), 503, "database"),
        (errors.DeclarationError("x"), 500, "declaration"),
        (errors.ContractError("x"), 500, "contract"),
        (errors.LeaseLostError("x"), 500, "internal"),
    ],
)
def test_the_class_of_an_error_is_its_status_and_type(
    error: BatchfxError, status: int, code: str
) -> None:
    answer = of_error(error)
    told = json.loads(bytes(answer.body))
    assert (answer.status_code, told["status"]) == (status, status)
    assert told["type"] == f"urn:batchfx:problem:{code}"
    assert told["detail"] == str(error)
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_a_problem_has_the_parameters_that_its_text_was_made_from() -> None:
    strange = {"missing": ("a", "b"), "at": float("nan"), 7: {1}, "text": "\ud800"}
    answer = of_error(SourceError("missing_column", "No a.", parameters_=strange))
    assert json.loads(bytes(answer.body))["parameters"] == {
        "parameters_": {"missing": ["a", "b"], "at": "nan", "7": [1], "text": "?"}
    }
    earlier = of_error(errors.AlreadyImportedError("It was.", 7))
    assert json.loads(bytes(earlier.body))["batch"] == 7
    away = of_error(errors.StoreError("It is away."))
    assert away.headers["Retry-After"] == "5"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "Tenant 'a' has no batch 7. 'batchfx status' lists the batches there are.",
            "Tenant 'a' has no batch 7.",
        ),
        (
            "It was. Try it. --again imports it once more. Or not.",
            "It was. Try it. Or not.",
        ),
        ("'batchfx dead' lists them.", "'batchfx dead' lists them."),
        ("Write 1.5 or -1. Don't - ever.", "Write 1.5 or -1. Don't - ever."),
    ],
)
def test_sentences_about_commands_are_left_out(text: str, told: str) -> None:
    assert without_commands(text) == told


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/api/nothing", 404, "no_such_page"),
        ("PUT", "/api/batches/1", 405, "method_not_allowed"),
        ("GET", "/api/batches/0", 422, "invalid_request"),
        ("GET", "/api/batches/99999999999", 422, "invalid_request"),
        ("GET", "/api/batches/1", 404, "not_found"),
        ("GET", "/api/batches?limit=0", 422, "invalid_request"),
        ("GET", "/api/batches?text=%00", 422, "invalid_request"),
        ("GET", "/api/batches/1/downloads/faulty.exe", 422, "invalid_request"),
        ("POST", "/api/batches/1/rows/exclude", 422, "invalid_request"),
    ],
)
def test_what_the_framework_refuses_is_a_problem_too(
    here: Site, method: str, path: str, status: int, code: str
) -> None:
    answer = here.ask(method, path)
    assert answer.status_code == status
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json()["type"] == f"urn:batchfx:problem:{code}"
    assert ("allow" in answer.headers) == (status == 405)


def test_what_is_wrong_with_a_request_is_listed_by_its_place(here: Site) -> None:
    number = here.upload().json()["number"]
    answer = here.post(f"/api/batches/{number}/start", json={"dry": True, "again": 1})
    assert answer.status_code == 422
    assert answer.json()["errors"] == [
        {"where": "body.again", "message": "Input should be a valid boolean"},
        {"where": "body.dry", "message": "Extra inputs are not permitted"},
    ]
    no_json = here.post(
        f"/api/batches/{number}/start",
        content=b"\xff{",
        headers={"Content-Type": "application/json"},
    )
    assert no_json.status_code in {400, 422}
    assert no_json.headers["Content-Type"] == "application/problem+json"


def test_what_nobody_expected_tells_nothing_of_itself(here: Site) -> None:
    def broken(request: Request) -> Principal | None:
        raise ValueError(request.url, "secret")

    app: Any = create_app(here.store, authenticate=broken)
    answer = Site(app, here.store).get("/api/batches")
    assert answer.status_code == 500
    assert answer.json()["type"] == "urn:batchfx:problem:internal"
    assert "secret" not in answer.text


def test_a_database_that_is_away_is_said(here: Site) -> None:
    app = create_app(
        "postgresql://nobody@127.0.0.1:9/nothing",
        authenticate=lambda _: Principal("acme", "ann"),
    )
    answer = Site(app, here.store).get("/api/batches")
    assert answer.status_code == 503
    assert answer.json()["type"] == "urn:batchfx:problem:database"
    assert answer.headers["Retry-After"] == "5"
