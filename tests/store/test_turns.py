"""The order in which lanes come when some of them are put off on the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from batchfx.store.lanes import Turn
from batchfx.store.turns import Order


def turn(tenant: str, vtime: float, weight: float = 1.0, *, full: bool = False) -> Turn:
    return Turn(full, vtime, tenant, weight, vtime)


def noted(turns: Iterable[Turn], read: list[str]) -> Iterator[Turn]:
    """Yield *turns* and note which were asked for."""
    for each in turns:
        read.append(each.tenant)
        yield each


def test_lanes_come_as_they_were_read_and_no_more_are_read_than_are_needed() -> None:
    read: list[str] = []
    order = Order(noted([turn("a", 1), turn("b", 2), turn("c", 3)], read))
    found = iter(order)
    assert next(found).tenant == "a"
    assert read == ["a"]
    assert [each.tenant for each in found] == ["b", "c"]


def test_a_lane_that_is_put_off_comes_when_it_would_after_it_was_served() -> None:
    order = Order(iter([turn("a", 0, 4), turn("b", 20), turn("c", 40)]))
    met: list[tuple[str, float, bool]] = []
    for each in order:
        met.append((each.tenant, each.vtime, each.is_again))
        if not each.is_again:
            order.put_off(each, 100)
    assert met == [
        ("a", 0, False),
        ("b", 20, False),
        ("a", 25, True),
        ("c", 40, False),
        ("b", 120, True),
        ("c", 140, True),
    ]


def test_a_lane_is_alone_until_another_is_come_to() -> None:
    order = Order(iter([turn("a", 0), turn("b", 0)]))
    found = iter(order)
    order.put_off(next(found), 100)
    assert order.is_alone
    assert (next(found).tenant, order.is_alone) == ("b", False)
    assert (next(found).tenant, order.is_alone) == ("a", False)


def test_a_lane_at_its_cap_comes_after_those_that_were_put_off() -> None:
    order = Order(iter([turn("a", 0), turn("full", 0, full=True)]))
    found = iter(order)
    order.put_off(next(found), 1_000)
    assert [each.tenant for each in found] == ["a", "full"]


def test_a_lane_that_was_far_behind_is_put_off_from_where_it_goes_on() -> None:
    order = Order(iter([Turn(is_full=False, vtime=0, tenant="a", weight=2, start=50)]))
    found = iter(order)
    order.put_off(next(found), 100)
    assert [each.vtime for each in found] == [100]
