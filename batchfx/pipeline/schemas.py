"""What Pydantic's core schema says of a row model's fields.

The core schema, not the annotations, is what Pydantic runs: constraints, defaults and
validators of every spelling have come together in it. Whatever is found in a schema
that isn't known here makes the field one that Pydantic itself has to check.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from pydantic import BaseModel, EmailStr, TypeAdapter
from pydantic_core import CoreConfig, SchemaValidator

from batchfx.errors import DeclarationError

Schema = Mapping[str, Any]

ANY: Schema = {"type": "any"}
EMAIL: Schema = TypeAdapter(EmailStr).core_schema

# Says nothing about which values are taken. Strictness does not: values are read into
# exactly the field's type before Pydantic sees them.
INERT = frozenset({"type", "metadata", "serialization", "ref", "strict"})

# Settings of a model that don't change what is taken from typed values.
HARMLESS = frozenset(
    {
        "title",
        "strict",
        "extra_fields_behavior",
        "frozen",
        "from_attributes",
        "hide_input_in_errors",
        "loc_by_alias",
        "populate_by_name",
        "revalidate_instances",
        "ser_json_bytes",
        "ser_json_inf_nan",
        "ser_json_temporal",
        "ser_json_timedelta",
        "val_json_bytes",
        "val_temporal_unit",
        "validate_by_alias",
        "validate_by_name",
        "validate_default",
        "serialize_by_alias",
        "allow_inf_nan",
        "regex_engine",
        "coerce_numbers_to_str",
        "cache_strings",
        "validation_error_cause",
    }
)
TEXT_SETTINGS = frozenset(
    {
        "str_strip_whitespace",
        "str_to_lower",
        "str_to_upper",
        "str_min_length",
        "str_max_length",
    }
)

# Where a schema keeps the schemas that its own validator calls.
INNER = (
    "schema",
    "choices",
    "steps",
    "items_schema",
    "keys_schema",
    "values_schema",
    "python_schema",
    "lax_schema",
    "strict_schema",
)
FUNCTIONS = frozenset(
    {"function-before", "function-after", "function-wrap", "function-plain"}
)
# These take something else than a text, and nothing makes it from one.
STRUCTURES = frozenset(
    {
        "arguments",
        "call",
        "callable",
        "counter",
        "dataclass",
        "deque",
        "dict",
        "frozenset",
        "generator",
        "is-instance",
        "is-subclass",
        "list",
        "mapping",
        "model",
        "named-tuple",
        "set",
        "tuple",
        "typed-dict",
    }
)


def validator_of(schema: Schema, config: Schema | None = None) -> SchemaValidator:
    """Build the validator that runs *schema* exactly as it stands.

    Pydantic would otherwise take the validator that a model has already.
    """
    settings = cast("CoreConfig | None", config or None)
    return SchemaValidator(dict(schema), settings, _use_prebuilt=False)


@dataclass(frozen=True, slots=True)
class Anatomy:
    """A field's schema, taken apart.

    *leaf* is the type with its constraints; *default* the node that has the default;
    *functions* the validators that run after the leaf, with ``any`` in the leaf's
    place. Where something stands in front of the leaf, or it isn't known, *leaf* is
    None and *whole* is what Pydantic has to run on the text.
    """

    whole: Schema
    leaf: Schema | None
    nullable: bool
    default: Schema | None
    functions: Schema | None


@dataclass(frozen=True, slots=True)
class ModelSchema:
    """A model's schema: its fields, its settings, and what is around the fields.

    *hooks* is true when functions see the model as a whole; *early* when one of them
    sees it before its fields are validated.
    """

    whole: Schema
    fields: Mapping[str, Schema]
    config: Schema
    definitions: tuple[Schema, ...]
    hooks: bool
    early: bool

    def resolve(self, node: Schema) -> Schema:
        """Return the schema that *node* refers to, or *node* itself."""
        if node["type"] != "definition-ref":
            return node
        found = next(d for d in self.definitions if d["ref"] == node["schema_ref"])
        return self.resolve(found)

    def complete(self, schema: Schema) -> Schema:
        """Return *schema* with the definitions that it may refer to."""
        if not self.definitions:
            return schema
        return {
            "type": "definitions",
            "schema": schema,
            "definitions": list(self.definitions),
        }

    def around(self, field: Callable[[str], Schema]) -> Schema:
        """Return the whole schema with other *field* schemas in it."""

        def rebuilt(node: Schema) -> Schema:
            node = self.resolve(node)
            if node["type"] != "model-fields":
                return {**node, "schema": rebuilt(node["schema"])}
            fields = {
                name: {"type": "model-field", "schema": field(name)}
                for name in self.fields
            }
            return {**node, "fields": fields}

        return self.complete(rebuilt(self.whole))


def model_schema(model: type[BaseModel]) -> ModelSchema:
    """Return the schema of *model*, taken apart.

    Raises:
        DeclarationError: The model isn't a plain one.

    """
    model.model_rebuild()
    node: Schema = model.__pydantic_core_schema__
    shape = ModelSchema(node, {}, {}, (), hooks=False, early=False)
    while node["type"] != "model-fields":
        if node["type"] == "definitions":
            shape = replace(
                shape, definitions=tuple(node["definitions"]), whole=node["schema"]
            )
        elif node["type"] == "model":
            _refuse_peculiar(model, node)
            shape = replace(
                shape,
                config=node.get("config", {}),
                hooks=shape.hooks or "post_init" in node,
            )
        elif node["type"] in FUNCTIONS:
            late = node["type"] == "function-after"
            shape = replace(shape, hooks=True, early=shape.early or not late)
        node = shape.resolve(node.get("schema", node))
    fields = {name: field["schema"] for name, field in node["fields"].items()}
    return replace(shape, fields=fields)


def _refuse_peculiar(model: type[BaseModel], node: Schema) -> None:
    if node.get("root_model"):
        message = f"{model.__name__} is a RootModel: a row model names its fields."
        raise DeclarationError(message)
    if node.get("custom_init"):
        message = (
            f"{model.__name__} has an __init__ of its own, which would run before the "
            "fields are read: use a model_validator(mode='after') instead."
        )
        raise DeclarationError(message)


def anatomy(model: ModelSchema, field: str) -> Anatomy:
    """Take the schema of *field* apart."""
    node = model.resolve(model.fields[field])
    default = node if node["type"] == "default" else None
    whole = model.resolve(node["schema"]) if default else node
    nullable = False
    around: list[Schema] = []
    node = whole
    while not is_address(node) and node["type"] in ("nullable", "function-after"):
        nullable = nullable or node["type"] == "nullable"
        around.append(node)
        node = model.resolve(node["schema"])
    functions: Schema | None = None
    if any(each["type"] == "function-after" for each in around):
        functions = ANY
        for outer in reversed(around):
            functions = {**outer, "schema": functions}
    if node["type"] in FUNCTIONS and not is_address(node):
        return Anatomy(whole, None, takes_none(model, whole), default, None)
    nullable = nullable or takes_none(model, node)
    return Anatomy(whole, node, nullable, default, functions)


def takes_none(model: ModelSchema, schema: Schema) -> bool:
    """Tell whether *schema* is declared to take None."""
    schema = model.resolve(schema)
    if schema["type"] in ("union", "tagged-union"):
        return any(takes_none(model, choice) for choice in choices_of(schema))
    if schema["type"] in FUNCTIONS or schema["type"] == "default":
        return "schema" in schema and takes_none(model, schema["schema"])
    return schema["type"] in ("nullable", "none", "any")


def innermost(model: ModelSchema, schema: Schema) -> Schema:
    """Return what is inside all functions of *schema*."""
    schema = model.resolve(schema)
    wrapped = schema["type"] in FUNCTIONS or schema["type"] in ("nullable", "default")
    if wrapped and not is_address(schema) and "schema" in schema:
        return innermost(model, schema["schema"])
    return schema


def choices_of(union: Schema) -> list[Schema]:
    """Return the schemas of which a union takes one."""
    choices = union["choices"]
    listed = choices.values() if isinstance(choices, Mapping) else choices
    return [c[0] if isinstance(c, tuple) else c for c in listed]


def is_address(node: Schema) -> bool:
    """Tell whether *node* is the schema of ``EmailStr`` or of a URL of Pydantic's."""
    return is_email(node) or is_url(node)


