"""The plan by which the rows of one model are validated, made once for each model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, cached_property
from typing import Any

import polars as pl
from pydantic import BaseModel
from pydantic_core import SchemaValidator, ValidationError

from batchfx.columns import Column, columns_of
from batchfx.errors import DeclarationError
from batchfx.model.blocks import FAULTS, KINDS, ROW
from batchfx.model.notations import Notation
from batchfx.pipeline import misuse
from batchfx.pipeline.kinds import (
    reader_of,
    with_readers,
    with_settings,
)
from batchfx.pipeline.reading import Reader, untyped_reader
from batchfx.pipeline.rules import Rule, rules_of, text_name
from batchfx.pipeline.schemas import (
    ANY,
    Anatomy,
    ModelSchema,
    Schema,
    anatomy,
    innermost,
    model_schema,
    nodes,
    takes_text,
    validator_of,
)

RESERVED = frozenset({ROW, FAULTS, KINDS})
DATED = misuse.DATED
NUMERIC = misuse.NUMERIC


class _None:
    """Stands for "no default", since None may be one."""

    def __repr__(self) -> str:
        return "NO_DEFAULT"


NO_DEFAULT = _None()


@dataclass(frozen=True, eq=False)
class FieldPlan:
    """How one field of a row model is read and checked.

    Attributes:
        name: The field's name.
        column: What the author said of its column.
        kind: What a person would call its values: "text", "integer", "date" …
        nullable: An empty cell may become None.
        required: An empty cell, or no column, is an issue.
        default: What an empty cell becomes, or `NO_DEFAULT`.
        factory: Makes the default for each row anew.
        reader: Makes typed values from text.
        rules: What is declared about the values, in Pydantic's order.
        raw: Pydantic reads the text itself.
        schema: What Pydantic does with the text, or with the typed value after the
            rules; None when there is nothing left to do.
        informed: That needs the row's other fields too.
        draws: The default is made from the fields before this one.
        shape: The schema of the model.
        notation: How the column's texts are written.

    """

    name: str
    column: Column
    reader: Reader
    nullable: bool
    required: bool
    default: Any
    factory: Callable[[], Any] | None
    rules: tuple[Rule, ...]
    raw: bool
    schema: Schema | None
    informed: bool
    draws: bool
    shape: ModelSchema
    notation: Notation

    @property
    def kind(self) -> str:
        """What a person would call the field's values."""
        return self.reader.kind

    @property
    def has_default(self) -> bool:
        """True when an empty cell becomes the field's default."""
        stated = self.default is not NO_DEFAULT or self.factory is not None
        return stated or self.draws

    @property
    def compiled(self) -> bool:
        """True when the field has nothing that only Pydantic can do."""
        return self.schema is None

    @cached_property
    def is_free(self) -> bool:
        """True when nothing is asked of the field's texts, or of none."""
        asked = self.rules or self.raw or self.required or not self.compiled
        said = self.notation
        changed = said.trim or said.null_tokens or said.normal_form or said.values
        bare = self.default is None and self.factory is None and not self.draws
        return self.reader.as_is is not None and bare and not (asked or changed)

    @cached_property
    def validator(self) -> SchemaValidator:
        """What Pydantic does with one value of the field."""
        schema = self.shape.complete(self.schema or ANY)
        return validator_of(schema, self.shape.config)

    @cached_property
    def typed(self) -> pl.Expr:
        """The typed column, from the column of text."""
        typed = self.reader.typed(pl.col(text_name(self.name)))
        return typed.alias(self.name)

    def written(self, notation: Notation) -> FieldPlan:
        """Return the plan for a column written in *notation*.

        What it leaves unsaid is as the field's `Column` says. Text that only Pydantic
        reads is prepared accordingly, but read as ever.
        """
        if notation == self.notation:
            return self
        said = notation.over(self.column.notation)
        if said == self.notation:
            return self
        leaf = anatomy(self.shape, self.name).leaf
        if self.raw or leaf is None:
            return replace(self, notation=said)
        config = self.shape.config
        reader = reader_of(leaf, self.column, config, said)
        if reader is None:  # as it was when the field was planned
            return replace(self, notation=said)
        reader = replace(reader, trims=self.reader.trims)
        rules = rules_of(self.name, with_settings(leaf, config), reader, config)
        return replace(self, notation=said, reader=reader, rules=rules)

    def masks(self, now: datetime) -> dict[int, pl.Expr]:
        """Return the mask of each rule that Polars can judge, by the rule's place."""
        return {
            place: mask
            for place, rule in enumerate(self.rules)
            if (mask := self._mask(rule, now)) is not None
        }

    def _mask(self, rule: Rule, now: datetime) -> pl.Expr | None:
        if rule.now_op is None:
            return rule.mask
        return rule.refused(pl.col(self.name), self.reader.dtype, now)


@dataclass(frozen=True, eq=False)
class RowPlan:
    """How the rows of one model are validated: a plan for each field, in order."""

    model: type[BaseModel]
    fields: Mapping[str, FieldPlan]
    schema: ModelSchema
    hooks: bool

    @cached_property
    def columns(self) -> dict[str, Column]:
        """The column of each field."""
        return {name: field.column for name, field in self.fields.items()}

    @cached_property
    def is_sensitive(self) -> bool:
        """True when a field's values must not be shown."""
        return any(field.column.sensitive for field in self.fields.values())

    def written(self, notations: Mapping[str, Notation]) -> RowPlan:
        """Return the plan for a file written in *notations*, by field.

        A field whose notation says no more than its `Column` does is kept as it is.
        """
        fields: dict[str, FieldPlan] = {}
        alike: dict[tuple[Reader, int], FieldPlan] = {}
        for name, field in self.fields.items():
            notation = notations.get(name, field.notation)
            key = field.reader, id(notation)
            shared = alike.get(key) if field.is_free else None
            if shared and shared.column.notation == field.column.notation:
                fields[name] = replace(shared, name=name, column=field.column)
            else:
                fields[name] = alike[key] = field.written(notation)
        return replace(self, fields=fields)

    def only(self, names: Iterable[str]) -> RowPlan:
        """Return the plan for some of the fields; rows of it can't be built.

        Validators of the whole model are left out.
        """
        wanted = set(names)
        kept = {name: field for name, field in self.fields.items() if name in wanted}
        return replace(self, fields=kept, hooks=False)


