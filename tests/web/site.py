"""The application for tests: over HTTP where streams matter, else without a network."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import uvicorn
from starlette.requests import Request

from batchfx import Store
from batchfx.cli.serve import listening
from batchfx.execution.control import Watch, run_attempt, take
from batchfx.importer import find_importer
from batchfx.store import batches
from batchfx.store.schema import BATCH, BatchKey
from batchfx.web import Permission, Principal, create_app
from tests.people import Base, PersonImporter

GOOD = "Code,Name,Age\n1,Ann,30\n2,Bob,40\n3,Cid,50\n"
FAULTY = "Code,Name,Age\n1,Ann,30\n2,Bob,x\n3,Cid,500\n1,Dan,60\n"
RAW = {"Content-Type": "application/octet-stream"}
FORM_SAFE = {"X-Batchfx": "1"}


def by_header(request: Request) -> Principal | None:
    """Return the principal that the test names in a header."""
    said = request.headers.get("x-user")
    if said is None:
        return None
    tenant, user, *permissions = said.split(":")
    named = permissions[0].split(",") if permissions else list(Permission)
    return Principal(tenant, user, frozenset(map(Permission, named)))


def as_user(name: str = "acme:ann") -> dict[str, str]:
    """Return the headers by which a test says who it is."""
    return {"X-User": name, **FORM_SAFE}


@dataclass
class Site:
    """The application on a database, asked without a network."""

    app: Any
    store: Store
    let_in: dict[str, str] = field(default_factory=as_user)

    def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        """Send one request, as Ann of acme unless it says otherwise."""
        more["headers"] = self.let_in | dict(more.get("headers") or {})

        async def asked() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            place = "http://testserver"
            async with httpx.AsyncClient(transport=transport, base_url=place) as client:
                return await client.request(method, path, **more)

        return asyncio.run(asked())

    def get(self, path: str, **more: Any) -> httpx.Response:
        """Send a GET."""
        return self.ask("GET", path, **more)

    def post(self, path: str, **more: Any) -> httpx.Response:
        """Send a POST."""
        return self.ask("POST", path, **more)

    def upload(
        self, text: str = FAULTY, name: str = "people.csv", **headers: str
    ) -> httpx.Response:
        """Upload a file of people."""
        place = f"/api/batches?importer=people&name={name}"
        return self.post(place, content=text.encode(), headers=RAW | headers)

    def started(self, text: str = FAULTY, *, dry_run: bool = False) -> int:
        """Upload a file and begin it; return its number."""
        uploaded = self.upload(text)
        assert uploaded.status_code == 201, uploaded.text
        number: int = uploaded.json()["number"]
        begun = self.post(f"/api/batches/{number}/start", json={"dry_run": dry_run})
        assert begun.status_code == 202, begun.text
        return number

    def worked(self, number: int) -> None:
        """Do what a worker would, here."""
        work(self.store, number)

    def done(self, text: str = FAULTY, *, dry_run: bool = False) -> int:
        """Upload a file and have it run; return its number."""
        number = self.started(text, dry_run=dry_run)
        self.worked(number)
        return number


def work(store: Store, number: int, tenant: str = "acme") -> None:
    """Run a batch that waits for workers."""
    key = BatchKey(tenant, number)
    with store.write() as connection:
        batch = batches.read(connection, key)
        claim = take(connection, key)
    run_attempt(store, batch, claim, find_importer(batch.importer), Watch())


def site_on(store: Store, **more: Any) -> Site:
    """Return the application on *store*, with the people's table in it."""
    with store.write() as connection:
        Base.metadata.create_all(connection)
    settings: dict[str, Any] = {
        "authenticate": by_header,
        "importers": [PersonImporter],
    }
    return Site(create_app(store, **settings | more), store)


@contextmanager
def running(app: Any) -> Iterator[str]:
    """Serve *app* over HTTP in a thread; say its address."""
    listener = listening("127.0.0.1", 0)
    server = uvicorn.Server(
        uvicorn.Config(app, lifespan="off", log_level="error", access_log=False)
    )
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.force_exit = server.should_exit = True
        thread.join(20)
        listener.close()
    assert not thread.is_alive()


@dataclass(frozen=True)
class Sent:
    """One message of an event stream."""

    name: str
    cursor: str | None
    content: Any


def messages(lines: Iterator[str]) -> Iterator[Sent]:
    """Yield the messages of an event stream as they come."""
    parts: dict[str, str] = {}
    for line in lines:
        field, colon, value = line.partition(": ")
        if colon and field:
            parts[field] = value
        elif not line and "data" in parts:
            name = parts.get("event", "message")
            yield Sent(name, parts.get("id"), json.loads(parts["data"]))
            parts = {}


@contextmanager
def following(
    place: str, number: int, query: str = "", **headers: str
) -> Iterator[Iterator[Sent]]:
    """Follow a batch over HTTP."""
    url = f"{place}/api/batches/{number}/events{query}"
    with httpx.stream("GET", url, headers=as_user() | headers, timeout=20) as answer:
        assert answer.status_code == 200, answer.read()
        yield messages(answer.iter_lines())


def count_statements(store: Store) -> Callable[[], int]:
    """Return what tells how many statements the database was sent since."""
    from sqlalchemy import event  # noqa: PLC0415 - of this one

    counted = [0]

    def count(*_: Any) -> None:
        counted[0] += 1

    event.listen(store.engine, "before_cursor_execute", count)
    return lambda: counted[0]


def set_state(store: Store, number: int, **values: Any) -> None:
    """Change a batch's row as nothing else does."""
    with store.write() as connection:
        connection.execute(BATCH.update().where(BATCH.c.id == number).values(**values))
