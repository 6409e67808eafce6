"""How one message is said in another language."""

from __future__ import annotations

import pytest

from batchfx.model.issues import Issue, Phase
from batchfx.model.translation import (
    Language,
    message_in,
    number_in,
    phrase_in,
    translated,
    words_in,
)

ITALIAN, GERMAN = Language.ITALIAN, Language.GERMAN


def told(language: Language, code: str, message: str, **parameters: object) -> str:
    return message_in(language, code, message, parameters)


def test_values_stay_as_they_are_and_counts_are_written_as_the_language_does() -> None:
    message = (
        "The records have more than 16,384 cells, which no table of records has. "
        "Perhaps rows and columns are the wrong way round."
    )
    assert told(GERMAN, "too_many_columns", message, limit=16_384) == (
        "Die Datensätze haben mehr als 16.384 Zellen, das hat keine Tabelle. "
        "Vielleicht sind Zeilen und Spalten vertauscht."
    )
    assert told(ITALIAN, "greater_than", "Input should be greater than 1,000.5") == (
        "Il valore deve essere maggiore di 1,000.5"
    )


def test_one_and_many_are_told_apart() -> None:
    def said(count: int) -> str:
        message = (
            f"In the column Day the years of {count} dates have two digits. State "
            "which years are meant, such as --set two_digit_year=1930 or --set "
            'two_digit_year="not after today"'
        )
        return told(GERMAN, "two_digit_year", message).partition(".")[0]

    assert said(1) == ("In der Spalte Day hat 1 Datumsangabe ein zweistelliges Jahr")
    assert said(2) == ("In der Spalte Day haben 2 Datumsangaben ein zweistelliges Jahr")


def test_a_message_of_several_parts_is_translated_part_by_part() -> None:
    message = (
        "Numbers in 'Price' are written in two ways: 1 value such as '1.5' with a "
        "decimal point, 1,200 values such as '2,5' with a decimal comma, and 3 values "
        "are refused. Say which it is with --set decimal=. or --set decimal=, on "
        "import."
    )
    assert told(ITALIAN, "ambiguous_number", message) == (
        "I numeri in 'Price' sono scritti in due modi: 1 valore come '1.5' con il "
        "punto decimale, 1.200 valori come '2,5' con la virgola decimale, e 3 valori "
        "sono rifiutati. Indicare quale vale all'importazione: --set decimal=. o "
        "--set decimal=,"
    )
    assert told(
        GERMAN,
        "ambiguous_date",
        "The date can be 3 April 2026 or 4 March 2026. State "
        "the order, such as --set date_order=dmy, or write YYYY-MM-DD",
    ) == (
        "Das Datum kann 3. April 2026 oder 4. März 2026 sein. Geben Sie die "
        "Reihenfolge an, zum Beispiel --set date_order=dmy, oder schreiben Sie "
        "JJJJ-MM-TT"
    )


def test_the_parameters_say_where_a_value_ends_that_has_the_words_around_it() -> None:
    table, owner = "a has this b", "7"
    message = f"Another record in {table} has this Code: {owner}."
    guessed = told(GERMAN, "unique_violation", message)
    sure = told(GERMAN, "unique_violation", message, table=table)

    assert guessed == (
        "Diesen Wert für b has this Code hat in a schon ein anderer Datensatz: 7."
    )
    assert sure == (
        "Diesen Wert für Code hat in a has this b schon ein anderer Datensatz: 7."
    )


def test_a_value_that_looks_like_a_template_is_no_template() -> None:
    message = "'{reason}{0}\\1' can't be read: No such device."
    assert told(GERMAN, "unreadable_file", message) == (
        "'{reason}{0}\\1' kann nicht gelesen werden: No such device."
    )


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("vip_needs_credit", "VIP needs a credit limit of 1000 or more."),
        ("missing", "Please tell us who you are."),  # the application's own words
        ("exception", "KeyError: 'x' (app.py, line 3, in process)"),
        ("invalid_json", "This line is no JSON from column 2 on: somebody sat on it."),
    ],
)
def test_what_no_catalogue_has_stays_english(code: str, message: str) -> None:
    assert told(GERMAN, code, message) == message


def test_english_is_left_alone() -> None:
    issue = Issue("missing", "Field required", Phase.RULE)
    assert translated(issue, Language.ENGLISH) == "Field required"
    assert translated(issue, ITALIAN) == "Campo obbligatorio"
    assert words_in(Language.ENGLISH, "There are no rows.") == "There are no rows."
    assert phrase_in(Language.ENGLISH, "event", "staged") == "staged"


def test_a_message_of_any_length_is_answered_at_once() -> None:
    message = "'" + "a' for b, " * 390 + "."
    long = "No column is left for " + message
    assert told(GERMAN, "missing_column", long) == long
    assert told(GERMAN, "missing_column", long * 100) == long * 100


def test_words_and_phrases_of_the_command_line() -> None:
    assert words_in(GERMAN, "Batch 3 is complete. All 1,200 rows ended well.") == (
        "Batch 3 ist abgeschlossen. Alle 1.200 Zeilen sind erfolgreich abgeschlossen."
    )
    assert words_in(ITALIAN, " in 1.5 s, 12,000 rows/s") == " in 1,5 s, 12.000 righe/s"
    assert words_in(ITALIAN, "whatever") == "whatever"
    assert phrase_in(ITALIAN, "batch_state", "failed") == "fallito"
    assert number_in(GERMAN, 1_234_567) == "1.234.567"
    assert number_in(Language.ENGLISH, 1_234_567) == "1,234,567"
