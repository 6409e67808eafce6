"""The encodings before Unicode that tables are still written in.

Which they are, what people call them, which languages they were made for, and how rare
files in them are; of two that read a text equally well, the first is taken.
"""

from __future__ import annotations

from dataclasses import dataclass

WEST = (
    *("German", "French", "Spanish", "Portuguese", "Italian", "Swedish", "Danish"),
    *("Norwegian", "Finnish", "Dutch", "Icelandic", "Catalan", "Irish"),
    "Estonian",
)
CENTRAL = (
    *("Polish", "Czech", "Slovak", "Hungarian", "Slovenian", "Croatian", "Romanian"),
    "German",
)
SOUTH = ("Turkish", "German", "French")
BALTIC = ("Lithuanian", "Latvian", "Estonian", "Finnish", "German")
EAST = ("Russian", "Ukrainian", "Bulgarian", "Serbian", "Belarusian", "Macedonian")
RUSSIAN = ("Russian", "Bulgarian", "Belarusian")


@dataclass(frozen=True, slots=True)
class Candidate:
    """An encoding that a file may be in.

    *name* is Python's. *rarity* is what speaks against it before the text is seen, in
    the logarithm of a likelihood.
    """

    name: str
    title: str
    languages: tuple[str, ...]
    rarity: float = 0.0


CANDIDATES = (
    Candidate("cp1252", "Windows-1252", WEST),
    Candidate("cp1250", "Windows-1250", CENTRAL, 0.5),
    Candidate("cp1251", "Windows-1251", EAST, 0.5),
    Candidate("cp932", "Shift-JIS", ("Japanese",), 0.5),
    Candidate("gb18030", "GBK", ("Chinese, simplified",), 0.5),
    Candidate("cp950", "Big5", ("Chinese, traditional",), 1.0),
    Candidate("cp949", "EUC-KR", ("Korean",), 1.0),
    Candidate("cp1253", "Windows-1253", ("Greek",), 1.0),
    Candidate("cp1254", "Windows-1254", SOUTH, 1.0),
    Candidate("cp1255", "Windows-1255", ("Hebrew",), 1.0),
    Candidate("cp1256", "Windows-1256", ("Arabic", "Persian"), 1.0),
    Candidate("cp1257", "Windows-1257", BALTIC, 1.0),
    Candidate("cp1258", "Windows-1258", ("Vietnamese",), 1.5),
    Candidate("cp874", "Windows-874", ("Thai",), 1.0),
    Candidate("iso8859-15", "ISO-8859-15", WEST, 1.5),
    Candidate("iso8859-2", "ISO-8859-2", CENTRAL, 1.5),
    Candidate("euc_jp", "EUC-JP", ("Japanese",), 1.5),
    Candidate("koi8_u", "KOI8", EAST, 1.5),
    Candidate("cp850", "DOS 850", WEST, 2.0),
    Candidate("cp852", "DOS 852", CENTRAL, 2.0),
    Candidate("cp866", "DOS 866", RUSSIAN, 2.0),
    Candidate("mac-roman", "Mac Roman", WEST, 2.0),
    Candidate("cp437", "DOS 437", WEST, 2.5),
    Candidate("cp857", "DOS 857", SOUTH, 3.0),
    Candidate("cp775", "DOS 775", BALTIC, 3.0),
    Candidate("cp737", "DOS 737", ("Greek",), 3.0),
    Candidate("cp862", "DOS 862", ("Hebrew",), 3.0),
    Candidate("iso8859-5", "ISO-8859-5", EAST, 2.5),
    Candidate("iso8859-6", "ISO-8859-6", ("Arabic",), 2.5),
    Candidate("iso8859-7", "ISO-8859-7", ("Greek",), 2.0),
    Candidate("iso8859-8", "ISO-8859-8", ("Hebrew",), 2.0),
    Candidate("iso8859-13", "ISO-8859-13", BALTIC, 2.5),
    Candidate("iso8859-4", "ISO-8859-4", BALTIC, 3.0),
    Candidate("iso8859-16", "ISO-8859-16", ("Romanian",), 3.0),
    Candidate("mac-latin2", "Mac Central European", CENTRAL, 3.0),
    Candidate("mac-cyrillic", "Mac Cyrillic", EAST, 3.0),
)

TITLES = {each.name: each.title for each in CANDIDATES}
