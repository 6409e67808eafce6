"""Kill switches: rows that every claim and every renewal reads."""

from __future__ import annotations

from enum import StrEnum


class SwitchScope(StrEnum):
    """What a switch turns off."""

    ALL = "all"  # everything
    TENANT = "tenant"
    IMPORTER = "importer"
    EFFECT = "effect"
