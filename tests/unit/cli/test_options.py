from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from batchfx.cli.options import ChunkSize, Rate, Settings, global_options


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("5%", 0.05),
        ("5", 0.05),
        ("0.05", 0.05),
        ("0.5%", 0.005),
        ("100%", 1.0),
        (".5", 0.5),
        ("1%", 0.01),
        ("100", 1.0),
        ("0", 0.0),
        (" 12.5 % ", 0.125),
    ],
)
def test_a_rate_is_a_percentage_or_a_part(text: str, rate: float) -> None:
    assert Rate().convert(text, None, None) == rate


@pytest.mark.parametrize(
    "text", ["101", "100.5%", "-1", "-0.1", "nan", "inf", "", "a", "\u0665%", "1_0"]
)
def test_what_is_no_part_of_all_rows_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter) as refused:
        Rate().convert(text, None, None)

    assert refused.value.message == (
        f"{text!r} is no part of all rows: write 5% or 0.05."
    )


@pytest.mark.parametrize("text", ["1", "1.0", "01"])
def test_a_bare_1_is_refused_since_it_may_mean_two_things(text: str) -> None:
    with pytest.raises(click.BadParameter) as refused:
        Rate().convert(text, None, None)

    assert refused.value.message == f"{text!r} is ambiguous: write 1% or 100%."


def test_a_chunk_has_from_1_to_a_million_rows() -> None:
    assert ChunkSize().convert("1", None, None) == 1
    assert ChunkSize().convert("1000000", None, None) == 1_000_000


@pytest.mark.parametrize(
    "text", ["0", "-5", "1000001", "9" * 5_000, "\u0665", "5.0", "a"]
)
def test_what_is_no_size_of_a_chunk_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter) as refused:
        ChunkSize().convert(text, None, None)

    assert refused.value.message == (
        f"{text!r} is no size of a chunk: write a whole number of rows from 1 to "
        "1,000,000."
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
