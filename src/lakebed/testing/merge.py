"""The conformance suite of merging: an engine and a target inherit it and write a few fixtures.

class TestArrowIntoParquet(MergeConformance):
    engine = "arrow"
    ...
"""

from collections.abc import Sequence
from typing import ClassVar

import pyarrow as pa
import pytest

from lakebed.engines.protocols.engine import EngineName
from lakebed.engines.protocols.merge import MergeEngine, MergeInput
from lakebed.errors import DatasetMergeError
from lakebed.merge_core.oracle import OracleResult, merge_by_row
from lakebed.merge_core.result import MergeResult
from lakebed.merge_core.spec import MergeSpec
from lakebed.table.merge import merge
from lakebed.targets.base import Target
from lakebed.testing.merge_column_scenarios import DEDUPLICATION, SCHEMAS
from lakebed.testing.merge_name_scenarios import NAMES, PARTITIONED_NAMES
from lakebed.testing.merge_scenarios import KEYS, MISSING_AND_EMPTY, PARTITIONS, STRATEGIES, Scenario
from lakebed.testing.rows import difference

SCENARIOS = (*STRATEGIES, *MISSING_AND_EMPTY, *KEYS, *SCHEMAS, *DEDUPLICATION)


class MergeConformance:
    """What every engine promises into every target. Subclasses say how a table is made, read and fingerprinted."""

    engine: ClassVar[EngineName]

    def make_engine(self) -> EngineName | MergeEngine:
        return self.engine

    def make_source(self, table: pa.Table) -> MergeInput:
        """The source as this engine's users hold it."""
        return table

    def create(self, existing: pa.Table | None, partition_by: Sequence[str] = ()) -> Target:
        """A fresh target, holding these rows in more than one piece where it can; None is no table at all."""
        raise NotImplementedError

    def snapshot(self, target: Target) -> object:
        """Everything that a refused merge must leave as it was."""
        raise NotImplementedError

    def read(self, target: Target) -> pa.Table:
        found = target.read()
        return found if isinstance(found, pa.Table) else found.to_table()

    def merge(self, scenario: Scenario, target: Target, *, dry_run: bool = False) -> MergeResult:
        return merge(
            self.make_source(scenario.incoming),
            target,
            keys=scenario.keys,
            strategy=scenario.strategy,
            engine=self.make_engine(),
            dry_run=dry_run,
            **scenario.options,
        )

    @pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
    def test_scenario(self, scenario: Scenario) -> None:
        self.check(scenario)

    @pytest.mark.parametrize("scenario", PARTITIONS, ids=str)
    def test_partitioned_scenario(self, scenario: Scenario) -> None:
        self.check(scenario)

    @pytest.mark.parametrize("scenario", [*NAMES, *PARTITIONED_NAMES], ids=str)
    def test_special_names_are_ordinary(self, scenario: Scenario) -> None:
        self.check(scenario)

    @pytest.mark.parametrize("scenario", STRATEGIES, ids=str)
    def test_merging_twice_is_merging_once(self, scenario: Scenario) -> None:
        target = self.create(scenario.existing)
        self.merge(scenario, target)
        once = self.read(target)
        again = self.merge(scenario, target)
        assert difference(self.read(target), once) is None
        assert again.inserted == again.deleted

    @pytest.mark.parametrize("scenario", STRATEGIES, ids=str)
    def test_a_dry_run_says_the_same_and_touches_nothing(self, scenario: Scenario) -> None:
        target = self.create(scenario.existing)
        before = self.snapshot(target)
        said = self.merge(scenario, target, dry_run=True)
        assert said.dry_run
        assert self.snapshot(target) == before
        done = self.merge(scenario, target)
        assert (said.inserted, said.updated, said.deleted, said.total) == (
            done.inserted,
            done.updated,
            done.deleted,
            done.total,
        )

    def check(self, scenario: Scenario) -> None:
        """Merges, and compares with what the scenario says and with the oracle."""
        target = self.create(scenario.existing, scenario.partition_by)
        oracle = self._oracle(scenario, target)
        if isinstance(oracle, DatasetMergeError):
            self._check_refusal(scenario, target, oracle)
            return
        result = self.merge(scenario, target)
        assert (result.inserted, result.updated, result.deleted) == (oracle.inserted, oracle.updated, oracle.deleted)
        assert (result.before, result.total) == (oracle.before, oracle.total)
        assert result.total == result.before + result.inserted - result.deleted
        assert set(result.added_columns) == set(oracle.added_columns)
        assert (oracle.inserted, oracle.updated, oracle.deleted) == scenario.counts
        state = target.state()
        if scenario.expected is None:
            assert not state.exists
            return
        found = self.read(target)
        assert oracle.table is not None
        assert difference(found, oracle.table) is None
        assert found.num_rows == result.total == state.rows

    def _check_refusal(self, scenario: Scenario, target: Target, oracle: DatasetMergeError) -> None:
        before = self.snapshot(target)
        with pytest.raises(DatasetMergeError) as caught:
            self.merge(scenario, target)
        error = caught.value
        assert error.kind == oracle.kind
        assert self.snapshot(target) == before
        assert error.remedy
        assert error.strategy == scenario.strategy
        if scenario.refusal is None:
            # The target's format cannot express what other formats can; there is no more to compare.
            return
        assert error.kind == scenario.refusal
        assert scenario.column is None or error.column == scenario.column
        assert error.column == oracle.column
        assert error.count == oracle.count
        assert scenario.count is None or error.count == scenario.count
        if scenario.refused_keys:
            assert error.keys == scenario.refused_keys

    def _oracle(self, scenario: Scenario, target: Target) -> OracleResult | DatasetMergeError:
        """What should happen, under the rules of the target's format, and it is what the scenario says."""
        options = {name: value for name, value in scenario.options.items() if name != "use_merge"}
        spec = MergeSpec.of(keys=scenario.keys, strategy=scenario.strategy, **options)
        existing = None if scenario.existing is None else self.read(target)
        try:
            result = merge_by_row(existing, scenario.incoming, spec, rules=target.capabilities.rules)
        except DatasetMergeError as error:
            return error
        if scenario.expected is not None and result.table is not None and self.exact_types:
            assert difference(result.table, scenario.expected) is None
        return result

    # Whether the target's format has every type of the scenarios as it is.
    exact_types: ClassVar[bool] = True
