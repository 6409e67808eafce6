"""The console script, run as a process in a folder with a small application."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCRIPT = Path(sys.executable).with_name("batchfx")

APPLICATION = '''
from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from batchfx import Column, Importer, TableImporter


class Base(DeclarativeBase):
    pass


class Person(Base):
    __tablename__ = "person"
    id: Mapped[int] = mapped_column(primary_key=True)
    code: Mapped[str] = mapped_column(unique=True)
    name: Mapped[str]
    age: Mapped[int | None]


class PersonRow(BaseModel):
    code: Annotated[
        str, Field(max_length=8), Column("Code", unique=True, example="007")
    ]
    name: Annotated[str, Field(max_length=20), Column("Name", example="Zoë")]
    age: Annotated[int | None, Field(ge=0, le=150), Column("Age")] = None


class People(TableImporter[PersonRow]):
    """People by their code."""

    name = "people"
    model = Person
    match_on = "code"
    mode = "upsert"
    create_tables = True


class Noisy(Importer[PersonRow]):
    """Prints, waits where a row says so, and divides by the age."""

    chunk_size = 2

    def check_row(self, row):
        if row.name == "Wait":
            Path("waiting").touch()
            time.sleep(float(os.environ["PAUSE"]))

    def process(self, row, context):
        print("noise from the application")
        return f"{row.code}/{100 // row.age}"
'''

GOOD = "Code,Name,Age\n1,Ann,30\n2,Bob,40\n3,Cid,50\n"
FAULTY = "Code,Name,Age\n1,Ann,30\n2,Bob,x\n3,Cid,500\n1,Dan,60\n"


@dataclass(frozen=True)
class Ran:
    """How a process ended and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it wrote on standard output, which is JSON and nothing else."""
        return json.loads(self.out)


@dataclass(frozen=True)
class Shell:
    """A folder in which `batchfx` is run, with the application in app.py."""

    folder: Path

    def run(self, *arguments: str, **environment: str) -> Ran:
        """Run the console script to its end."""
        with self.start(*arguments, **environment) as process:
            out, err = process.communicate(timeout=60)
        return Ran(process.returncode, out, err)

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """Start the console script."""
        return subprocess.Popen(
            [SCRIPT, *arguments],
            cwd=self.folder,
            env=self.environment(**environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )

    def environment(self, **others: str) -> dict[str, str]:
        """Return the environment, in which the application is named."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith("BATCHFX_")}
        for name in ("COLUMNS", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"):
            kept.pop(name, None)
        return {**kept, "PATH": os.defpath, "BATCHFX_IMPORTERS": "app", **others}

    def write(self, name: str, content: str | bytes) -> Path:
        """Write a file into the folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """Ask the default database."""
        with closing(sqlite3.connect(self.folder / "batchfx.db")) as connection:
            return connection.execute(statement).fetchall()

    def execute(self, statement: str) -> None:
        """Change the default database."""
        with closing(sqlite3.connect(self.folder / "batchfx.db")) as connection:
            connection.execute(statement)
            connection.commit()

    @property
    def batches(self) -> int:
        """How many batches there are; none without a database."""
        if not (self.folder / "batchfx.db").exists():
            return 0
        return int(self.query("SELECT count(*) FROM batchfx_batch")[0][0])


def shell_in(folder: Path) -> Shell:
    """Return a shell in *folder*, with the application and two files to import."""
    shell = Shell(folder)
    shell.write("app.py", APPLICATION)
    shell.write("good.csv", GOOD)
    shell.write("faulty.csv", FAULTY)
    return shell
