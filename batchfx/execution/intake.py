"""A source looked into before anything of it is kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from batchfx.errors import SourceError
from batchfx.execution.mappings import Said, given_of
from batchfx.files import open as files
from batchfx.importer import Importer
from batchfx.model.issues import Issue, Level, Phase
from batchfx.model.sources import Layout
from batchfx.pipeline.mapping import Matched, match
from batchfx.pipeline.plan import plan_of
from batchfx.store.batches import Batch

TEXT = "text"  # what a person calls the values of a field


@dataclass(frozen=True, slots=True)
class Opened:
    """A source that can be read and has the importer's columns.

    *given* is what is said of the notation of its fields, as the batch keeps it.
    """

    name: str
    digest: str
    layout: Layout
    matched: Matched
    given: Mapping[str, Any]

    @property
    def warnings(self) -> tuple[Issue, ...]:
        """What a person should know of the file as a whole."""
        return (*self.layout.warnings, *self.matched.warnings)


def look_into(
    importer: type[Importer[Any]],
    source: BinaryIO,
    name: str,
    said: Said,
    *,
    find: Callable[..., Matched] = match,
    digest: str | None = None,
) -> Opened:
    """Find out how *source* is laid out and which of its columns is which field.

    They are found by `match`, or with *find* by `propose`, which may lack any of them.
    The *digest* is computed where it isn't given.

    Raises:
        SourceError: It can't be read, has no rows, or has not the importer's columns.
        UsageError: What is said of it can't be.

    """
    source.seek(0)
    layout = files.inspect(source, said.defaults, **said.settings.layout)
    matched = find(
        importer.row_model, importer.columns, layout.header, said.columns, said.saved
    )
    given = given_of(importer, said.settings, layout.header, matched.positions)
    fields = plan_of(importer.row_model).fields
    texts = [at for name, at in matched.positions.items() if fields[name].kind == TEXT]
    layout = files.with_texts(layout, texts)
    if not any(block.frame.height for block in files.read(source, layout, 1)):
        message = (
            "The file has a header but no rows below it: there is nothing to import."
        )
        raise SourceError("no_rows", message)
    return Opened(name, digest or _digest(source), layout, matched, given)


def not_followed(
    batch: Batch,
    opened: Opened,
    said: Said,
    *,
    chunk_size: int | None,
    save_mapping: str | None,
) -> list[Issue]:
    """Return the warning that names what was said too late, of a batch begun before."""
    is_late = {
        f"a chunk size of {chunk_size}": chunk_size not in {None, batch.chunk_size},
        "the layout": bool(said.settings.layout)
        and _plain(opened.layout.settings) != _plain(batch.layout.settings),
        "the mapping": dict(opened.matched.positions) != dict(batch.mapping),
        "how values are written": _plain(opened.given) != _plain(batch.given),
        f"that '{save_mapping}' be saved": save_mapping is not None,
    }
    names = [name for name, is_said_late in is_late.items() if is_said_late]
    if not names:
        return []
    message = (
        f"Batch {batch.key.number} went on as it was begun (chunks of "
        f"{batch.chunk_size:,} rows): what was said otherwise had no effect, namely "
        f"{', '.join(names)}. --again imports the file anew."
    )
    code = "options_not_followed"
    return [Issue(code, message, Phase.FILE, level=Level.WARNING)]


def _plain(values: Mapping[str, Any]) -> Any:
    """Return *values* as they are once they were stored."""
    return json.loads(json.dumps(values, default=str))


def _digest(source: BinaryIO) -> str:
    source.seek(0)
    digest = hashlib.sha256()
    while piece := source.read(1 << 20):
        digest.update(piece)
    return digest.hexdigest()
