"""A wrong clock for a whole process: named in its PYTHONPATH, set by a variable.

``BATCHFX_TEST_CLOCK=600`` is ten minutes ahead. A second number has the clock jump by
so many seconds, one second after the process began.
"""

from __future__ import annotations

import os
import time

_SAID = os.environ.get("BATCHFX_TEST_CLOCK")
_real = {name: getattr(time, name) for name in ("time", "time_ns")}
_began = _real["time"]()


def _wrong_time() -> float:
    now: float = _real["time"]()
    ahead, _, jump = (_SAID or "0").partition(",")
    return now + float(ahead) + (float(jump or 0) if now > _began + 1 else 0.0)


def _wrong_time_ns() -> int:
    return int(_wrong_time() * 1e9)


if _SAID is not None:
    for name, wrong in (("time", _wrong_time), ("time_ns", _wrong_time_ns)):
        setattr(time, name, wrong)