@cache
def plan_of(model: type[BaseModel]) -> RowPlan:
    """Return the plan for the rows of *model*.

    Raises:
        DeclarationError: A field can't come from text, or is declared so that it can't
            work.

    """
    columns = columns_of(model)
    schema = model_schema(model)
    fields = {
        name: _FieldPlanner(model, schema, name, column, column.notation).plan()
        for name in schema.fields
        for column in [columns[name]]
    }
    return RowPlan(model, fields, schema, schema.hooks)


@dataclass(frozen=True, slots=True)
class _FieldPlanner:
    """Plans one field."""

    model: type[BaseModel]
    shape: ModelSchema
    name: str
    column: Column
    notation: Notation

    def plan(self) -> FieldPlan:
        if self.name in RESERVED:
            reason = (
                f"has a name that batchfx uses for the {self.name} of a file's rows: "
                "give it another name and keep the header with Column(...)"
            )
            raise self._refused(reason)
        for reason in misuse.of_format(self.column.format):
            raise self._refused(reason)
        for reason in misuse.of_languages(self.column):
            raise self._refused(reason)
        parts = anatomy(self.shape, self.name)
        default, factory = self._default(parts)
        drawn = bool(parts.default and parts.default.get("default_factory_takes_data"))
        plan = self._reading(parts)
        for reason in misuse.of_column(self.column, plan.kind, raw=plan.raw):
            raise self._refused(reason)
        if parts.leaf is not None and not plan.raw:
            for reason in misuse.of_example(self.column, self.shape, parts.leaf):
                raise self._refused(reason)
        plan = replace(
            plan,
            nullable=parts.nullable,
            default=default,
            factory=factory,
            schema=self._drawing(parts, plan) if drawn else plan.schema,
            informed=drawn or plan.informed,
            draws=drawn,
        )
        return replace(plan, required=not plan.nullable and not plan.has_default)

    def _reading(self, parts: Anatomy) -> FieldPlan:
        config = self.shape.config
        reader = None
        if parts.leaf is not None:
            reader = reader_of(parts.leaf, self.column, config, self.notation)
        if parts.leaf is not None and reader is not None:
            if self.column.lookup is not None:  # blanks are no part of a name
                reader = replace(reader, trims=True)
            leaf = with_settings(parts.leaf, config)
            rules = rules_of(self.name, leaf, reader, config)
            return self._plan(reader, rules, parts.functions)
        if not takes_text(self.shape, parts.whole):
            reason = (
                f"has the type {self._annotation()}, which no cell's text can be: "
                "use a type of single values, or a BeforeValidator that makes the "
                "value from the text"
            )
            raise self._refused(reason)
        whole = with_readers(parts.whole, self.column.format)
        textual = any(node["type"] in ("str", "any") for node in nodes(whole))
        inner = innermost(self.shape, parts.whole)
        like = reader_of(inner, self.column, config)
        reader = untyped_reader(trims=not textual, like=like)
        return self._plan(reader, (), whole, raw=True)

    def _plan(
        self,
        reader: Reader,
        rules: tuple[Rule, ...],
        schema: Schema | None = None,
        *,
        raw: bool = False,
    ) -> FieldPlan:
        return FieldPlan(
            name=self.name,
            column=self.column,
            reader=reader,
            nullable=False,
            required=True,
            default=NO_DEFAULT,
            factory=None,
            rules=rules,
            raw=raw,
            schema=schema,
            informed=schema is not None and _is_informed(schema),
            draws=False,
            shape=self.shape,
            notation=self.notation,
        )

    def _default(self, parts: Anatomy) -> tuple[Any, Callable[[], Any] | None]:
        node = parts.default
        if node is None or node.get("default_factory_takes_data"):
            return NO_DEFAULT, None
        draw = validator_of(self.shape.complete(node), self.shape.config)

        def drawn() -> Any:
            found = draw.get_default_value()
            return None if found is None else found.value

        if "default_factory" in node:
            return NO_DEFAULT, drawn
        try:
            value = drawn()
        except ValidationError as refused:
            message = refused.errors()[0]["msg"]
            error = self._refused(f"has a default that its own rules refuse: {message}")
            raise error from refused
        changeable = type(value).__hash__ is None
        return (NO_DEFAULT, drawn) if changeable else (value, None)

    def _drawing(self, parts: Anatomy, plan: FieldPlan) -> Schema:
        """Return the schema that draws the default from the fields before this one."""
        return {**(parts.default or ANY), "schema": plan.schema or ANY}

    def _annotation(self) -> str:
        annotation = self.model.model_fields[self.name].annotation
        return getattr(annotation, "__name__", str(annotation))

    def _refused(self, reason: str) -> DeclarationError:
        return DeclarationError(f"{self.model.__name__}.{self.name} {reason}.")


def _is_informed(schema: Schema) -> bool:
    return any(
        node.get("function", {}).get("type") == "with-info" for node in nodes(schema)
    )
