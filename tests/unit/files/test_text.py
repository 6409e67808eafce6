from __future__ import annotations

import io

import pytest

from batchfx.errors import SourceError, UsageError
from batchfx.files.encodings import guess_encoding
from batchfx.files.encodings_found import Encoding, find_encoding
from batchfx.files.text import (
    ANY,
    LIMIT,
    PIECE,
    UNDECODABLE,
    Mark,
    Piece,
    find_newline,
    find_utf16,
    read_piece,
    read_up_to,
)

START = Mark(0, 1)


def encoding_of(content: bytes, given: str | None = None) -> Encoding:
    return find_encoding(io.BytesIO(content), given)


def piece_of(content: bytes, size: int, encoding: str = "utf-8") -> Piece:
    return read_piece(io.BytesIO(content), encoding, "\n", START, size)


@pytest.mark.parametrize(
    ("mark", "name"),
    [
        (b"\xef\xbb\xbf", "utf-8"),
        (b"\xff\xfe", "utf-16-le"),
        (b"\xfe\xff", "utf-16-be"),
        (b"\xff\xfe\x00\x00", "utf-32-le"),
        (b"\x00\x00\xfe\xff", "utf-32-be"),
    ],
)
def test_a_byte_order_mark_names_the_encoding(mark: bytes, name: str) -> None:
    content = mark + "a;é\n".encode(name)

    assert encoding_of(content) == Encoding(name, len(mark))


@pytest.mark.parametrize("name", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", ["a;b\n1;2\n", "编码,名称\r\n0012,华为手机\r\n"])
def test_utf_16_without_a_mark_is_guessed_by_its_nuls(name: str, text: str) -> None:
    assert encoding_of(text.encode(name)) == Encoding(name, guessed=True)


@pytest.mark.parametrize(
    "content",
    [b"a,b\n1,\x002\n", b"\x01\x00\x02\x00\x03\x00\x04\x00", bytes(20), b"abc\n", b""],
)
def test_some_nuls_do_not_make_utf_16(content: bytes) -> None:
    assert find_utf16(content) is None


def test_ascii_and_utf_8_are_no_guess() -> None:
    assert encoding_of(b"a,b\n") == Encoding("utf-8")
    assert encoding_of("ä,ö\n".encode()) == Encoding("utf-8")


def test_utf_8_with_a_few_bad_bytes_stays_utf_8() -> None:
    content = "Zürich\nŁódź\n".encode() + b"M\xe1laga\n"

    assert encoding_of(content) == Encoding("utf-8")


def test_letters_far_behind_the_start_decide_about_the_encoding() -> None:
    content = b"plain,row\n" * (PIECE // 4) + "Größe\n".encode("cp1252")

    assert encoding_of(content) == Encoding("cp1252", guessed=True)


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "Größe „L“ – 3 €"),  # noqa: RUF001 - what is tested
        ("cp1252", "Bob’s “Teller”, don’t"),  # noqa: RUF001 - what is tested
        ("cp1252", "ÀÉÎÕÜ ça, naïve, año"),
        ("cp932", "コード,品名\n表示板,ソフト\n十|二"),
        ("gb18030", "商品编码,数量\n华为手机,特价"),
        ("cp1251", "имя;город\nИван;Москва"),  # noqa: RUF001 - what is tested
    ],
)
def test_an_encoding_before_unicode_is_guessed_by_its_everyday_letters(
    encoding: str, text: str
) -> None:
    guess = guess_encoding(text.encode(encoding))

    assert guess
    assert guess.name == encoding


@pytest.mark.parametrize(
    ("given", "content", "found"),
    [
        ("latin-1", b"\xe9", Encoding("iso8859-1")),
        ("UTF8", b"a", Encoding("utf-8")),
        ("utf-8-sig", b"\xef\xbb\xbfa", Encoding("utf-8", 3)),
        ("utf-16", b"\xfe\xff\x00a", Encoding("utf-16-be", 2)),
        ("utf-16", b"\x00a\x00,", Encoding("utf-16-be")),
        ("utf-16", b"\x2d\x4e", Encoding("utf-16-le")),
        ("utf_16_be", b"\x00a", Encoding("utf-16-be")),
        ("utf-32", b"a\x00\x00\x00", Encoding("utf-32-le")),
    ],
)
def test_a_given_encoding_is_taken(given: str, content: bytes, found: Encoding) -> None:
    assert encoding_of(content, given) == found


@pytest.mark.parametrize(
    "given",
    ["nonsense", "utf-7", "cp037", "hex", "unicode_escape", "undefined", "idna", "bz2"],
)
def test_an_encoding_in_which_no_table_is_written_is_refused(given: str) -> None:
    with pytest.raises(UsageError, match="can't be read"):
        encoding_of(b"a", given)


