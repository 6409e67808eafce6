"""The document that describes the API, and that the API is as it describes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import positive_data_acceptance

from batchfx.store.engine import open_store
from batchfx.web import LocalToken, Principal, stream
from tests.web.site import Site, site_on

EXAMPLES = (
    8  # of each operation, of requests that should do and of those that shouldn't
)
TOKEN = "the token of a test"  # noqa: S105 - as it says
LET_IN = {"Authorization": f"Bearer {TOKEN}"}
# What is right in form may still be no row, no verdict or no field of the batch.
UNFITTING: list[Any] = [positive_data_acceptance]
MODES = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)


@pytest.fixture(scope="module")
def operations(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Any]]:
    """What the document describes, with an application and some batches behind it."""
    store = open_store(f"sqlite:///{tmp_path_factory.mktemp('api') / 'api.db'}")
    site = site_on(store, authenticate=LocalToken(Principal("acme", "ann"), TOKEN))
    site.let_in = LET_IN
    site.upload()  # a draft
    site.done(dry_run=True)
    site.done()
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", site.app)
    yield [found.ok() for found in schema.get_all_operations() if isinstance(found, Ok)]
    store.close()


@pytest.mark.parametrize("mode", MODES)
def test_nothing_is_answered_that_is_not_described(
    operations: list[Any], mode: GenerationMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "LONGEST", 0.0)
    for operation in operations:
        asked = operation.as_strategy(generation_mode=mode)

        @given(case=asked)
        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def ask(case: schemathesis.Case[Any]) -> None:
            case.call_and_validate(headers=LET_IN, excluded_checks=UNFITTING)

        with contextlib.suppress(Unsatisfiable):  # nothing about it could be wrong
            ask()


def test_every_operation_describes_its_problems(here: Site) -> None:
    document = here.get("/api/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert "servers" not in document
    problem = {
        "application/problem+json": {
            "schema": {"$ref": "#/components/schemas/ProblemShape"}
        }
    }
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            described = operation["responses"]
            assert {"401", "403", "422", "500", "503"} <= set(described), (path, method)
            for status, answer in described.items():
                if int(status) >= 400:
                    assert answer["content"] == problem
    names = document["components"]["schemas"]
    assert {"BatchShape", "DraftShape", "ProblemShape", "RerunBody"} <= set(names)
