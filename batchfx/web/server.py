"""The application run alone, until a signal says to stop."""

from __future__ import annotations

import socket
from types import FrameType

import uvicorn
from fastapi import FastAPI

from batchfx.web.feeds import Feeds

PATIENCE = 5  # seconds for requests that are at work to end


class Server(uvicorn.Server):
    """A server that lets its followers go when it ends, and then returns."""

    def __init__(self, config: uvicorn.Config, feeds: Feeds) -> None:
        super().__init__(config)
        self._feeds = feeds

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End; at once, when it was told before."""
        del sig, frame
        self._feeds.end()
        self.force_exit = self.should_exit
        self.should_exit = True


def serve(app: FastAPI, listener: socket.socket) -> None:
    """Answer requests that come to *listener*, until SIGINT or SIGTERM."""
    config = uvicorn.Config(
        app,
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=PATIENCE,
    )
    Server(config, app.state.site.feeds).run(sockets=[listener])
