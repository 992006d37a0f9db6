"""The API against its own OpenAPI document, with what schemathesis thinks of."""

from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import CHECKS
from schemathesis.schemas import BaseSchema
from tests.ui.test_api import HOST, PORT, SQL, TOKEN

from lakebed.ui.analyses import Sources
from lakebed.ui.api import ENDPOINTS, Endpoint, Explorer
from lakebed.ui.app import make_app


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> BaseSchema:
    folder: Path = tmp_path_factory.mktemp("contract")
    (folder / "a.sql").write_text(SQL)
    explorer = Explorer(Sources((str(folder),), dialect="duckdb", workdir=str(folder / "work")))
    app = make_app(explorer, token=TOKEN, port=PORT)
    headers = {"authorization": f"Bearer {TOKEN}", "host": HOST}
    return schemathesis.openapi.from_asgi("/api/openapi.json", app, headers=headers)


# What a server does with a token that is missing is tested by hand; here every request has it.
LEFT_OUT = {"ignored_auth", "negative_data_rejection", "positive_data_acceptance", "unsupported_method"}


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: endpoint.path)
def test_no_request_makes_it_fail_or_answer_otherwise_than_it_says(described: BaseSchema, endpoint: Endpoint) -> None:
    headers = {"authorization": f"Bearer {TOKEN}", "host": HOST}
    checks = [check for check in CHECKS.get_all() if check.__name__ not in LEFT_OUT]
    seen: list[int] = []

    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(case=described[endpoint.path][endpoint.method].as_strategy())
    def ask(case: schemathesis.Case) -> None:
        seen.append(case.call_and_validate(headers=headers, checks=checks).status_code)

    ask()
    assert seen
