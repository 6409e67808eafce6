"""Lines between and below the records of a table that are none: totals, notes, rulers.

They are known by their words and by how much of the table they leave empty. A name may
be such a word, so a record is one as soon as half of its cells are filled.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# What leaves a cell blank: white space, and characters that nobody can see.
BLANKS = (
    " \t\n\r\x0b\x0c\xa0\u1680"
    + "".join(map(chr, range(0x2000, 0x200C)))
    + "\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"
)

TOTALS = (
    *("total", "totals", "grand total", "subtotal", "sub-total", "sum", "summe"),
    *("gesamt", "gesamtsumme", "endsumme", "zwischensumme", "insgesamt", "somme"),
    *("total general", "total général", "sous-total", "suma", "suma total", "totale"),
    *("totaal", "subtotaal", "eindtotaal", "total geral", "subtotale", "i alt"),
    *("totalt", "summa", "yhteensä", "razem", "łącznie", "celkem", "spolu"),
    *("összesen", "ukupno", "skupaj", "toplam", "genel toplam", "итого", "всего"),
    *("усього", "общо", "合计", "合計", "总计", "總計", "総計", "小计", "小計"),
    *("합계", "총계", "소계", "총합계", "汇总", "集計", "gesamtergebnis"),
    *("teilergebnis", "zwischenergebnis", "jumlah total", "कुल योग", "รวมทั้งหมด"),
    *("ยอดรวม", "tổng cộng", "المجموع", "الإجمالي", "اجمالي", "جمع کل", "σύνολο"),
    *("γενικό σύνολο", "μερικό σύνολο", 'סה"כ', "סה״כ", "סך הכל", "סך הכול"),
    *("общий итог", "промежуточный итог", "загалом", "всичко", "укупно", "skupno"),
    *("sveukupno", "celkový součet", "mezisoučet", "medzisúčet", "végösszeg"),
    *("részösszeg", "vahesumma", "pavisam", "iš viso", "suma końcowa", "ogółem"),
    *("suma częściowa", "totale complessivo", "total global", "totalsum", "delsumma"),
    *("kaikki yhteensä", "välisumma", "hovedtotal", "ara toplam", "gjithsej"),
)

# Words that begin a note, and words that do so before a number or a colon.
REMARKS = (
    *("generated", "exported", "created", "printed", "erstellt", "erzeugt", "gedruckt"),
    *("exportiert", "généré", "exporté", "imprimé", "generado", "exportado"),
    *("disclaimer", "confidential", "vertraulich", "copyright", "©", "(c)", "*"),
    *("end of", "ende der", "ende des", "fin de"),
)
LABELS = (
    *("note", "notes", "nota", "notas", "notiz", "hinweis", "anmerkung", "bemerkung"),
    *("remark", "remarks", "remarque", "source", "sources", "quelle", "fuente"),
    *("fonte", "stand", "page", "seite", "página", "pagina", "strona", "sida", "side"),
)

CURRENCIES = (
    *("eur", "usd", "gbp", "chf", "jpy", "cny", "pln", "czk", "huf", "sek", "nok"),
    *("dkk", "ron", "rub", "try", "inr", "brl", "mxn", "aud", "cad", "kr", "kč"),
    *("zł", "ft"),
)

SPARSE = 3  # columns that a table must have for a line to be sparse in it

TOTAL = re.compile(
    rf"(?:{'|'.join(map(re.escape, TOTALS))})"
    r"\s*(?:\(.*\)|\[.*\]|"
    rf"{'|'.join(CURRENCIES)}|[€$£¥]|[0-9]{4})?\s*:?"
)
NOTE = re.compile(
    rf"(?:(?:{'|'.join(map(re.escape, REMARKS))})(?!\w)\s*\S"
    rf"|(?:{'|'.join(LABELS)})\s*[:0-9])"
)
RULER = re.compile(r"[-=_+:*~]{3,}")

# For the fast way: what may be one of them, in the first cell that is filled.
WORDS = "|".join(map(re.escape, (*TOTALS, *REMARKS, *LABELS)))
MAYBE = rf"^[{{blanks}}]*(?i:{WORDS})|:[{{blanks}}]*$"
MAYBE_RULER = r"^[{blanks}]*[-=_+:*~]{{3}}"


def is_total(cells: Sequence[str], width: int) -> bool:
    """Tell whether a record is a line of totals, a note or a ruler.

    Totals begin with a word for it, or with a word and a colon, and leave more than
    half of three columns or more empty; what else such a word has beside it are
    numbers. Notes have one cell. A ruler has nothing but strokes.
    """
    filled = [cell for cell in cells if cell]
    if is_ruler(filled, width):
        return True
    if width < SPARSE or not filled or 2 * len(filled) >= width:
        return False
    label = filled[0].strip(BLANKS)
    if label.endswith(":"):
        return True
    if TOTAL.fullmatch(label.casefold()):
        return all(any(map(str.isdigit, cell)) for cell in filled[1:])
    return len(filled) == 1 and NOTE.match(label.casefold()) is not None


def is_ruler(filled: Sequence[str], width: int) -> bool:
    """Tell whether all cells of a record of several are strokes."""
    strokes = (RULER.fullmatch(cell.strip(BLANKS)) for cell in filled)
    return len(filled) == width > 1 and all(strokes)
