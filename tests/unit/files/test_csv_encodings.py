"""Tables in many languages and encodings before Unicode, most with a few letters."""

# ruff: noqa: RUF001 - letters that look like others are what this is about

from __future__ import annotations

import io
import random

import pytest

from batchfx.errors import SourceError, UsageError
from batchfx.files import open as files
from batchfx.files.encodings import Guess, guess_encoding
from batchfx.files.encodings_found import Encoding, find_encoding
from batchfx.files.text import Mark
from batchfx.files.text_foreign import NARROW, is_foreign

CORPUS = {
    "German": (
        "cp1252 iso8859-15 cp850 cp437 mac-roman",
        [
            "Name;Straße;Ort\nMüller;Hauptstr.;Köln",
            "Größe,Farbe\nL,grün",
            "Bob’s Teller – 3 €\nGröße „L“",
            "Schröder;Jörg;Lübeck\nWeiß;Käthe;Würzburg",
        ],
    ),
    "French": (
        "cp1252 iso8859-15 cp850 cp437 mac-roman",
        [
            "Prénom;Ville\nHélène;Orléans\nÉric;Besançon",
            "Libellé;Montant\nLoyer été;12",
            "désignation,quantité\nthéière émaillée,3\ncafé,2",
        ],
    ),
    "Spanish": (
        "cp1252 iso8859-15 cp850 mac-roman",
        [
            "Nombre;Año\nPeña;2020\nMuñoz;2021",
            "descripción;teléfono\nchampú;1\njabón;2",
            "Ciudad\nMálaga\nCórdoba\nLogroño",
        ],
    ),
    "Portuguese": (
        "cp1252 iso8859-15 cp850 mac-roman",
        [
            "Nome;Endereço\nJoão;São Paulo\nInês;Brasília",
            "Descrição;Preço\nPão;3\nMaçã;2",
        ],
    ),
    "Italian": (
        "cp1252 iso8859-15 mac-roman",
        ["città;quantità\nForlì;3\nCefalù;4", "attività;è valida\ncaffè;sì"],
    ),
    "Swedish": (
        "cp1252 iso8859-15 cp850",
        ["Namn;Ort\nÅsa;Malmö\nBjörn;Göteborg\nSöderström;Västerås"],
    ),
    "Danish": (
        "cp1252 cp850",
        ["Navn;By\nSøren;Århus\nKjær;København\nJørgensen;Næstved"],
    ),
    "Icelandic": ("cp1252", ["Nafn\nÞórður\nGuðrún\nSigríður"]),
    "Finnish": ("cp1252", ["Nimi;Kaupunki\nMäkinen;Jyväskylä\nHämäläinen;Hyvinkää"]),
    "Polish": (
        "cp1250 iso8859-2 cp852 mac-latin2",
        [
            "imię;miasto\nŁukasz;Łódź\nMałgorzata;Poznań",
            "nazwa;ilość\nstół;2\nkrzesło;4\nświeca;1",
            "Gdańsk;Kraków;Wrocław",
            "Zażółć gęślą jaźń",
        ],
    ),
    "Czech": (
        "cp1250 iso8859-2 cp852 mac-latin2",
        [
            "Jméno;Město\nJiří;Plzeň\nTomáš;Příbram\nŽaneta;České Budějovice",
            "název;množství\nžidle;2\nstůl;3\nlžíce;1",
        ],
    ),
    "Slovak": (
        "cp1250 iso8859-2",
        ["Meno;Mesto\nĽubica;Žilina\nŠtefan;Košice\nTomáš;Trenčín"],
    ),
    "Hungarian": (
        "cp1250 iso8859-2 cp852",
        [
            "név;város\nGyőr;Pécs\nKőszeg;Szűcs\nLászló;Miskolc",
            "megnevezés;mennyiség\nbögre;2\nszék;4\ntükör;5\nfűző;1",
        ],
    ),
    "Croatian": (
        "cp1250 iso8859-2",
        ["Ime;Grad\nĐorđe;Čakovec\nŽeljka;Šibenik\nIvanić;Poreč"],
    ),
    "Slovenian": (
        "cp1250",
        ["Ime;Mesto\nŽiga;Črnomelj\nUroš;Škofja Loka\nKovač;Domžale"],
    ),
    "Romanian": (
        "cp1250 iso8859-2",
        ["Nume;Oraş\nŞtefan;Timişoara\nIoniţă;Iaşi\nBrânză;Bacău"],
    ),
    "Turkish": (
        "cp1254 cp857",
        [
            "Adı;Şehir\nÖzgür;İstanbul\nAyşe;Eskişehir\nYıldız;Muğla",
            "ürün;miktar\nçay bardağı;3\nşeker;2",
        ],
    ),
    "Lithuanian": (
        "cp1257 iso8859-13 cp775",
        ["Vardas;Miestas\nJonušas;Šiauliai\nGražina;Panevėžys\nŽivilė;Kėdainiai"],
    ),
    "Latvian": (
        "cp1257 iso8859-13",
        ["Vārds;Pilsēta\nJānis;Rīga\nĒriks;Liepāja\nBērziņš;Jūrmala"],
    ),
    "Estonian": (
        "cp1257 iso8859-15",
        ["Nimi;Linn\nTõnu;Pärnu\nÜlle;Võru\nJüri;Põltsamaa"],
    ),
    "Russian": (
        "cp1251 koi8_u cp866 iso8859-5 mac-cyrillic",
        [
            "имя;город\nИван;Москва\nОльга;Казань",
            "Товар;Цена\nЧашка;10\nСтол;20",
            "ФИО\nПЕТРОВ\nСИДОРОВ",
            "Да\nНет",
        ],
    ),
    "Ukrainian": ("cp1251 koi8_u", ["Назва;Місто\nЧашка;Київ\nСтіл;Львів\nЇжа;Харків"]),
    "Bulgarian": (
        "cp1251 iso8859-5",
        ["Име;Град\nИван;София\nДимитър;Пловдив\nГеорги;Бургас"],
    ),
    "Serbian": ("cp1251", ["Име;Град\nЂорђе;Ниш\nЉубица;Чачак\nЖељко;Београд"]),
    "Greek": (
        "cp1253 iso8859-7 cp737",
        ["Όνομα;Πόλη\nΓιώργος;Αθήνα\nΕλένη;Πάτρα", "Προϊόν;Τιμή\nκαφές;3\nψωμί;2"],
    ),
    "Hebrew": ("cp1255 iso8859-8 cp862", ["שם;עיר\nדוד;ירושלים\nרות;חיפה"]),
    "Arabic": ("cp1256 iso8859-6", ["الاسم;المدينة\nمحمد;القاهرة\nفاطمة;الرياض"]),
    "Thai": ("cp874", ["ชื่อ;เมือง\nสมชาย;กรุงเทพ\nสมหญิง;เชียงใหม่"]),
    "Japanese": (
        "cp932 euc_jp",
        [
            "コード,品名\n0101,表示板\n0102,ソフト",
            "氏名,住所\n山田太郎,東京都\n鈴木花子,大阪市",
            "名前\nさくら",
            "ﾔﾏﾀﾞ ﾀﾛｳ,ﾄｳｷﾖｳ\nｽｽﾞｷ ﾊﾅｺ,ｵｵｻｶ",
        ],
    ),
    "Chinese s": (
        "gb18030",
        [
            "商品编码,数量\n华为手机,3",
            "姓名;城市\n王伟;北京\n李娜;上海",
            "名称\n茶杯\n椅子",
        ],
    ),
    "Chinese t": (
        "cp950",
        [
            "商品編號,數量\n茶杯,3\n檯燈,2",
            "姓名;城市\n陳怡君;臺北\n林志明;高雄",
            "名稱\n椅子\n茶杯",
        ],
    ),
    "Korean": (
        "cp949",
        [
            "이름;도시\n김민수;서울\n이영희;부산",
            "상품명,수량\n컵,3\n책상,2",
            "주소\n강남구\n종로구",
            "품번,단가\n의자,100",
        ],
    ),
    "English": (
        "cp1252 mac-roman",
        [
            "Bob’s “Teller”, don’t\nprice £5",
            "name,note\nAnn,it’s fine – really\nBen,café",
            "temp\n20 °C\n30 °C",
        ],
    ),
}

