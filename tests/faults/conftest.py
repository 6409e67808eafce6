"""What all tests of faults share."""

from __future__ import annotations

import pytest

from batchfx.store import claims


@pytest.fixture(autouse=True)
def _no_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what waits between two tries take no time, in these tests alone."""
    monkeypatch.setattr(claims, "BACKOFF", 0.0)