@pytest.mark.parametrize(
    ("text", "newline"),
    [
        ("a,b\n1,2\n", "\n"),
        ("a,b\r\n1,2\r\n", "\n"),
        ("a,b\r1,2\r", "\r"),
        ('a,b\r1,"x\ny\nz"\r', "\r"),
        ('a,b\n1,"x\ry\rz"\n', "\n"),
        ("a,b", "\n"),
        ("a,b\n1,x\ry\n", "\n"),
        ("a\n1\r2\n", "\n"),
        ("a,b\n1,2\r3,4\n", ANY),
        ("a;b\r1;2\r3;4\n5;6\r", ANY),
        ("a,b\n\r1,2\n\r", "\n\r"),
        ("a,b\n\r1,2\n", "\n\r"),
        ("a,b\n\r\n1,2\n", "\n"),
        ("a,b\r\n\r\n1,2\r\n", "\n"),
        ('a,b\n"x\ry",2\n"x\ry",3\n', "\n"),
    ],
)
def test_the_line_end_is_found_outside_quotation_marks(text: str, newline: str) -> None:
    assert find_newline(text) == newline


def test_a_piece_ends_at_the_last_line_end_within_its_size() -> None:
    piece = piece_of(b"one\ntwo\nthree\n", 9)

    assert piece.raw == b"one\ntwo\n"
    assert piece.lines() == ["one", "two"]
    assert not piece.last


def test_a_piece_has_one_line_at_least() -> None:
    assert piece_of(b"a long line\nb\n", 3).lines() == ["a long line"]


def test_the_last_piece_takes_what_is_left_but_ctrl_z() -> None:
    piece = piece_of(b"one\r\ntwo\x1a\x1a", 100)

    assert piece.lines() == ["one\r", "two"]
    assert piece.last


def test_utf_16_is_cut_between_characters() -> None:
    # U+0A00 and U+000A: the bytes of a line end stand across two characters.
    content = "a\u0a00\u0100\n\u0a0a\nb".encode("utf-16-le")
    piece = piece_of(content, 13, "utf-16-le")

    assert piece.lines() == ["a\u0a00\u0100", "\u0a0a"]
    assert piece.mark(2, START) == Mark(8, 2)
    assert piece.mark(3, Mark(8, 2)) == Mark(12, 3) == piece.end(3)


def test_bytes_that_are_no_text_become_a_mark_of_their_own() -> None:
    assert piece_of(b"M\xe1laga,\xff\xff\n", 100).text() == (
        f"M{UNDECODABLE}laga,{UNDECODABLE}{UNDECODABLE}\n"
    )


@pytest.mark.parametrize(
    "encoding", ["gb18030", "cp932", "cp949", "cp950", "euc_jp", "utf-8", "cp1252"]
)
def test_a_lone_lead_byte_takes_no_line_end_with_it(encoding: str) -> None:
    content = bytes(range(0x80, 0x100))
    text = b"".join(bytes([each]) + b"\n" for each in content).decode(
        encoding, "batchfx.undecodable"
    )

    assert text.count("\n") == len(content)


@pytest.mark.parametrize("size", [PIECE, 3 * LIMIT])
@pytest.mark.parametrize("end", [b"", b"\n", b"\nx\n"])
def test_a_line_may_be_long_but_not_longer(size: int, end: bytes) -> None:
    def read(length: int) -> Piece:
        source = io.BytesIO(b"first\n" + b"x" * length + end)
        return read_piece(source, "utf-8", "\n", Mark(6, 7), size)

    assert len(read(LIMIT).lines()[0]) == LIMIT
    with pytest.raises(SourceError, match="Line 7 has more than 4,194,304") as caught:
        read(LIMIT + 1)
    assert caught.value.code == "line_too_long"
    assert caught.value.parameters == {"line": 7}


def test_a_file_without_line_ends_is_not_read_to_its_end() -> None:
    source = io.BytesIO(b"x" * (LIMIT * 12))

    with pytest.raises(SourceError, match="Line 1 has more"):
        read_piece(source, "utf-8", "\n", START, PIECE)

    assert source.tell() < LIMIT * 9


class Trickle(io.RawIOBase):
    """A stream that gives three bytes at a time."""

    def __init__(self, content: bytes) -> None:
        self._content = io.BytesIO(content)

    def read(self, size: int = -1) -> bytes:
        return self._content.read(min(size, 3))


def test_a_stream_that_gives_little_at_once_is_read_on() -> None:
    assert read_up_to(Trickle(b"0123456789"), 8) == b"01234567"  # type: ignore[arg-type]
