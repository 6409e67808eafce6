"""Addresses of databases: which are taken, and how they are shown to a person."""

from __future__ import annotations

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from batchfx.errors import StoreError, UsageError

SQLITE = frozenset({"sqlite", "sqlite+pysqlite"})
POSTGRESQL = frozenset({"postgresql", "postgresql+psycopg"})
EXAMPLES = "sqlite:///batchfx.db or postgresql://user@host/database"
SECRETS = frozenset({"password", "sslpassword", "oauth_client_secret"})  # after the "?"


def address(text: str) -> URL:
    """Read the address of a database that batchfx can use.

    Raises:
        StoreError: It is a database in memory.
        UsageError: It is no address, or one of another kind of database.

    """
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):  # ValueError: the port is no number
        raise UsageError(_not_an_address(text)) from None
    if url.drivername in POSTGRESQL:
        return _with_its_password_in_place(url)
    if url.drivername not in SQLITE or url.query:
        message = (
            f"A database '{visible(url)}' is not supported; "
            f"write an address such as {EXAMPLES}."
        )
        raise UsageError(message)
    if url.database in (None, "", ":memory:"):
        message = (
            "A database in memory forgets every batch when the process ends; "
            "name a file: sqlite:///batchfx.db."
        )
        raise StoreError(message)
    return url


def visible(url: URL) -> str:
    """Return the address without what is secret in it."""
    hidden = {name: "hidden" for name in url.query if name in SECRETS}
    return url.update_query_dict(hidden).render_as_string(hide_password=True)


def shown(text: str) -> str:
    """Return *text*, an address or not, without what is secret in it."""
    try:
        return visible(make_url(text))
    except (ArgumentError, ValueError):
        return "***" if _may_be_secret(text) else text


def _may_be_secret(text: str) -> bool:
    # What can't be read can't be shown in part: a password may be anywhere in it.
    return "@" in text or "password" in text


def _not_an_address(text: str) -> str:
    name = "This" if _may_be_secret(text) else f"'{text}'"
    return f"{name} is no database address. Write one such as {EXAMPLES}."


def _with_its_password_in_place(url: URL) -> URL:
    """Move a password from the query to where SQLAlchemy hides it."""
    password = url.query.get("password")
    if not isinstance(password, str):
        return url
    return url.set(password=password).difference_update_query(["password"])
