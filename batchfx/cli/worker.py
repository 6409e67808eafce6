"""The command that runs batches, in processes of its own, until it is told to stop."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import click

from batchfx.cli.options import Settings, examples, global_options
from batchfx.errors import UsageError
from batchfx.execution.access import identify, names_in
from batchfx.execution.lease import new_worker
from batchfx.execution.scope import narrowed
from batchfx.model.access import Identity
from batchfx.store.engine import Store

SECRET = "BATCHFX_WORKER_CREDENTIAL"  # noqa: S105 - the name of the variable with it
REDIS = "BATCHFX_REDIS_URL"
MOST_PROCESSES = 512


@click.command(
    "worker",
    epilog=examples(
        "batchfx worker --database postgresql://localhost/shop",
        "batchfx worker --processes 4 --tenants acme,zeta",
    ),
)
@click.option(
    "--processes",
    type=click.IntRange(1, MOST_PROCESSES),
    metavar="N",
    help="Chunks at work at once.  [default: the number of processors]",
)
@click.option(
    "--tenants",
    metavar="A,B",
    help="Work for these alone, of those that the credential allows.",
)
@click.option(
    "--importers-only",
    metavar="A,B",
    help="Run these alone, of those that the credential allows.",
)
@click.option(
    "--redis",
    metavar="URL",
    envvar=REDIS,
    help="Where workers hear at once of new work; without, they look every 2 s.  "
    f"[env: {REDIS}]",
)
@click.option(
    "--credential-file",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help=f"Holds the secret that lets the worker in.  [or env: {SECRET}]",
)
@click.option(
    "--grace",
    type=click.FloatRange(0, 86_400),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="For running chunks to finish after the first signal.",
)
@global_options
@click.pass_obj
def worker_command(
    settings: Settings,
    *,
    processes: int | None,
    tenants: str | None,
    importers_only: str | None,
    redis: str | None,
    credential_file: Path | None,
    grace: float,
) -> int:
    """Run the batches that wait, until it is told to stop.

    A credential says whose batches, and which importers. The first Ctrl-C or SIGTERM
    lets running chunks finish, the second one ends everything at once; what is not
    finished then is done by another worker.
    """
    begin_log()
    show = _shown(
        _secret(credential_file),
        names_in(tenants, "--tenants") if tenants is not None else None,
        names_in(importers_only, "--importers-only")
        if importers_only is not None
        else None,
    )
    return _run(settings, show, processes or os.cpu_count() or 1, redis, grace)


def _run(
    settings: Settings,
    show: Callable[[Store], Identity],
    processes: int,
    redis: str | None,
    grace: float,
) -> int:
    if os.name != "posix":
        message = "A worker runs on Linux and macOS only; use 'batchfx import' here."
        raise UsageError(message)
    try:
        from batchfx.execution import worker  # noqa: PLC0415 - needs the extra
        from batchfx.execution.handlers import Launch  # noqa: PLC0415
        from batchfx.execution.hints import Hints  # noqa: PLC0415
        from batchfx.execution.holdings import Timing  # noqa: PLC0415
        from batchfx.execution.worker_threads import Door  # noqa: PLC0415
    except ModuleNotFoundError as error:
        message = (
            f"A worker needs the package {error.name}, which is missing: "
            "pip install 'batchfx[workers]'."
        )
        raise UsageError(message) from error
    launch = Launch(
        command=(sys.executable, "-m", "batchfx.cli.handler"),
        greeting={"database": settings.url, "importers": settings.importers},
        threads=max(1, (os.cpu_count() or 1) // processes),
    )
    door = Door(settings.url, new_worker(), version("batchfx"), show)
    plan = worker.Plan(door, launch, processes, Timing(grace=grace))
    return worker.Worker(plan, Hints(redis) if redis else None).run()


def _shown(
    secret: str | None,
    tenants: frozenset[str] | None,
    importers: frozenset[str] | None,
) -> Callable[[Store], Identity]:
    return lambda store: narrowed(identify(store, secret), tenants, importers)


def _secret(path: Path | None) -> str | None:
    """Return the secret, and take it out of the environment of what is started."""
    given = os.environ.pop(SECRET, None)
    if path is None:
        return given
    try:
        return path.read_text("utf-8").strip()
    except (OSError, ValueError) as error:
        message = f"The credential can't be read from '{path}': {error}."
        raise UsageError(message) from error


def begin_log() -> None:
    """Write what the worker says to standard error, each line with the time, UTC."""
    handler = logging.StreamHandler(sys.stderr)
    formatter = logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%dT%H:%M:%SZ")
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    logging.getLogger().addHandler(handler)
    logging.getLogger("batchfx").setLevel(logging.INFO)
