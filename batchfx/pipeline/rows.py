"""Model instances from columns, without validating again."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import repeat
from typing import Any

from pydantic import BaseModel

# BaseModel keeps these in slots; its own __setattr__ looks for much else first.
SLOTS = vars(BaseModel)
SET_DICT = SLOTS["__dict__"].__set__
SET_FIELDS = SLOTS["__pydantic_fields_set__"].__set__
SET_EXTRA = SLOTS["__pydantic_extra__"].__set__
SET_PRIVATE = SLOTS["__pydantic_private__"].__set__


def build(
    model: type[BaseModel],
    columns: Mapping[str, Sequence[Any]],
    unset: Mapping[str, Sequence[int]],
) -> list[BaseModel]:
    """Return an instance of *model* for each row of *columns*.

    A field counts as set but in the rows that *unset* lists for it.
    """
    names = tuple(columns)
    contents = _dictionaries(names)(*columns.values())
    rows = list(map(object.__new__, repeat(model, len(contents))))
    every = {name for name in names if len(unset.get(name, ())) < len(rows)}
    extra = model.model_config.get("extra") == "allow"
    _run(map(SET_DICT, rows, contents))
    _run(map(SET_FIELDS, rows, map(set, repeat(every, len(rows)))))
    _run(map(SET_EXTRA, rows, ({} for _ in rows) if extra else repeat(None)))
    _run(map(SET_PRIVATE, rows, repeat(None)))
    for name in every & unset.keys():
        for index in unset[name]:
            rows[index].__pydantic_fields_set__.discard(name)
    return rows


@cache
def _dictionaries(names: tuple[str, ...]) -> Callable[..., list[dict[str, Any]]]:
    """Return the function that makes a dictionary of *names* for each row of columns.

    It is written out, as `namedtuple` is: that takes half the time of dict(zip(...)).
    """
    variables = [f"v{place}" for place in range(len(names))]
    entries = (f"{name!r}: {v}" for name, v in zip(names, variables, strict=True))
    row, each = ", ".join(variables), ", ".join(entries)
    text = f"lambda *columns: [{{{each}}} for {row}, in zip(*columns, strict=True)]"
    made: Callable[..., list[dict[str, Any]]] = eval(text)  # noqa: S307 - of names quoted by repr
    return made


def _run(calls: Any) -> None:
    deque(calls, maxlen=0)
