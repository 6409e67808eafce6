"""Files to import, of any size, with a share of faulty rows.

    python samples/generate.py customers 100000 --seed 1 --faulty 0.03 > customers.csv

Everything is invented. The same arguments always give the same file. Row n of a kind
is faulty or not whatever the size of the file. Orders name only products and customers,
products only categories, that are good under the same seed and share of faulty rows.
It needs nothing but Python.
"""

from __future__ import annotations

import argparse  # noqa: TID251 - runs where batchfx is not installed
import csv
import sys
import zipfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import date
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Any
from xml.sax.saxutils import escape
from zlib import crc32

Cells = list[str]
Fault = Callable[[Random, Cells, Sequence[Cells]], None]

EARLIER = 50  # rows from which a repeated value is taken
MIX = 0x9E3779B1  # spreads what CRC-32 makes of numbers that follow each other
TWICE = 0.2  # share of the faulty rows that have two faults


@dataclass(frozen=True, slots=True)
class Scene:
    """What decides about every row of every file."""

    seed: int
    share: float
    customers: int
    products: int

    def is_faulty(self, kind: str, index: int) -> bool:
        """Tell whether row *index*, from 1, of a kind is faulty."""
        spread = crc32(f"{self.seed} {kind} {index}".encode()) * MIX
        return spread % 2**32 < self.share * 2**32

    def draw_good(self, random: Random, kind: str, count: int) -> int:
        """Draw the index of a row that is not faulty, at most *count*."""
        while True:
            index = 1 + int(random.random() * count)
            if not self.is_faulty(kind, index):
                return index


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file: its columns, its good rows and what can be wrong with one."""

    header: tuple[str, ...]
    row: Callable[[Random, Scene, int], Cells]
    faults: tuple[Fault, ...]
    numbers: frozenset[str] = field(default_factory=frozenset)
    dates: frozenset[str] = field(default_factory=frozenset)
    truths: frozenset[str] = field(default_factory=frozenset)


# --- Faults --------------------------------------------------------------------------


def put(place: int, *values: str | Callable[[str], str]) -> Fault:
    """Write one of *values*, or what it makes of the cell, into the cell at *place*."""

    def fault(random: Random, row: Cells, earlier: Sequence[Cells]) -> None:
        del earlier
        value = random.choice(values)
        row[place] = value(row[place]) if callable(value) else value

    return fault


def repeated(place: int) -> Fault:
    """Write the value of an earlier good row into the cell at *place*."""

    def fault(random: Random, row: Cells, earlier: Sequence[Cells]) -> None:
        if earlier:
            row[place] = random.choice(earlier)[place]
        else:
            row[place] = ""

    return fault


@dataclass(frozen=True)
class Together:
    """Faults that make one only together, so that nothing else may be wrong."""

    faults: tuple[Fault, ...]

    def __call__(self, random: Random, row: Cells, earlier: Sequence[Cells]) -> None:
        """Do all of them."""
        for each in self.faults:
            each(random, row, earlier)


def both(*faults: Fault) -> Fault:
    """Do all of *faults*."""
    return Together(faults)


def one_cell_less(random: Random, row: Cells, earlier: Sequence[Cells]) -> None:
    """Leave a cell out."""
    del earlier
    del row[random.randrange(1, len(row))]


def one_cell_more(random: Random, row: Cells, earlier: Sequence[Cells]) -> None:
    """Put a cell in, as an unquoted comma does."""
    del earlier
    row.insert(random.randrange(1, len(row) - 1), " Jr.")


RAGGED = frozenset({one_cell_less, one_cell_more})


def german(text: str) -> str:
    """Return an ISO date as Germans write it."""
    return f"{text[8:]}.{text[5:7]}.{text[:4]}"


def american(text: str) -> str:
    """Return an ISO date as Americans write it."""
    return f"{text[5:7]}/{text[8:]}/{text[:4]}"


def with_comma(text: str) -> str:
    """Return a number with a decimal comma."""
    return text.replace(".", ",")


# --- Customers -----------------------------------------------------------------------

NAMES = Path(__file__).with_name("names.txt")
FAMILY_FIRST = frozenset({"CN", "JP", "KR"})
DOMAINS = (
    "example.com",
    "example.net",
    "example.org",
    "mail.example.com",
    "post.example.net",
)
NOTES = (
    "Prefers to be called",
    "Call after 6 pm, never on Sundays",
    'Known as "the regular"',
    "Delivery to the back door\nRing twice",
    "Wants invoices on paper; moved in May",
    "Größe XL, Farbe: grün",
    "Likes 🍰 and 🎈",
    "=SUM(A1:A2) is what the note says",
)
FIRST_BIRTH = date(1930, 1, 1).toordinal()
BIRTHS = date(2007, 12, 31).toordinal() - FIRST_BIRTH


def _names(text: str) -> tuple[tuple[str, str], ...]:
    pairs = (each.partition(":") for each in text.split())
    return tuple((name, ascii_ or name.lower()) for name, _, ascii_ in pairs)


GROUPS = tuple(
    (countries.split(), _names(given), _names(family))
    for countries, given, family in (
        line.split("|")
        for line in NAMES.read_text("utf-8").splitlines()
        if not line.startswith("#")
    )
)


def customer_number(index: int) -> str:
    """Return the external id of a customer."""
    return f"{index:08d}"


def customer(random: Random, scene: Scene, index: int) -> Cells:
    """Make a good customer."""
    del scene
    draw = random.random
    countries, givens, families = GROUPS[int(draw() * len(GROUPS))]
    country = countries[int(draw() * len(countries))]
    given, first = givens[int(draw() * len(givens))]
    family, last = families[int(draw() * len(families))]
    name = f"{family} {given}" if country in FAMILY_FIRST else f"{given} {family}"
    born = date.fromordinal(FIRST_BIRTH + int(draw() * BIRTHS)).isoformat()
    is_vip = draw() < 0.1  # noqa: PLR2004 - one in ten
    cents = int(draw() * 900_000) + (100_000 if is_vip else 0)
    note = NOTES[int(draw() * len(NOTES))] if draw() < 0.3 else ""  # noqa: PLR2004 - some
    return [
        customer_number(index),
        f"{first}.{last}{index}@{DOMAINS[int(draw() * len(DOMAINS))]}",
        name,
        country,
        born,
        f"{cents // 100}.{cents % 100:02d}",
        "true" if is_vip else "false",
        note,
    ]


CUSTOMERS = Kind(
    header=(
        "external_id",
        "email",
        "name",
        "country",
        "birth_date",
        "credit_limit",
        "vip",
        "notes",
    ),
    row=customer,
    faults=(
        put(4, german),
        put(1, lambda text: text.replace("@", " at ")),
        put(2, ""),
        repeated(0),
        put(5, lambda text: text + "5"),
        both(put(6, "true"), put(5, "250.00", "999.99")),
        put(3, "UK", "Germany", "XX", str.lower),
        one_cell_less,
        put(4, "1985-02-30", "1979-13-01"),
        put(1, ""),
        repeated(1),
        put(5, "-250.00", "-0.01"),
        put(7, lambda _: "A note that has no end. " * 22),
        put(4, american, lambda text: text.replace("-", "")),
        put(1, lambda text: text.replace(".", ".."), lambda text: text.split(".")[0]),
        put(5, with_comma, "1.250,00", "unlimited", "n/a"),
        one_cell_more,
        put(0, "", lambda text: text + "-0000-0000-0000"),
        put(4, "2039-01-01", "2101-07-14"),
        put(6, "maybe", "perhaps", "2"),
        put(2, lambda text: " ".join([text] * 12) + " the twelfth, of that ilk" * 4),
        put(5, "", "n/a"),
    ),
    numbers=frozenset({"credit_limit"}),
    dates=frozenset({"birth_date"}),
    truths=frozenset({"vip"}),
)


# --- Categories and products ---------------------------------------------------------

# Narrower categories, then the one they belong to: it comes later in the file.
SHELVES = """
seeds bulbs pots soil garden-tools < garden
lamps rugs curtains cushions clocks < home
knives pans baking tableware storage < kitchen
paper pens folders desks ink < office
balls rackets skates tents climbing < sports
puzzles blocks kites dolls board-games < toys
saws drills screws paint ladders < workshop
novels maps cookbooks comics dictionaries < books
"""
SHELF = tuple(
    (code, parent.strip() if code != parent.strip() else "")
    for line in SHELVES.strip().splitlines()
    for narrower, parent in [line.split("<")]
    for code in [*narrower.split(), parent.strip()]
)
PLACE = {code: place for place, (code, _) in enumerate(SHELF, start=1)}
WORDS = ("Small", "Large", "Folding", "Red", "Blue", "Oak", "Steel", "Cotton", "Round")


def category_code(index: int) -> str:
    """Return the code of a category: a shelf's, later on with a number."""
    turn, place = divmod(index - 1, len(SHELF))
    return f"{SHELF[place][0]}-{turn + 1}" if turn else SHELF[place][0]