# Too few letters to tell: another encoding is as likely, and it is said so.
UNSURE = {("mac-cyrillic", "Да\nНет"), ("mac-roman", "temp\n20 °C\n30 °C")}


def cases() -> list[tuple[str, str]]:
    """Return each text with each encoding that has its letters."""
    found = []
    for encodings, texts in CORPUS.values():
        for encoding in encodings.split():
            for text in texts:
                raw = text.encode(encoding, "ignore")
                if raw.decode(encoding) == text and not text.isascii():
                    found.append((encoding, text))
    return found


CASES = cases()
NOISE = random.Random(1).randbytes(4_000)  # noqa: S311 - the same each time
NOISE = NOISE.translate(None, bytes(range(32)))


def guess(text: str, encoding: str) -> Guess:
    found = guess_encoding(text.encode(encoding))
    assert found
    return found


def readings(found: Guess, raw: bytes) -> list[str]:
    """Return what the likely encoding reads, and what the others would."""
    names = [found.name, *(each.name for each in found.alternatives)]
    return [raw.decode(name, "replace") for name in names]


@pytest.mark.parametrize(("encoding", "text"), CASES)
def test_a_few_letters_tell_the_encoding_or_that_it_is_not_sure(
    encoding: str, text: str
) -> None:
    found = guess(text, encoding)
    likely, *others = readings(found, text.encode(encoding))

    if (encoding, text) in UNSURE:
        assert found.confidence < 0.8
        assert text in others
    else:
        assert likely == text


