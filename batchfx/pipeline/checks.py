"""The phases that an importer writes as methods: check_<field>, then check_row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pydantic import BaseModel

from batchfx.errors import ContractError
from batchfx.importer import CHECK, Importer
from batchfx.model.blocks import ROW
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
    numbers = validated.frame[ROW].filter(sound).to_list()
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
        answers = {v: _refusal(check, v) for v in set(values) if v is not None}
        refused = {value for value, error in answers.items() if error is not None}
        wrong = [p for p, v in enumerate(values) if v in refused] if refused else []
    except TypeError:  # values without a hash, such as lists
        answers = {}
        wrong = [p for p, value in enumerate(values) if value is not None]
    found: list[Issue] = []
    for place in wrong:
        value = values[place]
        error = answers[value] if answers else _refusal(check, value)
        if error is not None:
            shown = _shown(validated, field, value)
            number = validated.numbers[place]
            found.append(
                issue_of(error, Phase.CHECK, row=number, field=field, value=shown)
            )
    return found


def _check_each(
    check: Callable[[Any, Any], object], field: str, pairs: Pairs, validated: Validated
) -> list[Issue]:
    found: list[Issue] = []
    for number, row in pairs:
        value = getattr(row, field)
        if value is None:
            continue
        error = _refusal(check, value, row)
        if error is not None:
            shown = _shown(validated, field, value)
            found.append(
                issue_of(error, Phase.CHECK, row=number, field=field, value=shown)
            )
    return found


def _check_rows(importer: Importer[Any], pairs: Pairs) -> list[Issue]:
    check: Callable[[Any], object] = importer.check_row
    found: list[Issue] = []
    for number, row in pairs:
        try:
            answer = check(row)
        except BROKEN as error:
            found.append(issue_of(error, Phase.ROW, row=number))
        else:
            if answer is not None:
                refusal = _answered(check, answer)
                found.append(issue_of(refusal, Phase.ROW, row=number))
    return found


def _refusal(check: Callable[..., object], *arguments: Any) -> BaseException | None:
    try:
        answer = check(*arguments)
    except BROKEN as error:
        return error
    return None if answer is None else _answered(check, answer)


def _answered(check: Callable[..., object], answer: object) -> ContractError:
    name = getattr(check, "__name__", "a check")
    return ContractError(
        f"{name} returned {answer!r}. A check returns nothing: "
        "it raises Invalid(code, message) when the value is wrong."
    )


def _shown(validated: Validated, field: str, value: Any) -> str:
    return "•••" if validated.plan.columns[field].sensitive else str(value)