def category(random: Random, scene: Scene, index: int) -> Cells:
    """Make a good category."""
    del random
    turn, place = divmod(index - 1, len(SHELF))
    code, parent = SHELF[place]
    wider = code if turn else parent
    if not wider or scene.is_faulty("categories", PLACE[wider]):
        wider = ""
    title = code.replace("-", " ").capitalize()
    return [category_code(index), f"{title} {turn + 1}" if turn else title, wider]


CATEGORIES = Kind(
    header=("code", "name", "parent"),
    row=category,
    faults=(
        put(2, "gadgets", "none"),
        put(0, str.upper, lambda text: text.replace("-", " ") + "!"),
        put(1, ""),
        repeated(0),
        one_cell_more,
        lambda random, row, earlier: row.__setitem__(2, row[0]),  # noqa: ARG005 - a Fault
        put(0, lambda text: text + "-that-nobody-can-remember", ""),
        put(1, lambda text: text + ", and whatever else there may be of this kind" * 3),
        one_cell_less,
    ),
)


def product_number(index: int) -> str:
    """Return the SKU of a product."""
    series, number = divmod(index, 10_000)
    letters = ""
    for _ in range(3):
        series, letter = divmod(series, 26)
        letters = chr(ord("A") + letter) + letters
    return f"{letters}-{number:04d}"


