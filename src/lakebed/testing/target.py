"""The conformance suite of targets: what every place a table can be must do alike.

A target's tests inherit `TargetSuite` and write one fixture, `table`, which opens the same table again at each call:

    class TestMine(TargetSuite):
        @pytest.fixture
        def table(self, tmp_path): return lambda: MyTarget(tmp_path / "t")
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

from lakebed.errors import ColumnDropRefused, ConcurrentModification, NotFound
from lakebed.kernels.files import filesystem
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.model import DELIVERY, PAYER, PERIOD, REPORT, DataFile, Slice, Staging, WrittenFile
from lakebed.schema.arrow import from_arrow_schema, to_arrow
from lakebed.schema.evolve import Policy, plan_evolution
from lakebed.schema.types import Column, Integer, Schema, Text
from lakebed.schema.types import Decimal as DecimalType
from lakebed.storage import Storage, join
from lakebed.targets.base import Change, Commit, TableState, Target

OpenTable: TypeAlias = Callable[[], Target]
Row: TypeAlias = Mapping[str, object]

MONEY = DecimalType(38, 18)
BASE = Schema.of(
    [
        Column("id", Integer(64), original="identity/LineItemId"),
        Column("cost", MONEY, original="lineItem/UnblendedCost"),
        Column("currency", Text(), original="lineItem/CurrencyCode"),
        *(Column(name, Text()) for name in (PAYER, REPORT, PERIOD, DELIVERY)),
    ]
)
OCTOBER = Slice("payer", "report", "2026-10")
NOVEMBER = Slice("payer", "report", "2026-11")


def rows(
    slice_: Slice, ids: Sequence[int], *, cost: str = "0.000000000000000001", delivery: str = "d1", **more: object
) -> list[dict[str, object]]:
    """Rows of one delivery: an id, a cost and a currency each, and what else is given for all of them."""
    return [
        {"id": id_, "cost": Decimal(cost), "currency": "USD", **slice_.values, DELIVERY: delivery, **more}
        for id_ in ids
    ]


@dataclass(frozen=True)
class Prepared:
    """A change that an engine has written and that is not committed."""

    state: TableState
    staging: Staging
    change: Change


class Loader:
    """The smallest engine there is: writes rows with PyArrow and commits them as the pipeline does."""

    def __init__(self, target: Target, settings: StorageSettings, partition_by: Sequence[str]) -> None:
        self.target = target
        self._settings = settings.resolved()
        self._partition_by = tuple(partition_by)
        self._numbers = itertools.count()

    def load(self, data: Sequence[Row], *, schema: Schema = BASE, replacing: Slice | None = None) -> Commit:
        prepared = self.prepare(data, schema=schema, replacing=replacing)
        return self.target.commit(prepared.state, prepared.staging, prepared.change)

    def prepare(
        self,
        data: Sequence[Row],
        *,
        schema: Schema = BASE,
        replacing: Slice | None = None,
        rows_per_file: int | None = None,
    ) -> Prepared:
        """Stages rows, one file for each partition or for each so many rows of it, and what has to be rewritten."""
        state = self.target.state()
        plan = plan_evolution(
            state.schema if state.exists else None, schema, Policy(rules=self.target.capabilities.rules)
        )
        staging = self.target.stage(state, plan, partition_by=self._partition_by)
        by_partition: dict[tuple[tuple[str, str | None], ...], list[Row]] = {}
        for row in data:
            by_partition.setdefault(self._partition(row, staging.partition_by), []).append(row)
        add = [
            self._write(staging, here[start : start + (rows_per_file or len(here))], partition)
            for partition, here in by_partition.items()
            for start in range(0, len(here), rows_per_file or len(here))
        ]
        remove: list[DataFile] = []
        if replacing is not None and state.exists:
            affected = self.target.affected(state, replacing)
            remove += [*affected.whole, *affected.mixed]
        removed = {file.uri for file in remove}
        again = [file for file in self.target.files_to_widen(state, plan) if file.uri not in removed]
        for file in [*remove, *again]:
            left = [row for row in self._read(file) if replacing is None or not _within(row, replacing)]
            if left:
                add.append(self._write(staging, left, self._partition(left[0], staging.partition_by)))
        change = Change(plan, tuple(add), (*remove, *again), replacing, {"lakebed.test": "yes"})
        return Prepared(state, staging, change)

    @staticmethod
    def _partition(row: Row, partition_by: Sequence[str]) -> tuple[tuple[str, str | None], ...]:
        return tuple((name, None if row.get(name) is None else str(row[name])) for name in partition_by)

    def _write(
        self, staging: Staging, data: Sequence[Row], partition: tuple[tuple[str, str | None], ...]
    ) -> WrittenFile:
        path = f"file-{next(self._numbers)}.parquet"
        table = pa.Table.from_pylist([dict(row) for row in data], schema=staging.schema)
        files, inside = filesystem(join(staging.folder, path), self._settings)
        pq.write_table(table, inside, filesystem=files)
        size_bytes = files.get_file_info(inside).size
        return WrittenFile(path, len(data), size_bytes, dict(partition))

    def _read(self, file: DataFile) -> list[dict[str, object]]:
        files, inside = filesystem(file.uri, self._settings)
        return [
            {**row, **file.partition}
            for row in pads.dataset(inside, format="parquet", filesystem=files).to_table().to_pylist()
        ]


def _within(row: Row, slice_: Slice) -> bool:
    return all(row.get(column) == value for column, value in slice_.values.items())


def contents(target: Target, columns: Sequence[str] | None = None) -> list[dict[str, object]]:
    """All rows, in the order of their ids."""
    found = target.read(columns)
    table = found.to_table() if isinstance(found, pads.Dataset) else found
    return sorted(table.to_pylist(), key=lambda row: int(str(row.get("id", 0))))


def _staged(staging: Staging, settings: StorageSettings) -> list[str]:
    return [entry.uri for entry in Storage(settings).list(staging.folder)]


class TargetSuite:
    """What every target promises."""

    settings = StorageSettings()
    partition_by: tuple[str, ...] = ()

    @pytest.fixture
    def table(self) -> OpenTable:
        raise NotImplementedError("the inheriting class says how its table is opened")

    @pytest.fixture
    def loader(self, table: OpenTable) -> Loader:
        return Loader(table(), self.settings, self.partition_by)

    def test_a_table_that_is_not_there(self, table: OpenTable) -> None:
        state = table().state()
        assert not state.exists
        assert state.rows == 0
        assert table().totals(None, ["cost"]).rows == 0
        with pytest.raises(NotFound) as refused:
            table().read()
        assert table().address in refused.value.message
        assert refused.value.remedy

    def test_create_and_read_back(self, table: OpenTable, loader: Loader) -> None:
        data = rows(OCTOBER, [1, 2, 3])
        commit = loader.load(data)
        assert commit.rows == 3
        assert contents(table()) == data
        state = table().state()
        assert state.exists
        assert state.rows == 3
        assert state.version == commit.version
        assert {column.name: str(column.type) for column in state.schema} == {
            column.name: str(column.type) for column in BASE
        }

    def test_append(self, table: OpenTable, loader: Loader) -> None:
        first = loader.load(rows(OCTOBER, [1]))
        second = loader.load(rows(NOVEMBER, [2]))
        assert second.rows == 2
        assert second.version != first.version
        assert [row["id"] for row in contents(table())] == [1, 2]

    def test_replace_a_slice_and_nothing_else(self, table: OpenTable, loader: Loader) -> None:
        other = Slice("payer", "another report", OCTOBER.period)
        loader.load([*rows(OCTOBER, [1, 2]), *rows(other, [3]), *rows(NOVEMBER, [4])])
        loader.load(rows(OCTOBER, [5], delivery="d2"), replacing=OCTOBER)
        assert contents(table()) == [*rows(other, [3]), *rows(NOVEMBER, [4]), *rows(OCTOBER, [5], delivery="d2")]
        assert table().state().rows == 3

    def test_replace_by_nothing_keeps_the_columns(self, table: OpenTable, loader: Loader) -> None:
        loader.load(rows(OCTOBER, [1, 2]))
        loader.load([], replacing=OCTOBER)
        state = table().state()
        assert state.exists
        assert state.rows == 0
        assert set(state.schema.names) == set(BASE.names)
        assert contents(table()) == []

    def test_added_columns_are_null_in_old_rows(self, table: OpenTable, loader: Loader) -> None:
        loader.load(rows(OCTOBER, [1]))
        wider = BASE.with_columns([Column("tag", Text(), original="resourceTags/user:Tag")])
        loader.load(rows(NOVEMBER, [2], tag="prod"), schema=wider)
        assert [(row["id"], row["tag"]) for row in contents(table())] == [(1, None), (2, "prod")]

    def test_columns_that_vanish_from_the_source_stay(self, table: OpenTable, loader: Loader) -> None:
        wider = BASE.with_columns([Column("tag", Text())])
        loader.load(rows(OCTOBER, [1], tag="prod"), schema=wider)
        loader.load(rows(OCTOBER, [2]), replacing=OCTOBER)
        assert "tag" in table().state().schema
        assert [(row["id"], row["tag"]) for row in contents(table())] == [(2, None)]

    def test_a_schema_change_without_rows(self, table: OpenTable, loader: Loader) -> None:
        loader.load(rows(OCTOBER, [1]))
        loader.load([], schema=BASE.with_columns([Column("tag", Text(), original="Tag")]))
        state = table().state()
        assert state.rows == 1
        assert state.schema["tag"].original == "Tag"
        assert [row["tag"] for row in contents(table())] == [None]

    def test_widening_keeps_every_value(self, table: OpenTable, loader: Loader) -> None:
        narrow = BASE.with_columns([Column("quantity", Integer(32))])
        loader.load(rows(OCTOBER, [1], quantity=7), schema=narrow)
        loader.load(rows(NOVEMBER, [2]))
        wide = BASE.with_columns([Column("quantity", Integer(64))])
        loader.load(rows(NOVEMBER, [3], quantity=2**40), schema=wide)
        assert str(table().state().schema["quantity"].type) == "int64"
        assert [(row["id"], row["quantity"]) for row in contents(table())] == [(1, 7), (2, None), (3, 2**40)]

    def test_required_columns_become_optional(self, table: OpenTable, loader: Loader) -> None:
        strict = BASE.with_columns([Column("tag", Text(), nullable=False)])
        loader.load(rows(OCTOBER, [1], tag="a"), schema=strict)
        loader.load(rows(NOVEMBER, [2]))
        assert table().state().schema["tag"].nullable
        assert [row["tag"] for row in contents(table())] == ["a", None]

    def test_original_names_survive_reopening(self, table: OpenTable, loader: Loader) -> None:
        odd = 'resourceTags/user:it\'s "odd" ü'
        loader.load(rows(OCTOBER, [1], tag="a"), schema=BASE.with_columns([Column("tag", Text(), original=odd)]))
        schema = table().state().schema
        assert schema["tag"].original == odd
        assert schema["cost"].original == "lineItem/UnblendedCost"
        assert schema[PAYER].original is None

    def test_every_original_of_a_column_is_kept(self, table: OpenTable, loader: Loader) -> None:
        first = Column("tag", Text(), original="resourceTags/user:Tag")
        loader.load(rows(OCTOBER, [1], tag="a"), schema=BASE.with_columns([first]))
        version = table().state().version
        aliases = ("resource_tags_user_tag", 'a "quoted", one')
        loader.load(
            rows(NOVEMBER, [2], tag="b"),
            schema=BASE.with_columns(
                [Column("tag", Text(), original=aliases[0], aliases=(first.original or "", *aliases))]
            ),
        )
        # Also where the months that came under the other names are gone.
        for period in (NOVEMBER, OCTOBER):
            kept = table().state()
            assert kept.version != version
            assert (kept.schema["tag"].original, kept.schema["tag"].aliases) == (first.original, aliases)
            assert kept.schema["cost"].aliases == ()
            loader.load([], schema=BASE.with_columns([first]), replacing=period)
        assert table().state().schema["tag"].aliases == aliases

    def test_an_original_that_looks_like_a_list_is_one_original(self, table: OpenTable, loader: Loader) -> None:
        odd = '["a", "b"]'
        loader.load(rows(OCTOBER, [1], tag="a"), schema=BASE.with_columns([Column("tag", Text(), original=odd)]))
        assert table().state().schema["tag"] == Column("tag", Text(), original=odd)

    def test_nothing_is_visible_before_the_commit(self, table: OpenTable, loader: Loader) -> None:
        prepared = loader.prepare(rows(OCTOBER, [1]))
        assert not table().state().exists
        loader.target.commit(prepared.state, prepared.staging, prepared.change)
        before = contents(table())
        loader.prepare(rows(OCTOBER, [2]), replacing=OCTOBER)
        assert contents(table()) == before

    def test_abandoned_work_leaves_no_trace(self, table: OpenTable, loader: Loader) -> None:
        loader.load(rows(OCTOBER, [1]))
        before = table().state()
        prepared = loader.prepare(rows(OCTOBER, [2]), replacing=OCTOBER)
        loader.target.abandon(prepared.staging)
        assert table().state() == before
        assert not _staged(prepared.staging, self.settings)

    def test_committed_staging_is_removed(self, loader: Loader) -> None:
        prepared = loader.prepare(rows(OCTOBER, [1]))
        loader.target.commit(prepared.state, prepared.staging, prepared.change)
        if not loader.target.capabilities.made_of_files or loader.target.capabilities.partition_in_path:
            assert not _staged(prepared.staging, self.settings)

    def test_the_second_of_two_commits_is_refused(self, table: OpenTable, loader: Loader) -> None:
        loader.load(rows(OCTOBER, [1]))
        slow = loader.prepare(rows(OCTOBER, [2]), replacing=OCTOBER)
        Loader(table(), self.settings, self.partition_by).load(rows(OCTOBER, [3]), replacing=OCTOBER)
        with pytest.raises(ConcurrentModification):
            loader.target.commit(slow.state, slow.staging, slow.change)
        loader.target.abandon(slow.staging)
        assert [row["id"] for row in contents(table())] == [3]

    def test_two_creations_at_once(self, table: OpenTable, loader: Loader) -> None:
        slow = loader.prepare(rows(OCTOBER, [2]))
        Loader(table(), self.settings, self.partition_by).load(rows(OCTOBER, [3]))
        with pytest.raises(ConcurrentModification):
            loader.target.commit(slow.state, slow.staging, slow.change)
        assert [row["id"] for row in contents(table())] == [3]

    def test_no_commit_can_drop_a_column(self, loader: Loader) -> None:
        loader.load(rows(OCTOBER, [1]))
        state = loader.target.state()
        smaller = Schema.of(column for column in BASE if column.name != "cost")
        plan = plan_evolution(None, smaller)
        staging = loader.target.stage(state, plan)
        with pytest.raises(ColumnDropRefused, match="cost"):
            loader.target.commit(state, staging, Change(plan))

    def test_totals_are_exact(self, table: OpenTable, loader: Loader) -> None:
        largest = "99999999999999999999.999999999999999999"
        data = [
            *rows(OCTOBER, [1, 2, 3], cost=largest),
            *rows(OCTOBER, [4], cost="-0.000000000000000001", currency="EUR"),
            *rows(OCTOBER, [5], currency=None),
            *rows(NOVEMBER, [6], cost="1"),
        ]
        loader.load(data)
        october = table().totals(OCTOBER, ["cost", "id"], currency="currency")
        assert october.rows == 5
        assert str(october.sums["cost"]) == "299999999999999999999.999999999999999997"
        assert october.sums["id"] == 15
        assert october.by_currency["EUR"]["cost"] == Decimal("-0.000000000000000001")
        assert str(october.by_currency["USD"]["cost"]) == "299999999999999999999.999999999999999997"
        assert table().totals(NOVEMBER, ["cost"]).sums == {"cost": 1}
        assert table().totals(None, ["id"]).sums == {"id": 21}
        assert table().totals(Slice("nobody", "report", "2026-10"), ["cost"]).rows == 0

    def test_reserved_words_and_odd_names(self, table: OpenTable, loader: Loader) -> None:
        names = ["select", "order", "group", 'with "quotes"', "with space", "ünïcode", "it's", "a.b", "percent%20"]
        schema = BASE.with_columns(Column(name, Text(), original=f"source/{name}") for name in names)
        loader.load(rows(OCTOBER, [1], **{name: name for name in names}), schema=schema)
        loader.load(rows(OCTOBER, [2], **{name: name for name in names}), schema=schema, replacing=OCTOBER)
        (row,) = contents(table(), ["id", *names])
        assert row == {"id": 2, **{name: name for name in names}}
        assert table().state().schema["a.b"].original == "source/a.b"

    def test_three_hundred_columns(self, table: OpenTable, loader: Loader) -> None:
        names = [f"column_{number}" for number in range(300)]
        schema = BASE.with_columns(Column(name, Text(), original=name.upper()) for name in names)
        loader.load(rows(OCTOBER, [1], **{name: name for name in names}), schema=schema)
        more = [f"new_{number}" for number in range(50)]
        one: Any = Decimal(1)
        wider = schema.with_columns(Column(name, MONEY) for name in more)
        loader.load(rows(NOVEMBER, [2], **dict.fromkeys(more, one)), schema=wider)
        found = contents(table(), ["id", "column_299", "new_49"])
        assert found == [
            {"id": 1, "column_299": "column_299", "new_49": None},
            {"id": 2, "column_299": None, "new_49": Decimal(1)},
        ]
        assert len(table().state().schema) == len(BASE) + 350

    def test_types_survive(self, table: OpenTable, loader: Loader) -> None:
        sample: dict[str, tuple[pa.DataType, Any]] = {
            "flag": (pa.bool_(), True),
            "small": (pa.int32(), -5),
            "real": (pa.float64(), 0.1),
            "money": (pa.decimal128(18, 2), Decimal("1.10")),
            "day": (pa.date32(), date(2026, 10, 1)),
            "moment": (pa.timestamp("us"), datetime(2026, 10, 1, 12, 0, 0, 5)),
            "raw": (pa.binary(), b"\x00\xff"),
            "tags": (pa.map_(pa.string(), pa.string()), [("k", "v")]),
            "list": (pa.list_(pa.int64()), [1, None]),
            "nested": (pa.struct([("a", pa.string()), ("b", pa.int64())]), {"a": "x", "b": 1}),
        }
        schema = BASE.with_columns(from_arrow_schema(pa.schema([(name, type_) for name, (type_, _) in sample.items()])))
        loader.load(rows(OCTOBER, [1], **{name: value for name, (_, value) in sample.items()}), schema=schema)
        (row,) = contents(table(), list(sample))
        assert row == {name: value for name, (_, value) in sample.items()}
        read = table().state().schema
        assert {name: to_arrow(read[name].type) for name in sample} == {
            name: type_ for name, (type_, _) in sample.items()
        }
