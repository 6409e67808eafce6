"""XML read from strangers: no DTD, and no token, text or nesting without bound."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, NoReturn
from xml.parsers import expat

from batchfx.errors import SourceError

TOKEN_LIMIT = 1024**2  # bytes of one tag, comment or the like
DEPTH_LIMIT = 256
TAG_LIMIT = 250_000  # tags that are asked for, in one part


class Tag(NamedTuple):
    """A start tag; all names are local, without namespace or prefix."""

    parent: str
    name: str
    attributes: dict[str, str]


def make_parser() -> expat.XMLParserType:
    """Return a parser that gives names as ``namespace local`` and refuses a DTD."""
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse_dtd
    return parser


def drive(
    parser: expat.XMLParserType, chunks: Iterable[bytes], part: str
) -> Iterator[None]:
    """Feed *chunks* to *parser*, and yield after each so that results can be taken.

    Raises:
        SourceError: ``corrupt`` or ``unsafe_file``; it names *part* and the place.

    """
    fed = 0
    for chunk in chunks:
        _feed(parser, chunk, part)
        fed += len(chunk)
        # The parser goes over an unfinished token from its start at every chunk.
        if fed - parser.CurrentByteIndex > TOKEN_LIMIT:
            refuse_size(part)
        yield
    _feed(parser, b"", part, final=True)
    yield


def tags(
    chunks: Iterable[bytes], part: str, wanted: frozenset[str], limit: int = TAG_LIMIT
) -> Iterator[Tag]:
    """Yield the tags of *part* whose local name is in *wanted*, as they come.

    Raises:
        SourceError: ``corrupt``, or ``unsafe_file`` when there are more than *limit*.

    """
    found: list[Tag] = []
    path = [""]

    def start(name: str, attributes: dict[str, str]) -> None:
        local = name.rpartition(" ")[2]
        if local in wanted:
            named = {key.rpartition(" ")[2]: value for key, value in attributes.items()}
            found.append(Tag(path[-1], local, named))
        path.append(local)
        if len(path) > DEPTH_LIMIT:
            refuse_size(part)

    def end(_: str) -> None:
        path.pop()

    parser = make_parser()
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    total = 0
    for _ in drive(parser, chunks, part):
        total += len(found)
        if total > limit:
            refuse_size(part)
        yield from found
        found.clear()


def refuse_size(part: str) -> NoReturn:
    """Raise the error for content that no spreadsheet program writes."""
    message = (
        f"Part '{part}' of the workbook holds more than any spreadsheet program "
        "writes there. The file is damaged or was made to do harm."
    )
    raise SourceError("unsafe_file", message, part=part)


def _feed(
    parser: expat.XMLParserType, chunk: bytes, part: str, *, final: bool = False
) -> None:
    try:
        parser.Parse(chunk, final)
    except (expat.ExpatError, LookupError, ValueError) as error:
        # The two others come from the encoding that the part names.
        message = (
            f"Part '{part}' of the workbook is damaged: {error}. "
            "Get the file again, or open it in Excel and save it."
        )
        raise SourceError("corrupt", message, part=part) from error


def _refuse_dtd(*_: object) -> None:
    message = (
        "The workbook contains a document type (DTD), which no spreadsheet program "
        "writes and which can be used to do harm. Open it in Excel and save it again."
    )
    raise SourceError("unsafe_file", message, reason="DTD/entities")
