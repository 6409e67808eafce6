"""The phases that an importer writes as methods: check_<field>, then check_row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel

from batchfx.errors import ContractError
from batchfx.importer import CHECK, Importer
from batchfx.model.issues import Issue, Phase
from batchfx.pipeline.failures import BROKEN, issue_of
from batchfx.pipeline.validate import Validated

Pairs = list[tuple[int, BaseModel]]


def needs_rows(importer: type[Importer[Any]]) -> bool:
    """Tell whether a check of *importer* looks at whole rows."""
    return (
        importer.check_row is not Importer.check_row
        or importer.prepare is not Importer.prepare
        or any(importer.checks.values())
    )


def pairs_of(validated: Validated) -> Pairs:
    """Return the number and the model instance of every sound row."""
    sound = validated.sound
    numbers = validated.numbers.filter(sound).to_list()
    return list(zip(numbers, validated.rows(sound), strict=True))


def checked(
    importer: Importer[Any], validated: Validated, pairs: Pairs
) -> tuple[Validated, Pairs]:
    """Run every check; return what they found and the rows that are still sound.

    *pairs* are the rows that were sound so far, or none when `needs_rows` is false.
    """
    issues: list[Issue] = []
    for field, takes_row in type(importer).checks.items():
        check = getattr(importer, CHECK + field)
        if takes_row:
            issues += _check_each(check, field, pairs, validated)
        else:
            issues += _check_values(check, field, validated)
    validated, pairs = _without(validated, pairs, issues)
    if type(importer).check_row is Importer.check_row:
        return validated, pairs
    return _without(validated, pairs, _check_rows(importer, pairs))


def _without(
    validated: Validated, pairs: Pairs, issues: Sequence[Issue]
) -> tuple[Validated, Pairs]:
    if not issues:
        return validated, pairs
    out = {issue.row for issue in issues if issue.keeps_out}
    return (
        validated.with_issues(issues),
        [pair for pair in pairs if pair[0] not in out],
    )


def _check_values(
    check: Callable[[Any], object], field: str, validated: Validated
) -> list[Issue]:
    """Call a check once for each distinct value that is good so far."""
    values = validated.values(field)
    try:
        answers = {v: _ask(check, Phase.CHECK, v) for v in set(values) if v is not None}
        refused = {value: issue for value, issue in answers.items() if issue}
        found = [(p, refused[v]) for p, v in enumerate(values) if v in refused]
    except TypeError:  # values without a hash, such as lists
        full = [(p, v) for p, v in enumerate(values) if v is not None]
        asked = [(place, _ask(check, Phase.CHECK, value)) for place, value in full]
        found = [(place, issue) for place, issue in asked if issue]
    return [
        _of_field(issue, validated, field, validated.numbers[place], values[place])
        for place, issue in found
    ]


def _check_each(
    check: Callable[[Any, Any], object],
    field: str,
    pairs: Pairs,
    validated: Validated,
) -> list[Issue]:
    found: list[Issue] = []
    for number, row in pairs:
        value = getattr(row, field)
        issue = None if value is None else _ask(check, Phase.CHECK, value, row)
        if issue is not None:
            found.append(_of_field(issue, validated, field, number, value))
    return found


def _check_rows(importer: Importer[Any], pairs: Pairs) -> list[Issue]:
    check = importer.check_row
    asked = [(number, _ask(check, Phase.ROW, row)) for number, row in pairs]
    return [replace(issue, row=number) for number, issue in asked if issue is not None]


def _ask(check: Callable[..., object], phase: Phase, *arguments: Any) -> Issue | None:
    """Call a check; return what it has against its arguments, of no row yet.

    It is no exception: that would keep the frames that it went through alive, and all
    that is in them.
    """
    try:
        answer = check(*arguments)
    except BROKEN as error:
        return issue_of(error, phase, row=None)
    if answer is None:
        return None
    name = getattr(check, "__name__", "a check")
    message = (
        f"{name} returned {answer!r}. A check returns nothing: "
        "it raises Invalid(code, message) when the value is wrong."
    )
    return issue_of(ContractError(message), phase, row=None)


def _of_field(
    issue: Issue, validated: Validated, field: str, number: int, value: Any
) -> Issue:
    """Return the issue of a row's field, or of another field that the check named."""
    if issue.field not in {None, field}:
        return replace(issue, row=number)
    return replace(
        issue, row=number, field=field, value=_shown(validated, field, value)
    )


def _shown(validated: Validated, field: str, value: Any) -> str:
    return "•••" if validated.plan.columns[field].sensitive else str(value)
