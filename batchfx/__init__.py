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
    from batchfx.context import Context
    from batchfx.errors import BatchfxError, Invalid, Skip
    from batchfx.execution.control import (
        Options,
        Watch,
        import_path,
        import_source,
        rerun,
    )
    from batchfx.execution.operate import cancel, pause, resume, revive
    from batchfx.execution.reports import Report, recount, report
    from batchfx.importer import Importer
    from batchfx.model.access import Identity
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
    "Identity",
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
    "cancel",
    "import_path",
    "import_source",
    "open_store",
    "pause",
    "recount",
    "report",
    "rerun",
    "resume",
    "revive",
]

_HOMES = {
    "batchfx.columns": ("Column",),
    "batchfx.context": ("Context",),
    "batchfx.errors": ("BatchfxError", "Invalid", "Skip"),
    "batchfx.execution.control": (
        "Options",
        "Watch",
        "import_path",
        "import_source",
        "rerun",
    ),
    "batchfx.execution.operate": ("cancel", "pause", "resume", "revive"),
    "batchfx.execution.reports": ("Report", "recount", "report"),
    "batchfx.importer": ("Importer",),
    "batchfx.model.access": ("Identity",),
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
