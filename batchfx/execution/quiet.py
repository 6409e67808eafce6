"""What libraries log of a connection that broke: said already, and with tracebacks."""

from __future__ import annotations

import logging

TALKATIVE = ("sqlalchemy.pool", "psycopg")


def silence_libraries() -> None:
    """Log nothing of what libraries say of connections; the framework says it itself.

    A level that somebody has set stays.
    """
    for name in TALKATIVE:
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.CRITICAL + 1)