def product(random: Random, scene: Scene, index: int) -> Cells:
    """Make a good product."""
    shelf = scene.draw_good(random, "categories", len(SHELF))
    code = SHELF[shelf - 1][0]
    word = WORDS[int(random.random() * len(WORDS))]
    cents = 99 + int(random.random() * 30_000)
    return [
        product_number(index),
        f"{word} {code.replace('-', ' ').removesuffix('s')}, no. {index}",
        code,
        f"{cents // 100}.{cents % 100:02d}",
        str(int(random.random() * 500)),
        "no" if random.random() < 0.1 else "yes",  # noqa: PLR2004 - one in ten
    ]


PRODUCTS = Kind(
    header=("sku", "name", "category", "price", "stock", "active"),
    row=product,
    faults=(
        put(2, "gadgets", "Garden", "gardn"),
        put(3, with_comma, "12.90 EUR"),
        put(4, "-1", "-20"),
        repeated(0),
        put(3, "0.00", "-4.50"),
        put(0, str.lower, lambda text: text.replace("-", ""), ""),
        put(4, "many", "1.5", "1,200"),
        put(1, ""),
        put(5, "perhaps", "discontinued"),
        one_cell_less,
        put(3, lambda text: text + "9"),
        put(2, ""),
    ),
    numbers=frozenset({"price", "stock"}),
    truths=frozenset({"active"}),
)


# --- Orders --------------------------------------------------------------------------

FIRST_DAY = date(2026, 1, 1).toordinal()


def order(random: Random, scene: Scene, index: int) -> Cells:
    """Make a good order."""
    draw = random.random
    customer_ = scene.draw_good(random, "customers", scene.customers)
    product_ = scene.draw_good(random, "products", scene.products)
    cents = 99 + int(draw() * 30_000)
    ordered = FIRST_DAY + int(draw() * 270)
    status = ("open", "paid", "shipped", "shipped", "shipped", "cancelled")[
        int(draw() * 6)
    ]
    shipped = date.fromordinal(ordered + int(draw() * 9)).isoformat()
    return [
        f"{2026 + index // 1_000_000}-{index % 1_000_000:06d}",
        customer_number(customer_),
        product_number(product_),
        str(1 + int(draw() * 5)),
        f"{cents // 100}.{cents % 100:02d}",
        date.fromordinal(ordered).isoformat(),
        shipped if status == "shipped" else "",
        status,
    ]


