"""A hint to workers, from the commands that leave work to them."""

from __future__ import annotations

import os

from batchfx.cli.screen import Screen
from batchfx.errors import UsageError

REDIS = "BATCHFX_REDIS_URL"


def hint(screen: Screen) -> None:
    """Hint at work that was just committed, if there is a Redis to do it with.

    What goes wrong is no fault of the command: workers find the work by themselves.
    """
    url = os.environ.get(REDIS)
    if not url:
        return
    try:
        from batchfx.execution.hints import Hints  # noqa: PLC0415 - needs the extra

        hints = Hints(url)
    except ModuleNotFoundError as error:
        screen.say(f"Workers were given no hint: {error.name} isn't installed.", "dim")
    except UsageError as error:
        screen.say(f"Workers were given no hint: {error}", "dim")
    else:
        hints.send()
        hints.close()
