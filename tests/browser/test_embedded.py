"""The widgets in a page of somebody else's application, which they are mounted in."""

from __future__ import annotations

import gzip
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import expect
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Mount, Route

from batchfx import open_store
from batchfx.web import Permission, Principal, create_app
from batchfx.web.access import EVERYTHING
from tests.browser.conftest import Open
from tests.browser.guests import GuestImporter, file_of
from tests.browser.journeys import csv_file, headline

MOST_BYTES = 40_000
GUESTS = file_of(4).replace(b"Nation", b"Country")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'"
)
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Hotel</title>
<script type="module" src="{base}/imports/static/batchfx.js"></script></head>
<body><main><h1>Hotel</h1>
<batchfx-import type="{type}"></batchfx-import>
<batchfx-progress batch="{batch}" lang="{lang}"></batchfx-progress>
</main></body></html>"""


def page(request: Request) -> HTMLResponse:
    """Return the host's page, with both widgets on it."""
    said = request.query_params
    text = PAGE.format(
        batch=said.get("batch", ""),
        lang=said.get("lang", "en"),
        type=said.get("type", "guests"),
        base=said.get("base", ""),
    )
    policy = POLICY.replace("'self'", f"'self' {said.get('base', '')}")
    return HTMLResponse(text, headers={"Content-Security-Policy": policy})


def who(request: Request) -> Principal | None:
    """Return who the cookie says that it is: a name, with permissions or with all."""
    name, _, allowed = request.cookies.get("user", "ada").partition(":")
    if name == "nobody":
        return None
    permissions = frozenset(map(Permission, allowed.split("+"))) if allowed else None
    return Principal("hotel", name, permissions or EVERYTHING)


@pytest.fixture
def hotel(tmp_path: Path) -> Iterator[str]:
    """An application with the imports under a path; nobody runs its batches."""
    store = open_store(f"sqlite:///{tmp_path / 'hotel.db'}")
    imports = create_app(
        store,
        importers=[GuestImporter],
        authenticate=who,
        sign_in="/?login={next}",
    )
    app = Starlette(routes=[Route("/", page), Mount("/imports", imports)])
    with _running(app) as site:
        yield site
    store.close()


@contextmanager
def _running(app: Any) -> Iterator[str]:
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, lifespan="off", log_level="error", access_log=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.force_exit = server.should_exit = True
    thread.join()
    listener.close()


def test_both_widgets_work_in_a_strict_page_and_are_light(
    look: Open, hotel: str
) -> None:
    screen = look(storage_state=None)
    screen.site = hotel
    window = screen.page
    screen.open("/")
    expect(window.get_by_text("No import was chosen.")).to_be_visible()
    expect(window.get_by_text("Drop a file here, or choose one")).to_be_visible()
    screen.judge()
    window.locator("input[type=file]").set_input_files(csv_file("a.csv", file_of(4)))
    expect(headline(window, "Is the file understood?")).to_be_visible()
    loaded = {
        each.url: each.body() for each in screen.answers if "/static/" in each.url
    }
    assert sum(len(gzip.compress(body)) for body in loaded.values()) < MOST_BYTES
    assert any(url.endswith("/messages/en.json") for url in loaded)


def test_progress_says_what_it_waits_for_in_the_language_of_the_element(
    look: Open, hotel: str
) -> None:
    screen = look(storage_state=None)
    screen.site = hotel
    window = screen.page
    screen.open("/")
    window.locator("input[type=file]").set_input_files(csv_file("a.csv", file_of(4)))
    window.get_by_label("Column for Country").select_option("Nation")
    expect(window.get_by_text("Chosen by hand")).to_be_visible()
    window.get_by_role("button", name="Check all rows").click()
    expect(headline(window, "Waiting for a worker")).to_be_visible()
    screen.open("/?batch=1&lang=it")
    expect(headline(window, "In attesa di un processo")).to_be_visible()
    bar = window.get_by_role("progressbar")
    expect(bar).not_to_have_attribute("aria-valuenow", "100")
    screen.keep("waits")
    screen.judge()
    window.get_by_role("button", name="Annulla l").click()
    window.get_by_role("button", name="Sì").click()
    expect(headline(window, "Annullata; non è stato importato nulla")).to_be_visible()


def test_a_stream_that_starts_over_says_where_from(look: Open, hotel: str) -> None:
    screen = look(storage_state=None)
    screen.site = hotel
    window = screen.page
    said = {"X-Batchfx": "1", "Content-Type": "application/octet-stream"}
    api = f"{hotel}/imports/api/batches"
    window.request.post(f"{api}?importer=guests&name=a.csv", data=GUESTS, headers=said)
    window.request.post(f"{api}/1/start", data={}, headers={"X-Batchfx": "1"})
    batch = window.request.get(f"{api}/1").json()
    snapshot = json.dumps({"batch": {**batch, "total": 7_777, "waits_for": None}})
    begins = f"retry: 60000\nevent: reset\ndata: {snapshot}\n\n"
    window.route(
        "**/events*",
        lambda route: route.fulfill(body=begins, content_type="text/event-stream"),
    )
    screen.open("/?batch=1")
    expect(window.get_by_text("7,777 rows read", exact=True)).to_be_visible()


