"""The oracle gives what every scenario says, in rows, counts and refusals: engines are measured against it."""

import pytest

from lakebed.errors import DatasetMergeError
from lakebed.merge_core.oracle import merge_by_row
from lakebed.merge_core.spec import MergeSpec
from lakebed.targets.parquet.target import RULES
from lakebed.testing.merge import SCENARIOS
from lakebed.testing.merge_name_scenarios import NAMES
from lakebed.testing.merge_scenarios import PARTITIONS, Scenario
from lakebed.testing.rows import difference, rows


@pytest.mark.parametrize("scenario", [*SCENARIOS, *PARTITIONS, *NAMES], ids=str)
def test_scenario(scenario: Scenario) -> None:
    options = {name: value for name, value in scenario.options.items() if name != "use_merge"}
    spec = MergeSpec.of(keys=scenario.keys, strategy=scenario.strategy, **options)
    if scenario.refusal is not None:
        with pytest.raises(DatasetMergeError) as refused:
            merge_by_row(scenario.existing, scenario.incoming, spec, rules=RULES)
        assert refused.value.kind == scenario.refusal
        assert scenario.column is None or refused.value.column == scenario.column
        assert scenario.count is None or refused.value.count == scenario.count
        assert refused.value.keys[: len(scenario.refused_keys)] == scenario.refused_keys
        return
    merged = merge_by_row(scenario.existing, scenario.incoming, spec, rules=RULES)
    assert (merged.inserted, merged.updated, merged.deleted) == scenario.counts
    assert merged.before == (0 if scenario.existing is None else scenario.existing.num_rows)
    if scenario.expected is None:
        assert merged.table is None
        return
    assert merged.table is not None
    assert difference(merged.table, scenario.expected) is None
    assert merged.total == scenario.expected.num_rows


def test_counts_follow_from_each_other() -> None:
    merged = merge_by_row(rows("id v", (1, "a")), rows("id v", (2, "b"), (3, "c")), MergeSpec.of(keys="id"))
    assert (merged.before, merged.inserted, merged.total) == (1, 2, 3)