def test_vietnamese_has_its_tones_behind_the_letters() -> None:
    text = "Nguyê\u0303n;Ha\u0300 Nô\u0323i\nTrâ\u0300n;Đa\u0300 Nă\u0303ng"

    assert guess(text, "cp1258").name == "cp1258"


def test_many_letters_are_surer_than_few() -> None:
    few, many = guess("Poznań", "cp1250"), guess("Łódź\nPoznań\nŚwięty", "cp1250")

    assert few.name == many.name == "cp1250"
    assert 0.5 <= few.confidence < 0.8
    assert 0.95 < many.confidence <= 1


def test_another_encoding_is_named_with_words_as_both_read_them() -> None:
    first = guess("Poznań", "cp1250").alternatives[0]

    assert (first.name, first.title) == ("cp1252", "Windows-1252")
    assert first.words == (("Poznań", "Poznañ"),)


def test_encodings_that_read_the_same_text_are_no_alternatives() -> None:
    found = guess("Größe\nMüller\nKäthe", "cp1252")

    assert found.name == "cp1252"
    assert not {"cp1250", "cp1254", "iso8859-15"} & {
        each.name for each in found.alternatives
    }


def test_bytes_that_are_no_words_are_in_no_encoding() -> None:
    assert guess_encoding(NOISE) is None


def test_without_letters_there_is_nothing_to_tell_apart() -> None:
    found = guess_encoding(b"")

    assert found
    assert (found.name, found.alternatives) == ("cp1252", ())


def test_a_long_line_is_judged_by_its_beginning() -> None:
    assert guess("编码测试" * 50_000, "gb18030").name == "gb18030"


def found_in(content: bytes) -> Encoding:
    return find_encoding(io.BytesIO(content))


def test_the_first_bytes_that_are_not_utf_8_are_told() -> None:
    found = found_in(b"name,city\r\nAnn,Ulm\r\nBen,K\xf6ln\r\n")

    assert (found.name, found.misfit) == ("cp1252", Mark(25, 3))
    assert "it isn't UTF-8 on line 3 (byte 25)" in found.why
    assert "Köln" in found.why


def test_the_place_counts_what_was_read_before() -> None:
    content = b"plain,row\n" * 300_000 + "é,x\n".encode() + b"K\xf6ln,x\nGr\xfcn,y\n"

    assert found_in(content).misfit == Mark(3_000_005 + 1, 300_002)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"a,b\n", "ASCII alone, 4 bytes"),
        ("ä\n".encode(), "1 character beyond ASCII, all valid"),
        (
            "Zürich\nŁódź\nM".encode() + b"\xe1laga\n",
            (
                "4 characters beyond ASCII are valid, not valid is 1 byte, "
                "first on line 3 (byte 17)"
            ),
        ),
        ("\ufeffa".encode(), "the file begins with its byte-order mark"),
    ],
)
def test_it_is_said_why_a_text_is_utf_8(content: bytes, why: str) -> None:
    assert found_in(content) == Encoding("utf-8", 3 if content[0] == 0xEF else 0)
    assert found_in(content).why == why


