"""Who gets in, whose batches they see, and which requests no other site can make."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from starlette.requests import Request

from batchfx.errors import ContractError, DeclarationError
from batchfx.web import LocalToken, Permission, Principal, create_app
from tests.web.site import GOOD, RAW, Site, as_user, by_header, site_on

TOKEN = "a token that is long enough"  # noqa: S105 - of a test


def test_a_host_that_names_nobody_breaks_its_contract(here: Site) -> None:
    answer = here.get("/api/batches", headers={"X-User": ":"})
    assert answer.status_code == 500
    assert answer.json()["type"] == "urn:batchfx:problem:contract"


def test_whoever_is_unknown_is_told_to_sign_in(here: Site) -> None:
    nobody = Site(create_app(here.store, authenticate=lambda _: None), here.store)
    answer = nobody.get("/api/batches")
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert answer.json()["type"] == "urn:batchfx:problem:not_signed_in"


def test_the_host_may_look_somebody_up_while_others_are_served(here: Site) -> None:
    async def authenticate(request: Request) -> Principal | None:
        return by_header(request)

    awaited = Site(create_app(here.store, authenticate=authenticate), here.store)
    assert awaited.get("/api/session").json() == {
        "tenant": "acme",
        "user": "ann",
        "permissions": sorted(Permission),
        "can_sign_out": False,
    }


def test_there_is_no_application_without_somebody_who_says_who_it_is(
    here: Site,
) -> None:
    with pytest.raises(DeclarationError, match="needs authenticate"):
        create_app(here.store)
    with pytest.raises(DeclarationError, match="lets no file in"):
        create_app(here.store, authenticate=by_header, max_upload=0)


def test_a_host_that_returns_something_else_breaks_its_contract(here: Site) -> None:
    wrong: Any = lambda _: "ann"  # noqa: E731 - of one line
    answer = Site(create_app(here.store, authenticate=wrong), here.store).get(
        "/api/batches"
    )
    assert answer.json()["type"] == "urn:batchfx:problem:contract"


@pytest.mark.parametrize("parts", [("", "ann"), ("acme", ""), (7, "ann")])
def test_a_principal_has_a_tenant_and_a_user(parts: tuple[str, str]) -> None:
    with pytest.raises(ContractError, match="tenant and a user"):
        Principal(*parts)


def test_a_principal_takes_permissions_by_name_and_refuses_unknown_ones() -> None:
    named = Principal("acme", "ann", {"read"})  # type: ignore[arg-type]
    assert named.permissions == {Permission.READ}
    with pytest.raises(ContractError, match="upload, read, edit"):
        Principal("acme", "ann", {"rule"})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("method", "path", "permission"),
    [
        ("POST", "/api/batches?importer=people", "upload"),
        ("GET", "/api/batches", "read"),
        ("GET", "/api/importers", "read"),
        ("GET", "/api/batches/1", "read"),
        ("GET", "/api/batches/1/draft", "read"),
        ("GET", "/api/batches/1/rows", "read"),
        ("GET", "/api/batches/1/rows/2", "read"),
        ("GET", "/api/batches/1/issues", "read"),
        ("GET", "/api/batches/1/events", "read"),
        ("PATCH", "/api/batches/1/draft", "edit"),
        ("PATCH", "/api/batches/1/rows/2", "edit"),
        ("POST", "/api/batches/1/rows/exclude", "edit"),
        ("POST", "/api/batches/1/rows/approve", "edit"),
        ("POST", "/api/batches/1/issues/fix", "edit"),
        ("POST", "/api/batches/1/start", "run"),
        ("POST", "/api/batches/1/pause", "run"),
        ("POST", "/api/batches/1/resume", "run"),
        ("POST", "/api/batches/1/approve", "run"),
        ("POST", "/api/batches/1/rerun", "run"),
        ("POST", "/api/batches/1/cancel", "cancel"),
        ("GET", "/api/batches/1/downloads/faulty.csv", "export"),
        ("POST", "/api/batches/1/revive", "administer"),
    ],
)
def test_each_route_asks_for_its_permission_alone(
    here: Site, method: str, path: str, permission: str
) -> None:
    bodies = {
        "/draft": {},
        "/rows/2": {"values": {"a": "b"}, "version": 0},
        "/rows/exclude": {"rows": [2]},
        "/rows/approve": {"rows": [2]},
        "/issues/fix": {"code": "a", "field": "b", "value": None, "replacement": None},
    }
    body = next((b for end, b in bodies.items() if path.endswith(end)), None)
    others = ",".join(each for each in Permission if each != permission)

    def asked(permissions: str) -> int:
        headers = as_user(f"acme:ann:{permissions}")
        if method == "GET" or body is None:
            return here.ask(method, path, headers=headers).status_code
        return here.ask(method, path, headers=headers, json=body).status_code

    refused = here.ask(method, path, headers=as_user(f"acme:ann:{others}"), json=body)
    assert refused.status_code == 403
    assert refused.json()["permission"] == permission
    assert asked(permission) != 403


def test_another_tenants_batch_is_as_one_that_is_not_there(site: Site) -> None:
    number = site.done()
    zoe = as_user("zeta:zoe")
    for method, path, body in [
        ("GET", "", None),
        ("GET", "/draft", None),
        ("GET", "/rows", None),
        ("GET", "/rows/2", None),
        ("GET", "/issues", None),
        ("GET", "/downloads/faulty.csv", None),
        ("POST", "/start", None),
        ("POST", "/pause", None),
        ("POST", "/resume", None),
        ("POST", "/cancel", None),
        ("POST", "/approve", None),
        ("POST", "/rerun", None),
        ("POST", "/revive", None),
        ("PATCH", "/rows/2", {"values": {"age": "1"}, "version": 0}),
        ("POST", "/rows/exclude", {"rows": [3]}),
        (
            "POST",
            "/issues/fix",
            {"code": "a", "field": "age", "value": None, "replacement": "1"},
        ),
    ]:
        theirs = site.ask(
            method, f"/api/batches/{number}{path}", headers=zoe, json=body
        )
        none = site.ask(method, f"/api/batches/7777{path}", headers=zoe, json=body)
        assert theirs.status_code == none.status_code == 404, path
        assert theirs.text.replace(f" {number}", " 7777") == none.text
    assert site.get("/api/batches", headers=zoe).json()["batches"] == []
    assert site.get(f"/api/batches/{number}").json()["tally"]["invalid"] == 3


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Authorization": "Bearer x"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
    ],
)
def test_no_other_site_can_change_anything(here: Site, headers: dict[str, str]) -> None:
    number = here.started(GOOD)
    answer = here.post(f"/api/batches/{number}/cancel", headers=headers)
    assert answer.status_code == 403
    assert answer.json()["type"] == "urn:batchfx:problem:cross_site"
    assert here.get(f"/api/batches/{number}").json()["state"] == "staging"


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Content-Type": "text/plain"},
        {"Content-Type": "multipart/form-data; boundary=x"},
        {"Content-Type": "application/x-www-form-urlencoded"},
    ],
)
def test_what_a_form_could_send_changes_nothing(
    here: Site, headers: dict[str, str]
) -> None:
    number = here.started(GOOD)
    bare = Site(
        create_app(here.store, authenticate=lambda _: Principal("acme", "ann")),
        here.store,
    )

    async def asked() -> httpx.Response:
        transport = httpx.ASGITransport(bare.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as web:
            return await web.post(f"/api/batches/{number}/cancel", headers=headers)

    answer = asyncio.run(asked())
    assert answer.status_code == 403
    assert "X-Batchfx: 1" in answer.json()["detail"]


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "same-origin", "Origin": "http://testserver"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "http://testserver"},
        {"Origin": "https://shop.example", "Sec-Fetch-Site": "cross-site"},
    ],
)
def test_the_sites_own_requests_and_allowed_ones_are_answered(
    here: Site, headers: dict[str, str]
) -> None:
    open_to = site_on(here.store, allowed_origins=["https://shop.example"])
    number = open_to.started(GOOD)
    answer = open_to.post(f"/api/batches/{number}/cancel", headers=headers)
    assert answer.status_code == 200


def local(here: Site) -> tuple[Site, LocalToken]:
    token = LocalToken(Principal("default", "local"), TOKEN)
    return Site(create_app(here.store, authenticate=token), here.store), token


def test_the_token_is_exchanged_for_a_cookie_that_no_script_can_read(
    here: Site,
) -> None:
    site, token = local(here)
    answer = site.post("/api/session", json={"token": TOKEN})
    assert answer.status_code == 200
    cookie = answer.headers["Set-Cookie"]
    name, value = cookie.split(";")[0].split("=")
    assert name == token.cookie
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert TOKEN not in cookie

    with_it = {"Cookie": f"{name}={value}"}
    assert site.get("/api/session", headers=with_it).json()["can_sign_out"]
    assert site.ask("DELETE", "/api/session", headers=with_it).status_code == 204
    assert site.get("/api/session", headers=with_it).status_code == 401


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": "Bearer"},
        {"Cookie": "batchfx_00000000=guess"},
    ],
)
def test_a_wrong_token_lets_nobody_in(here: Site, headers: dict[str, str]) -> None:
    site, _ = local(here)
    assert site.get("/api/batches", headers=headers).status_code == 401


def test_programs_send_the_token_with_each_request(here: Site) -> None:
    site, _ = local(here)
    let_in = {"Authorization": f"bearer {TOKEN}"}
    assert site.get("/api/batches", headers=let_in).json() == {
        "batches": [],
        "next": None,
    }
    wrong = site.post("/api/session", json={"token": "wrong"})
    assert wrong.status_code == 401
    assert wrong.json()["type"] == "urn:batchfx:problem:wrong_token"
    assert TOKEN not in wrong.text


def test_sessions_are_forgotten_once_there_are_too_many(
    here: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("batchfx.web.tokens.MOST_SESSIONS", 2)
    site, _ = local(here)
    cookies = [
        site.post("/api/session", json={"token": TOKEN}).headers["Set-Cookie"]
        for _ in range(3)
    ]
    known = [
        site.get("/api/session", headers={"Cookie": each.split(";")[0]}).status_code
        for each in cookies
    ]
    assert known == [401, 200, 200]


def test_where_the_host_signs_people_in_there_is_no_token(here: Site) -> None:
    answer = here.post("/api/session", json={"token": "x"})
    assert answer.status_code == 404


def test_answers_are_neither_kept_nor_guessed_at_by_browsers(here: Site) -> None:
    headers = here.get("/api/batches", headers=RAW).headers
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"
