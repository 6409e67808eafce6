"""What every part of the API keeps to: methods, texts, numbers, words of its errors."""

from __future__ import annotations

import asyncio
from typing import Any, get_args

import pytest

from batchfx.execution.views import PENDING
from batchfx.model.access import FOREVER, Identity
from batchfx.model.verdicts import Verdict
from batchfx.store import access
from batchfx.store.schema import CHUNK
from batchfx.web import LocalToken, Principal
from batchfx.web.shapes import RowVerdict
from tests.web.site import GOOD, RAW, Site, set_state, site_on


def problem(answer: Any) -> tuple[int, str]:
    assert answer.headers["Content-Type"] == "application/problem+json", answer.text
    return answer.status_code, answer.json()["type"].removeprefix(
        "urn:batchfx:problem:"
    )


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/static/batchfx.js",
        "/api/batches",
        "/api/batches/1",
        "/api/batches/1/rows/3",
        "/api/batches/1/downloads/faulty.csv",
        "/api/batches/99",
        "/api/openapi.json",
    ],
)
def test_what_can_be_had_can_be_asked_about(here: Site, path: str) -> None:
    here.done()
    had, asked = here.get(path), here.ask("HEAD", path)
    assert asked.status_code == had.status_code
    assert asked.content == b""
    kept = ("content-type", "content-length", "etag", "content-disposition")
    for name in kept:
        assert asked.headers.get(name) == had.headers.get(name), name


def test_asking_about_events_ends_at_once(here: Site) -> None:
    number = here.started()
    asked = here.ask("HEAD", f"/api/batches/{number}/events")
    assert asked.status_code == 200
    assert asked.headers["Content-Type"].startswith("text/event-stream")
    assert asked.content == b""


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/api/batches", "GET, HEAD, POST"),
        ("POST", "/api/batches/1/draft", "GET, HEAD, PATCH"),
        ("DELETE", "/api/batches/1/rows/2", "GET, HEAD, PATCH"),
        ("PATCH", "/api/batches/1/rows/exclude", "POST"),
        ("GET", "/api/batches/1/rows/exclude", "POST"),
        ("PUT", "/api/session", "DELETE, GET, HEAD, POST"),
    ],
)
def test_a_wrong_method_is_told_every_right_one(
    here: Site, method: str, path: str, allowed: str
) -> None:
    answer = here.ask(method, path)
    assert problem(answer) == (405, "method_not_allowed")
    assert answer.headers["Allow"] == allowed
    assert answer.json()["detail"] == f"'{path}' can be asked with {allowed} only."


@pytest.mark.parametrize("row", [0, -1, 2**31, -(2**31) - 1, 2**63, 10**30])
def test_a_number_that_is_no_row_is_refused(site: Site, row: int) -> None:
    site.done()
    for what in ("exclude", "approve"):
        answer = site.post(f"/api/batches/1/rows/{what}", json={"rows": [3, row]})
        assert problem(answer) == (422, "invalid_request")
    assert site.get("/api/batches/1").json()["tally"]["skipped"] == 0


@pytest.mark.parametrize("text", ["\\u0000", "\\ud800", "a\\udfffb"])
def test_text_that_no_database_keeps_is_refused(site: Site, text: str) -> None:
    site.done()
    site.upload(GOOD)
    fix = '"field": "age", "value": "500", "replacement": "50"'
    bodies = {
        ("PATCH", "/api/batches/1/rows/3"): '{"values": {"age": "%s"}, "version": 0}',
        ("PATCH", "/api/batches/2/draft"): '{"settings": {"delimiter": "%s"}}',
        ("PATCH", "/api/batches/2/draft?"): '{"mapping": {"%s": "age"}}',
        ("POST", "/api/batches/1/issues/fix"): '{"code": "%s", ' + fix + "}",
        ("POST", "/api/batches/1/rows/exclude"): '{"rows": [3], "reason": "%s"}',
        ("POST", "/api/batches/1/rerun"): '{"settings": {"values": {"a": "%s"}}}',
    }
    for (method, path), body in bodies.items():
        answer = site.ask(
            method,
            path,
            content=(body % text).encode(),
            headers={"Content-Type": "application/json"},
        )
        assert problem(answer) == (422, "invalid_request"), path


