"""The shared strings: the texts that most cells only name by their number.

They are read no further than the highest number that was asked for; programs number
them in the order of the cells, so the first rows need not wait for the last string.
What exceeds a budget goes to a temporary file in pages, since a file of a million rows
may have millions of them.
"""

from __future__ import annotations

import re
import tempfile
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import lru_cache
from typing import IO, Self

from batchfx.errors import SourceError
from batchfx.files.xlsx_package import PART_LIMIT, Package
from batchfx.files.xlsx_plain import Head, Pieces, read_head, unescape
from batchfx.files.xlsx_xml import DEPTH_LIMIT, drive, make_parser, refuse_size

MEMORY_BUDGET = 8 * 1024**2  # bytes of strings that stay in memory
STRING_OVERHEAD = 64  # bytes that Python needs for a string besides its text
PAGE = 32  # strings
CACHED_PAGES = 2048
SURE_DIGITS = 15  # of a number of a string, which needs no more
TEXT_LIMIT = 4 * 1024**2  # characters of one text; Excel stops at 32,767
SEPARATOR = "\0"  # which XML can't contain, though an escape may stand for it

ITEM = (
    r'<si>\s*+(?:<t(?: xml:space="preserve")?>[^<]*+</t>|<t ?/>)\s*+</si>\s*+'
    r"|<si ?/>\s*+"
)
PLAIN = re.compile(rf"\s*+(?:{ITEM})*+")
TEXT = re.compile(r"<si(?: ?/|>\s*<t ?/|>\s*<t[^<>]*>([^<]*))")

ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")
SURROGATES = re.compile("[\ud800-\udfff]")

Batches = Callable[[Package, str], Iterator[list[str]]]


def decode_escapes(text: str) -> str:
    r"""Replace ``_xHHHH_`` by the character it stands for (ECMA-376 part 1, 22.9.2.19).

    ``_x005F_`` is the underscore, so ``_x005F_x000D_`` is the text ``_x000D_``. Half a
    surrogate pair, which is no text, becomes U+FFFD.
    """
    if "_x" not in text:
        return text
    decoded = ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
    if SURROGATES.search(decoded):
        return decoded.encode("utf-16-le", "surrogatepass").decode(
            "utf-16-le", "replace"
        )
    return decoded


