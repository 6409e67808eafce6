"""Importers found: the modules that define them, named in one of four places."""

from __future__ import annotations

import importlib
import os
import sys
import sysconfig
import tomllib
import traceback
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from batchfx.cli.interruption import ended_quietly
from batchfx.cli.options import Settings
from batchfx.errors import DeclarationError, UsageError
from batchfx.importer import Importer, find_importer, registered
from batchfx.pipeline.plan import plan_of

VARIABLE = "BATCHFX_IMPORTERS"
GROUP = "batchfx.importers"
PACKAGE = Path(__file__).parent.parent

Load = Callable[[], object]


def find(settings: Settings, name: str) -> type[Importer[Any]]:
    """Return the importer called *name*.

    Raises:
        UsageError: There is no importer, or none of that name.
        DeclarationError: The module that should define it can't be imported, or its
            row model can't work.

    """
    load(settings)
    importer = find_importer(name)
    plan_of(importer.row_model)
    return importer


def load(settings: Settings) -> None:
    """Import the modules that the first place to name any names.

    Raises:
        UsageError: No place names a module, or those named define no importer.
        DeclarationError: A module can't be imported.

    """
    for place in (_of_options, _of_environment, _of_project, _of_packages):
        found = list(place(settings))
        for name, folder, load_it in found:
            _import(name, folder, load_it)
        if found:
            break
    if not registered():
        raise UsageError(_none_defined([name for name, _, _ in found]))


def _of_options(settings: Settings) -> Iterator[tuple[str, Path | None, Load]]:
    for name in settings.importers:
        yield _module(name, Path.cwd())


def _of_environment(settings: Settings) -> Iterator[tuple[str, Path | None, Load]]:
    del settings
    for name in os.environ.get(VARIABLE, "").split(","):
        if name.strip():
            yield _module(name.strip(), Path.cwd())


def _of_project(settings: Settings) -> Iterator[tuple[str, Path | None, Load]]:
    del settings
    here = Path.cwd()
    for folder in (here, *here.parents):
        names = _declared(folder / "pyproject.toml")
        if names is not None:
            yield from (_module(name, folder) for name in names)
            return


def _of_packages(settings: Settings) -> Iterator[tuple[str, Path | None, Load]]:
    del settings
    for point in entry_points(group=GROUP):
        yield point.value, None, point.load


def _module(name: str, folder: Path) -> tuple[str, Path, Load]:
    return name, folder, lambda: importlib.import_module(name)


def _declared(path: Path) -> list[str] | None:
    """Return what ``[tool.batchfx]`` in the file at *path* names, None without it."""
    try:
        found: Any = tomllib.loads(path.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
    except ValueError as error:
        message = f"'{path}' can't be read: {error}."
        raise UsageError(message) from error
    for key in ("tool", "batchfx", "importers"):
        found = found.get(key) if isinstance(found, dict) else None
    return None if found is None else _names(path, found)


def _names(path: Path, names: Any) -> list[str]:
    names = [names] if isinstance(names, str) else names
    if not isinstance(names, list) or not all(isinstance(n, str) for n in names):
        message = (
            f"'{path}': importers in [tool.batchfx] must be the name of a module, "
            'such as "shop.importers", or a list of names.'
        )
        raise UsageError(message)
    return names


def _import(name: str, folder: Path | None, load_it: Load) -> None:
    if folder is not None and str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        with ended_quietly():
            load_it()
    except DeclarationError:
        raise
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise _broken(name, error) from error
        message = f"There is no module '{name}' with importers" + (
            f" in '{folder}' or among the installed packages." if folder else "."
        )
        raise UsageError(message) from error
    except (Exception, SystemExit) as error:  # whatever the application's code does
        raise _broken(name, error) from error


def _broken(name: str, error: BaseException) -> DeclarationError:
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    told = ": ".join([type(error).__name__, *text.splitlines()[:1]]).rstrip(".")
    message = f"The module '{name}' can't be imported: {told}{_at(error)}."
    return DeclarationError(message)


def _at(error: BaseException) -> str:
    """Return the place in the application's code where *error* comes from."""
    if isinstance(error, SyntaxError) and error.filename:
        return f" ({error.filename}, line {error.lineno})"
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<frozen")
        and not Path(frame.filename).is_relative_to(PACKAGE)
    ]
    written = [frame for frame in frames if not _is_library(frame.filename)]
    last = (written or frames)[-1:]
    return f" ({last[0].filename}, line {last[0].lineno})" if last else ""


def _is_library(filename: str) -> bool:
    library = sysconfig.get_path("stdlib")
    return "site-packages" in filename or Path(filename).is_relative_to(library)


def _none_defined(names: list[str]) -> str:
    if names:
        return (
            f"No importer is defined in {', '.join(names)}. "
            "Import there the modules that define the classes."
        )
    return (
        "No importers are known. Name the module that defines them: with "
        f'--importers MODULE, in the variable {VARIABLE}, or as importers = "MODULE" '
        "below [tool.batchfx] in pyproject.toml."
    )
