"""What all tests of faults share."""

from __future__ import annotations

import pytest

from batchfx.store import claims


@pytest.fixture(autouse=True)
def _usual_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the tests of other folders the usual wait back, which these take away."""
    monkeypatch.setattr(claims, "BACKOFF", claims.BACKOFF)
