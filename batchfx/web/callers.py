"""Who asks for what: the principal of a request, and the use cases in its scope."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Concatenate, ParamSpec, TypeVar, cast

from fastapi import Depends, Path, Query
from pydantic import StringConstraints
from starlette.requests import Request

from batchfx.errors import IllegalMoveError
from batchfx.execution.reports import report
from batchfx.execution.snapshots import snapshot
from batchfx.model.translation import Language
from batchfx.store.engine import Store
from batchfx.store.schema import BatchKey
from batchfx.web.access import (
    Permission,
    Principal,
    Viewer,
    principal_of,
    require,
)
from batchfx.web.languages import language_of
from batchfx.web.problems import without_commands
from batchfx.web.refusals import NotNowError
from batchfx.web.shapes import BatchShape
from batchfx.web.showing import batch_shape, moves_for
from batchfx.web.site import Site

LARGEST = 2**31 - 1  # number of a batch, and of a row, that the database takes

Given = ParamSpec("Given")
Result = TypeVar("Result")
UseCase = Callable[Concatenate[Store, BatchKey, Given], Result]

Filter = Annotated[str | None, Query(max_length=1_000, pattern=r"^[^\x00]*$")]
Said = Annotated[
    list[Annotated[str, StringConstraints(max_length=10_000, pattern=r"^[^\x00]*$")]],
    Query(
        alias="set",
        max_length=100,
        description="How the file is read, each as `option=value`: `sheet=January`. A "
        "value in quotation marks is text whatever it looks like.",
    ),
]
Number = Annotated[int, Path(ge=1, le=LARGEST, description="Of the batch.")]


def site_of(request: Request) -> Site:
    """Return what the application of *request* has at hand."""
    return cast("Site", request.app.state.site)


@dataclass(frozen=True, slots=True)
class Caller:
    """The principal of one request, and the application that it was sent to."""

    site: Site
    viewer: Viewer

    @property
    def principal(self) -> Principal:
        """Who sent it."""
        return self.viewer.principal

    @property
    def language(self) -> Language:
        """The language in which it is answered."""
        return self.viewer.language

    def key(self, number: int) -> BatchKey:
        """Return the batch of that number in the principal's own tenant."""
        return BatchKey(self.principal.tenant, number)

    async def of_batch(
        self,
        number: int,
        function: UseCase[Given, Result],
        /,
        *arguments: Given.args,
        **named: Given.kwargs,
    ) -> Result:
        """Call a use case about one of the principal's batches.

        Raises:
            NotNowError: The batch is in a state from which that can't be done.

        """
        key = self.key(number)
        try:
            return await self.site.at_store(function, key, *arguments, **named)
        except IllegalMoveError as error:
            raise await self._not_now(key, error) from error

    async def change(
        self,
        number: int,
        function: UseCase[Given, Result],
        /,
        *arguments: Given.args,
        **named: Given.kwargs,
    ) -> Result:
        """Call a use case that changes a batch; let followers and workers look."""
        result = await self.of_batch(number, function, *arguments, **named)
        self.site.feeds.wake(self.key(number))
        await self.site.tell_workers()
        return result

    async def shape(self, number: int) -> BatchShape:
        """Return one of the principal's batches as it is now."""
        found = await self.site.at_store(snapshot, self.key(number))
        return batch_shape(found, self.viewer)

    async def _not_now(self, key: BatchKey, error: IllegalMoveError) -> NotNowError:
        found = await self.site.at_store(report, key)
        return NotNowError(
            without_commands(str(error)),
            state=str(found.batch.state),
            possible=moves_for(found, self.principal),
        )


async def signed_in(request: Request) -> Caller:
    """Return who sent the request, whatever that allows."""
    site = site_of(request)
    principal = await principal_of(request, site.authenticate)
    return Caller(site, Viewer(principal, language_of(request)))


def _allowed(permission: Permission) -> Any:
    async def allowed(caller: Annotated[Caller, Depends(signed_in)]) -> Caller:
        require(caller.principal, permission)
        return caller

    return Depends(allowed)


SignedIn = Annotated[Caller, Depends(signed_in)]
Uploader = Annotated[Caller, _allowed(Permission.UPLOAD)]
Reader = Annotated[Caller, _allowed(Permission.READ)]
Editor = Annotated[Caller, _allowed(Permission.EDIT)]
Runner = Annotated[Caller, _allowed(Permission.RUN)]
Canceller = Annotated[Caller, _allowed(Permission.CANCEL)]
Exporter = Annotated[Caller, _allowed(Permission.EXPORT)]
Administrator = Annotated[Caller, _allowed(Permission.ADMINISTER)]
