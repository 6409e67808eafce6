"""`Importer`: the one class that an application writes, and what is refused of it.

A subclass fills in parts. The order of the phases, and that none is left out, belongs
to the framework: whatever would change that is refused when the class is defined.
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Generic, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel

from batchfx.columns import Column, columns_of, refuse_unsayable
from batchfx.context import Context
from batchfx.errors import DeclarationError, NotFoundError
from batchfx.model.notations import Notation

Row = TypeVar("Row", bound=BaseModel)

DEFAULT_CHUNK_SIZE = 5_000
EFFECTS_CHUNK_SIZE = 50  # rows whose effects may have happened without their records
CHECK, RECONCILE = "check_", "reconcile_"
SAVEPOINTS = ("group", "row")
WITH_ROW = 2  # arguments of a check that is given the row beside the value
SEALED = {
    "validate": "write check_<field> for one field or check_row for several",
    "run": "the framework runs the phases; write process for one row",
    "commit": "the framework commits each chunk once; write process for one row",
}
NAME = re.compile(r"[a-z][a-z0-9_-]*")
LAYOUT = (
    "encoding",
    "delimiter",
    "quote",
    "escape",
    "skip_initial_space",
    "header_row",
    "header_rows",
    "skip_after_header",
    "sheet",
    "records",
    "member",
    "guards",
    "merged",
    "hidden_rows",
    "hidden_columns",
    "expected_columns",
)


class Importer(Generic[Row]):
    """One kind of import: a row model and what is done with each row.

    Attributes:
        name: What the kind is called on the command line; made from the class's name
            when left out.
        chunk_size: How many rows are claimed, processed and committed together.
        savepoints: "group" puts many rows under one savepoint and calls `process` again
            for rows that were rolled back with a faulty neighbour; "row" calls it once
            for each row in an attempt, at the price of a savepoint a row.
        layout: How the files of this kind are laid out, where that must not be found
            out: ``{"delimiter": ";", "header_row": 3}``. What is said on import counts
            more.
        notation: How the values of every column are written, where that must not be
            found out: ``Notation(decimal=",", date_order="dmy")``. A field's `Column`
            counts more, and what is said on import most.
        time_limit: How many seconds a chunk may take in a worker. One that takes longer
            is ended with all that it started, which is a failure of the chunk. None:
            as long as it takes.
        effects: True lets `process` act on the world through `context.effect`. It is
            called more often then: once more for each effect of its row. Chunks are
            small unless `chunk_size` is given, for all effects of a chunk come before
            its records are kept. ``reconcile_<kind>(self, key)`` is asked how an effect
            ended whose worker died or got no answer: it returns the result, or None
            if it has not happened, which has it run again.

    """

    name: ClassVar[str] = ""
    chunk_size: ClassVar[int] = DEFAULT_CHUNK_SIZE
    savepoints: ClassVar[Literal["group", "row"]] = "group"
    layout: ClassVar[Mapping[str, Any]] = {}
    notation: ClassVar[Notation] = Notation()
    time_limit: ClassVar[float | None] = None
    effects: ClassVar[bool] = False
    row_model: ClassVar[type[BaseModel]]
    columns: ClassVar[dict[str, Column]]
    checks: ClassVar[dict[str, bool]] = {}

    def __init_subclass__(cls, *, abstract: bool = False, **options: Any) -> None:
        """Refuse a class that can't work; enter the others in the register."""
        super().__init_subclass__(**options)
        model = _row_model(cls)
        if model is None and not abstract:
            message = (
                f"{cls.__qualname__} names no row model: write "
                f"class {cls.__name__}(Importer[YourModel])."
            )
            raise DeclarationError(message)
        if model is None:
            return
        cls.row_model, cls.columns = model, columns_of(model)
        if cls.effects and not _says_chunk_size(cls):
            cls.chunk_size = EFFECTS_CHUNK_SIZE
        _refuse_settings(cls)
        _refuse_layout(cls)
        _refuse_notation(cls)
        _refuse_shared_headers(cls)
        _refuse_sealed(cls)
        cls.checks = _find_checks(cls)
        for method, arity in (("check_row", 1), ("prepare", 2), ("process", 2)):
            _refuse_arity(cls, method, {arity})
        if not abstract:
            _refuse_fieldless(cls)
            _refuse_effects(cls)
            cls.complete_declaration()
            _register(cls)

    @classmethod
    def complete_declaration(cls) -> None:
        """Refuse what is still missing in a class that is meant to be used."""
        if cls.process is Importer.process:
            message = (
                f"{cls.__qualname__} has no process: write "
                "def process(self, row, context) that returns the record's id, "
                "or use TableImporter."
            )
            raise DeclarationError(message)
        _refuse_lookups(cls)

    @classmethod
    def unique_together(cls) -> tuple[tuple[str, ...], ...]:
        """Return the sets of fields whose values no two rows of a file may share."""
        return tuple((name,) for name, column in cls.columns.items() if column.unique)

    def prepare(self, rows: Sequence[Row], context: Context) -> None:
        """Load what the checks need for these rows of one chunk, in one go."""

    def check_row(self, row: Row) -> None:
        """Raise `Invalid` when the row's fields don't go together."""

    def process(self, row: Row, context: Context) -> Any:
        """Store the row; return the record or its id, or raise `Invalid` or `Skip`.

        A record that was added to the session need not be flushed: its primary key is
        read after the whole group was. `Updated` and `Unchanged` say what else may
        have become of it.
        """


