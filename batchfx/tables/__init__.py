"""Rows as records of one table, written as sets."""

from __future__ import annotations

from batchfx.tables.deciding import write_rows
from batchfx.tables.declaration import TableImporter
from batchfx.tables.presence import require_tables

__all__ = ["TableImporter", "require_tables", "write_rows"]
