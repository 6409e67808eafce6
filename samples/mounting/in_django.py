"""The imports of a Django application, which runs as ASGI.

    uvicorn samples.mounting.in_django:app

Django hands no part of its paths to another application, so that is done before it.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.asgi import get_asgi_application
from django.http import HttpRequest, JsonResponse
from django.urls import path

import importers  # noqa: F401 - what can be imported
from batchfx.web import create_app
from samples.mounting.signing_in import DATABASE, principal

PREFIX = "/imports"

settings.configure(
    ROOT_URLCONF=__name__,
    SECRET_KEY="of a sample, which keeps no secret",  # noqa: S106 - as it says
    ALLOWED_HOSTS=["127.0.0.1", "localhost"],
)


def read_shop(request: HttpRequest) -> JsonResponse:
    """Return what the shop has of its own."""
    del request
    return JsonResponse({"imports": f"{PREFIX}/"})


urlpatterns = [path("", read_shop)]
django = get_asgi_application()
imports = create_app(DATABASE, authenticate=principal)


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Answer what is below the prefix with the imports, all else with Django."""
    if scope["type"] == "http" and f"{scope['path']}/".startswith(f"{PREFIX}/"):
        below = {**scope, "root_path": scope.get("root_path", "") + PREFIX}
        await imports(below, receive, send)
    else:
        await django(scope, receive, send)