_REGISTER: dict[str, type[Importer[Any]]] = {}


def registered() -> dict[str, type[Importer[Any]]]:
    """Return every importer that is defined, by name, in the order of names."""
    return dict(sorted(_REGISTER.items()))


def reconcilers(importer: Importer[Any]) -> dict[str, Callable[[str], Any]]:
    """Return what asks how an effect ended, by the effect's kind."""
    return {
        name.removeprefix(RECONCILE): getattr(importer, name)
        for name in dir(importer)
        if name.startswith(RECONCILE)
    }


def find_importer(name: str) -> type[Importer[Any]]:
    """Return the importer called *name*; raise `NotFoundError` if there is none."""
    if name in _REGISTER:
        return _REGISTER[name]
    near = difflib.get_close_matches(name, _REGISTER, n=1)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    known = ", ".join(sorted(_REGISTER)) or "none; name their module with --importers"
    message = f"There is no importer called '{name}'.{hint} Known: {known}."
    raise NotFoundError(message)


def _register(cls: type[Importer[Any]]) -> None:
    if "name" not in vars(cls):
        stem = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()
        cls.name = stem.removesuffix("_importer") or stem
    if not NAME.fullmatch(cls.name):
        message = (
            f"{cls.__qualname__} is named {cls.name!r}: a name has lower-case letters, "
            "digits, - and _, and starts with a letter."
        )
        raise DeclarationError(message)
    other = _REGISTER.get(cls.name)
    if other is not None and _identity(other) != _identity(cls):
        message = (
            f"Two importers are named '{cls.name}': {'.'.join(_identity(other))} and "
            f"{'.'.join(_identity(cls))}. Give one of them another name = '...'."
        )
        raise DeclarationError(message)
    _REGISTER[cls.name] = cls


def _identity(cls: type) -> tuple[str, str]:
    """Return what stays the same when a module is loaded again."""
    return cls.__module__, cls.__qualname__


def _row_model(cls: type[Importer[Any]]) -> type[BaseModel] | None:
    for base in getattr(cls, "__orig_bases__", ()):
        origin = get_origin(base)
        if not (isinstance(origin, type) and issubclass(origin, Importer)):
            continue
        (argument,) = get_args(base)
        if isinstance(argument, type) and issubclass(argument, BaseModel):
            return argument
        if not isinstance(argument, TypeVar):
            message = f"{cls.__qualname__}: {argument!r} is no Pydantic model."
            raise DeclarationError(message)
    return getattr(cls, "row_model", None)


def _refuse_fieldless(cls: type[Importer[Any]]) -> None:
    if not cls.row_model.model_fields:
        message = (
            f"{cls.__qualname__}: {cls.row_model.__name__} has no fields. "
            "Write one for each column, such as name: str."
        )
        raise DeclarationError(message)


def _refuse_settings(cls: type[Importer[Any]]) -> None:
    if cls.savepoints not in SAVEPOINTS:
        message = (
            f"{cls.__qualname__}: savepoints = {cls.savepoints!r} is unknown. "
            'Write "group" or "row".'
        )
        raise DeclarationError(message)
    size: object = cls.chunk_size
    if type(size) is not int or size < 1:
        message = (
            f"{cls.__qualname__}: chunk_size = {size!r} is no number of rows. "
            f"Write a whole number from 1, such as {DEFAULT_CHUNK_SIZE}."
        )
        raise DeclarationError(message)
    limit: Any = cls.time_limit
    is_number = isinstance(limit, int | float) and not isinstance(limit, bool)
    if limit is not None and not (is_number and limit > 0):
        message = (
            f"{cls.__qualname__}: time_limit = {limit!r} is no time. "
            "Write the seconds that a chunk may take, such as 300, or None."
        )
        raise DeclarationError(message)


def _says_chunk_size(cls: type[Importer[Any]]) -> bool:
    own = cls.__mro__[: cls.__mro__.index(Importer)]
    return any("chunk_size" in vars(each) for each in own)


def _refuse_effects(cls: type[Importer[Any]]) -> None:
    effects: object = cls.effects
    if not isinstance(effects, bool):
        message = (
            f"{cls.__qualname__}: effects = {effects!r} is unknown. "
            "Write True or False."
        )
        raise DeclarationError(message)
    for name in (name for name in dir(cls) if name.startswith(RECONCILE)):
        _refuse_arity(cls, name, {1})
        if not effects:
            message = (
                f"{cls.__qualname__}.{name} is for an importer with effects = True."
            )
            raise DeclarationError(message)
    if effects and cls.process is Importer.process:
        message = (
            f"{cls.__qualname__}: effects = True is for an Importer with a process; "
            "this one has none that could ask for an effect."
        )
        raise DeclarationError(message)