class SharedStrings:
    """The shared strings of a workbook, by number; a context, as it has a file."""

    def __init__(
        self, package: Package, part: str | None, read: Batches | None = None
    ) -> None:
        """Take what *read* gives for the strings of *part*; they have escapes."""
        self._part = part
        batches = (read or _batches)(package, part) if part else iter(())
        self._source = _pages(batches)
        self._kept: list[str] = []  # the first strings
        self._free = MEMORY_BUDGET
        self._offsets = array("Q", [0])  # of the pages in the file, and its end
        self._known = 0
        self._damage: SourceError | None = None  # behind the known ones
        self._any_blank = False
        self._blanks = array("L")  # for each page the bits of its blank strings
        self._stack = ExitStack()
        self._file: IO[bytes] | None = None
        self._page = lru_cache(CACHED_PAGES)(self._load)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def text(self, number: str) -> str:
        """Return the string of that *number*, which is text as it is in the cell.

        Raises:
            SourceError: ``corrupt``: there is no such string.

        """
        return self.texts((number,))[0]

    def is_blank(self, number: str) -> bool:
        """Tell whether the string of that *number* has nothing but white space.

        Raises:
            SourceError: ``corrupt``: there is no such string.

        """
        known = number.isdecimal() and len(number) <= SURE_DIGITS
        index = int(number) if known else -1
        if not 0 <= index < self._known:
            (index,) = self._indexes((number,))
        return bool(self._blanks[index // PAGE] >> index % PAGE & 1)

    def are_full(self, numbers: Sequence[str]) -> bool:
        """Tell whether all of these strings surely have more than white space."""
        longest = max(map(len, numbers))
        if longest > SURE_DIGITS or not all(map(str.isdecimal, numbers)):
            return False
        indexes = list(map(int, numbers))
        if not self._reach(max(indexes)):
            return False
        blanks = self._blanks
        return not self._any_blank or not any(
            blanks[index // PAGE] >> index % PAGE & 1 for index in indexes
        )

    def texts(self, numbers: Sequence[str]) -> list[str]:
        """Return the strings of many numbers, as `text` does for one."""
        indexes = self._indexes(numbers)
        kept = self._kept
        first_paged = len(kept)
        if max(indexes, default=0) < first_paged:
            return list(map(kept.__getitem__, indexes))
        found = []
        current, page = -1, kept
        for index in indexes:
            if index < first_paged:
                found.append(kept[index])
                continue
            wanted, place = divmod(index - first_paged, PAGE)
            if wanted != current:
                current, page = wanted, self._page(wanted)
            found.append(page[place])
        return found

    def _indexes(self, numbers: Sequence[str]) -> list[int]:
        """Return *numbers* as such, when they are known after reading on to them."""
        try:
            indexes = list(map(int, numbers))
        except ValueError:
            indexes = list(map(_index, numbers))
        last = max(indexes)
        if not self._reach(last) and self._damage:
            raise self._damage
        if last >= self._known or min(indexes) < 0:
            known = range(self._known)
            wrong = next(n for n in numbers if _index(n) not in known)
            raise SourceError("corrupt", no_such_text(wrong), part=self._part)
        return indexes

    def has(self, number: str) -> bool:
        """Tell whether there is a string of that *number*.

        Raises:
            SourceError: ``corrupt``: the strings are damaged before it.

        """
        index = _index(number)
        if index >= 0 and not self._reach(index) and self._damage:
            raise self._damage
        return 0 <= index < self._known

    def _reach(self, last: int) -> bool:
        """Read on to the string with the index *last*; tell whether there is one."""
        try:
            while last >= self._known and (page := next(self._source, None)):
                self._add(page)
        except SourceError as error:
            self._damage = error
        return last < self._known

    def _add(self, page: list[str]) -> None:
        self._known += len(page)
        bits = _blank_bits(page)
        self._blanks.append(bits)
        self._any_blank = self._any_blank or bool(bits)
        if self._file is None and self._free > 0:
            self._kept += map(decode_escapes, page)
            self._free -= sum(map(len, page)) + STRING_OVERHEAD * len(page)
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - the stack closes it
            self._stack.enter_context(self._file)
        self._file.seek(self._offsets[-1])
        written = self._file.write(SEPARATOR.join(page).encode())
        self._offsets.append(self._offsets[-1] + written)

    def _load(self, number: int) -> list[str]:
        if self._file is None:
            return []
        start, end = self._offsets[number : number + 2]
        self._file.seek(start)
        text = self._file.read(end - start).decode()
        page = text.split(SEPARATOR)
        return list(map(decode_escapes, page)) if "_x" in text else page


def _index(number: str) -> int:
    try:
        return int(number)
    except ValueError:
        return -1


def no_such_text(number: str) -> str:
    """Return what is wrong with a cell that refers to a text by that *number*."""
    return (
        f"A cell refers to a shared text that does not exist ({number[:40]}). "
        "The workbook is damaged: open it in Excel and save it."
    )


def _blank_bits(page: Sequence[str]) -> int:
    """Return a bit for each string, set where it has nothing but white space."""
    starts = "".join([text[:1] for text in page])
    if len(starts) == len(page) and starts.isalnum():
        return 0
    doubtful = (
        (place, text)
        for place, text in enumerate(page)
        if not text or text[0] == "_" or text[0].isspace()
    )
    return sum(1 << p for p, text in doubtful if not decode_escapes(text).strip())


def _pages(batches: Iterator[list[str]]) -> Iterator[list[str]]:
    """Yield the strings in lists of `PAGE`; only the last may be shorter."""
    page: list[str] = []
    for strings in batches:
        page += strings
        cut = len(page) - len(page) % PAGE
        for start in range(0, cut, PAGE):
            yield page[start : start + PAGE]
        del page[:cut]
    if page:
        yield page


def _batches(package: Package, part: str) -> Iterator[list[str]]:
    chunks = package.chunks(part, PART_LIMIT)
    head = read_head(chunks, part, "sst")
    pieces = Pieces(head.rest, chunks, b"</si>")
    if head.plain:
        for piece in pieces:
            plain = PLAIN.match(piece)
            end = plain.end() if plain else 0
            yield [unescape(text) for text in TEXT.findall(piece, 0, end)]
            if end < len(piece):
                pieces.give_back(piece[end:])
                break
    yield from _parsed(head, pieces, part)


def _parsed(head: Head, pieces: Pieces, part: str) -> Iterator[list[str]]:
    """Read on with the XML parser, which sees the head again to know where it is."""
    strings = _StringHandler(part)
    parser = make_parser()
    parser.StartElementHandler = strings.start
    parser.EndElementHandler = strings.end
    parser.CharacterDataHandler = strings.pieces.append

    def chunks() -> Iterator[bytes]:
        yield head.prefix
        yield from pieces.remainder()

    for _ in drive(parser, chunks(), part):
        strings.check()
        if strings.found:
            yield strings.found[:]
            strings.found.clear()


class _StringHandler:
    """Collects the strings' texts: the runs of rich text, without phonetic hints."""

    def __init__(self, part: str) -> None:
        self.found: list[str] = []
        self.pieces: list[str] = []
        self._part = part
        self._text = ""
        self._phonetic = False
        self._depth = 0

    def start(self, name: str, _: dict[str, str]) -> None:
        self._depth += 1
        self.pieces.clear()
        if name.endswith(" rPh"):
            self._phonetic = True

    def end(self, name: str) -> None:
        self._depth -= 1
        local = name.rpartition(" ")[2]
        if local == "t" and not self._phonetic:
            self._text += "".join(self.pieces)
        elif local == "rPh":
            self._phonetic = False
        elif local == "si":
            self.found.append(self._text)
            self._text = ""

    def check(self) -> None:
        """Refuse what grows without bound between two ends of strings."""
        held = len(self._text) + sum(map(len, self.pieces))
        if held > TEXT_LIMIT or self._depth > DEPTH_LIMIT:
            refuse_size(self._part)