def test_a_batch_that_is_not_there_is_told(look: Open, hotel: str) -> None:
    screen = look(storage_state=None)
    screen.site = hotel
    screen.open("/?batch=99&lang=de")
    told = screen.page.get_by_role("alert")
    expect(told).to_have_text("Einen Import 99 gibt es hier nicht.")
    expect(screen.page.get_by_role("button", name="Noch einmal")).to_have_count(0)
    screen.judge()


def test_an_element_that_is_taken_out_and_put_back_keeps_its_draft(
    look: Open, hotel: str
) -> None:
    screen = look(storage_state=None)
    screen.site = hotel
    window = screen.page
    screen.open("/")
    window.locator("input[type=file]").set_input_files(csv_file("a.csv", GUESTS))
    expect(headline(window, "Is the file understood?")).to_be_visible()
    window.evaluate(
        """() => {
          const taken = document.querySelector("batchfx-import");
          taken.remove();
          document.querySelector("main").append(taken);
        }"""
    )
    expect(window.get_by_text("a.csv · guests · CSV")).to_be_visible()
    screen.open("/?type=ghosts")
    expect(window.get_by_role("alert")).to_have_text(
        "There is no kind of import called “ghosts”. There are: guests."
    )


def test_what_one_may_not_do_is_not_offered_and_the_host_signs_in(
    look: Open, hotel: str
) -> None:
    screen = look(storage_state=None)
    screen.site = hotel
    window = screen.page
    said = {"X-Batchfx": "1", "Content-Type": "application/octet-stream"}
    api = f"{hotel}/imports/api/batches"
    window.request.post(f"{api}?importer=guests&name=a.csv", data=GUESTS, headers=said)
    window.context.add_cookies([{"name": "user", "value": "bo:read", "url": hotel}])
    screen.open("/")
    expect(window.get_by_text("You may look at imports here, but")).to_be_visible()
    expect(window.locator(".drop")).to_have_count(0)
    screen.open("/imports/batches/1")
    expect(window.get_by_label("Delimiter")).to_be_disabled()
    for name in ("Check all rows", "Import without a check", "Discard"):
        expect(window.get_by_role("button", name=name)).to_have_count(0)
    screen.open("/imports/")
    expect(window.get_by_role("link", name="a.csv")).to_be_visible()
    expect(window.get_by_role("link", name="New import")).to_have_count(0)
    window.context.add_cookies([{"name": "user", "value": "nobody", "url": hotel}])
    screen.open("/imports/batches/1?a=b")
    expect(window).to_have_url(f"{hotel}/?login=%2Fimports%2Fbatches%2F1%3Fa%3Db")
    screen.open("/imports/sign-in")
    expect(window.get_by_text("The application that this page is part")).to_be_visible()
    screen.keep("elsewhere")
    screen.judge()


@contextmanager
def _inn(place: Path, front: str) -> Iterator[str]:
    """An application that lets the pages of *front* use its imports."""
    store = open_store(f"sqlite:///{place / 'inn.db'}")
    imports = create_app(
        store,
        importers=[GuestImporter],
        authenticate=lambda request: (
            Principal("inn", "ada") if "user" in request.cookies else None
        ),
        allowed_origins=[front],
    )
    cors = Middleware(
        CORSMiddleware,
        allow_origins=[front],
        allow_credentials=True,
        allow_methods=["*"],
        allow_headers=["X-Batchfx", "Idempotency-Key", "Content-Type"],
    )
    app = Starlette(routes=[Mount("/imports", imports)], middleware=[cors])
    with _running(app) as site:
        yield site
    store.close()


def test_the_widgets_of_another_origin_work_where_the_host_lets_them(
    look: Open, tmp_path: Path
) -> None:
    pages = Starlette(routes=[Route("/", page)])
    with _running(pages) as front, _inn(tmp_path, front) as inn:
        screen = look(storage_state=None)
        screen.site = front
        window = screen.page
        window.context.add_cookies(
            [{"name": "user", "value": "ada", "url": inn, "sameSite": "Strict"}]
        )
        screen.open(f"/?base={inn}")
        window.locator("input[type=file]").set_input_files(csv_file("a.csv", GUESTS))
        expect(window.get_by_text("a.csv · guests · CSV")).to_be_visible()
        window.get_by_label("Decimal sign").select_option("Comma: 1,5")
        window.get_by_role("button", name="Check all rows").click()
        expect(headline(window, "Waiting for a worker")).to_be_visible()
