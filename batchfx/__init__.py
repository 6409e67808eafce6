"""Batch import and export: every row has its own fate.

An application subclasses `Importer`, or `TableImporter` when rows become records of one
table, and gives `import_path` a file.

A public name's module is imported when the name is first asked for, so that
`batchfx --help` waits for no database library.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from batchfx.columns import Column
    from batchfx.errors import BatchfxError, Invalid, Skip
    from batchfx.execution.attempt import Watch
    from batchfx.execution.control import (
        Options,
        Report,
        import_path,
        import_source,
        recount,
        report,
        rerun,
    )
    from batchfx.importer import Context, Importer
    from batchfx.model.issues import Issue
    from batchfx.model.notations import Notation
    from batchfx.model.progress import Progress
    from batchfx.model.verdicts import Created, Tally, Unchanged, Updated, Verdict
    from batchfx.store.engine import Store, open_store
    from batchfx.store.schema import BatchKey
    from batchfx.tables import TableImporter

__all__ = [
    "BatchKey",
    "BatchfxError",
    "Column",
    "Context",
    "Created",
    "Importer",
    "Invalid",
    "Issue",
    "Notation",
    "Options",
    "Progress",
    "Report",
    "Skip",
    "Store",
    "TableImporter",
    "Tally",
    "Unchanged",
    "Updated",
    "Verdict",
    "Watch",
    "import_path",
    "import_source",
    "open_store",
    "recount",
    "report",
    "rerun",
]

_HOMES = {
    "batchfx.columns": ("Column",),
    "batchfx.errors": ("BatchfxError", "Invalid", "Skip"),
    "batchfx.execution.attempt": ("Watch",),
    "batchfx.execution.control": (
        "Options",
        "Report",
        "import_path",
        "import_source",
        "recount",
        "report",
        "rerun",
    ),
    "batchfx.importer": ("Context", "Importer"),
    "batchfx.model.issues": ("Issue",),
    "batchfx.model.notations": ("Notation",),
    "batchfx.model.progress": ("Progress",),
    "batchfx.model.verdicts": ("Created", "Tally", "Unchanged", "Updated", "Verdict"),
    "batchfx.store.engine": ("Store", "open_store"),
    "batchfx.store.schema": ("BatchKey",),
    "batchfx.tables": ("TableImporter",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        message = f"module 'batchfx' has no attribute {name!r}"
        raise AttributeError(message, name=name, obj=importlib.import_module(__name__))
    value: object = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