ORDERS = Kind(
    header=(
        "order_number",
        "customer",
        "product",
        "quantity",
        "unit_price",
        "ordered_on",
        "shipped_on",
        "status",
    ),
    row=order,
    faults=(
        put(1, "99999999", lambda text: text.lstrip("0")),
        both(put(6, "2025-12-24"), put(7, "shipped")),
        put(2, "ZZZ-9999", "GAR-9999"),
        both(put(6, ""), put(7, "shipped")),
        put(5, german, american),
        put(3, "0", "-1", "1.5", "a dozen"),
        repeated(0),
        put(7, "sent", "Shipped", ""),
        both(put(6, "2026-10-30"), put(7, "open")),
        one_cell_less,
        put(0, lambda text: text.replace("-", "/"), ""),
        put(5, "2039-05-01", "2026-02-29"),
        put(4, with_comma, "-1.00"),
        put(1, ""),
    ),
    numbers=frozenset({"quantity", "unit_price"}),
    dates=frozenset({"ordered_on", "shipped_on"}),
)

KINDS = {
    "customers": CUSTOMERS,
    "categories": CATEGORIES,
    "products": PRODUCTS,
    "orders": ORDERS,
}


# --- Rows and files ------------------------------------------------------------------


def rows(
    name: str, scene: Scene, first: int, count: int, *, ragged: bool
) -> Iterator[tuple[Cells, Cells | None]]:
    """Yield each row and, for a faulty one, the row as it should have been."""
    kind = KINDS[name]
    random = Random(f"{scene.seed} {name} {first}")  # noqa: S311 - no secret
    faults = [each for each in kind.faults if ragged or each not in RAGGED]
    turn = cycle(faults)
    others = [each for each in faults if each not in RAGGED]
    earlier: deque[Cells] = deque(maxlen=EARLIER)
    for index in range(first, first + count):
        good = kind.row(random, scene, index)
        if not scene.is_faulty(name, index):
            earlier.append(good)
            yield good, None
            continue
        row = list(good)
        fault = next(turn)
        if random.random() < TWICE and not isinstance(fault, Together):
            random.choice(others)(random, row, earlier)
        fault(random, row, earlier)
        yield row, good


def write_csv(
    name: str, scene: Scene, first: int, count: int, *, delimiter: str, corrected: str
) -> None:
    """Write the rows to standard output, and the faulty ones as they should be."""
    header = KINDS[name].header
    with ExitStack() as stack:
        writer = csv.writer(sys.stdout, delimiter=delimiter, lineterminator="\n")
        writer.writerow(header)
        mended: Any = None
        if corrected:
            file = stack.enter_context(
                Path(corrected).open("w", encoding="utf-8", newline="")
            )
            mended = csv.writer(file, delimiter=delimiter, lineterminator="\n")
            mended.writerow(("row", *header))
        line = 2
        for row, good in rows(name, scene, first, count, ragged=True):
            writer.writerow(row)
            if mended and good is not None:
                mended.writerow((line, *good))
            line += 1 + sum(cell.count("\n") for cell in row)


def write_workbook(name: str, scene: Scene, first: int, count: int, path: str) -> None:
    """Write the rows as a workbook of one sheet, made of the parts of ECMA-376."""
    kind = KINDS[name]
    parts = dict(PARTS)
    lines = ["".join(_cell(1, i, text, kind) for i, text in enumerate(kind.header))]
    made = rows(name, scene, first, count, ragged=False)
    for number, (row, _) in enumerate(made, start=2):
        cells = (_cell(number, i, text, kind) for i, text in enumerate(row))
        lines.append("".join(cells))
    body = "".join(f'<row r="{n}">{c}</row>' for n, c in enumerate(lines, start=1))
    parts[SHEET] = f"<worksheet {MAIN}><sheetData>{body}</sheetData></worksheet>"
    with zipfile.ZipFile(path, "w") as book:
        for part, text in parts.items():
            # A ZipInfo of its own has a fixed time, so that the file is the same again.
            book.writestr(zipfile.ZipInfo(part), XML + text, zipfile.ZIP_DEFLATED)


