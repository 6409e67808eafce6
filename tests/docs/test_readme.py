"""What the README shows of Python holds."""

from __future__ import annotations

import re
from pathlib import Path

from batchfx.testing import try_rows
from importers.shop import CustomerImporter

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")


def test_the_way_to_try_an_importer_finds_what_the_readme_says() -> None:
    text = next(
        block
        for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL)
        if "try_rows" in block
    )
    shown = re.search(r"row = (\{.*?\})\n.*codes == (\[.*?\])\n", text, re.DOTALL)

    assert shown is not None
    row: dict[str, str] = eval(shown[1], {})  # noqa: S307 - a literal of our own README
    more = {"name": "Ann", "country": "DE", "vip": "no"}  # the shop's has these too
    (tried,) = try_rows(CustomerImporter, [row | more])
    assert tried.codes == eval(shown[2], {})  # noqa: S307 - as above
