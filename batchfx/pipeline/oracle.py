"""What is left to Pydantic: validators that see the row, and those of the whole model.

Validators of one value are called once for each distinct text (`cells`). These here are
called for each row, with values that are read already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pydantic import BaseModel
from pydantic_core import SchemaValidator

from batchfx.model.issues import Phase
from batchfx.pipeline.cells import Cells, asked_rows, marked
from batchfx.pipeline.findings import Found, ask
from batchfx.pipeline.kinds import with_readers
from batchfx.pipeline.plan import FieldPlan, RowPlan
from batchfx.pipeline.reading import Complaint
from batchfx.pipeline.schemas import ANY, Schema, validator_of


def informed(
    plan: RowPlan, field: FieldPlan, cells: Mapping[str, Cells]
) -> tuple[Cells, list[Found]]:
    """Run a field's validators that also see the fields before it.

    As in Pydantic, they see of these only the ones without an error.
    """
    own = cells[field.name]
    values = list(own.values)
    earlier = [cells[name] for name in _before(plan, field.name)]
    validators: dict[tuple[str, ...], SchemaValidator] = {}
    found: list[Found] = []
    for index in _seen_rows(field, own):
        known = {c.field.name: c.values[index] for c in earlier if not c.bad[index]}
        names = tuple(known)
        if names not in validators:
            validators[names] = _last_of(plan, field, names)
        own_value = {field.name: values[index]}
        drawn = field.draws and values[index] is None
        answer = ask(validators[names], known if drawn else known | own_value)
        if answer.complaints:
            found += [Found(index, 0, complaint) for _, complaint in answer.complaints]
            values[index] = None
        else:
            values[index] = answer.value[0][field.name]
    bad = own.bad | marked(len(values), {each.at for each in found})
    return replace(own.holding(values), bad=bad), found


def _before(plan: RowPlan, name: str) -> list[str]:
    names = list(plan.fields)
    return names[: names.index(name)]


def _seen_rows(field: FieldPlan, own: Cells) -> list[int]:
    if field.draws:
        return (~own.bad).arg_true().to_list()
    return asked_rows(own)


def _last_of(
    plan: RowPlan, field: FieldPlan, names: tuple[str, ...]
) -> SchemaValidator:
    """Return the validator of *field* after fields that are taken as they are."""
    fields: dict[str, Schema] = dict.fromkeys(names, ANY)
    fields[field.name] = field.schema or ANY
    schema = {
        "type": "model-fields",
        "fields": {
            name: {"type": "model-field", "schema": inner}
            for name, inner in fields.items()
        },
    }
    return validator_of(plan.schema.complete(schema), plan.schema.config)


@dataclass(frozen=True, slots=True)
class Judged:
    """What a model's own validators made of rows.

    *rows* are the instances by row index; *cells* has the fields that they changed;
    *found* is by field, or under None where it is about the row.
    """

    rows: Mapping[int, BaseModel]
    cells: Mapping[str, Cells]
    found: Mapping[str | None, list[Found]]


def judged(plan: RowPlan, cells: Mapping[str, Cells], places: Sequence[int]) -> Judged:
    """Run the validators of the whole model on the rows at *places*, which are sound.

    The fields are not validated again, unless a validator before them changed them.
    """
    current: dict[str, Any] = {}
    validator = _whole(plan, current)
    values = {name: each.values for name, each in cells.items()}
    unset = {
        name: set(each.unset.arg_true().to_list())
        for name, each in cells.items()
        if each.unset is not None
    }
    rows: dict[int, BaseModel] = {}
    found: dict[str | None, list[Found]] = {}
    for index in places:
        current.update({name: column[index] for name, column in values.items()})
        given = {n: v for n, v in current.items() if index not in unset.get(n, ())}
        answer = ask(validator, given, Phase.ROW)
        complaints = answer.complaints or _no_row(plan, answer.value)
        for name, complaint in complaints:
            field = name if name in cells else None
            found.setdefault(field, []).append(Found(index, 0, complaint))
        if not complaints:
            rows[index] = answer.value
    return Judged(rows, dict(_changed(cells, rows)), found)


def _whole(plan: RowPlan, current: Mapping[str, Any]) -> SchemaValidator:
    """Return the model's validator, for which *current* has the row's values."""

    def of_field(name: str) -> Schema:
        schema: Schema = ANY
        if plan.schema.early:
            schema = {
                "type": "function-wrap",
                "function": {
                    "type": "no-info",
                    "function": partial(_keep, current, name),
                },
                "schema": _strict(plan.fields[name]),
            }
        factory = partial(current.__getitem__, name)
        return {"type": "default", "default_factory": factory, "schema": schema}

    return validator_of(plan.schema.around(of_field), {})


def _keep(
    current: Mapping[str, Any], name: str, value: Any, validate: Callable[[Any], Any]
) -> Any:
    return value if value is current[name] else validate(value)


def _strict(field: FieldPlan) -> Schema:
    whole = field.shape.resolve(field.shape.fields[field.name])
    inner = whole["schema"] if whole["type"] == "default" else whole
    return with_readers(inner, field.column.format)


def _no_row(plan: RowPlan, value: Any) -> tuple[tuple[None, Complaint], ...]:
    if isinstance(value, plan.model):
        return ()
    message = (
        f"A validator of {plan.model.__name__} returned a {type(value).__name__}; "
        "a model validator returns self"
    )
    complaint = Complaint("validator_error", message, phase=Phase.ROW, detail=message)
    return ((None, complaint),)


def _changed(
    cells: Mapping[str, Cells], rows: Mapping[int, BaseModel]
) -> Iterator[tuple[str, Cells]]:
    for name, each in cells.items():
        values = list(each.values)
        changed = False
        for index, row in rows.items():
            value = row.__dict__.get(name)
            if value is not values[index]:
                values[index], changed = value, True
        if changed:
            yield name, each.holding(values)
