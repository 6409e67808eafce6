"""The program of a worker's handlers; nobody calls it by hand."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from batchfx.cli import discovery
from batchfx.cli.options import Settings
from batchfx.execution.handler import serve


def load(modules: Sequence[str]) -> None:
    """Import the importers: of *modules*, or of where commands look for them."""
    discovery.load(Settings(importers=tuple(modules)))


if __name__ == "__main__":
    descriptor, supervisor = map(int, sys.argv[1:])
    serve(descriptor, supervisor, load)
