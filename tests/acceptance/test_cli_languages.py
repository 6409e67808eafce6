from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.shell import Shell, shell_in

LOCALES = {"LC_ALL": "", "LC_MESSAGES": "", "LANG": "C.UTF-8", "LANGUAGE": ""}

REPEATED_DE = (
    "Diesen Wert für Code hat schon Zeile 2; jeder darf nur einmal in der Datei stehen."
)
REPEATED_IT = (
    "La riga 2 ha già questo valore di Code; ognuno può esserci una volta sola nel "
    "file."
)


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """A database with a batch that was imported in German."""
    shell = shell_in(tmp_path_factory.mktemp("languages"))
    ran = shell.run("import", "people", "faulty.csv", "--language", "de", **LOCALES)
    shell.write("imported.txt", ran.out)
    assert ran.code == 3
    return shell


def in_words(text: str) -> list[str]:
    """The lines with something in them, blanks made one."""
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def test_an_import_tells_in_german_what_became_of_the_rows(shell: Shell) -> None:
    told = in_words((shell.folder / "imported.txt").read_text("utf-8"))

    assert told[0] == "faulty.csv wird als people importiert, Batch 1"
    assert told[1] == f"Datenbank: {shell.folder / 'batchfx.db'}"
    assert told[2] == (
        "Batch 1 ist abgeschlossen. 3 von 4 Zeilen brauchen Ihre Aufmerksamkeit."
    )
    assert told[3:5] == ["1 angelegt", "3 ungültig"]
    assert told[6:-1] == [
        "Zeilen Feld Problem",
        "1 Age Schreiben Sie eine ganze Zahl nur in Ziffern, zum Beispiel 1200",
        "Zeile 3: x · int_parsing",
        "1 Age Der Wert darf höchstens 150 sein",
        "Zeile 4: 500 · less_than_equal",
        f"1 Code {REPEATED_DE}",
        "Zeile 5 · duplicate_in_file",
        "Korrigieren Sie diese Zeilen in einer Kopie der Datei, dann:",
    ]
    assert told[-1].endswith("batchfx rerun 1 CORRECTED-FILE")


def test_the_locale_decides_where_no_option_does(shell: Shell) -> None:
    ran = shell.run("rows", "1", **{**LOCALES, "LANG": "it_IT.UTF-8"})

    assert ran.code == 0
    assert in_words(ran.out)[1:] == [
        "Riga Esito Record o problema",
        "2 creata 1",
        "3 non valida Age 'x': Scrivere un numero intero, solo cifre, per esempio 1200",
        "4 non valida Age '500': Il valore deve essere minore o uguale a 150",
        f"5 non valida Code: {REPEATED_IT}",
    ]


def test_the_option_may_stand_before_the_command(shell: Shell) -> None:
    ran = shell.run("--language", "it", "status", "1", **LOCALES)

    assert in_words(ran.out)[1] == (
        "Batch 1 è completo. 3 di 4 righe richiedono attenzione."
    )
    assert "Importatore people" in in_words(ran.out)


def test_json_is_the_same_in_every_language(shell: Shell) -> None:
    english = shell.run("issues", "1", "--json", **LOCALES)
    german = shell.run("issues", "1", "--json", "--language", "de", **LOCALES)

    assert german.out == english.out
    assert german.json[1]["message"] == "Input should be less than or equal to 150"


def test_a_language_that_is_not_spoken_is_refused(shell: Shell) -> None:
    of_option = shell.run("status", "--language", "fr", **LOCALES)
    of_environment = shell.run("status", **{**LOCALES, "BATCHFX_LANGUAGE": "fr"})

    assert of_option.code == 2
    assert "'fr' is not one of 'en', 'it', 'de'" in of_option.err
    assert of_environment.code == 2
    assert of_environment.err == (
        "Error: BATCHFX_LANGUAGE is 'fr', which isn't spoken. Set it to: en, it, de.\n"
    )


def test_inspect_tells_in_italian_what_it_found_and_why(shell: Shell) -> None:
    shell.write("euro.csv", "name;price\nZoë;1,50\nBob;2\n".encode("cp1252"))
    ran = shell.run("inspect", "euro.csv", "--language", "it", **LOCALES)

    told = in_words(ran.out)
    assert told[0] == "euro.csv è un file di testo con separatori (CSV)."
    assert ("Intestazione riga 1: è la prima che può nominare le colonne") in told
    assert "Separatore ';': con questo 3 delle prime 3 righe hanno 2 celle" in told
    assert (
        "Avviso: Il file non dice come sono codificate le lettere. È stato letto come "
        "Windows-1252, ma è una supposizione: controllare accenti e segni. Sicurezza "
        "86%: con Windows-1257 ciò che ora è 'Zoë' sarebbe 'Zoė'. Se è giusto così, "
        "impostare la codifica cp1257."
    ) in told
    assert "Colonna Sembra Primo valore Note" in told
    assert "Il file ha 2 righe." in told


def test_check_tells_in_german_what_is_wrong_and_what_to_do(shell: Shell) -> None:
    ran = shell.run(
        *("check", "faulty.csv", "--columns", "Age:integer", "--language", "de"),
        **LOCALES,
    )

    told = in_words(ran.out)
    assert ran.code == 3
    assert "3 in Ordnung" in told
    assert "1 fehlerhaft" in told
    assert "4 Zeilen" in told
    assert told[-2:] == [
        "Korrigieren Sie diese Zeilen in der Datei und prüfen Sie sie noch einmal.",
        "Sind sie richtig, geben Sie an, wie sie zu lesen sind: --set SCHLÜSSEL=WERT.",
    ]


def test_a_file_that_cant_be_read_is_told_of_in_the_language(
    shell: Shell, tmp_path: Path
) -> None:
    missing = tmp_path / "none.csv"
    command = ["import", "people", str(missing), "--language", "de"]
    ran = shell.run(*command, **LOCALES)

    assert ran.code == 1
    assert ran.err == (
        f"Fehler: Die Datei '{missing}' gibt es nicht. Prüfen Sie den Namen und den "
        "Ordner.\n"
    )
    error = shell.run(*command, "--json", **LOCALES).json["error"]
    assert error["code"] == "no_such_file"
    assert error["message"] == (
        f"There is no file '{missing}'. Check the name and the folder."
    )


def test_a_batch_that_failed_says_why_in_the_language(shell: Shell) -> None:
    shell.write("empty.csv", "Code,Name,Age\n")
    ran = shell.run("import", "people", "empty.csv", "--language", "it", **LOCALES)

    assert ran.code == 1
    assert ran.err == (
        "Errore: Il file ha un'intestazione ma nessuna riga sotto: non c'è nulla da "
        "importare.\n"
    )


def test_what_has_happened_is_told_in_the_language(shell: Shell) -> None:
    ran = shell.run("watch", "1", "--language", "de", **LOCALES)

    last = in_words(ran.out)[-1]
    assert last.split(maxsplit=2)[2].startswith("abgeschlossen: 100 %, 4 von 4 Zeilen")
    assert last.endswith("1 angelegt, 3 ungültig")