def _cell(number: int, place: int, text: str, kind: Kind) -> str:
    """Return a cell's XML: a number, a date or a truth value where the text is one."""
    at, column = f"{chr(ord('A') + place)}{number}", kind.header[place]
    if not text:
        return ""
    if column in kind.numbers and text.replace(".", "", 1).isdecimal():
        return f'<c r="{at}"><v>{text}</v></c>'
    if column in kind.truths and text in TRUTHS:
        return f'<c r="{at}" t="b"><v>{TRUTHS[text]}</v></c>'
    if column in kind.dates and (day := _day(text)):
        return f'<c r="{at}" s="1"><v>{day}</v></c>'
    inner = escape(text)
    return f'<c r="{at}" t="inlineStr"><is><t xml:space="preserve">{inner}</t></is></c>'


def _day(text: str) -> int | None:
    """Return an ISO date as the number of the day that a sheet keeps."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return (day - date(1899, 12, 30)).days if text == day.isoformat() else None


SHEET = "xl/worksheets/sheet1.xml"
TRUTHS = {"true": 1, "false": 0, "yes": 1, "no": 0}
XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
SHEETS = "application/vnd.openxmlformats-officedocument.spreadsheetml"
TYPES = "application/vnd.openxmlformats-"


def _relations(*parts: tuple[str, str]) -> str:
    each = "".join(
        f'<Relationship Id="rId{n}" Type="{OFFICE}/{kind}" Target="{target}"/>'
        for n, (kind, target) in enumerate(parts, start=1)
    )
    return f'<Relationships xmlns="{PACKAGE}/relationships">{each}</Relationships>'


def _types(**parts: str) -> str:
    each = "".join(
        f'<Override PartName="/xl/{part}.xml" '
        f'ContentType="{TYPES}officedocument.spreadsheetml.{kind}+xml"/>'
        for kind, part in parts.items()
    )
    return (
        f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" '
        f'ContentType="{TYPES}package.relationships+xml"/>{each}</Types>'
    )


PARTS = {
    "[Content_Types].xml": _types(
        **{
            "sheet.main": "workbook",
            "styles": "styles",
            "worksheet": "worksheets/sheet1",
        }
    ),
    "_rels/.rels": _relations(("officeDocument", "xl/workbook.xml")),
    "xl/workbook.xml": f'<workbook {MAIN} xmlns:r="{OFFICE}"><sheets>'
    '<sheet name="Sheet1" sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": _relations(
        ("worksheet", "worksheets/sheet1.xml"), ("styles", "styles.xml")
    ),
    "xl/styles.xml": f"<styleSheet {MAIN}><fonts><font/></fonts><fills><fill>"
    '<patternFill patternType="none"/></fill></fills>'
    "<borders><border/></borders><cellStyleXfs><xf/></cellStyleXfs><cellXfs><xf/>"
    '<xf numFmtId="14" applyNumberFormat="1"/></cellXfs><cellStyles>'
    '<cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>',
}


def main() -> None:
    """Write the file that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("count", type=int, help="how many rows")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faulty", type=float, default=0.0, help="share, 0 to 1")
    parser.add_argument("--first", type=int, default=1, help="number of the first row")
    parser.add_argument("--customers", type=int, default=400, help="that orders name")
    parser.add_argument("--products", type=int, default=300, help="that orders name")
    parser.add_argument("--delimiter", default=",")
    parser.add_argument(
        "--corrected", default="", help="file for the faulty rows, mended"
    )
    parser.add_argument("--workbook", default="", help="XLSX file to write instead")
    given = parser.parse_args()
    scene = Scene(given.seed, given.faulty, given.customers, given.products)
    if given.workbook:
        write_workbook(given.kind, scene, given.first, given.count, given.workbook)
        return
    sys.stdout.reconfigure(encoding="utf-8", newline="")  # type: ignore[union-attr]  # a text file
    write_csv(
        given.kind,
        scene,
        given.first,
        given.count,
        delimiter=given.delimiter,
        corrected=given.corrected,
    )


if __name__ == "__main__":
    main()
