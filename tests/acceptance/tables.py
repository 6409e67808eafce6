"""Importers of tables that other people published, as small as they come."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import AwareDatetime, BaseModel, Field
from sqlalchemy import DateTime
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from batchfx import Column, Invalid, TableImporter

DAY = 24 * 60
Missing = Column(null_tokens=("NA",))


class Base(DeclarativeBase):
    """The tables."""


class Flight(Base):
    """A flight that left New York in 2013."""

    __tablename__ = "flight"
    id: Mapped[int] = mapped_column(primary_key=True)
    dep_time: Mapped[int | None]
    sched_dep_time: Mapped[int]
    dep_delay: Mapped[int | None]
    carrier: Mapped[str]
    flight: Mapped[int]
    tailnum: Mapped[str | None]
    origin: Mapped[str]
    dest: Mapped[str]
    distance: Mapped[int]
    time_hour: Mapped[datetime] = mapped_column(DateTime(timezone=True))


class FlightRow(BaseModel):
    """A flight; times of day are hhmm."""

    dep_time: Annotated[int | None, Field(ge=1, le=2400), Missing]
    sched_dep_time: Annotated[int, Field(ge=0, le=2359)]
    dep_delay: Annotated[int | None, Missing]
    carrier: Annotated[str, Field(pattern=r"^[A-Z0-9]{2}$")]
    flight: Annotated[int, Field(gt=0)]
    tailnum: Annotated[str | None, Missing]
    origin: Annotated[str, Field(pattern=r"^(EWR|JFK|LGA)$")]
    dest: Annotated[str, Field(min_length=3, max_length=3)]
    distance: Annotated[int, Field(ge=50)]
    time_hour: AwareDatetime


class FlightImporter(TableImporter[FlightRow]):
    """Adds every flight."""

    name = "flights"
    model = Flight
    mode = "create"
    create_tables = True

    def check_row(self, row: FlightRow) -> None:
        """Refuse a delay that is not what lies between the two times."""
        if row.dep_time is None or row.dep_delay is None:
            return
        late = minutes(row.dep_time) - minutes(row.sched_dep_time) - row.dep_delay
        if late % DAY:
            raise Invalid("delay_differs", "The delay is not actual minus scheduled.")


def minutes(time: int) -> int:
    """Return hhmm as minutes since midnight."""
    return time // 100 * 60 + time % 100


class Plane(Base):
    """A plane."""

    __tablename__ = "plane"
    tailnum: Mapped[str] = mapped_column(primary_key=True)
    year: Mapped[int | None]
    manufacturer: Mapped[str]
    seats: Mapped[int]
    speed: Mapped[int | None]


class PlaneRow(BaseModel):
    """A plane."""

    tailnum: Annotated[str, Column(unique=True)]
    year: Annotated[int | None, Field(ge=1903), Missing]
    manufacturer: str
    seats: Annotated[int, Field(gt=0)]
    speed: Annotated[int | None, Missing]


class PlaneImporter(TableImporter[PlaneRow]):
    """Adds planes or changes them; the tail number is the key."""

    name = "planes"
    model = Plane
    match_on = "tailnum"
    mode = "upsert"
    create_tables = True


class Weather(Base):
    """The weather of an hour at an airport."""

    __tablename__ = "weather"
    origin: Mapped[str] = mapped_column(primary_key=True)
    time_hour: Mapped[datetime] = mapped_column(DateTime, primary_key=True)
    temp: Mapped[float | None]
    wind_gust: Mapped[float | None]
    precip: Mapped[float]


class WeatherRow(BaseModel):
    """The weather of an hour at an airport."""

    origin: str
    time_hour: Annotated[datetime, Column(format="%Y-%m-%dT%H:%M:%SZ")]
    temp: Annotated[float | None, Missing]
    wind_gust: Annotated[float | None, Missing]
    precip: Annotated[float, Field(ge=0)]


class WeatherImporter(TableImporter[WeatherRow]):
    """Adds hours; airport and hour together are the key."""

    name = "weather"
    model = Weather
    match_on = ("origin", "time_hour")
    mode = "upsert"
    create_tables = True


class NewYorkAirport(Base):
    """An airport that one can fly to from New York."""

    __tablename__ = "ny_airport"
    faa: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    alt: Mapped[int]
    tz: Mapped[int | None]


class NewYorkAirportRow(BaseModel):
    """An airport."""

    faa: Annotated[str, Field(pattern=r"^[A-Z0-9]{3}$"), Column(unique=True)]
    name: Annotated[str, Field(min_length=1)]
    alt: int
    tz: Annotated[int | None, Field(ge=-12, le=14), Missing]


class NewYorkAirportImporter(TableImporter[NewYorkAirportRow]):
    """Adds airports or changes them."""

    name = "ny-airports"
    model = NewYorkAirport
    match_on = "faa"
    mode = "upsert"
    create_tables = True


class Airport(Base):
    """An airport of the world."""

    __tablename__ = "airport"
    icao: Mapped[str] = mapped_column(primary_key=True)
    iata: Mapped[str | None]
    name: Mapped[str]
    city: Mapped[str | None]
    country: Mapped[str]
    elevation: Mapped[float]
    lat: Mapped[float]


class AirportRow(BaseModel):
    """An airport."""

    icao: Annotated[str, Field(pattern=r"^[A-Z0-9]{4}$"), Column(unique=True)]
    iata: Annotated[str | None, Field(pattern=r"^[A-Z]{3}$")] = None
    name: str
    city: str | None = None
    country: Annotated[str, Field(min_length=2, max_length=2)]
    elevation: float
    lat: Annotated[float, Field(ge=-90, le=90)]


class AirportImporter(TableImporter[AirportRow]):
    """Adds airports."""

    name = "airports"
    model = Airport
    match_on = "icao"
    mode = "create"
    create_tables = True
