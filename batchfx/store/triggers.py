"""What the database itself refuses, whoever asks for it.

A trigger's condition is an expression over the old and the new row, so a change that is
allowed costs its evaluation and no call. They are made from the tables of moves and of
terminal verdicts, and made anew by each upgrade.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy.engine import Connection

from batchfx.model.effects import TERMINAL_EFFECTS
from batchfx.model.states import (
    BATCH_MOVES,
    CHUNK_MOVES,
    BatchState,
    ChunkState,
    Move,
    State,
)
from batchfx.model.verdicts import TERMINAL
from batchfx.store.faults import REFUSED
from batchfx.store.schema import BATCH, CHUNK, EFFECT, EVENT, OUTCOME

# PostgreSQL's functions.
REFUSE, REFUSE_IF_FINAL = "batchfx_refuse", "batchfx_refuse_if_final"
REFUSE_IF_KEPT = "batchfx_refuse_if_kept"
TABLES = (BATCH, CHUNK, EFFECT, EVENT, OUTCOME)
# What goes on when a batch is final: events are still written, and old ones removed.
COUNTERS = ("event_seq", "first_seq", "progress_at")
TAIL = ". Nothing was changed."


@dataclass(frozen=True, slots=True)
class Trigger:
    """A change of a table's rows that is refused.

    *condition* is over OLD, and NEW where it is an update. The *function* may have one
    more, which asks other tables: that no chunk of the batch is left to be decided, or
    that the event is one of those that are kept.
    """

    name: str
    table: str
    event: str  # as it is written in SQL
    condition: str
    sentence: str
    function: str = REFUSE


def listing() -> list[Trigger]:
    """Return every trigger."""
    return [
        *_final(OUTCOME.name, _one_of("OLD.verdict", TERMINAL), "outcome of a row"),
        *_final(EFFECT.name, _one_of("OLD.state", TERMINAL_EFFECTS), "effect"),
        *_final(CHUNK.name, _chunk_is_final("OLD"), "chunk"),
        _moves(CHUNK.name, CHUNK_MOVES, "chunk"),
        _moves(BATCH.name, BATCH_MOVES, "batch"),
        *_of_final_batches(),
        *_of_events(),
    ]


def make(connection: Connection) -> None:
    """Make every trigger; none of them may be there."""
    for statement in statements(connection.dialect.name):
        connection.exec_driver_sql(statement)


def drop(connection: Connection) -> None:
    """Remove every trigger that batchfx ever made."""
    if connection.dialect.name == "postgresql":
        # The triggers go with the functions that they call.
        for name in CONDITIONS:
            connection.exec_driver_sql(f"DROP FUNCTION IF EXISTS {name}() CASCADE")
        return
    names = connection.exec_driver_sql(
        "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        " AND tbl_name LIKE 'batchfx\\_%' ESCAPE '\\' AND name LIKE 'batchfx\\_%'"
        " ESCAPE '\\'"
    )
    for name in names.scalars().all():
        connection.exec_driver_sql(f'DROP TRIGGER "{name}"')


def fingerprint() -> str:
    """Return what changes when any trigger does, so that a revision can name it."""
    texts = [*statements("sqlite"), *statements("postgresql")]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


def statements(dialect: str) -> list[str]:
    """Return the statements that make every trigger in a database of *dialect*."""
    if dialect == "sqlite":
        return [_on_sqlite(trigger) for trigger in listing()]
    return [
        *(_function(name, condition) for name, condition in CONDITIONS.items()),
        *map(_on_postgresql, listing()),
        *(_on_truncate(table.name) for table in TABLES),
    ]


def _chunk_is_final(row: str) -> str:
    """Return the condition for a chunk that no later attempt may touch.

    The preparation, which has no rows, may be done anew.
    """
    terminal = " + ".join(f"{row}.{verdict}" for verdict in sorted(TERMINAL))
    return (
        f"({row}.state = '{ChunkState.CANCELLED}'"
        f" OR {row}.state = '{ChunkState.DONE}' AND {row}.ordinal >= 0"
        f" AND {terminal} = {row}.rows)"
    )


def _all_final() -> str:
    undecided = f"c.ordinal >= 0 AND NOT {_chunk_is_final('c')}"
    return (
        f"NOT EXISTS (SELECT 1 FROM {CHUNK.name} AS c"  # noqa: S608 - names of our own
        f" WHERE c.batch = OLD.id AND {undecided})"
    )


def _is_kept() -> str:
    return (
        f"EXISTS (SELECT 1 FROM {BATCH.name} AS b"  # noqa: S608 - names of our own
        " WHERE b.id = OLD.batch AND b.first_seq <= OLD.seq)"
    )


CONDITIONS = {
    REFUSE: "true",
    REFUSE_IF_FINAL: _all_final(),
    REFUSE_IF_KEPT: _is_kept(),
}
FINAL_BATCHES = {
    BatchState.CANCELLED: REFUSE,
    BatchState.COMPLETED: REFUSE_IF_FINAL,
}


def _final(table: str, condition: str, thing: str) -> Iterator[Trigger]:
    for verb, past in (("UPDATE", "changed"), ("DELETE", "deleted")):
        yield Trigger(
            name=f"{table}_final_{verb.lower()}",
            table=table,
            event=verb,
            condition=condition,
            sentence=f"The {thing} is final and can't be {past}{TAIL}",
        )


def _moves(table: str, moves: dict[str, Move[State]], thing: str) -> Trigger:
    targets: dict[State, set[StrEnum]] = {}
    for move in moves.values():
        for source in move.sources:
            targets.setdefault(source, set()).add(move.target)
    allowed = " OR ".join(
        f"OLD.state = '{source}' AND {_one_of('NEW.state', reached)}"
        for source, reached in sorted(targets.items())
    )
    return Trigger(
        name=f"{table}_move",
        table=table,
        event="UPDATE OF state",
        condition=f"OLD.state <> NEW.state AND NOT ({allowed})",
        sentence=f"The {thing} can't go from the state it is in to that one{TAIL}",
    )


def _of_final_batches() -> Iterator[Trigger]:
    """Refuse every change of a batch that is final, but what its counters need."""
    fixed = [column.name for column in BATCH.columns if column.name not in COUNTERS]
    changes = {
        "update": (f"UPDATE OF {', '.join(fixed)}", "true", "changed"),
        "count": (f"UPDATE OF {', '.join(COUNTERS)}", _is_no_count(), "changed"),
        "delete": ("DELETE", "true", "deleted"),
    }
    for name, (event, condition, past) in changes.items():
        for state, function in FINAL_BATCHES.items():
            yield Trigger(
                name=f"{BATCH.name}_{state}_{name}",
                table=BATCH.name,
                event=event,
                condition=f"OLD.state = '{state}' AND {condition}",
                function=function,
                sentence=f"The batch is final and can't be {past}{TAIL}",
            )


def _is_no_count() -> str:
    """Return the condition that an event was not added, nor old ones removed."""
    return (
        "(NEW.event_seq NOT IN (OLD.event_seq, OLD.event_seq + 1)"
        " OR NEW.first_seq < OLD.first_seq"
        " OR NEW.first_seq > OLD.first_seq AND NEW.first_seq > NEW.event_seq)"
    )


def _of_events() -> Iterator[Trigger]:
    yield Trigger(
        name=f"{EVENT.name}_update",
        table=EVENT.name,
        event="UPDATE",
        condition="true",
        sentence=f"What has happened can't be changed{TAIL}",
    )
    yield Trigger(
        name=f"{EVENT.name}_delete",
        table=EVENT.name,
        event="DELETE",
        condition="true",
        function=REFUSE_IF_KEPT,
        sentence=f"The event is kept and can't be deleted{TAIL}",
    )


def _one_of(column: str, names: Iterable[StrEnum]) -> str:
    listed = ", ".join(f"'{name}'" for name in sorted(names))
    return f"{column} IN ({listed})"


def _on_sqlite(trigger: Trigger) -> str:
    return (
        f"CREATE TRIGGER {trigger.name} BEFORE {trigger.event} ON {trigger.table} "
        f"FOR EACH ROW WHEN ({trigger.condition}) AND {CONDITIONS[trigger.function]} "
        f"BEGIN SELECT RAISE(ABORT, {_quoted(f'{REFUSED}: {trigger.sentence}')}); END"
    )


def _on_postgresql(trigger: Trigger) -> str:
    return (
        f"CREATE TRIGGER {trigger.name} BEFORE {trigger.event} ON {trigger.table} "
        f"FOR EACH ROW WHEN ({trigger.condition}) "
        f"EXECUTE FUNCTION {trigger.function}({_quoted(trigger.sentence)})"
    )


def _on_truncate(table: str) -> str:
    sentence = f"The table {table} holds what is final and can't be emptied{TAIL}"
    return (
        f"CREATE TRIGGER {table}_truncate BEFORE TRUNCATE ON {table} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {REFUSE}({_quoted(sentence)})"
    )


def _function(name: str, condition: str) -> str:
    # The path is that of who makes it: a table of the same name elsewhere is not asked.
    return f"""
        CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql
        SET search_path FROM CURRENT AS $$
        BEGIN
            IF {condition} THEN
                RAISE EXCEPTION USING ERRCODE = '{REFUSED}', MESSAGE = TG_ARGV[0];
            END IF;
            IF TG_OP = 'DELETE' THEN
                RETURN OLD;
            END IF;
            RETURN NEW;
        END
        $$"""


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
