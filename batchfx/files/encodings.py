"""Which encoding before Unicode a text is written in, and how sure that is.

Every encoding reads every text as something. What it reads is judged as a person would:
are these the letters of a language that is written so, do they stand beside each other
as they do in its words, is there no capital within a word, no sign where a letter
should be? The judgements add up as logarithms of likelihoods, so that a few letters
decide little and many decide much.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from batchfx.files.encodings_letters import LETTERS, PAIRS
from batchfx.files.encodings_table import CANDIDATES, Candidate

ENOUGH = 2_000  # bytes beyond ASCII that decide
SHOWN = 3  # words that show a difference
RIVALS = 2  # encodings that are named beside the likely one
LIKELY = 12.0  # how much less likely a rival may be

WIDE = "\uff9e\uff9f、。・（）「」ー\u3000，："  # noqa: RUF001 - full width

# Likelihoods of a character, as logarithms.
BELIEVABLE, BELIEVABLE_WIDE = -7.5, -10.2  # on the average
UNKNOWN = -8.0  # a letter that the language doesn't have
EVERYDAY = -9.5  # an ideograph or syllable that is one of thousands
RARE = -12.0  # one of tens of thousands
HALF_WIDTH = -4.2  # of Japanese
NO_TEXT = -10.0  # an undefined byte, a control character, a box to be drawn
SIGN = -6.5
PUNCTUATION = {
    **dict.fromkeys("“”‘’„–€°£", -3.0),  # noqa: RUF001 - as they are in texts
    **dict.fromkeys("\xa0«»…§®ºª²³½\xb4", -4.5),
    **dict.fromkeys(WIDE, -4.0),
    "¤": -8.0,  # where ISO-8859-15 has the euro
}
# Fractions and the like, where ISO-8859-15 has œ, Ÿ, Š, š, Ž and ž.
ALONE = "¼½¾¦¨\xb8"
APOSTROPHES = "\u2019\xb4"  # the second of which some keyboards have
# Corrections of it, for how it stands in the word.
SIGN_WITHIN = -5.0
SIGN_BEFORE = -2.5
SIGN_BESIDE = -4.0
WIDE_ALONE = -5.0
LONE_LETTER = -3.0
ODD_CASE = -3.5
MIXED_SCRIPTS = -3.0
PAIR, NO_PAIR = 0.8, -1.2  # letters that often meet, and that rarely do
TAKEN_IN = 2.5  # a byte of ASCII that is the second half of a character

# The standards of East Asia, and the first byte of what they think is used most.
FIRST_PARTS = {"gb2312": 0xD7, "euc_jp": 0xCF, "big5": 0xC6, "euc_kr": 0xC8}
HALF_WIDTH_KANA = re.compile("[\uff66-\uff9d]")
CASELESS = "ßªº"
CLOSING = re.compile(r"[’”–—»…][^\W\d_]")  # noqa: RUF001 - as they are in texts
# Bytes of ASCII that are never a part of a character of several bytes.
BETWEEN = re.compile(rb"[\x00-\x2f\x3a-\x3f]+")
BEYOND_ASCII = re.compile(rb"[\x80-\xff]+")
BEYOND_ASCII_TEXT = re.compile(r"[^\x00-\x7f]+")
WORD = re.compile(r"[^\x00-\x40\x5b-\x60\x7b-\x7f]+")
EAST_ASIAN = ("CJK", "HANGUL", "HIRAGANA", "KATAKANA")


@dataclass(frozen=True, slots=True)
class Alternative:
    """An encoding that would also do, and words as both read them."""

    name: str
    title: str
    words: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Guess:
    """The encoding that is likely, and others that are less so.

    *confidence* is 0.5 when another is as likely, and nearly 1 when none is. *words*
    are some that it was judged by.
    """

    name: str
    title: str
    confidence: float
    words: tuple[str, ...]
    alternatives: tuple[Alternative, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """What an encoding makes of a text, and how likely that is."""

    candidate: Candidate
    words: tuple[str, ...]
    likelihood: float

    @property
    def believable(self) -> bool:
        """True when it may be a text at all."""
        beyond = [each for word in self.words for each in word if not each.isascii()]
        wide = sum(_script(each) == "EAST_ASIAN" for each in beyond)
        least = BELIEVABLE_WIDE * wide + BELIEVABLE * (len(beyond) - wide)
        return self.likelihood >= least


def guess_encoding(evidence: bytes) -> Guess | None:
    """Return the encoding that *evidence* is likely to be in, None if it's in none.

    The evidence is lines in which there is something beyond ASCII. Encodings that read
    all of it as the same text are one.
    """
    lines = list(_deciding(evidence))
    readings = sorted((_read(lines, each) for each in CANDIDATES), key=_unlikeliness)
    best, *others = _distinct(readings, evidence)
    if not best.believable:
        return None
    margin = best.likelihood - max(
        (each.likelihood for each in others), default=-math.inf
    )
    rivals = [each for each in others if best.likelihood - each.likelihood < LIKELY]
    return Guess(
        best.candidate.name,
        best.candidate.title,
        round(1 - math.exp(-margin / 3) / 2, 2),
        best.words[:SHOWN],
        tuple(_alternative(best, each, lines) for each in rivals[:RIVALS]),
    )


def _deciding(evidence: bytes) -> Iterator[bytes]:
    """Yield different parts of lines until there is enough in them.

    A name that stands on every line tells no more than it does once.
    """
    found = 0
    for part in dict.fromkeys(BETWEEN.split(evidence)):
        if found < ENOUGH and not part.isascii():
            found += sum(byte > 0x7F for byte in part)  # noqa: PLR2004 - beyond ASCII
            yield part[:ENOUGH]


def _unlikeliness(reading: Reading) -> float:
    return -reading.likelihood


def _distinct(readings: Sequence[Reading], evidence: bytes) -> list[Reading]:
    """Return the readings without those that read the same as a likelier one."""
    texts = {_decode(evidence, each.candidate): each for each in reversed(readings)}
    return sorted(texts.values(), key=_unlikeliness)


def _alternative(best: Reading, other: Reading, lines: Sequence[bytes]) -> Alternative:
    both = (
        (_words(_decode(line, best.candidate)), _words(_decode(line, other.candidate)))
        for line in lines
    )
    pairs = dict.fromkeys(
        pair for ours, theirs in both for pair in zip(ours, theirs, strict=False)
    )
    words = [(ours, theirs) for ours, theirs in pairs if ours != theirs]
    return Alternative(
        other.candidate.name, other.candidate.title, tuple(words[:SHOWN])
    )


def _decode(raw: bytes, candidate: Candidate) -> str:
    return raw.decode(candidate.name, "replace")


def _words(text: str) -> list[str]:
    return [word for word in WORD.findall(text) if not word.isascii()]


def _read(lines: Sequence[bytes], candidate: Candidate) -> Reading:
    """Judge what *candidate* makes of the lines, by the language that fits best.

    The words may be of several languages; that's less likely than of one.
    """
    texts = [_decode(line, candidate) for line in lines]
    words = tuple(dict.fromkeys(word for text in texts for word in _words(text)))
    choice = math.log(len(candidate.languages))
    fits = [
        [_fit(word, language) for word in words] for language in candidate.languages
    ]
    mixed = sum(max(each) - choice for each in zip(*fits, strict=True))
    odd = sum(map(_oddness, words))
    odd += TAKEN_IN * sum(map(_taken_in, lines, texts))
    likelihood = max(*map(sum, fits), mixed) + odd - candidate.rarity
    return Reading(candidate, words, likelihood)


def _taken_in(raw: bytes, text: str) -> int:
    """Count the ASCII bytes that *text* doesn't have as characters."""
    return len(BEYOND_ASCII.sub(b"", raw)) - len(BEYOND_ASCII_TEXT.sub("", text))