def test_a_file_that_is_no_text_is_refused_and_the_place_told() -> None:
    with pytest.raises(SourceError, match="no text in any encoding") as caught:
        found_in(b"a,b\n" + NOISE)

    assert caught.value.code == "encoding"
    assert caught.value.parameters["line"] == 2


def test_a_few_lines_that_are_no_text_do_not_decide() -> None:
    assert found_in(b"a,b\n" * 50 * 60 + NOISE[:500]).name == "utf-8"


@pytest.mark.parametrize("name", ["utf-32-le", "utf-32-be"])
def test_utf_32_without_a_mark_is_guessed_by_its_nuls(name: str) -> None:
    assert found_in("编码;b\r\n1;ä\n".encode(name)) == Encoding(name, guessed=True)


@pytest.mark.parametrize(
    ("given", "nearest"),
    [
        ("windos-1250", "Windows-1250"),
        ("windows1250", "windows-1250"),
        ("utf-9", "utf-8"),
        ("iso-8859-99", "ISO-8859"),
        ("klingon", "utf-8, utf-16 or cp1252"),
    ],
)
def test_an_unknown_encoding_is_refused_with_the_nearest(
    given: str, nearest: str
) -> None:
    with pytest.raises(UsageError, match=f"Try {nearest}"):
        find_encoding(io.BytesIO(b"a"), given)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("cp1252", "Größe Köln Müller Straße Übung"),
        ("cp1250", "Łódź Žluťoučký Příliš Gdańsk"),
        ("cp1251", "Привет Москва Имя"),
        ("shift_jis", "東京都 表示ソース 日本語の名前"),
    ],
)
def test_letters_far_behind_on_a_long_line_are_evidence(name: str, words: str) -> None:
    plain = '{"name":"plain","size":1},' * 10_000
    strange = ",".join(f'{{"name":"{word}"}}' for word in words.split())

    found = find_encoding(io.BytesIO(f"[{plain}{strange}]".encode(name)))

    wanted = {"shift_jis": "cp932"}.get(name, name)
    assert (found.name, found.guess is not None) == (wanted, True)


@pytest.mark.parametrize("given", ["cp037", "utf-7", "idna"])
def test_a_known_encoding_that_is_not_built_upon_ascii_is_refused_plainly(
    given: str,
) -> None:
    with pytest.raises(UsageError) as refused:
        find_encoding(io.BytesIO(b"a"), given)

    assert str(refused.value) == (
        f"The encoding '{given}' can't be read: it isn't built upon ASCII, as those of "
        "text files are. Convert the file to UTF-8."
    )


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp949", "이름,도시\n김민수,서울\n이영희,부산\n"),
        ("cp950", "姓名,城市\n陳怡君,臺北\n林志明,高雄\n"),
        ("euc_jp", "氏名,住所\n山田太郎,東京都\n鈴木花子,大阪市\n"),
        ("koi8_r", "имя,город\nИван,Москва\nОльга,Казань\n"),
    ],
)
def test_a_table_is_read_in_the_encoding_that_was_found(
    encoding: str, text: str
) -> None:
    source = io.BytesIO(text.encode(encoding))

    layout = files.inspect(source)
    (block,) = files.read(source, layout, 10)

    header, *rows = (line.split(",") for line in text.splitlines())
    assert list(layout.header) == header
    assert [list(row[1:3]) for row in block.frame.rows()] == rows
    assert [each.code for each in layout.warnings] == ["guessed_encoding"]


@pytest.mark.parametrize(
    "line",
    [
        "1,Zürich",
        "2,Łódź",
        "3,10 kΩ – 5 €",
        "4,Москва",
        "5,東京",
        "6,STRAßE",
        "\ufeffé",
    ],
)
def test_a_line_of_utf_8_is_known_in_a_text_of_another_encoding(line: str) -> None:
    assert is_foreign(line.encode())


@pytest.mark.parametrize(
    ("encoding", "line"),
    [
        ("cp1252", "CAFÉ™"),
        ("cp1252", "CAFÉ’S"),
        ("cp1252", "SMÅ™"),
        ("cp1250", "Úžina"),
        ("cp1251", "МІ"),
        ("cp1252", "Zürich"),
        ("cp1252", "plain"),
        ("mac-roman", "d’école"),
    ],
)
def test_letters_that_are_utf_8_by_chance_are_left_alone(
    encoding: str, line: str
) -> None:
    assert not is_foreign(line.encode(encoding))


