"""Whether an importer, as it is here, can go on with a batch as that was begun."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import cache
from typing import Any, cast

from batchfx.errors import BatchfxError, MisfitError
from batchfx.importer import Importer
from batchfx.model.notations import Notation
from batchfx.model.versions import KIND, Version
from batchfx.pipeline import decisions
from batchfx.pipeline.plan import FieldPlan, plan_of
from batchfx.store.batches import Batch

# Of a notation, what makes another value of a text. The rest only widens what is read.
MEANINGS = (
    "decimal",
    "thousands",
    "percent",
    "date_order",
    "two_digit_year",
    "zone_for_naive",
)
# Kinds of values that are no texts. Whether a text is an address, say, is a check.
VALUES = decisions.WRITTEN | {"boolean", "duration", "time"}
TEXT = "text"


def version_of(importer: type[Importer[Any]]) -> Version:
    """Return what a batch that *importer* begins depends on.

    Raises:
        DeclarationError: A field of its row model can't work.

    """
    return _version_of(cast("Hashable", importer))


@cache
def _version_of(importer: Any) -> Version:
    plan = plan_of(importer.row_model)
    said = decisions.stated(plan, importer.notation)
    return Version(
        fields={name: _read_as(each, said[name]) for name, each in plan.fields.items()},
        required=[name for name, each in plan.fields.items() if each.required],
        unique=sorted({*importer.unique_together()}),
    )


def versions_of(
    importers: Mapping[str, type[Importer[Any]]],
) -> dict[str, dict[str, Any] | None]:
    """Return the version of each as plain data; None of one that can't work."""
    return {name: _dumped(importer) for name, importer in importers.items()}


def misfit(batch: Batch, version: Version, *, is_anew: bool = False) -> str | None:
    """Return why *version* can't run the batch and what to do, None where it can.

    What the batch was prepared by counts for nothing where a new attempt *is_anew*.
    """
    lacking = version.lacks(batch.mapping)
    before = None if is_anew else Version.load(batch.version)
    reasons = (*lacking, *version.differs(batch.mapping, before))
    if not reasons:
        return None
    number = batch.key.number
    instead = (
        f"cancel it ('batchfx cancel {number}') and import its file with this one"
        if lacking
        else f"begin it anew with this one ('batchfx rerun {number}')"
    )
    return (
        f"The importer '{batch.importer}' is not of the version that batch {number} "
        f"was begun with: {'; '.join(reasons)}. Start a worker with that version, or "
        f"{instead}."
    )


def require_fit(
    batch: Batch, importer: type[Importer[Any]], *, is_anew: bool = False
) -> None:
    """Make sure that *importer* can run the batch.

    Raises:
        MisfitError: It can't; nothing was touched.

    """
    why = misfit(batch, version_of(importer), is_anew=is_anew)
    if why is not None:
        raise MisfitError(why)


def _read_as(field: FieldPlan, said: Notation) -> dict[str, Any]:
    if field.kind not in VALUES:
        return {KIND: TEXT}
    written = said.dump()
    return {KIND: field.kind} | {k: written[k] for k in MEANINGS if k in written}


def _dumped(importer: type[Importer[Any]]) -> dict[str, Any] | None:
    try:
        return version_of(importer).dump()
    except BatchfxError:  # it is told when a batch of it is run
        return None
