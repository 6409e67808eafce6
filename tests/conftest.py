"""What all tests share: how hard Hypothesis tries.

``default`` is repeatable where it decides about a change (CI); elsewhere each run tries
other examples. ``--hypothesis-profile=long`` looks much further.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("default", deadline=None, derandomize="CI" in os.environ)
settings.register_profile("long", deadline=None, max_examples=5_000)
settings.load_profile("default")
