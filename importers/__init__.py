"""What this checkout can import; `batchfx types` lists it."""

from __future__ import annotations

from importers.shop import (
    CategoryImporter,
    CustomerImporter,
    OrderImporter,
    ProductImporter,
)

__all__ = [
    "CategoryImporter",
    "CustomerImporter",
    "OrderImporter",
    "ProductImporter",
]
