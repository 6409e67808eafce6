"""Who may work is decided by the secret that is shown at the start."""

from __future__ import annotations

import logging
import traceback
from dataclasses import replace

import pytest
import sqlalchemy as sa

from batchfx.errors import AccessError, ContractError, UsageError
from batchfx.execution.access import (
    REFUSAL,
    digest_of,
    identify,
    issue,
    named_verifier,
    names_in,
)
from batchfx.model.access import FOREVER, Identity
from batchfx.store import access
from batchfx.store.engine import Store, now_epoch
from batchfx.store.schema import CREDENTIAL

TOKEN = "a-token-of-the-first-day"  # noqa: S105 - made up
STATIC = {
    "BATCHFX_STATIC_TOKEN": TOKEN,
    "BATCHFX_STATIC_TENANTS": "acme, zeta",
    "BATCHFX_STATIC_IMPORTERS": "*",
}
ANN = Identity("ann", frozenset({"acme"}), frozenset({"*"}), FOREVER, credential=7)


def issued(store: Store, lifetime: float = 3600) -> str:
    return issue(store, "fleet", ["acme"], ["people", "orders"], lifetime=lifetime)


def refusal(store: Store, secret: str | None, **environment: str) -> str:
    with pytest.raises(AccessError) as refused:
        identify(store, secret, environment=environment)
    return str(refused.value)


def test_a_secret_says_who_it_is_and_what_that_allows(store: Store) -> None:
    found = identify(store, issued(store), environment={})

    assert (found.name, found.tenants, found.importers) == (
        "fleet",
        frozenset({"acme"}),
        frozenset({"people", "orders"}),
    )
    with store.read() as connection:
        (listed,) = access.listing(connection)
    assert (found.credential, found.expires_at) == (listed.id, listed.expires_at)


def test_only_the_digest_of_a_secret_is_kept(store: Store) -> None:
    secret = issued(store)
    with store.read() as connection:
        (row,) = connection.execute(sa.select(CREDENTIAL)).all()

    assert secret.startswith("bfx_")
    assert len(secret) == 47
    assert row.digest == digest_of(secret)
    assert secret.removeprefix("bfx_") not in repr(tuple(row))
    assert issue(store, "other", ["*"], ["*"], lifetime=1.0) != secret


def test_every_refusal_reads_the_same(store: Store) -> None:
    secret = issued(store)
    wrong = [secret[:-1], secret + "x", "bfx_", digest_of(secret), "\udcff", "*"]
    told = {refusal(store, each) for each in wrong}
    with store.write() as connection:
        connection.execute(sa.update(CREDENTIAL).values(expires_at=now_epoch() - 1))
    told.add(refusal(store, secret))
    with store.write() as connection:
        connection.execute(sa.update(CREDENTIAL).values(expires_at=FOREVER))
    assert identify(store, secret, environment={}).name == "fleet"
    with store.write() as connection:
        access.revoke(connection, "fleet")
    told.add(refusal(store, secret))
    told.add(refusal(store, "another-token-of-that-day", **STATIC))

    assert told == {REFUSAL}


@pytest.mark.parametrize("secret", [None, ""])
def test_without_a_credential_it_is_said_where_one_comes_from(
    store: Store, secret: str | None
) -> None:
    told = refusal(store, secret, **STATIC)

    assert "'batchfx credential issue' makes one" in told
    assert "BATCHFX_WORKER_CREDENTIAL" in told


