"""Who may be a worker, for whom, and how `batchfx worker` starts and ends."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from batchfx.store import access
from batchfx.store.schema import WORKER
from tests.workers.fleet import Fleet, Running, wait_for

SECRET = "BATCHFX_WORKER_CREDENTIAL"  # noqa: S105 - the name of the variable with it
BATCHFX = Path(sys.executable).with_name("batchfx")


def command(
    fleet: Fleet, *more: str, secret: str | None = None, **variables: str
) -> Running:
    """Start ``batchfx worker``, with *secret* in its environment."""
    words = ["worker", "--database", fleet.database, "--processes", "1", *more]
    modules = ["--importers", "tests.workers.troubles"]
    environment = {} if secret is None else {SECRET: secret}
    return fleet.run([str(BATCHFX), *words, *modules], **environment, **variables)


def test_the_command_runs_batches_until_it_is_told_to_stop(
    fleet: Fleet, tmp_path: Path
) -> None:
    file = tmp_path / "secret"
    file.write_text(fleet.secret() + "\n", "utf-8")
    worker = command(fleet, "--credential-file", str(file))
    fleet.wait(fleet.submit("nothing", "nothing"))
    worker.send(signal.SIGINT)
    assert worker.process.wait(10) == 0
    assert "Traceback" not in worker.log


def test_the_secret_is_seen_nowhere(fleet: Fleet) -> None:
    secret = fleet.secret()
    worker = command(fleet, secret=secret, BATCHFX_STATIC_TOKEN="x" * 20)
    (handler,) = wait_for(worker.handlers)
    fleet.wait(fleet.submit("nothing"))
    assert not {SECRET, "BATCHFX_STATIC_TOKEN"} & handler.environ().keys()
    for process in [handler, *worker.tree()]:
        assert secret not in " ".join(process.cmdline())
        assert "postgres:" not in " ".join(process.cmdline())
    assert worker.stop() == 0
    assert secret not in worker.log


@pytest.mark.parametrize("secret", [None, "bfx_made-up"])
def test_nobody_is_let_in_without_a_credential_that_is_valid(
    fleet: Fleet, secret: str | None
) -> None:
    worker = command(fleet, secret=secret)
    assert worker.process.wait(20) == 1
    (line,) = [line for line in worker.log.splitlines() if "Error: " in line]
    assert "credential" in line
    assert "bfx_made-up" not in worker.log
    assert "The worker has ended" not in worker.log  # none had begun
    assert "Importers here" not in worker.log  # no code of the application ran
    with fleet.store.read() as connection:
        assert access.workers(connection) == []


def test_a_worker_stops_once_its_credential_is_revoked(fleet: Fleet) -> None:
    key = fleet.submit("sleep:30")
    worker = fleet.start()
    wait_for(lambda: fleet.states(key) == ["leased"])
    with fleet.store.write() as connection:
        access.revoke(connection, access.listing(connection)[0].name)
    assert worker.process.wait(10) == 1
    assert f"lease lost: batch {key.number}, chunk 0" in worker.log
    assert "This worker's right to work has ended: its credential" in worker.log
    assert "'batchfx credential issue'" in worker.log
    (chunk,) = fleet.chunks(key)
    assert (chunk.state, chunk.failures, chunk.losses) == ("queued", 0, 0)


def test_a_worker_takes_only_what_its_credential_and_its_options_allow(
    fleet: Fleet,
) -> None:
    keys = {name: fleet.submit("nothing", tenant=name) for name in "abc"}
    secret = fleet.secret(("a", "b"))
    command(fleet, "--tenants", "b", secret=secret)
    fleet.wait(keys["b"])
    with fleet.store.read() as connection:
        (row,) = access.workers(connection)
    assert row.tenants == {"b"}
    assert fleet.state(keys["a"]) == fleet.state(keys["c"]) == "staging"


def test_options_never_widen_what_the_credential_allows(fleet: Fleet) -> None:
    worker = command(fleet, "--tenants", "a,c", secret=fleet.secret(("a", "b")))
    assert worker.process.wait(20) == 1
    assert "does not allow the tenant 'c'" in worker.log


def test_work_of_an_importer_that_is_not_here_waits(fleet: Fleet) -> None:
    key = fleet.submit("nothing")
    words = ["worker", "--database", fleet.database, "--processes", "1"]
    modules = ["--importers", "tests.people"]
    other = fleet.run([str(BATCHFX), *words, *modules], **{SECRET: fleet.secret()})
    wait_for(lambda: "Importers here: people." in other.log)
    fleet.start()
    fleet.wait(key)
    assert other.stop() == 0
    assert f"batch {key.number}" not in other.log


def test_the_static_token_lets_in_whoever_shows_it(fleet: Fleet) -> None:
    token = "a static token that is long"  # noqa: S105 - a test's
    given = {"TOKEN": token, "TENANTS": "default", "IMPORTERS": "*"}
    variables = {f"BATCHFX_STATIC_{name}": value for name, value in given.items()}
    refused = command(fleet, **variables)
    assert refused.process.wait(20) == 1
    assert "hand over the text of BATCHFX_STATIC_TOKEN there" in refused.log
    worker = command(fleet, secret=token, **variables)
    fleet.wait(fleet.submit("nothing"))
    assert worker.stop() == 0


def test_why_a_batch_waits_is_told_where_it_is_looked_at(fleet: Fleet) -> None:
    number = str(fleet.submit("nothing").number)
    worker = command(fleet, "--importers-only", "people,nosuch", secret=fleet.secret())
    wait_for(lambda: "to run them: nosuch, people." in worker.log)
    shown = fleet.run([str(BATCHFX), "status", number, "--database", fleet.database])
    assert shown.process.wait(20) == 0
    assert "may run the importer 'troubles' for the tenant 'default'" in shown.log
    off = ["switch", "off", "--all", "--reason", "a fire", "--by", "ann"]
    turned = fleet.run([str(BATCHFX), *off, "--database", fleet.database])
    assert turned.process.wait(20) == 0
    watch = fleet.run([str(BATCHFX), "watch", number, "--database", fleet.database])
    told = f"Batch {number} waits until a switch is on again. Everything was turned off"
    wait_for(lambda: f"{told} by ann: a fire." in " ".join(watch.log.split()))
    with fleet.store.read() as connection:
        (row,) = connection.execute(sa.select(WORKER.c.installed))
    assert list(row.installed) == ["limited", "recording", "troubles"]


def test_importers_that_can_not_be_imported_end_the_start_with_a_sentence(
    fleet: Fleet,
) -> None:
    words = ["worker", "--database", fleet.database, "--importers", "tests.nowhere"]
    worker = fleet.run([str(BATCHFX), *words], **{SECRET: fleet.secret()})
    assert worker.process.wait(30) == 1
    assert "Error: There is no module 'tests.nowhere'" in worker.log
    assert "Traceback" not in worker.log
    assert worker.tree() == []


@pytest.mark.parametrize(
    ("option", "told"),
    [
        (["--redis", "nonsense://x:secret@y"], "address of Redis is none"),
        (["--tenants", ""], "names nothing"),
        (["--importers-only", ""], "names nothing"),
        (["--credential-file", "no-such-file"], "can't be read"),
        (["--database", "nonsense"], "no database address"),
    ],
)
def test_wrong_options_are_told(fleet: Fleet, option: list[str], told: str) -> None:
    worker = command(fleet, *option, secret=fleet.secret())
    assert worker.process.wait(20) in {1, 2}
    assert told in worker.log
    assert "secret@" not in worker.log


def test_a_worker_that_is_told_to_stop_at_its_start_leaves(fleet: Fleet) -> None:
    worker = fleet.start()
    wait_for(lambda: "let in as" in worker.log)
    assert worker.stop(10) == 0
    assert worker.tree() == []
