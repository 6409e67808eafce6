"""The command that shows batches on a page, to one person here or to many."""

from __future__ import annotations

import importlib
import ipaddress
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any

import click

from batchfx.cli import database, discovery
from batchfx.cli.hinting import REDIS
from batchfx.cli.local_worker import local_worker
from batchfx.cli.options import Settings, examples, global_options, tenant_option
from batchfx.cli.screen import Screen, person_screen
from batchfx.errors import UsageError
from batchfx.store.engine import Store

MOST_WORKERS = 64
MOST_MEGABYTES = 1_000_000
DEFAULT_MEGABYTES = 2_048
BACKLOG = 2_048
USER = "local"


@click.command(
    "serve",
    epilog=examples(
        "batchfx serve",
        "batchfx serve --database postgresql://localhost/shop --workers 0",
        "batchfx serve --host 0.0.0.0 --auth shop.web:principal",
    ),
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="The address to listen at; from other machines only with --auth.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8_700,
    show_default=True,
    help="0 takes one that is free.",
)
@click.option(
    "--workers",
    type=click.IntRange(0, MOST_WORKERS),
    metavar="N",
    help="Chunks at work at once, in a worker started along; 0: others work.  "
    "[default: 1, and 0 with --auth]",
)
@click.option(
    "--auth",
    metavar="MODULE:FUNCTION",
    help="Says who sends a request; see docs/web.md.",
)
@click.option(
    "--max-upload",
    type=click.IntRange(1, MOST_MEGABYTES),
    default=DEFAULT_MEGABYTES,
    show_default=True,
    metavar="MB",
    help="The largest file that is taken.",
)
@tenant_option
@global_options
@click.pass_obj
def serve_command(
    settings: Settings,
    *,
    host: str,
    port: int,
    workers: int | None,
    auth: str | None,
    max_upload: int,
    tenant: str | None,
) -> None:
    """Show batches on a page, and run them, until it is told to stop.

    Without --auth it is for one person on this machine, who is let in by the address
    that is printed.
    """
    if auth is None and not is_loopback(host):
        message = (
            f"At {host} others could come in, too. Say with --auth MODULE:FUNCTION who "
            "sends a request, or leave --host out."
        )
        raise UsageError(message)
    count = workers if workers is not None else int(auth is None)
    with person_screen(as_json=False) as screen, ExitStack() as stack:
        discovery.load(settings)
        stack.enter_context(_signals_raise())
        store = stack.enter_context(database.opened(settings))
        listener = stack.enter_context(listening(host, port))
        app, token = _application(store, auth, tenant, max_upload * 1_000_000)
        if count:
            stack.enter_context(local_worker(settings, store, count, screen))
        _say(screen, host, listener.getsockname()[1], token)
        _serve(app, listener)
    screen.say("Ended.")


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can come in at *host*."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens there.

    Raises:
        UsageError: It can't.

    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP: asyncio sends small pieces at once only where it knows that it is.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # elsewhere it would take an address that is in use
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        message = (
            f"Nothing can listen at {host}, port {port}: {error.strerror}. Another "
            "program may be there; take another port with --port."
        )
        raise UsageError(message) from error
    return listener


def named_function(place: str) -> Callable[..., Any]:
    """Return the function that *place* names as ``module:function``.

    Raises:
        UsageError: There is none.

    """
    module, _, name = place.partition(":")
    try:
        found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        message = (
            f"--auth names no function that can be imported: '{place}'. "
            "Write it as module:function."
        )
        raise UsageError(message) from error
    return found


@contextmanager
def _signals_raise() -> Iterator[None]:
    """Let signals come as an exception, so that what was started is ended."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {each: signal.signal(each, _interrupt) for each in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise KeyboardInterrupt


def _application(
    store: Store, auth: str | None, tenant: str | None, max_upload: int
) -> tuple[Any, str | None]:
    """Return the application, and the token by which one person comes in."""
    try:
        from batchfx.web import (  # noqa: PLC0415 - needs the extra
            LocalToken,
            Principal,
            create_app,
        )
    except ModuleNotFoundError as error:
        raise UsageError(_missing(error)) from error
    local = LocalToken(Principal(database.tenant_or_default(tenant), USER))
    authenticate = local if auth is None else named_function(auth)
    app = create_app(
        store, authenticate=authenticate, max_upload=max_upload, hint=_hint()
    )
    return app, local.text if auth is None else None


def _hint() -> Callable[[], object] | None:
    """Return what tells workers of new work at once, where there is a Redis."""
    url = os.environ.get(REDIS)
    if not url:
        return None
    try:
        from batchfx.execution.hints import Hints  # noqa: PLC0415 - needs the extra
    except ModuleNotFoundError:
        return None
    return Hints(url).send


def _serve(app: Any, listener: socket.socket) -> None:
    from batchfx.web.server import serve  # noqa: PLC0415 - needs the extra

    serve(app, listener)


def _missing(error: ModuleNotFoundError) -> str:
    return (
        f"The page needs the package {error.name}, which is missing: "
        "pip install 'batchfx[web]'."
    )


def _say(screen: Screen, host: str, port: int, token: str | None) -> None:
    place = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    if token is None:
        screen.say(f"Batches are at {place}/ now. Ctrl-C ends it.")
        return
    screen.say("Batches are on this page; its address lets you in, so keep it:")
    screen.say(f"  {place}/sign-in#token={token}")
    screen.say("Ctrl-C ends it.")
