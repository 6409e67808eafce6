"""Work is turned off, workers are let in and doubts are settled, from the shell."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import sqlalchemy as sa

from batchfx.execution.access import digest_of
from batchfx.model.effects import EffectState
from batchfx.store.engine import Store, now_epoch
from batchfx.store.schema import CREDENTIAL, EFFECT, BatchKey
from tests.acceptance.here import Here
from tests.store.entered import a_batch


@pytest.fixture
def here(database: str, capsys: pytest.CaptureFixture[str]) -> Here:
    return Here(database, capsys)


def test_a_credential_is_issued_listed_and_revoked(here: Here, store: Store) -> None:
    scope = ("--tenants", "zeta,acme", "--importers", "*")
    first = here.run("credential", "issue", "fleet", *scope, "--lifetime", "90d")
    second = here.run(
        *("credential", "issue", "night", *scope, "--lifetime", "12h", "--json"),
    )
    revoked = here.run("credential", "revoke", "fleet")
    listed = here.run("credential", "list")
    as_json = here.run("credential", "list", "--json")

    assert (first.code, second.code) == (0, 0)
    assert re.fullmatch(r"bfx_[A-Za-z0-9_-]{43}\n", first.out)
    assert "the only time that its secret is shown" in first.err
    assert first.out.strip() not in first.err
    assert second.json["name"] == "night"
    assert (revoked.code, revoked.out) == (0, "Credential 'fleet' is revoked.\n")
    cells = [re.split("  +", line) for line in listed.out.splitlines()]
    assert [[*each[:3], *each[4:]] for each in cells] == [
        ["Name", "Tenants", "Importers", "State"],
        ["fleet", "acme and zeta", "*", "revoked"],
        ["night", "acme and zeta", "*", "valid"],
    ]
    assert [each["state"] for each in as_json.json] == ["revoked", "valid"]
    assert as_json.json[1]["tenants"] == ["acme", "zeta"]
    assert _digests(store) == {
        digest_of(first.out.strip()),
        digest_of(second.json["secret"]),
    }


def _digests(store: Store) -> set[str]:
    with store.read() as connection:
        return set(connection.execute(sa.select(CREDENTIAL.c.digest)).scalars())


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--tenants", ""), "--tenants '' names nothing that could be allowed"),
        (("--importers", "a,*"), "write '*' alone for all"),
        (("--lifetime", "90"), "'90' is no lifetime"),
        (("--lifetime", "0d"), "'0d' is no lifetime"),
        (("--lifetime", "9999d"), "at most 3650d"),
    ],
)
def test_a_credential_that_says_too_little_or_too_much_is_refused(
    here: Here, options: tuple[str, ...], told: str
) -> None:
    whole = ("--tenants", "acme", "--importers", "people", "--lifetime", "1d")
    ran = here.run("credential", "issue", "fleet", *whole, *options)

    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert here.run("credential", "list", "--json").json == []


def test_a_credential_has_no_scope_or_lifetime_by_default(here: Here) -> None:
    for missing in ("--tenants", "--importers", "--lifetime"):
        whole = {"--tenants": "a", "--importers": "b", "--lifetime": "1d"}
        del whole[missing]
        given = [word for pair in whole.items() for word in pair]
        ran = here.run("credential", "issue", "fleet", *given)
        assert (ran.code, ran.out) == (2, "")
        assert f"Missing option '{missing}'" in ran.err


def test_a_name_of_a_credential_is_taken_once(here: Here) -> None:
    whole = ("--tenants", "acme", "--importers", "people", "--lifetime", "1d")
    here.run("credential", "issue", "fleet", *whole)
    again = here.run("credential", "issue", "fleet", *whole)
    gone = here.run("credential", "revoke", "flet")

    assert (again.code, again.out) == (2, "")
    assert again.err.startswith("Error: There is a credential 'fleet' already")
    assert (gone.code, gone.out) == (2, "")
    assert "There is no credential 'flet'" in gone.err


def test_a_switch_is_turned_off_listed_and_turned_on(here: Here, store: Store) -> None:
    a_batch(store, "acme")
    given = ("--reason", "their file is wrong", "--by", "ann")
    off = here.run("switch", "off", "--tenant", "acme", *given)
    all_off = here.run("switch", "off", "--all", "--reason", "storm")
    on = here.run("switch", "on", "--tenant", "acme", "--by", "bob")
    listed = here.run("switch", "list")
    as_json = here.run("switch", "list", "--json")

    assert (off.out, all_off.out, on.out) == (
        "Tenant 'acme' is off.\n",
        "Everything is off.\n",
        "Tenant 'acme' is on again.\n",
    )
    assert [line.split("  ")[0] for line in listed.out.splitlines()] == [
        "What",
        "Everything",
        "Tenant 'acme'",
    ]
    assert [
        (each["scope"], each["name"], each["is_off"], each["reason"])
        for each in as_json.json
    ] == [("all", "", True, "storm"), ("tenant", "acme", False, "")]
    assert as_json.json[1]["changed_by"] == "bob"


def test_a_switch_of_what_is_not_known_is_turned_with_a_note(
    here: Here, store: Store
) -> None:
    a_batch(store, "acme", "people")
    misspelt = here.run("switch", "off", "--tenant", "acem", "--reason", "x")
    known = here.run("switch", "off", "--importer", "people", "--reason", "x")
    effect = here.run("switch", "off", "--effect", "mail", "--reason", "x")

    assert "no batch in this database is of tenant 'acem'" in misspelt.out
    assert known.out == "Importer 'people' is off.\n"
    assert effect.out == "Effect 'mail' is off.\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("off", "--reason", "x"), "one thing at a time"),
        (("off", "--tenant", "", "--reason", "x"), "one thing at a time"),
        (("off", "--tenant", "a", "--all", "--reason", "x"), "one thing at a time"),
        (("off", "--tenant", "a"), "Missing option '--reason'"),
        (("on", "--tenant", "a"), "Tenant 'a' is not off by a switch of its own"),
        (("on", "--all"), "Everything is not off by a switch of its own"),
    ],
)
def test_a_switch_that_cant_be_turned_is_refused(
    here: Here, store: Store, arguments: tuple[str, ...], told: str
) -> None:
    ran = here.run("switch", *arguments)

    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err


def test_before_the_first_of_each_there_are_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here = Here(f"sqlite:///{tmp_path / 'none.db'}", capsys)

    assert here.run("switch", "list").out == (
        "No switch was ever turned: everything is on.\n"
    )
    assert here.run("credential", "list").out.startswith("There are no credentials")
    assert here.run("effect", "list").out == "No effect is in doubt.\n"
    assert list(tmp_path.iterdir()) == []


def enter_effect(store: Store, key: BatchKey, name: str) -> None:
    row = {
        "tenant": key.tenant,
        "key": name,
        "name": "charge",
        "digest": "0",
        "state": EffectState.UNKNOWN,
        "batch": key.number,
        "row": 1200,
        "worker": "dead",
        "claimed_at": now_epoch(),
    }
    with store.write() as connection:
        connection.execute(sa.insert(EFFECT).values(**row))


def test_an_effect_in_doubt_is_listed_and_settled(here: Here, store: Store) -> None:
    key = a_batch(store)
    for name in ("charge:1", "charge:2"):
        enter_effect(store, key, name)
    listed = here.run("effect", "list")
    own = ("--tenant", "acme")
    happened = here.run(
        *("effect", "settle", "charge:1", "--happened", "--result", '{"n": 1}', *own),
    )
    here.run("effect", "settle", "charge:2", "--not-happened", *own)
    again = here.run("effect", "settle", "charge:2", "--happened", *own)
    empty = here.run("effect", "list", "--json")
    with store.read() as connection:
        kept = connection.execute(sa.select(EFFECT.c.key, EFFECT.c.result)).all()

    assert [line.split()[:4] for line in listed.out.splitlines()] == [
        ["Effect", "Tenant", "Batch", "Row"],
        ["charge:1", "acme", "1", "1,200"],
        ["charge:2", "acme", "1", "1,200"],
    ]
    assert happened.out.startswith("The effect 'charge:1' is settled. To go on:\n")
    assert (again.code, again.out) == (2, "")
    assert "has no effect 'charge:2' that is in doubt" in again.err
    assert empty.json == []
    assert [tuple(row) for row in kept] == [("charge:1", {"n": 1})]


def test_what_was_found_out_about_an_effect_has_to_be_said(here: Here) -> None:
    silent = here.run("effect", "settle", "charge:1")
    odd = here.run("effect", "settle", "charge:1", "--not-happened", "--result", "1")

    assert (silent.code, odd.code) == (2, 2)
    assert "--happened" in silent.err
    assert "--result is of what has happened" in odd.err
