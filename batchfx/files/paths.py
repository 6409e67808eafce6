"""A file that a person named, opened."""

from __future__ import annotations

import io
from pathlib import Path

from batchfx.errors import SourceError


def open_path(path: Path) -> io.BufferedReader:
    """Open the file at *path* for reading.

    Raises:
        SourceError: There is no such file, it is a folder, or it may not be read.

    """
    if path.is_dir():
        message = f"'{path}' is a folder. Name a file in it."
        raise SourceError("is_folder", message)
    if path.exists() and not path.is_file():
        message = f"'{path}' is no plain file; save its content as one first."
        raise SourceError("unreadable_file", message)
    try:
        return path.open("rb")
    except FileNotFoundError:
        message = f"There is no file '{path}'. Check the name and the folder."
        raise SourceError("no_such_file", message) from None
    except OSError as error:
        message = f"'{path}' can't be read: {error.strerror}."
        raise SourceError("unreadable_file", message) from error