def test_a_body_that_was_lost_on_its_way_is_asked_for_with_its_length(
    here: Site,
) -> None:
    number = here.upload().json()["number"]

    def sent(path: str, *pieces: bytes, **headers: str) -> tuple[int, bytes]:
        told: list[Any] = []
        waiting = [
            {"type": "http.request", "body": piece, "more_body": True}
            for piece in pieces
        ] + [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive() -> Any:
            return waiting.pop(0)

        async def send(message: Any) -> None:
            told.append(message)

        given = here.let_in | {"Transfer-Encoding": "chunked"} | headers
        path, _, query = path.partition("?")
        scope = {
            "type": "http",
            "method": "POST",
            "path": path,
            "query_string": query.encode(),
            "headers": [(k.lower().encode(), v.encode()) for k, v in given.items()],
        }
        asyncio.run(here.app(scope, receive, send))
        return told[0]["status"], b"".join(each.get("body", b"") for each in told)

    place = "/api/batches?importer=people"
    status, body = sent(place, **RAW)
    assert (status, b"Content-Length" in body) == (411, True)
    assert sent(place, GOOD.encode()[:9], GOOD.encode()[9:], **RAW)[0] == 201
    # It would import what was only to be checked.
    start = f"/api/batches/{number}/start"
    assert sent(start, **{"Content-Type": "application/json"})[0] == 411
    assert here.get(f"/api/batches/{number}").json()["state"] == "draft"


def test_nothing_dead_to_revive_is_a_move_that_is_not_possible(here: Site) -> None:
    here.upload()
    answer = here.post("/api/batches/1/revive")
    assert problem(answer) == (409, "illegal_move")
    assert answer.json()["possible"] == ["start", "cancel"]


def test_a_cursor_of_any_length_gets_its_reset(here: Site) -> None:
    here.done()
    place = "/api/batches/1/events"
    for answer in (
        here.get(place, headers={"Last-Event-ID": "1" * 5_000}),
        here.get(place, params={"after": "1" * 5_000}),
    ):
        assert answer.status_code == 200
        assert "event: reset" in answer.text


def test_a_wrong_bearer_token_is_told_as_such(here: Site) -> None:
    token = LocalToken(Principal("acme", "ann"), "right")
    app = site_on(here.store, authenticate=token)
    app.let_in = {}
    wrong = app.get("/api/batches", headers={"Authorization": "Bearer wrong"})
    assert problem(wrong) == (401, "wrong_token")
    assert problem(app.get("/api/batches")) == (401, "not_signed_in")
    schemes = app.get("/api/openapi.json").json()["components"]["securitySchemes"]
    assert {name: each["type"] for name, each in schemes.items()} == {
        "bearer": "http",
        "session": "apiKey",
        "deliberate": "apiKey",
    }
    assert (
        schemes["session"] | {"in": "cookie", "name": token.cookie}
        == (schemes["session"])
    )


def test_the_document_says_what_verdicts_and_downloads_are(here: Site) -> None:
    assert set(get_args(RowVerdict)) == {*map(str, Verdict), PENDING}
    document = here.get("/api/openapi.json").json()
    rows = document["paths"]["/api/batches/{number}/rows"]["get"]
    (verdict,) = [p for p in rows["parameters"] if p["name"] == "verdict"]
    assert verdict["schema"]["anyOf"][0]["enum"] == list(get_args(RowVerdict))
    path = "/api/batches/{number}/downloads/faulty.{format}"
    content = document["paths"][path]["get"]["responses"]["200"]["content"]
    assert content["application/json"]["schema"]["type"] == "array"
    assert content["text/csv"]["schema"]["format"] == "binary"
    schemes = document["components"]["securitySchemes"]
    assert schemes["deliberate"]["name"] == "X-Batchfx"
    assert "security" not in document


def test_a_web_user_is_told_of_no_tenant_and_no_command(here: Site) -> None:
    def detail(path: str, language: str = "en") -> str:
        answer = here.get(path, headers={"Accept-Language": language})
        return str(answer.json()["detail"])

    here.done()
    assert detail("/api/batches/99") == "There is no batch 99."
    assert detail("/api/batches/99/events") == "There is no batch 99."
    assert detail("/api/batches/99", "de") == "Es gibt keinen Batch 99."
    assert detail("/api/batches/1/rows/99", "it") == "Il batch 1 non ha la riga 99."
    assert detail("/api/batches/abc").startswith(
        "The request can't be understood: number: Input should be a valid integer"
    )
    lacking = here.upload("Code,Naem\n1,Ann\n2,Bob\n").json()["number"]
    draft = here.get(f"/api/batches/{lacking}/draft")
    assert draft.json()["missing"] != []
    assert "--map" not in draft.text
    place = "/api/batches?importer=people"
    twice = here.post(place, content=b"Code,code,Name\n1,2,a\n", headers=RAW)
    assert "--" not in str(twice.json().get("detail"))


def test_the_same_key_for_another_kind_of_import_is_told_as_that(here: Site) -> None:
    key = {"Idempotency-Key": "k"}
    assert here.upload(**key).status_code == 201
    other = here.upload(GOOD, **key)
    assert problem(other) == (409, "conflict")
    assert "was used before, for another file" in other.json()["detail"]
    assert other.json()["title"] == "In conflict with what was done before"


@pytest.mark.parametrize(("language", "row"), [("de", "Zeile 1"), ("it", "riga 1")])
def test_what_a_file_was_known_by_is_told_in_every_language(
    here: Site, language: str, row: str
) -> None:
    number = here.upload().json()["number"]
    place = f"/api/batches/{number}/draft"

    def reasons(spoken: str) -> dict[str, str]:
        answer = here.get(place, headers={"Accept-Language": spoken})
        found: dict[str, str] = answer.json()["layout"]["reasons"]
        return found

    english, told = reasons("en"), reasons(language)
    assert {name for name in english if english[name] == told[name]} == set()
    assert (
        row in told["header_row"]
        or row.replace("riga", "linea") in (told["header_row"])
    )


def test_who_left_a_row_out_is_told_in_every_language(here: Site) -> None:
    number = here.done()
    here.post(f"/api/batches/{number}/rows/exclude", json={"rows": [3], "reason": "x"})
    place = f"/api/batches/{number}/rows/3"
    told = here.get(place, headers={"Accept-Language": "de"}).json()["row"]["reason"]
    assert told == "Ausgeschlossen von ann: x"


def test_a_checked_batch_that_is_run_again_is_checked_again(site: Site) -> None:
    number = site.done(dry_run=True)
    place = f"/api/batches/{number}"

    def state() -> tuple[str, int, int, int]:
        site.worked(number)
        found = site.get(place).json()
        tally = found["tally"]
        return found["state"], tally["pending"], tally["created"], found["faulty"]

    assert site.post(f"{place}/rerun").status_code == 202
    assert state() == ("checked", 1, 0, 3)
    body = {"settings": {"null_tokens": ["x"]}}
    assert site.post(f"{place}/rerun", json=body).status_code == 202
    assert state()[::2] == ("checked", 0)
    mended = b"row,Age\n3,40\n4,50\n"
    assert site.post(f"{place}/rerun", content=mended, headers=RAW).status_code == 202
    assert state() == ("checked", 3, 0, 1)
    assert site.post(f"{place}/approve").status_code == 202
    assert state() == ("completed", 0, 3, 1)
    mended = b"row,Code\n5,9\n"
    assert site.post(f"{place}/rerun", content=mended, headers=RAW).status_code == 202
    assert state() == ("completed", 0, 4, 0)


def test_a_rerun_may_say_that_it_imports(here: Site) -> None:
    number = here.done(dry_run=True)
    place = f"/api/batches/{number}/rerun"
    mended = b"row,Age\n3,40\n4,50\n"
    params = {"dry_run": "false"}
    sent = here.post(place, params=params, content=mended, headers=RAW)
    assert sent.status_code == 202, sent.text
    here.worked(number)
    assert here.get(f"/api/batches/{number}").json()["tally"]["created"] == 3


def test_a_valid_row_that_waits_can_not_be_settled(site: Site) -> None:
    number = site.done(dry_run=True)
    place = f"/api/batches/{number}/rows"
    refused = site.post(f"{place}/approve", json={"rows": [2, 3]})
    assert problem(refused) == (409, "illegal_move")
    assert refused.json()["detail"] == (
        "Row 2 of batch 1 isn't faulty, but waits to be imported: there is nothing to "
        "settle. Nothing was changed. Exclude what is not to be imported."
    )
    assert site.post(f"{place}/approve", json={"rows": [3]}).status_code == 200
    tally = site.get(f"/api/batches/{number}").json()["tally"]
    assert (tally["pending"], tally["invalid"], tally["skipped"]) == (1, 2, 1)


def test_rows_that_were_left_out_count_in_no_group(site: Site) -> None:
    number = site.done("Code,Name,Age\n1,Ann,500\n2,Bob,600\n3,Cid,500\n")
    place = f"/api/batches/{number}"
    site.post(f"{place}/rows/exclude", json={"rows": [2]})

    (group,) = site.get(f"{place}/issues").json()["groups"]
    assert (group["count"], group["row"]) == (2, 3)
    params = {"code": group["code"], "field": "age"}
    shown = site.get(f"{place}/rows", params=params).json()["rows"]
    assert [each["row"] for each in shown] == [3, 4]
    params["verdict"] = "skipped"
    left = site.get(f"{place}/rows", params=params).json()["rows"]
    assert [each["row"] for each in left] == [2]
    assert left[0]["issues"][0]["code"] == group["code"]
    fix = {"value": "500", "replacement": "5"}
    body = {"code": group["code"], "field": "age"} | fix
    fixed = site.post(f"{place}/issues/fix", json=body)
    assert fixed.json() == {"changed": 1}


def test_a_turn_is_waited_for_only_where_all_workers_have_other_work(
    site: Site,
) -> None:
    number = site.started()
    place = f"/api/batches/{number}"
    enter(site, "w1")
    assert site.get(place).json()["waits_for"] is None
    other = site.started(GOOD)
    with site.store.write() as connection:
        connection.execute(
            CHUNK.update()
            .where(CHUNK.c.batch == other)
            .values(state="leased", worker="w1", lease_until=4e9)
        )
    assert site.get(place).json()["waits_for"] == "turn"
    enter(site, "w2")
    assert site.get(place).json()["waits_for"] is None


def test_a_paused_batch_says_what_is_still_at_work(site: Site) -> None:
    number = site.started()
    place = f"/api/batches/{number}"
    enter(site, "w1")
    assert site.get(place).json()["at_work"] == 0
    with site.store.write() as connection:
        connection.execute(
            CHUNK.update()
            .where(CHUNK.c.batch == number)
            .values(state="leased", worker="w1", lease_until=4e9)
        )
    assert site.get(place).json()["at_work"] == 1
    set_state(site.store, number, state="paused")
    paused = site.get(place).json()
    assert (paused["state"], paused["at_work"]) == ("paused", 1)


def enter(site: Site, worker: str) -> None:
    """Let a worker in that was heard of just now."""
    everything = frozenset({"*"})
    identity = Identity("w", everything, everything, FOREVER)
    with site.store.write() as connection:
        access.enter(connection, worker, identity, "1")
        access.seen(connection, worker, {"people": None})
