"""`Column`: what a field of a row model is called and how it is treated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AliasChoices, BaseModel
from pydantic.errors import PydanticUndefinedAnnotation
from pydantic.fields import FieldInfo

from batchfx.errors import DeclarationError
from batchfx.model.notations import Notation

# What an argument may be, where that is one of a few words.
CHOICES: Mapping[str, tuple[str, ...]] = {
    "decimal": (".", ","),
    "thousands": (".", ",", " ", "'", ""),
    "percent": ("fraction", "number"),
    "date_order": ("dmy", "mdy", "ymd"),
    "normal_form": ("NFC", "NFD", "NFKC", "NFKD"),
}
NOT_AFTER_TODAY = "not after today"
FIRST_YEARS = range(1000, 9901)


@dataclass(frozen=True, slots=True)
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
            The field's type is the attribute's: the row model's instances, also those
            that ``check_row`` sees, have the name as the cell gives it, not the key.
        format: How dates and times are written, in the letters of ``strptime``
            (``%d.%m.%Y``); ISO 8601 when left out.
        null_tokens: Texts that mean no value in this column, such as ``NA``; nowhere
            else are they taken for one.
        sensitive: The value is never shown in issues, listings or logs.
        example: A value for the template.
        decimal: The decimal mark, "." or ",". Left out, the values of the file decide,
            as they do for *thousands* and *date_order*.
        thousands: The sign between groups of three digits: ".", ",", " " (a blank of
            any kind), "'" (an apostrophe of either kind), or "" for none.
        currency: A currency's sign or code may stand beside the number.
        percent: What ``12 %`` is: "fraction" (0.12) or "number" (12).
        date_order: The order of day, month and year: "dmy", "mdy" or "ymd".
        two_digit_year: What a year of two digits is: the first year of a hundred (1930:
            30 is 1930 and 29 is 2029), or "not after today". Left out, such a year is
            an issue, also where *format* has ``%y``.
        zone: The IANA zone of times that name none, such as "Europe/Rome".
        languages: Codes (ISO 639-1) of the languages whose words for yes and no, and
            whose names of months, are read; all that are known when left out.
        trim: Outer blanks of a text are no part of it.
        normal_form: The Unicode normal form that a text is brought to, such as "NFC".
        values: What a text stands for, such as ``{"Germania": "DE"}``; case, accents
            and outer blanks don't count where no text is exactly this.

    Raises:
        DeclarationError: An argument is of the wrong type, or can't work.

    """

    name: str | None = None
    _: KW_ONLY
    aliases: Sequence[str] = ()
    unique: bool = False
    lookup: Any = None
    format: str | None = None
    null_tokens: Sequence[str] = ()
    sensitive: bool = False
    example: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    currency: bool | None = None
    percent: str | None = None
    date_order: str | None = None
    two_digit_year: int | str | None = None
    zone: str | None = None
    languages: Sequence[str] = ()
    trim: bool | None = None
    normal_form: str | None = None
    values: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what can't work; make tuples of what holds several texts."""
        for name in ("aliases", "null_tokens", "languages"):
            object.__setattr__(self, name, _texts(name, getattr(self, name)))
        _refuse_untextual(name=self.name, format=self.format, example=self.example)
        _refuse_untrue(unique=self.unique, sensitive=self.sensitive)
        _refuse_blank(self.name, self.aliases)
        _refuse_plain(self.format)
        object.__setattr__(self, "values", _mapped(self.values))
        refuse_unsayable(self.notation)

    def __hash__(self) -> int:
        """Hash all that is said; *values*, the last, have no hash of their own.

        Columns of one hash are compared, and SQLAlchemy can't compare every look-up.
        """
        said = [getattr(self, each.name) for each in fields(self)[:-1]]
        return hash((*said, *sorted(self.values.items())))

    @property
    def notation(self) -> Notation:
        """How the values are written, as far as the column says."""
        said = {name: getattr(self, name) for name in CARRIED}
        return Notation(zone_for_naive=self.zone, **said)

    def header(self, field: str) -> str:
        """Return the header that a file is expected to carry for *field*."""
        return self.name or field


CARRIED = (
    "decimal",
    "thousands",
    "currency",
    "percent",
    "date_order",
    "two_digit_year",
    "null_tokens",
    "trim",
    "normal_form",
    "languages",
    "values",
)


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


def refuse_unsayable(notation: Notation, owner: str = "Column") -> None:
    """Refuse what is said of a notation and can't be so.

    Args:
        notation: What is said.
        owner: What says it, for messages.

    Raises:
        DeclarationError: A word that is none of those known, or a contradiction.

    """
    for argument, choices in CHOICES.items():
        said = getattr(notation, argument)
        if said is not None and said not in choices:
            raise _unfit(owner, argument, said, _either(map(_quoted, choices)))
    for argument in ("currency", "trim"):
        said = getattr(notation, argument)
        if said is not None and type(said) is not bool:
            raise _unfit(owner, argument, said, "True or False")
    if notation.decimal is not None and notation.decimal == notation.thousands:
        message = (
            f"{owner}(decimal={notation.decimal!r}, thousands={notation.decimal!r}): "
            "one sign can't be both. Leave thousands out, or write another sign."
        )
        raise DeclarationError(message)
    _refuse_window(owner, notation.two_digit_year)
    _refuse_zone(owner, notation.zone_for_naive)


def _refuse_window(owner: str, first: Any) -> None:
    is_year = type(first) is int and first in FIRST_YEARS
    if first is None or is_year or first == NOT_AFTER_TODAY:
        return
    fit = f'the first year of a hundred, such as 1930, or "{NOT_AFTER_TODAY}"'
    raise _unfit(owner, "two_digit_year", first, fit)


def _refuse_zone(owner: str, zone: Any) -> None:
    if zone is None:
        return
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError):
        # OSError: the name of a folder of zones, such as "Europe".
        fit = 'the name of a zone of IANA, such as "Europe/Rome"'
        raise _unfit(owner, "zone", zone, fit) from None


def _mapped(values: Any) -> Mapping[str, str]:
    if isinstance(values, Mapping) and all(
        isinstance(text, str) for pair in values.items() for text in pair
    ):
        return dict(values)
    raise _unfit(
        "Column", "values", values, 'a mapping of texts, such as {"Germania": "DE"}'
    )


def _unfit(owner: str, argument: str, given: object, fit: str) -> DeclarationError:
    return DeclarationError(f"{owner}({argument}={given!r}) must be {fit}.")


def _quoted(text: str) -> str:
    return f'"{text}"'


def _either(choices: Iterable[str]) -> str:
    *first, last = choices
    return f"{', '.join(first)} or {last}"
