"""The conformance suite of writing: an engine's or a target's tests inherit it and write one fixture, `table`.

class TestMine(WriteConformance):
    @pytest.fixture
    def table(self, tmp_path): return lambda: MyTarget(tmp_path / "t")
"""

from typing import Any, ClassVar

import pyarrow as pa
import pytest

import lakebed.table.write as writing
from lakebed.engines.protocols.merge import MergeInput
from lakebed.errors import ConfigError, LakebedError
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.model import Staging
from lakebed.storage import Storage
from lakebed.table.replace import Replaced, Replacement, replace_slice
from lakebed.table.write import write
from lakebed.table.write_spec import WriteResult
from lakebed.targets.base import TableState, Target
from lakebed.testing.rows import difference, rows
from lakebed.testing.target import OpenTable
from lakebed.testing.write_scenarios import SCENARIOS, WriteScenario

EVENTS = rows("id day v", (1, "mon", "a"), (2, "tue", "b"), (3, None, "c"))
MORE = rows("id day w", (4, "tue", "new"), (5, "tue", "new"))


class WriteConformance:
    """What every engine promises into every target."""

    settings: ClassVar[StorageSettings] = StorageSettings()
    partition_by: ClassVar[tuple[str, ...]] = ()
    # Whether the target's format has every type of the scenarios as it is.
    exact_types: ClassVar[bool] = True

    @pytest.fixture
    def table(self) -> OpenTable:
        raise NotImplementedError("the inheriting class says how its table is opened")

    def make_data(self, data: pa.Table) -> MergeInput:
        """The rows as this engine's users hold them."""
        return data

    def write(self, data: pa.Table, target: Target, **options: Any) -> WriteResult:
        return write(self.make_data(data), target, storage=Storage(self.settings), **options)

    def read(self, target: Target) -> pa.Table:
        found = target.read()
        return found if isinstance(found, pa.Table) else found.to_table()

    @pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
    def test_scenario(self, scenario: WriteScenario, table: OpenTable) -> None:
        if scenario.existing is not None:
            by = [name for name in self.partition_by if name in scenario.existing.column_names]
            self.write(scenario.existing, table(), partition_by=by)
        before = table().state()
        if scenario.refusal is not None:
            with pytest.raises(scenario.refusal, match=scenario.said) as refused:
                self.write(scenario.incoming, table(), **scenario.options)
            assert refused.value.remedy
            assert table().state() == before
            return
        said = self.write(scenario.incoming, table(), dry_run=True, **scenario.options)
        assert table().state() == before
        done = self.write(scenario.incoming, table(), **scenario.options)
        for result in (said, done):
            assert (result.rows, result.removed) == (scenario.incoming.num_rows, scenario.removed)
            assert (result.before, result.total) == (before.rows, before.rows + result.rows - result.removed)
            assert result.added_columns == scenario.added
        assert said.sums == done.sums
        found = self.read(table())
        assert found.num_rows == done.total == table().state().rows
        if self.exact_types:
            assert difference(found, scenario.expected) is None
        else:
            assert difference(found, scenario.expected.cast(_spelled(found, scenario.expected))) is None

    def test_sums_are_exact(self, table: OpenTable) -> None:
        largest = "9" * 20 + "." + "9" * 18
        data = rows("id c", *((n, largest) for n in range(3)), (4, None), types={"c": pa.decimal128(38, 18)})
        assert str(self.write(data, table()).sums["c"]) == "299999999999999999999.999999999999999997"

    def test_a_version_is_written_once(self, table: OpenTable, caplog: pytest.LogCaptureFixture) -> None:
        first = self.write(EVENTS, table(), txn=("stream", 7))
        assert (first.rows, first.skipped) == (3, False)
        for version in (7, 6):
            again = self.write(MORE, table(), txn=("stream", version))
            assert (again.rows, again.skipped, again.total, again.added_columns) == (0, True, 3, ())
            assert bool(again.warnings) is (version < 7)
        assert "holds version 7 of stream: the older version 6 was not written" in caplog.text
        assert self.write(MORE, table(), txn=("another", 7)).total == 5
        assert self.write(MORE, table()).total == 7
        assert self.write(MORE, table(), txn=("stream", 7)).skipped
        assert self.write(MORE, table(), mode="overwrite", txn=("stream", 9)).total == 2
        assert dict(table().state().txns) == {"stream": 9, "another": 7}

    def test_a_version_without_rows_is_remembered(self, table: OpenTable) -> None:
        self.write(EVENTS, table())
        self.write(EVENTS.slice(0, 0), table(), txn=("stream", 0))
        assert self.write(EVENTS, table(), txn=("stream", 0)).skipped
        assert table().state().rows == 3

    def test_rows_are_written_once_however_often_the_commit_is_repeated(
        self, table: OpenTable, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.write(EVENTS, table())
        stagings: list[Staging] = []

        def raced(
            target: Target, engine: Any, state: TableState, staging: Staging, replacement: Replacement
        ) -> Replaced:
            stagings.append(staging)
            if len(stagings) == 1:
                monkeypatch.setattr(writing, "replace_slice", replace_slice)
                write(EVENTS, table(), storage=Storage(self.settings))
                monkeypatch.setattr(writing, "replace_slice", raced)
            return replace_slice(target, engine, state, staging, replacement)

        monkeypatch.setattr(writing, "replace_slice", raced)
        assert self.write(EVENTS, table(), txn=("stream", 1)).total == 9
        assert stagings in ([stagings[0]], [stagings[0]] * 2)

    def test_of_two_writers_of_one_version_one_is_skipped(
        self, table: OpenTable, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.write(EVENTS, table())
        first: list[WriteResult] = []

        def raced(*arguments: Any) -> Replaced:
            monkeypatch.setattr(writing, "replace_slice", replace_slice)
            first.append(write(MORE, table(), txn=("stream", 1), storage=Storage(self.settings)))
            return replace_slice(*arguments)

        monkeypatch.setattr(writing, "replace_slice", raced)
        second = self.write(MORE, table(), txn=("stream", 1))
        assert (first[0].skipped, second.skipped) == (False, True)
        assert table().state().rows == 5

    def test_a_refused_write_leaves_nothing_behind(self, table: OpenTable) -> None:
        self.write(EVENTS, table())
        opened = table()
        folders: list[str] = []
        stage = opened.stage

        def recording(*arguments: Any, **named: Any) -> Staging:
            staging = stage(*arguments, **named)
            folders.append(staging.folder)
            return staging

        opened.stage = recording  # type: ignore[method-assign]
        with pytest.raises(LakebedError, match="do not belong to the slice day = mon"):
            self.write(MORE, opened, mode="replace_slice", slice={"day": "mon"})
        assert folders
        assert [entry for folder in folders for entry in Storage(self.settings).list(folder)] == []

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            ({"mode": "upsert"}, "there is no mode 'upsert'"),
            ({"on_conflict": "drop"}, "there is no on_conflict 'drop'"),
            ({"mode": "replace_slice"}, "needs the slice"),
            ({"mode": "replace_slice", "slice": {}}, "needs the slice"),
            ({"slice": {"day": "mon"}}, "no meaning for mode='append'"),
            ({"mode": "replace_slice", "slice": {"id": "x"}}, "'x' is none of the column id, which is int64"),
            ({"mode": "replace_slice", "slice": {"id": 1.5}}, "1.5 is none of the column id"),
            ({"mode": "replace_slice", "slice": {"nope": 1}}, "column nope of the slice"),
            ({"txn": "stream"}, "txn is 'stream'"),
            ({"txn": ("stream", -1)}, "txn is"),
            ({"txn": ("", 1)}, "txn is"),
            ({"txn": ("stream", True)}, "txn is"),
            ({"partition_by": "nope"}, "nope"),
        ],
        ids=str,
    )
    def test_wrong_arguments_are_refused(self, table: OpenTable, options: dict[str, Any], said: str) -> None:
        self.write(EVENTS, table())
        before = table().state()
        with pytest.raises(ConfigError, match=said):
            self.write(EVENTS, table(), **options)
        assert table().state() == before


def _spelled(found: pa.Table, expected: pa.Table) -> pa.Schema:
    """The expected schema in the types that the target has for them."""
    return pa.schema([found.schema.field(one.name) for one in expected.schema])
