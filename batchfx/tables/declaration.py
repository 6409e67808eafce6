"""`TableImporter`: an importer whose rows become the records of one table."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, get_args

import sqlalchemy as sa
from sqlalchemy.orm import InstrumentedAttribute, Mapper

from batchfx.errors import DeclarationError
from batchfx.importer import Importer, Row
from batchfx.pipeline.schemas import anatomy, model_schema
from batchfx.tables import kinds
from batchfx.tables.target import Lookup, Mode, Target, unique_columns


class TableImporter(Importer[Row], abstract=True):
    """An importer that stores its rows in the table of a SQLAlchemy model.

    A field is stored in the model's attribute (or the table's column) of the same name.
    Rows are written as sets: Python-side defaults and ``onupdate`` of the columns hold,
    the events and validators of the ORM don't run. Write an `Importer` where they must.

    Attributes:
        model: The SQLAlchemy model.
        match_on: The field or fields by which a row finds the record it is about.
        mode: "create" adds records and skips rows whose record exists already;
            "update" changes records, and a row without one is invalid; "upsert" adds
            or changes. A record that is as the row says already is left unchanged.
        create_tables: Make the tables that are missing, of everything that is declared
            together with *model*, before the first row; for demonstrations.

    """

    model: ClassVar[type[Any]]
    match_on: ClassVar[str | tuple[str, ...]] = ()
    mode: ClassVar[Mode] = "create"
    create_tables: ClassVar[bool] = False
    target: ClassVar[Target]

    @classmethod
    def complete_declaration(cls) -> None:
        """Refuse what can't work; read the table's description."""
        if cls.process is not Importer.process:
            message = (
                f"{cls.__qualname__} has a process of its own, but a TableImporter "
                "writes its rows as sets. Write check_row for a rule, or use "
                f"class {cls.__name__}(Importer[{cls.row_model.__name__}])."
            )
            raise DeclarationError(message)
        mapper = _mapper(cls)
        table = _table(cls, mapper)
        columns = _columns(cls, mapper, table)
        match = _match(cls)
        lookups = _lookups(cls, columns)
        _refuse_misread(cls, lookups)
        _refuse_kinds(cls, columns, lookups)
        cls.target = Target(
            table=table,
            mode=cls.mode,
            columns=columns,
            lookups=lookups,
            match=match,
            unique=_unique(cls, table, columns, match),
        )
        _refuse_unfilled(cls)
        _refuse_unsought(cls)
        _refuse_new_keys(cls)

    @classmethod
    def unique_together(cls) -> tuple[tuple[str, ...], ...]:
        """Return the sets of fields whose values no two rows of a file may share.

        They are the unique columns, whatever is unique in the table, and last the
        fields that a row is matched by.
        """
        sets = dict.fromkeys((*super().unique_together(), *cls.target.unique))
        match = cls.target.match
        others = [names for names in sets if set(names) != set(match)]
        return (*others, match) if match else tuple(others)


Declared = type[TableImporter[Any]]


def _mapper(cls: Declared) -> Mapper[Any]:
    model = getattr(cls, "model", None)
    mapper = None if model is None else sa.inspect(model, raiseerr=False)
    if not isinstance(mapper, Mapper):
        what = "names no model" if model is None else f"model {model!r} is not mapped"
        message = (
            f"{cls.__qualname__} {what}: write model = YourModel, "
            "a class that SQLAlchemy maps to a table."
        )
        raise DeclarationError(message)
    return mapper


def _table(cls: Declared, mapper: Mapper[Any]) -> sa.Table:
    table = mapper.local_table
    if (
        not isinstance(table, sa.Table)
        or mapper.inherits
        or mapper.polymorphic_on is not None
    ):
        message = (
            f"{cls.__qualname__}: {mapper.class_.__name__} is not one table alone "
            "(it inherits, or maps a query). Use Importer and add the objects yourself."
        )
        raise DeclarationError(message)
    if mapper.version_id_col is not None:
        message = (
            f"{cls.__qualname__}: {mapper.class_.__name__} counts its versions "
            f"({mapper.version_id_col.name}), which the ORM alone can do. "
            "Use Importer and add the objects yourself."
        )
        raise DeclarationError(message)
    return table


def _columns(
    cls: Declared, mapper: Mapper[Any], table: sa.Table
) -> dict[str, sa.Column[Any]]:
    found: dict[str, sa.Column[Any]] = {}
    for field in cls.row_model.model_fields:
        column = mapper.columns.get(field)
        if column is None:
            column = table.columns.get(field)
        if not isinstance(column, sa.Column):
            raise DeclarationError(_no_such_column(cls, mapper, field))
        twin = next((other for other, c in found.items() if c is column), None)
        if twin is not None:
            message = (
                f"{cls.__qualname__}: the fields '{twin}' and '{field}' are both the "
                f"column {table.name}.{column.name}. Remove one of them."
            )
            raise DeclarationError(message)
        found[field] = column
    return found


def _no_such_column(cls: Declared, mapper: Mapper[Any], field: str) -> str:
    names = list(mapper.columns.keys())
    near = difflib.get_close_matches(field, names, n=1, cutoff=0.5)
    instead = f"'{near[0]}'" if near else f"one of {', '.join(names)}"
    return (
        f"{cls.__qualname__}: {mapper.class_.__name__} has no column '{field}'. Name "
        f"the field after its column, {instead} (its header in the file may differ: "
        f"Column('{field}')), or use Importer."
    )


def _match(cls: Declared) -> tuple[str, ...]:
    given = cls.match_on
    match = (given,) if isinstance(given, str) else tuple(given)
    if cls.mode not in get_args(Mode):
        message = (
            f"{cls.__qualname__}: mode = {cls.mode!r} is no mode. "
            'Write "create", "update" or "upsert".'
        )
        raise DeclarationError(message)
    fields = list(cls.row_model.model_fields)
    for name in match:
        if name not in fields:
            message = (
                f"{cls.__qualname__}: match_on names '{name}', which is no field of "
                f"{cls.row_model.__name__}. Its fields are {', '.join(fields)}."
            )
            raise DeclarationError(message)
    if cls.mode != "create" and not match:
        message = (
            f'{cls.__qualname__}: mode = "{cls.mode}" must know which record a row is '
            'about. Write match_on = "field", or a tuple of fields.'
        )
        raise DeclarationError(message)
    return match


def _lookups(cls: Declared, columns: Mapping[str, sa.Column[Any]]) -> dict[str, Lookup]:
    return {
        field: _lookup(cls, field, column.lookup, columns)
        for field, column in cls.columns.items()
        if column.lookup is not None
    }


def _lookup(
    cls: Declared,
    field: str,
    attribute: Any,
    columns: Mapping[str, sa.Column[Any]],
) -> Lookup:
    mapped = isinstance(attribute, InstrumentedAttribute)
    column = attribute.parent.columns.get(attribute.key) if mapped else None
    table = column.table if isinstance(column, sa.Column) else None
    if column is None or not isinstance(table, sa.Table):
        message = (
            f"{cls.__qualname__}: the lookup of '{field}' is {attribute!r}. Write an "
            "attribute of a SQLAlchemy model that is a column, such as "
            "Column(lookup=Customer.external_id)."
        )
        raise DeclarationError(message)
    if not kinds.is_name(column):
        message = (
            f"{cls.__qualname__}: a cell's text can't name records by "
            f"{table.name}.{column.name}, which holds neither text nor whole numbers."
        )
        raise DeclarationError(message)
    keys = tuple(table.primary_key.columns)
    if len(keys) != 1:
        message = (
            f"{cls.__qualname__}: the lookup of '{field}' finds records of "
            f"{table.name}, whose primary key has {len(keys)} columns; it must "
            "have one."
        )
        raise DeclarationError(message)
    makers = (
        name
        for name, own in columns.items()
        if own is column and cls.columns[name].lookup is None
    )
    return Lookup(table, column, keys[0], next(makers, None))


def _refuse_misread(cls: Declared, lookups: Mapping[str, Lookup]) -> None:
    for field, lookup in lookups.items():
        annotation = cls.row_model.model_fields[field].annotation
        differing = kinds.misread(annotation, lookup.attribute)
        if differing is not None:
            given, held = differing
            message = (
                f"{cls.__qualname__}: the field '{field}' is {given}, but its cells "
                f"are names in {lookup.table.name}.{lookup.attribute.name}, which are "
                f"{held}: '007' and '7' may be two of them, or one. Write "
                f"Annotated[{held}, Column(lookup=...)], whatever the type of the key "
                "that is stored."
            )
            raise DeclarationError(message)


def _refuse_kinds(
    cls: Declared,
    columns: Mapping[str, sa.Column[Any]],
    lookups: Mapping[str, Lookup],
) -> None:
    for field, info in cls.row_model.model_fields.items():
        if field in lookups:  # the cell names a record by another column
            continue
        column = columns[field]
        expected = kinds.mismatch(info.annotation, column)
        if expected is not None:
            message = (
                f"{cls.__qualname__}: the field '{field}' is {expected[0]}, but "
                f"{column.table.name}.{column.name} holds {expected[1]}. "
                "Give both the same type."
            )
            raise DeclarationError(message)
        if isinstance(column.type, sa.Integer) and _may_be_fractional(cls, field):
            message = (
                f"{cls.__qualname__}: the field '{field}' may have decimal places, but "
                f"{column.table.name}.{column.name} holds whole numbers. "
                "Give both the same type."
            )
            raise DeclarationError(message)


def _may_be_fractional(cls: Declared, field: str) -> bool:
    parts = anatomy(model_schema(cls.row_model), field)
    leaf = parts.leaf
    if leaf is None or parts.functions is not None:  # they may make it whole
        return False
    step = leaf.get("multiple_of")
    whole = leaf.get("decimal_places") == 0 or (step is not None and step % 1 == 0)
    return leaf["type"] in ("decimal", "float") and not whole


def _unique(
    cls: Declared,
    table: sa.Table,
    columns: Mapping[str, sa.Column[Any]],
    match: tuple[str, ...],
) -> tuple[tuple[str, ...], ...]:
    fields = {column.name: field for field, column in columns.items()}
    marked = [(field,) for field, column in cls.columns.items() if column.unique]
    of_table = [
        tuple(fields[name] for name in names)
        for names in unique_columns(table)
        if all(name in fields for name in names)
    ]
    return tuple(
        names
        for names in _distinct([*marked, *of_table])
        if set(names) != set(match)
        and not any(kinds.unsought(columns[name]) for name in names)
    )


def _distinct(sets: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    return list({frozenset(names): names for names in sets}.values())


def _refuse_unfilled(cls: Declared) -> None:
    target = cls.target
    filled = set(target.columns.values())
    if target.mode == "update":
        return
    for column in target.table.columns:
        if column in filled or column.nullable or _fills_itself(column):
            continue
        message = (
            f"{cls.__qualname__}: {target.table.name}.{column.name} must have a value "
            f"in every new record, and no field of {cls.row_model.__name__} gives one. "
            f"Add the field '{column.key}', or give the column a default."
        )
        raise DeclarationError(message)


def _fills_itself(column: sa.Column[Any]) -> bool:
    return (
        column.default is not None
        or column.server_default is not None
        or column is column.table.autoincrement_column
    )


def _refuse_unsought(cls: Declared) -> None:
    """Refuse keys that records can't be found by, such as bytes."""
    for field in cls.target.match:
        column = cls.target.columns[field]
        held = kinds.unsought(column)
        if held is not None:
            message = (
                f"{cls.__qualname__}: match_on names '{field}', but "
                f"{cls.target.table.name}.{column.name} holds {held}. Records are "
                "found by text, numbers, dates, truth values or UUIDs."
            )
            raise DeclarationError(message)


def _refuse_new_keys(cls: Declared) -> None:
    """Refuse a primary key that a row would change in a record found otherwise."""
    target = cls.target
    others = [name for name in target.key_fields if name not in target.match]
    if others and target.mode != "create":
        message = (
            f"{cls.__qualname__}: '{others[0]}' is in the primary key of "
            f"{target.table.name}, which never changes. Name it in match_on, or leave "
            "the field out."
        )
        raise DeclarationError(message)
