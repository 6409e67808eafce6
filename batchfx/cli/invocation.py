"""The command that a person is told to run next, as they would type it."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

from batchfx.cli.options import Settings
from batchfx.store.addresses import shown

NAME = "batchfx"


def command(settings: Settings, *arguments: str) -> str:
    """Return the command line with *arguments* and the options that were given now.

    What comes from the environment or from pyproject.toml will be there again. A
    password is left for the person to fill in.
    """
    options = [word for name in settings.importers for word in ("--importers", name)]
    if settings.database:
        options += ["--database", shown(settings.database)]
    return shlex.join([_program(), *arguments, *options])


def _program() -> str:
    """Return the name of this program, with its folder where the shell needs it."""
    path = Path(sys.argv[0])
    if path.stem != NAME or not path.exists():
        return NAME
    on_path = shutil.which(NAME)
    if on_path and Path(on_path).samefile(path):
        return NAME
    relative = os.path.relpath(path)
    return str(path) if relative.startswith(os.pardir) else relative
