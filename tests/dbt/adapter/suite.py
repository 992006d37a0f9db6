"""dbt's own classes for incremental models, inherited with the materialization `lakebed`.

Run in dbt's environment by tests/dbt/test_adapter_suite.py. Overridden is what differs, and docs/dbt.md lists it.
"""

from pathlib import Path
from typing import Any

import pytest
from dbt.tests.adapter.basic import files
from dbt.tests.adapter.basic import test_incremental as basic
from dbt.tests.adapter.basic.test_incremental import (
    BaseIncremental,
    BaseIncrementalBadStrategy,
    BaseIncrementalNotSchemaChange,
)
from dbt.tests.adapter.incremental import fixtures
from dbt.tests.adapter.incremental import test_incremental_on_schema_change as on_schema_change
from dbt.tests.adapter.incremental import test_incremental_unique_id as unique_id
from dbt.tests.adapter.incremental.test_incremental_on_schema_change import BaseIncrementalOnSchemaChange
from dbt.tests.adapter.incremental.test_incremental_unique_id import BaseIncrementalUniqueKey
from dbt.tests.util import run_dbt

PACKAGE = Path(__file__).parents[3] / "src" / "lakebed" / "dbt" / "package"


def ours(text: str, *, strategy: str = "delete+insert") -> str:
    """A model of dbt's suite with our materialization. dbt-duckdb's default strategy is delete+insert."""
    more = "" if "incremental_strategy" in text or "unique_key" not in text else f"incremental_strategy='{strategy}', "
    if "unique_key=''" in text or "unique_key=[]" in text:
        more = ""
    for given in ("materialized='incremental'", 'materialized="incremental"'):
        text = text.replace(given, f"{more}lakebed_allow_drop=true, materialized='lakebed'")
    return text.replace("is_incremental()", "lakebed.is_incremental()")


def translated(models: dict[str, Any]) -> dict[str, Any]:
    return {name: translated(one) if isinstance(one, dict) else ours(one) for name, one in models.items()}


@pytest.fixture(scope="class")
def dbt_profile_target(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("lake")
    return {
        "type": "duckdb",
        "path": str(folder / "dev.duckdb"),
        "threads": 4,
        "plugins": [
            {"module": "lakebed.dbt.plugin", "alias": "lakebed", "config": {"workdir": str(folder / ".lakebed")}}
        ],
    }


class WithPackage:
    """A project with our package. The package's hook is one more result, which the suite does not expect."""

    @pytest.fixture(scope="class")
    def packages(self) -> dict[str, Any]:
        return {"packages": [{"local": str(PACKAGE)}]}

    @pytest.fixture(autouse=True)
    def _deps(self, project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        def run_without_hooks(arguments: list[str], expect_pass: bool = True) -> Any:
            done = run_dbt(arguments, expect_pass=expect_pass)
            if hasattr(done, "results") and arguments[0] in ("run", "seed"):
                done.results = [one for one in done.results if one.node.resource_type != "operation"]
            return done

        for module in (basic, on_schema_change, unique_id):
            monkeypatch.setattr(module, "run_dbt", run_without_hooks)
        run_dbt(["deps"])


class TestIncremental(WithPackage, BaseIncremental):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, Any]:
        # It has no unique_key and looks at what is there: an append.
        return {"incremental.sql": ours(files.incremental_sql), "schema.yml": files.schema_base_yml}


class TestNotSchemaChange(WithPackage, BaseIncrementalNotSchemaChange):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, Any]:
        return {"incremental_not_schema_change.sql": ours(files.incremental_not_schema_change_sql)}


class TestBadStrategy(WithPackage, BaseIncrementalBadStrategy):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, Any]:
        return {"incremental.sql": ours(files.incremental_invalid_strategy_sql), "schema.yml": files.schema_base_yml}

    def test_incremental_invalid_strategy(self, project: Any) -> None:
        """Another sentence than dbt's own."""
        run_dbt(["seed"])
        failed = run_dbt(["run"], expect_pass=False)
        assert "has no incremental_strategy 'bad_strategy'" in failed.results[-1].message


class TestOnSchemaChange(WithPackage, BaseIncrementalOnSchemaChange):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, Any]:
        found = {
            name.removeprefix("_MODELS__").lower() + ".sql": text
            for name, text in vars(fixtures).items()
            if name.startswith("_MODELS__")
        }
        return translated({"model_a.sql" if name == "a.sql" else name: text for name, text in found.items()})

    def test_run_incremental_fail_on_schema_change(self, project: Any) -> None:
        """A runtime error, not one of compilation: the columns are known when the model has run."""
        select = "model_a incremental_fail"
        run_dbt(["run", "--select", select])
        failed = run_dbt(["run", "--select", select], expect_pass=False)
        assert "on_schema_change='fail'" in failed.results[-1].message


class TestUniqueKey(WithPackage, BaseIncrementalUniqueKey):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, Any]:
        found = {
            name.removeprefix("models__").removesuffix("_sql").removeprefix("expected__") + ".sql": text
            for name, text in vars(unique_id).items()
            if name.startswith("models__")
        }
        return translated(found)

    def fail_to_build_inc_missing_unique_key_column(self, incremental_model_name: str) -> tuple[Any, str]:
        """The first run refuses it already: keys count from the first row on."""
        run_dbt(["seed", "--select", "seed", "--full-refresh"])
        failed = run_dbt(["run", "--select", incremental_model_name], expect_pass=False).results[-1]
        return failed.status, failed.message
