"""The application mounted into others, as the samples show it, over HTTP."""

from __future__ import annotations

import importlib
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from werkzeug.serving import make_server

from batchfx.store.engine import open_store
from tests.web.site import messages, running, work

SAMPLES = Path(__file__).parents[2] / "samples"
ANN = {"X-Remote-User": "ann", "X-Batchfx": "1"}


@contextmanager
def running_wsgi(app: Any) -> Iterator[str]:
    """Serve a WSGI application over HTTP in threads; say its address."""
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join(20)
        server.server_close()


Serve = Callable[[Any], AbstractContextManager[str]]
HOSTS: list[tuple[str, Serve]] = [
    ("in_fastapi", running),
    ("in_starlette", running),
    ("in_django", running),
    ("in_flask", running_wsgi),
]


def check_edges(web: httpx.Client, in_pieces: int) -> None:
    """Check the address without a slash, and a body without a length or a type."""
    nobody = web.get("/imports/api/batches", headers={"X-Remote-User": ""})
    assert nobody.status_code == 401
    assert web.get("/imports").headers["Location"].endswith("/imports/")
    place = "/imports/api/batches?importer=customers"
    lost = web.post(place, content=iter([b"a"]))
    assert lost.status_code == in_pieces, lost.text


@pytest.mark.parametrize(("name", "serve"), HOSTS)
def test_a_sample_of_mounting_imports_a_file(
    name: str, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path / 'shop.db'}"
    monkeypatch.setenv("BATCHFX_DATABASE_URL", url)
    for each in ("signing_in", name):
        sys.modules.pop(f"samples.mounting.{each}", None)
    app = importlib.import_module(f"samples.mounting.{name}").app
    store = open_store(url)
    with serve(app) as place, httpx.Client(base_url=place, headers=ANN) as web:
        assert web.get("/").json() == {"imports": "/imports/"}
        uploaded = web.post(
            "/imports/api/batches?importer=customers",
            files={"file": ("customers.csv", (SAMPLES / "customers.csv").read_bytes())},
        )
        assert uploaded.status_code == 201, uploaded.text
        assert uploaded.headers["Location"] == "/imports/api/batches/1"
        assert web.get(uploaded.headers["Location"]).json()["created_by"] == "ann"
        begun = web.post("/imports/api/batches/1/start")
        assert begun.status_code == 202, begun.text

        with web.stream("GET", "/imports/api/batches/1/events", timeout=20) as answer:
            sent = messages(answer.iter_lines())
            assert next(sent).name == "snapshot"
            work(store, 1, "shop")
            last = list(sent)[-1]
        assert (last.name, last.content["batch"]["state"]) == ("end", "completed")
        assert last.content["batch"]["faulty"] == 23

        document = web.get("/imports/api/openapi.json").json()
        assert document["servers"] == [{"url": "/imports"}]
        check_edges(web, in_pieces=415 if serve is running else 411)
        page = web.get("/imports/")
        assert "/imports/static/" in page.text
        script = web.get(re.findall(r'src="(/imports/static/[^"]+)', page.text)[0])
        assert script.headers["Content-Encoding"] == "gzip"
        assert int(script.headers["Content-Length"]) < len(script.content)
        assert "script-src 'self'" in page.headers["Content-Security-Policy"]
    store.close()
