"""How alike two names of columns are, for suggestions and never for decisions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from batchfx.model.names import folded

CLOSE = 0.6  # likeness, from 0 to 1, from which a name is worth asking about
COMPARED = 80  # characters of a name that are compared
SHORTEST_PART = 4  # letters from which one name within another means something
PART_WITHIN = 0.75  # the likeness of a name that is a part of the other


def likeness(one: str, other: str) -> float:
    """Return how alike two names are, from 0 to 1.

    The larger of two measures counts: their letters in order, and their words in any
    order.
    """
    left, right = folded(one[:COMPARED]), folded(other[:COMPARED])
    if left == right:
        return 1.0
    shorter, longer = sorted((left, right), key=len)
    is_part = len(shorter) >= SHORTEST_PART and shorter in longer
    return max(
        PART_WITHIN if is_part else 0.0,
        _words_in_common(one[:COMPARED], other[:COMPARED]),
        _letters_in_common(left, right),
    )


def nearest(
    names: Iterable[str], candidates: Sequence[str], cutoff: float = CLOSE
) -> tuple[float, str] | None:
    """Return the likeness and the one of *candidates* that is most like a name.

    None when none is like enough; the first of those that are equally alike.
    """
    scored = [
        (likeness(name, candidate), candidate)
        for name in names
        for candidate in candidates
    ]
    best = max(scored, key=lambda each: each[0], default=(0.0, ""))
    return best if best[0] >= cutoff else None


def _words_in_common(one: str, other: str) -> float:
    left, right = _words(one), _words(other)
    both = len(left) + len(right)
    return 2 * len(left & right) / both if both else 0.0


def _words(name: str) -> frozenset[str]:
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return frozenset(folded(word) for word in re.findall(r"[^\W_]+", parted))


def _letters_in_common(left: str, right: str) -> float:
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    if matcher.real_quick_ratio() < CLOSE or matcher.quick_ratio() < CLOSE:
        return 0.0
    return matcher.ratio()
