"""Saved mappings in the database."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from batchfx.store import mappings
from batchfx.store.engine import Store

FIRST = {"columns": {"Mail": "email"}, "others": [], "options": {}}
SECOND = {"columns": {"E-Mail": "email"}, "others": [], "options": {}}


def save(
    store: Store, name: str, content: Mapping[str, object], tenant: str = "a"
) -> int:
    with store.write() as connection:
        return mappings.save(connection, tenant, "people", name, content).version


def test_other_content_makes_the_next_version_and_keeps_the_one_before(
    store: Store,
) -> None:
    assert [save(store, "crm", each) for each in (FIRST, SECOND, FIRST)] == [1, 2, 3]

    with store.read() as connection:
        found = [
            mappings.find(connection, "a", "people", "crm", version)
            for version in (1, 2, 3, None)
        ]
    assert [each and each.content for each in found] == [FIRST, SECOND, FIRST, FIRST]


def test_the_same_content_makes_no_version(store: Store) -> None:
    assert [save(store, "crm", FIRST) for _ in range(3)] == [1, 1, 1]


def test_names_importers_and_tenants_have_versions_of_their_own(store: Store) -> None:
    save(store, "crm", FIRST)
    assert save(store, "shop", SECOND) == 1
    assert save(store, "crm", SECOND, tenant="b") == 1
    with store.write() as connection:
        other = mappings.save(connection, "a", "orders", "crm", SECOND)
    assert other.version == 1


def test_another_tenants_mapping_is_not_seen(store: Store) -> None:
    save(store, "crm", FIRST)

    with store.read() as connection:
        assert mappings.find(connection, "b", "people", "crm") is None
        assert mappings.find(connection, "b", "people", "crm", 1) is None
        assert mappings.listing(connection, "b") == []


def test_a_listing_has_the_newest_version_of_each_first(store: Store) -> None:
    for name, content in (("b", FIRST), ("a", FIRST), ("a", SECOND)):
        save(store, name, content)

    with store.read() as connection:
        found = mappings.listing(connection, "a")
        none = mappings.listing(connection, "a", "orders")
    assert [(each.name, each.version) for each in found] == [
        ("a", 2),
        ("a", 1),
        ("b", 1),
    ]
    assert all(each.saved_at > 1.7e9 for each in found)
    assert none == []


def test_a_content_with_a_nul_is_the_same_when_it_is_saved_again(store: Store) -> None:
    content = {"columns": {"A\0 \\\\u0000": "email"}, "others": [], "options": {}}

    assert [save(store, "crm", content) for _ in range(2)] == [1, 1]

    nul = "\0" if store.engine.dialect.name == "sqlite" else "\u2400"
    with store.read() as connection:
        found = mappings.find(connection, "a", "people", "crm")
    assert found is not None
    assert found.content["columns"] == {f"A{nul} \\\\u0000": "email"}


def test_mappings_saved_at_once_have_a_version_each(store: Store) -> None:
    contents = [{"columns": {str(i): "email"}} for i in range(8)]

    with ThreadPoolExecutor(4) as threads:
        versions = list(threads.map(partial(save, store, "crm"), contents))

    assert sorted(versions) == [1, 2, 3, 4, 5, 6, 7, 8]
    with store.read() as connection:
        found = mappings.listing(connection, "a")
    kept = {each.version: each.content for each in found}
    assert [kept[version] for version in versions] == contents
