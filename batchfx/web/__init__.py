"""The web's face of the use cases: an application to mount, an API and a page."""

from __future__ import annotations

from batchfx.web.access import Permission, Principal
from batchfx.web.app import create_app
from batchfx.web.tokens import LocalToken

__all__ = ["LocalToken", "Permission", "Principal", "create_app"]
