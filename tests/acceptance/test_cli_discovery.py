from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.shell import APPLICATION, Ran, Shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A folder in which nothing names importers; their modules differ by a name."""
    shell = Shell(tmp_path)
    for place in ("option", "variable", "project"):
        source = APPLICATION.replace('name = "people"', f'name = "from-{place}"')
        shell.write(f"{place}_app.py", source)
    return shell


def names(ran: Ran) -> list[str]:
    assert ran.code == 0, ran.err
    return [each["name"] for each in ran.json]


def types(shell: Shell, *arguments: str, variable: str = "") -> Ran:
    return shell.run("types", "--json", *arguments, BATCHFX_IMPORTERS=variable)


def project(shell: Shell, value: str) -> None:
    shell.write("pyproject.toml", f"[tool.batchfx]\nimporters = {value}\n")


def test_the_first_place_that_names_importers_is_taken(shell: Shell) -> None:
    project(shell, '"project_app"')

    from_project = types(shell)
    from_variable = types(shell, variable=" , variable_app ,")
    from_option = types(shell, "--importers", "option_app", variable="variable_app")

    assert names(from_project) == ["from-project", "noisy"]
    assert names(from_variable) == ["from-variable", "noisy"]
    assert names(from_option) == ["from-option", "noisy"]


def test_a_project_is_found_from_a_folder_below_it(shell: Shell) -> None:
    project(shell, '["project_app"]')
    shell.write("pkg/pyproject.toml", "[project]\nname = 'x'\n")
    below = shell.folder / "pkg" / "deep"
    below.mkdir()

    assert names(types(Shell(below))) == ["from-project", "noisy"]


def test_an_installed_package_may_bring_importers(shell: Shell) -> None:
    shell.write(
        "site/shop-1.dist-info/entry_points.txt",
        "[batchfx.importers]\nshop = option_app\n",
    )
    shell.write("site/shop-1.dist-info/METADATA", "Name: shop\nVersion: 1\n")
    shell.write("site/option_app.py", (shell.folder / "option_app.py").read_bytes())
    ran = shell.run(
        "types",
        "--json",
        BATCHFX_IMPORTERS="",
        PYTHONPATH=str(shell.folder / "site"),
    )

    assert names(ran) == ["from-option", "noisy"]


def refused(ran: Ran) -> tuple[int, str]:
    assert ran.err == f"Error: {ran.json['error']['message']}\n"
    return ran.code, ran.json["error"]["message"]


def test_without_importers_it_is_said_how_to_name_them(shell: Shell) -> None:
    assert refused(types(shell)) == (
        2,
        (
            "No importers are known. Name the module that defines them: with "
            "--importers MODULE, in the variable BATCHFX_IMPORTERS, or as "
            'importers = "MODULE" below [tool.batchfx] in pyproject.toml.'
        ),
    )


def test_a_module_without_importers_is_named(shell: Shell) -> None:
    shell.write("hollow.py", "")

    assert refused(types(shell, "--importers", "hollow")) == (
        2,
        (
            "No importer is defined in hollow. "
            "Import there the modules that define the classes."
        ),
    )


def test_a_module_that_is_not_there_is_wrong_usage(shell: Shell) -> None:
    assert refused(types(shell, "--importers", "shop.importers")) == (
        2,
        (
            "There is no module 'shop.importers' with importers in "
            f"'{shell.folder}' or among the installed packages."
        ),
    )


@pytest.mark.parametrize(
    ("source", "told", "line"),
    [
        ("x = 1\nundefined\n", "NameError: name 'undefined' is not defined", 2),
        ("import nothing_here\n", "No module named 'nothing_here'", 1),
        ("\n\nx = (\n", "SyntaxError: '(' was never closed", 3),
        ("raise SystemExit('bye')\n", "SystemExit: bye", 1),
        ("import json\n\njson.loads('{')\n", "JSONDecodeError: ", 3),
    ],
)
def test_a_module_that_breaks_is_named_with_the_line(
    shell: Shell, source: str, told: str, line: int
) -> None:
    path = shell.write("broken.py", source)

    code, message = refused(types(shell, "--importers", "broken"))

    assert code == 1
    assert message.startswith("The module 'broken' can't be imported: ")
    assert told in message
    assert message.endswith(f" ({path}, line {line}).")


def test_a_class_that_is_refused_speaks_for_itself(shell: Shell) -> None:
    shell.write(
        "refused.py",
        "from pydantic import BaseModel\nfrom batchfx import Importer\n"
        "class Row(BaseModel):\n    a: str\n"
        "class Mine(Importer[Row]):\n    pass\n",
    )

    assert refused(types(shell, "--importers", "refused")) == (
        1,
        (
            "Mine has no process: write def process(self, row, context) "
            "that returns the record's id, or use TableImporter."
        ),
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[tool.batchfx]\nimporters = 1\n", "importers in [tool.batchfx] must be"),
        ("[tool.batchfx]\nimporters = [1]\n", "importers in [tool.batchfx] must be"),
        ("[tool.batchfx\n", "can't be read: "),
    ],
)
def test_a_project_file_that_makes_no_sense_is_wrong_usage(
    shell: Shell, content: str, words: str
) -> None:
    path = shell.write("pyproject.toml", content)

    code, message = refused(types(shell))

    assert code == 2
    assert message.startswith(f"'{path}'")
    assert words in message