def is_email(node: Schema) -> bool:
    """Tell whether *node* is the schema of ``EmailStr``."""
    if node["type"] != EMAIL["type"] or node["function"] != EMAIL["function"]:
        return False
    return set(node["schema"]) <= INERT


def is_url(node: Schema) -> bool:
    """Tell whether *node* is the schema of one of Pydantic's URL classes."""
    if node["type"] != "function-wrap" or node["schema"]["type"] != "url":
        return False
    return bool(node["function"]["function"].__module__ == "pydantic.networks")


def nodes(schema: Schema) -> list[Schema]:
    """Return *schema* and every schema in it, itself first."""
    found = [schema]
    for key in INNER:
        inner = schema.get(key, ())
        for child in inner if isinstance(inner, list) else [inner]:
            node = child[0] if isinstance(child, tuple) and child else child
            if isinstance(node, Mapping):
                found += nodes(node)
    return found


def takes_text(model: ModelSchema, schema: Schema) -> bool:
    """Tell whether there is a text from which *schema* makes a value."""
    schema = model.resolve(schema)
    kind = schema["type"]
    if kind in STRUCTURES:
        return False
    if kind in ("function-before", "function-wrap", "function-plain", "json"):
        return True
    if kind in ("union", "tagged-union"):
        return any(takes_text(model, choice) for choice in choices_of(schema))
    for key in ("lax_schema", "python_schema", "schema"):
        if key in schema:
            return takes_text(model, schema[key])
    return takes_text(model, schema["steps"][0]) if "steps" in schema else True