def _refuse_layout(cls: type[Importer[Any]]) -> None:
    layout: object = cls.layout
    if not isinstance(layout, Mapping):
        message = (
            f"{cls.__qualname__}: layout = {layout!r} is no mapping. "
            'Write one such as {"delimiter": ";"}.'
        )
        raise DeclarationError(message)
    for name in layout:
        if name not in LAYOUT:
            near = difflib.get_close_matches(str(name), LAYOUT, n=1)
            hint = f"Did you mean {near[0]!r}? " if near else ""
            message = (
                f"{cls.__qualname__}: layout has no option {name!r}. {hint}"
                f"There are {', '.join(LAYOUT)}."
            )
            raise DeclarationError(message)


def _refuse_notation(cls: type[Importer[Any]]) -> None:
    notation: object = cls.notation
    if not isinstance(notation, Notation):
        message = (
            f"{cls.__qualname__}: notation = {notation!r} is no Notation. "
            'Write one such as Notation(decimal=",").'
        )
        raise DeclarationError(message)
    refuse_unsayable(notation, f"{cls.__qualname__}: Notation")


def _refuse_shared_headers(cls: type[Importer[Any]]) -> None:
    """Refuse headers of two fields that are one but for case and outer blanks.

    Those that differ in more, such as "Price €" and "Price $", are told apart.
    """
    owners: dict[str, str] = {}
    for field, column in cls.columns.items():
        for header in (column.header(field), *column.aliases):
            owner = owners.setdefault(header.strip().casefold(), field)
            if owner != field:
                message = (
                    f"{cls.__qualname__}: the fields '{owner}' and '{field}' of "
                    f"{cls.row_model.__name__} are both called {header!r} in a file. "
                    "Give each its own name and aliases."
                )
                raise DeclarationError(message)


def _refuse_lookups(cls: type[Importer[Any]]) -> None:
    for field, column in cls.columns.items():
        if column.lookup is not None:
            message = (
                f"{cls.__qualname__}: the lookup of '{field}' works in a TableImporter "
                "alone. Use that, or load the records in prepare and find this row's "
                "in process."
            )
            raise DeclarationError(message)


def _refuse_sealed(cls: type[Importer[Any]]) -> None:
    for name, instead in SEALED.items():
        if hasattr(cls, name):
            message = (
                f"{cls.__qualname__}.{name}: the phases belong to batchfx; {instead}."
            )
            raise DeclarationError(message)


def _find_checks(cls: type[Importer[Any]]) -> dict[str, bool]:
    """Return the checked fields; True where the check is given the row as well."""
    found: dict[str, bool] = {}
    for name in dir(cls):
        if not name.startswith(CHECK) or name == "check_row":
            continue
        field = name.removeprefix(CHECK)
        if field not in cls.row_model.model_fields:
            raise DeclarationError(_no_such_field(cls, name, field))
        found[field] = _refuse_arity(cls, name, {1, WITH_ROW}) == WITH_ROW
    return {
        field: found[field] for field in cls.row_model.model_fields if field in found
    }


def _no_such_field(cls: type[Importer[Any]], method: str, field: str) -> str:
    fields = list(cls.row_model.model_fields)
    near = difflib.get_close_matches(field, fields, n=1)
    instead = f"{CHECK}{near[0]}" if near else f"a field of {', '.join(fields)}"
    return (
        f"{cls.__qualname__}.{method}: {cls.row_model.__name__} has no field "
        f"'{field}'. "
        f"Did you mean {instead}? (check_row checks several fields together.)"
    )


def _refuse_arity(cls: type[Importer[Any]], name: str, allowed: set[int]) -> int:
    """Return how many arguments the method takes beside self."""
    function = inspect.getattr_static(cls, name)
    expected = {1: "value", 2: "value, row"} if name.startswith(CHECK) else {}
    expected |= {"check_row": {1: "row"}, "prepare": {2: "rows, context"}}.get(name, {})
    expected |= {"process": {2: "row, context"}}.get(name, {})
    expected |= {1: "key"} if name.startswith(RECONCILE) else {}
    if not inspect.isfunction(function) or inspect.iscoroutinefunction(function):
        message = (
            f"{cls.__qualname__}.{name} must be a plain method, not async or static."
        )
        raise DeclarationError(message)
    parameters = list(inspect.signature(function).parameters.values())[1:]
    count = len([p for p in parameters if p.default is p.empty])
    if count not in allowed or any(p.kind == p.KEYWORD_ONLY for p in parameters):
        forms = " or ".join(f"{name}(self, {expected[n]})" for n in sorted(allowed))
        message = f"{cls.__qualname__}.{name} takes the wrong arguments: write {forms}."
        raise DeclarationError(message)
    return count