@pytest.mark.parametrize("language", CORPUS)
def test_no_word_of_a_language_is_taken_for_utf_8(language: str) -> None:
    encodings, texts = CORPUS[language]
    words = [word for text in texts for word in text.split()]

    assert not [
        (name, word)
        for name in encodings.split()
        if name in NARROW
        for word in words
        if is_foreign(word.encode(name, "ignore"))
    ]


@pytest.mark.parametrize("broken", [b"\xed\xa0\xbd\xed\xb8\x80", b"\xed\xa0\x80"])
def test_halves_of_a_pair_do_not_speak_for_another_encoding(broken: bytes) -> None:
    few = b"id,city\n1," + broken + b"x\n2,\xc3\x9cber\n3,Z\xc3\xbcrich\n"
    late = b"x,y\n" * 300_000 + broken + b"\n" + "y,Köln\nz,Łódź\n".encode()

    assert found_in(few).name == found_in(late).name == "utf-8"
    assert f"{len(broken)} bytes, first on line 2" in found_in(few).why
    assert found_in(b"a\n" + broken + b"\n").name == "utf-8"


def test_overlong_bytes_do_not_speak_for_another_encoding() -> None:
    assert found_in(b"a,b\n1,\xc0\xafx\n2,\xc0\x80y\n").name == "utf-8"


@pytest.mark.parametrize("language", CORPUS)
def test_words_that_stand_on_every_line_tell_no_more_than_once(language: str) -> None:
    encodings, texts = CORPUS[language]
    for name in encodings.split():
        words = [text.replace("\n", ",").encode(name, "ignore") for text in texts]
        lines = [b"%d,%b" % (row, b",".join(words)) for row in range(200)]

        assert guess_encoding(b"\n".join(lines)) == guess_encoding(lines[0])


def test_a_few_cities_over_and_over_are_no_east_asian_text() -> None:
    lines = [f"{row},Köln “Größe”,{row % 7}" for row in range(500)]
    guess = guess_encoding("\n".join(lines).encode("cp1252"))

    assert guess
    assert (guess.name, guess.words) == ("cp1252", ("Köln", "“Größe”"))
    assert guess.confidence > 0.95


@pytest.mark.parametrize("rows", [1, 100])
def test_escape_sequences_tell_an_encoding_of_japan(rows: int) -> None:
    lines = [("id", "名前"), *((f"{n}", "東京都港区") for n in range(2000))]
    content = "".join(f"{a},{b}\r\n" for a, b in lines).encode("iso2022_jp")
    source = io.BytesIO(content)

    layout = files.inspect(source)
    read = [
        row[1:3]
        for each in files.read(source, layout, rows)
        for row in each.frame.rows()
    ]

    assert (layout.settings["encoding"], layout.warnings) == ("iso2022-jp", ())
    assert (layout.header, read) == (lines[0], lines[1:])


@pytest.mark.parametrize(
    "text",
    [
        "Cœur de bœuf;5 €\nŠkoda Žilina;7 €\n",
        "5 €\nœuvre Š\n",
        "Œufs; bœuf; sœur\n",
        "Crème brûlée;5 €\n",
    ],
)
def test_signs_by_letters_tell_iso_8859_15(text: str) -> None:
    guess = guess_encoding(text.encode("iso8859-15"))

    assert guess is not None
    assert guess.name == "iso8859-15"


@pytest.mark.parametrize(
    "text", ["l´amour d´été\n", "½ kg;1½ l\n", "Rock´n´Roll\n", "½-Zoll Größe\n"]
)
def test_fractions_and_typed_apostrophes_stay_windows_1252(text: str) -> None:
    guess = guess_encoding(text.encode("cp1252"))

    assert guess is not None
    assert guess.name == "cp1252"


@pytest.mark.parametrize("text", ["Škoda\n", "Café;5 €;Žilina\n"])
def test_iso_8859_15_is_named_beside_what_is_likelier(text: str) -> None:
    guess = guess_encoding(text.encode("iso8859-15"))

    assert guess is not None
    assert "iso8859-15" in [each.name for each in guess.alternatives]