@cache
def _weights(language: str) -> dict[str, float]:
    """Return the likelihood of each of the language's letters, by Zipf's law."""
    letters = LETTERS[language]
    steady = max(len(letters) / 4, 1)
    total = sum(1 / (rank + steady) for rank in range(len(letters)))
    return {
        letter: -math.log((rank + steady) * total)
        for rank, letter in enumerate(letters)
    }


@cache
def _pairs(language: str) -> frozenset[str]:
    return frozenset(PAIRS.get(language, "").split())


def _fit(word: str, language: str) -> float:
    """Tell how likely the letters of *word* are in the language."""
    weights, pairs = _weights(language), _pairs(language)
    letters = [_lower(character) for character in word]
    fit = 0.0
    for letter in letters:
        if not letter.isascii() and letter not in PUNCTUATION:
            fit += weights.get(letter) or _unknown(letter)
    if pairs:
        for left, right in pairwise(["_", *letters, "_"]):
            if left in weights or right in weights:
                fit += PAIR if left + right in pairs else NO_PAIR
    return fit


@cache
def _lower(character: str) -> str:
    lower = character.lower()
    return lower if len(lower) == 1 else character


@cache
def _unknown(character: str) -> float:
    category = unicodedata.category(character)
    if HALF_WIDTH_KANA.match(character):
        return HALF_WIDTH
    if _script(character) == "EAST_ASIAN":
        return EVERYDAY if _is_everyday(character) else RARE
    if category[0] in "LM":
        return UNKNOWN
    drawn = "\u2500" <= character <= "\u25ff"
    return NO_TEXT if category[0] == "C" or drawn or character == "\ufffd" else SIGN


