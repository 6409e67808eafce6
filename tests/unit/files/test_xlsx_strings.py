"""Shared and inline strings."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batchfx.errors import SourceError
from batchfx.files.xlsx_package import Package
from batchfx.files.xlsx_strings import SharedStrings, decode_escapes
from tests.unit.files.workbooks import MAIN, packed, strings

TEXTS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cn"]), max_size=20
)


def all_strings(part: str | bytes, count: int) -> list[str]:
    with (
        Package(packed({"strings.xml": part})) as package,
        SharedStrings(package, "strings.xml") as shared,
    ):
        return shared.texts([str(number) for number in range(count)])


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("_x", "_x005F_x")


@pytest.mark.parametrize(
    ("stored", "text"),
    [
        ("a_x000D_\nb", "a\r\nb"),
        ("_x005F_x000D_", "_x000D_"),
        ("file_x0041_b", "fileAb"),
        ("_x00e4_", "ä"),
        ("__x__ _x00_ _x00G0_ _x12345_", "__x__ _x00_ _x00G0_ _x12345_"),
        ("_xD83D__xDE00_", "\N{GRINNING FACE}"),
        ("a_xD83D_b", "a\N{REPLACEMENT CHARACTER}b"),
        ("_X0041_", "_X0041_"),
    ],
)
def test_an_escape_is_the_character_it_stands_for(stored: str, text: str) -> None:
    assert decode_escapes(stored) == text


@pytest.mark.parametrize(
    ("item", "text"),
    [
        ("<t>plain</t>", "plain"),
        ('<t xml:space="preserve"> blank </t>', " blank "),
        (
            "<t>a &amp; b &lt;c&gt; &quot;d&quot; &apos;e&apos;</t>",
            "a & b <c> \"d\" 'e'",
        ),
        ("<t>&#65;&#x42;&#10;&#13;</t>", "AB\n\r"),
        ("<t>a\r\nb\rc</t>", "a\nb\nc"),
        ("<t/>", ""),
        ("<t />", ""),
        ("", ""),
        ("<t><![CDATA[<b> & </si>]]></t>", "<b> & </si>"),
        ("<r><t>Deep </t></r><r><rPr><b/></rPr><t>blue</t></r>", "Deep blue"),
        ("<t>東京</t><rPh sb='0' eb='2'><t>トウキョウ</t></rPh>", "東京"),
        ("<!-- no --><t>a<!-- no -->b</t>", "ab"),
        ("\n  <t>pretty</t>\n", "pretty"),
        ("<t foo='1'>single</t>", "single"),
    ],
)
def test_a_string_is_its_runs_of_text(item: str, text: str) -> None:
    around = strings("<t>before</t>", item, "<t>after</t>")

    assert all_strings(around, 3) == ["before", text, "after"]


def test_an_empty_item_without_end_tag_is_a_string() -> None:
    part = f'<sst xmlns="{MAIN}"><si/><si><t>b</t></si><si /></sst>'

    assert all_strings(part, 3) == ["", "b", ""]


@given(st.lists(TEXTS, min_size=1, max_size=300), st.sampled_from(["", "\n"]))
def test_plain_strings_and_parsed_ones_are_the_same(texts: list[str], end: str) -> None:
    part = strings(*(f"<t>{escaped(text)}</t>{end}" for text in texts))
    declared = '<?xml version="1.0" encoding="utf-16"?>' + part

    assert all_strings(part, len(texts)) == texts
    assert all_strings(declared.encode("utf-16"), len(texts)) == texts


def test_strings_beyond_the_memory_budget_are_found_in_any_order() -> None:
    count = 200_000
    part = strings(*(f"<t>text {number:099d}_x0041_</t>" for number in range(count)))
    numbers = random.Random(1).sample(range(count), 2_000)  # noqa: S311 - a choice

    with (
        Package(packed({"strings.xml": part})) as package,
        SharedStrings(package, "strings.xml") as shared,
    ):
        found = [shared.text(str(number)) for number in [count - 1, *numbers]]

    assert found == [f"text {number:099d}A" for number in [count - 1, *numbers]]


def test_the_first_strings_do_not_wait_for_the_last() -> None:
    part = strings(*(f"<t>text {number}</t>" for number in range(100_000)))
    broken = part.removesuffix("</sst>")

    with (
        Package(packed({"strings.xml": broken})) as package,
        SharedStrings(package, "strings.xml") as shared,
    ):
        assert shared.texts(["0", "1000"]) == ["text 0", "text 1000"]
        with pytest.raises(SourceError, match="damaged"):
            shared.text("100000")


@pytest.mark.parametrize("number", ["3", "-1", "x", "", "1e3", "9" * 5000])
def test_a_string_that_does_not_exist_is_damage(number: str) -> None:
    part = strings("<t>a</t>", "<t>b</t>", "<t>c</t>")

    with (
        Package(packed({"strings.xml": part})) as package,
        SharedStrings(package, "strings.xml") as shared,
        pytest.raises(SourceError) as error,
    ):
        shared.text(number)

    assert error.value.code == "corrupt"
