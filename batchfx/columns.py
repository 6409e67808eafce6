"""`Column`: what a field of a row model is called and how it is treated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import AliasChoices, BaseModel
from pydantic.errors import PydanticUndefinedAnnotation
from pydantic.fields import FieldInfo

from batchfx.errors import DeclarationError


@dataclass(frozen=True, slots=True, init=False)
class Column:
    """A field's column in the file; put it into the field's ``Annotated``.

    Args:
        name: The header that files carry; when left out, the alias that the field has
            in Pydantic, or the field's own name.
        aliases: Other headers that mean the same.
        unique: No two rows of a file may have one value; an importer into a table
            also refuses a value that another record has.
        lookup: An attribute of a SQLAlchemy model (``Customer.external_id``): the cell
            names a record by that attribute, and the record's primary key is stored.
        format: How dates and times are written, in the letters of ``strptime``
            (``%d.%m.%Y``); ISO 8601 when left out.
        null_tokens: Texts that mean no value in this column, such as ``NA``; nowhere
            else are they taken for one.
        sensitive: The value is never shown in issues, listings or logs.
        example: A value for the template.

    Raises:
        DeclarationError: An argument is of the wrong type, or can't work.

    """

    name: str | None
    aliases: tuple[str, ...]
    unique: bool
    lookup: Any
    format: str | None
    null_tokens: tuple[str, ...]
    sensitive: bool
    example: str | None

    def __init__(
        self,
        name: str | None = None,
        *,
        aliases: Sequence[str] = (),
        unique: bool = False,
        lookup: Any = None,
        format: str | None = None,  # noqa: A002 - the word that authors expect
        null_tokens: Sequence[str] = (),
        sensitive: bool = False,
        example: str | None = None,
    ) -> None:
        values = {
            "name": name,
            "aliases": _texts("aliases", aliases),
            "unique": unique,
            "lookup": lookup,
            "format": format,
            "null_tokens": _texts("null_tokens", null_tokens),
            "sensitive": sensitive,
            "example": example,
        }
        _refuse_untextual(name=name, format=format, example=example)
        _refuse_untrue(unique=unique, sensitive=sensitive)
        _refuse_blank(name, values["aliases"])
        _refuse_plain(format)
        for key, value in values.items():
            object.__setattr__(self, key, value)

    def header(self, field: str) -> str:
        """Return the header that a file is expected to carry for *field*."""
        return self.name or field


def columns_of(model: type[BaseModel]) -> dict[str, Column]:
    """Return the column of every field of *model*, in the order of the fields.

    Raises:
        DeclarationError: A column isn't where it belongs, a field has two, or a type
            that the model names is not defined.

    """
    try:
        model.model_rebuild()
    except PydanticUndefinedAnnotation as unknown:
        message = (
            f"{model.__name__} names a type that is not defined, '{unknown.name}'. "
            f"Define or import it before the importer of {model.__name__}."
        )
        raise DeclarationError(message) from unknown
    return {
        name: _column_of(f"{model.__name__}.{name}", field)
        for name, field in model.model_fields.items()
    }


def _column_of(place: str, field: FieldInfo) -> Column:
    if isinstance(field.default, Column) or field.default is Column:
        message = (
            f"{place} has a Column as its default. "
            "Put it into the type: Annotated[str, Column(...)]."
        )
        raise DeclarationError(message)
    metadata = [*field.metadata, *_inside(field.annotation)]
    if Column in metadata:
        message = (
            f"{place} has the class Column in its type. "
            "Write Column() with parentheses, such as Annotated[str, Column()]."
        )
        raise DeclarationError(message)
    columns = [each for each in metadata if isinstance(each, Column)]
    if len(columns) > 1:
        message = (
            f"{place} has {len(columns)} Columns. Put all that they say into one "
            "Column(...)."
        )
        raise DeclarationError(message)
    return _with_alias(columns[0] if columns else Column(), field)


def _inside(annotation: Any) -> Iterator[Any]:
    """Yield what is said of the choices of a union; Pydantic keeps it with them."""
    annotation = getattr(annotation, "__value__", annotation)  # of a type alias
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *metadata = get_args(annotation)
        yield from metadata
        yield from _inside(inner)
    elif origin in (Union, UnionType):
        for choice in get_args(annotation):
            yield from _inside(choice)


def _with_alias(column: Column, field: FieldInfo) -> Column:
    alias = field.validation_alias
    given = alias.choices if isinstance(alias, AliasChoices) else [alias]
    headers = [each for each in given if isinstance(each, str) and each.strip()]
    if column.name is not None or not headers:
        return column
    return replace(column, name=headers[0], aliases=(*headers[1:], *column.aliases))


def _texts(argument: str, given: object) -> tuple[str, ...]:
    texts: Any = (given,) if isinstance(given, str) else given
    if isinstance(texts, Sequence) and all(isinstance(text, str) for text in texts):
        return tuple(texts)
    message = (
        f"Column({argument}={given!r}) must be a tuple of texts. "
        f'Write Column({argument}=("...", "...")).'
    )
    raise DeclarationError(message)


def _refuse_untextual(**arguments: Any) -> None:
    for argument, given in arguments.items():
        if given is not None and not isinstance(given, str):
            message = (
                f"Column({argument}={given!r}) must be a text. "
                f'Write Column({argument}="...").'
            )
            raise DeclarationError(message)


def _refuse_untrue(**arguments: Any) -> None:
    for argument, given in arguments.items():
        if not isinstance(given, bool):
            message = (
                f"Column({argument}={given!r}) must be True or False. "
                f"Write Column({argument}=True)."
            )
            raise DeclarationError(message)


def _refuse_blank(name: str | None, aliases: Sequence[str]) -> None:
    headers = aliases if name is None else (name, *aliases)
    if not all(header.strip() for header in headers):
        message = (
            "A Column has a blank name or alias, which no header can be. "
            "Leave it out, or write the header of the file."
        )
        raise DeclarationError(message)


def _refuse_plain(written: str | None) -> None:
    if written is not None and "%" not in written:
        message = (
            f"Column(format={written!r}) has none of strptime's letters. "
            'Write one such as Column(format="%d.%m.%Y").'
        )
        raise DeclarationError(message)