def _is_everyday(character: str) -> bool:
    """Tell whether a standard of East Asia has the character in its first part."""
    for standard, last in FIRST_PARTS.items():
        code = character.encode(standard, "ignore")
        if code and code[0] <= last:
            return True
    return False


@cache
def _script(character: str) -> str:
    """Return the name of the script of a letter, "" if it's none or goes with any."""
    if not character.isalpha() or character in "ªº":
        return ""
    name = unicodedata.name(character, "").split(" ")[0]
    return "EAST_ASIAN" if name.startswith(EAST_ASIAN) else name


def _oddness(word: str) -> float:
    """Tell what speaks against *word* in any language, and count its punctuation."""
    odd = sum(PUNCTUATION.get(character, 0) for character in word)
    odd += SIGN_BEFORE * bool(CLOSING.match(word))
    odd += LONE_LETTER * (len(word) == 1 and _script(word) not in {"", "EAST_ASIAN"})
    odd += WIDE_ALONE * all(character in WIDE for character in word)
    padded = f"  {word} "
    for at in range(2, len(padded) - 1):
        first, before, character, after = list(padded[at - 2 : at + 2])
        if not (character.isascii() and before.isascii()):
            odd += MIXED_SCRIPTS * _mixes(before, character)
            odd += ODD_CASE * _is_oddly_cased(first, before, character)
            odd += SIGN_WITHIN * _is_sign_within(before, character, after)
            odd += SIGN_BESIDE * _is_sign_beside(before, character, after)
    return odd


def _is_oddly_cased(first: str, before: str, character: str) -> bool:
    """Tell whether a capital follows a small letter, or a small letter capitals."""
    if character.isupper():
        return before.islower() and before not in CASELESS
    in_capitals = first.isupper() and before.isupper()
    return in_capitals and character.islower() and character not in CASELESS


def _mixes(left: str, right: str) -> bool:
    scripts = {_script(left), _script(right)} - {""}
    return len(scripts) > 1


def _is_sign_within(before: str, character: str, after: str) -> bool:
    is_sign = not (character.isalpha() or character.isdecimal())
    is_sign &= unicodedata.category(character)[0] != "M"
    return (
        is_sign
        and character not in APOSTROPHES
        and before.isalpha()
        and after.isalpha()
    )


def _is_sign_beside(before: str, character: str, after: str) -> bool:
    """Tell whether a sign that stands alone, or by digits, begins or ends a word."""
    return character in ALONE and before.isalpha() != after.isalpha()
