"""Sows the fault that BATCHFX_TEST_SEED names, in whatever process has this folder."""

from __future__ import annotations

import os

if "BATCHFX_TEST_SEED" in os.environ:
    from tests.faults.seeds import sow

    sow(os.environ["BATCHFX_TEST_SEED"])
