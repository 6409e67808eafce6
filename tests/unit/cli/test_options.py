from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from batchfx.cli.options import Rate, Settings, global_options


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("5%", 0.05),
        ("5", 0.05),
        ("0.05", 0.05),
        ("0.5%", 0.005),
        ("1", 1.0),
        ("1%", 0.01),
        ("100", 1.0),
        ("0", 0.0),
        (" 12.5 % ", 0.125),
    ],
)
def test_a_rate_is_a_percentage_or_a_part(text: str, rate: float) -> None:
    assert Rate().convert(text, None, None) == rate


@pytest.mark.parametrize("text", ["101", "100.5%", "-1", "-0.1", "nan", "inf", "", "a"])
def test_what_is_no_part_of_all_rows_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter) as refused:
        Rate().convert(text, None, None)

    assert refused.value.message == (
        f"{text!r} is no part of all rows: write 5% or 0.05."
    )


@click.group()
@global_options
def group() -> None: ...


@group.command()
@global_options
@click.pass_obj
def show(settings: Settings) -> None:
    click.echo(repr(settings))


@pytest.mark.parametrize(
    "arguments",
    [
        "--importers a --importers b --database sqlite:///x.db show",
        "show --importers a --importers b --database sqlite:///x.db",
        (
            "--importers a --database sqlite:///y.db show --importers b "
            "--database sqlite:///x.db"
        ),
    ],
)
def test_global_options_may_stand_before_and_after_the_command(arguments: str) -> None:
    result = CliRunner().invoke(group, arguments)

    assert result.output == f"{Settings(('a', 'b'), 'sqlite:///x.db')!r}\n"


def test_the_command_line_comes_before_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("BATCHFX_DATABASE_URL", raising=False)
    assert Settings().url == "sqlite:///batchfx.db"

    monkeypatch.setenv("BATCHFX_DATABASE_URL", "sqlite:///env.db")
    assert Settings().url == "sqlite:///env.db"
    assert Settings(database="sqlite:///x.db").url == "sqlite:///x.db"