def test_the_static_token_lets_in_with_a_warning_each_time(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        found = [identify(store, TOKEN, environment=STATIC) for _ in range(2)]

    assert found == 2 * [
        Identity("static token", frozenset({"acme", "zeta"}), frozenset({"*"}), FOREVER)
    ]
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert "never expires" in caplog.text
    assert TOKEN not in caplog.text


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"BATCHFX_STATIC_TENANTS": ""}, "BATCHFX_STATIC_TENANTS '' names nothing"),
        ({"BATCHFX_STATIC_IMPORTERS": " , "}, "BATCHFX_STATIC_IMPORTERS ' , ' names"),
        ({"BATCHFX_STATIC_TENANTS": "acme,*"}, "write '*' alone for all"),
        ({"BATCHFX_STATIC_TENANTS": "ac*"}, "write '*' alone for all"),
        ({"BATCHFX_STATIC_TOKEN": "brief"}, "take 16 characters or more"),
    ],
)
def test_a_static_token_without_a_plain_scope_is_refused(
    store: Store, changed: dict[str, str], told: str
) -> None:
    environment = STATIC | changed
    secret = environment["BATCHFX_STATIC_TOKEN"]

    with pytest.raises(UsageError, match="BATCHFX_STATIC") as refused:
        identify(store, secret, environment=environment)
    assert told in str(refused.value)
    assert secret not in str(refused.value)


def test_a_scope_that_is_not_set_at_all_is_no_wildcard(store: Store) -> None:
    environment = {"BATCHFX_STATIC_TOKEN": TOKEN, "BATCHFX_STATIC_IMPORTERS": "*"}
    with pytest.raises(UsageError, match="BATCHFX_STATIC_TENANTS '' names nothing"):
        identify(store, TOKEN, environment=environment)


def test_a_verifier_decides_alone(store: Store) -> None:
    secret = issued(store)

    def verify(shown: str, /) -> Identity | None:
        return ANN if shown == "ticket" else None

    assert identify(store, "ticket", verify, {}) == replace(ANN, credential=None)
    for shown in (secret, TOKEN):
        with pytest.raises(AccessError) as refused:
            identify(store, shown, verify, STATIC)
        assert str(refused.value) == REFUSAL


def test_a_verifier_is_named_in_the_environment(store: Store) -> None:
    environment = {"BATCHFX_WORKER_VERIFIER": f"{__name__}:let_in"}
    assert identify(store, "anything", environment=environment).name == "ann"


def let_in(secret: str, /) -> Identity | None:
    return ANN


@pytest.mark.parametrize("place", ["nowhere:f", "json:nothing", "json", ":f", "json:"])
def test_a_verifier_that_is_not_there_is_told(place: str) -> None:
    with pytest.raises(UsageError, match="names no function that can be imported"):
        named_verifier(place)


def test_an_identity_that_has_run_out_is_refused(store: Store) -> None:
    with store.read() as connection:
        now = connection.execute(sa.select(now_epoch())).scalar_one()
    late = replace(ANN, expires_at=now - 0.001)
    with pytest.raises(AccessError) as refused:
        identify(store, "ticket", lambda secret, /: late, {})

    assert str(refused.value) == REFUSAL
    soon = replace(ANN, expires_at=now + 60)
    assert identify(store, "ticket", lambda secret, /: soon, {}).name == "ann"


@pytest.mark.parametrize(
    "identity",
    [
        replace(ANN, tenants=frozenset()),
        replace(ANN, importers=frozenset()),
        replace(ANN, tenants="acme"),  # type: ignore[arg-type]
        "ann",
        True,
    ],
)
def test_a_verifier_must_return_a_whole_identity(
    store: Store, identity: Identity
) -> None:
    with pytest.raises(ContractError, match="must return an Identity"):
        identify(store, "ticket", lambda secret, /: identity, {})


def test_a_verifier_that_fails_lets_nobody_in_and_tells_no_secret(
    store: Store,
) -> None:
    def fail(secret: str, /) -> Identity | None:
        message = f"no answer for {secret}"
        raise TimeoutError(message)

    with pytest.raises(AccessError, match="failed with TimeoutError") as refused:
        identify(store, TOKEN, fail, {})
    assert TOKEN not in "".join(traceback.format_exception(refused.value))


def test_names_are_listed_with_commas_or_by_the_one_for_all() -> None:
    assert names_in(" a , b,", "Tenants") == {"a", "b"}
    assert names_in("*", "Tenants") == {"*"}
