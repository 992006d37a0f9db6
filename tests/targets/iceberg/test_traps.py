"""What PyIceberg lets through, wastes or refuses, and what the target makes of it (`facts/iceberg.md`)."""

import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.schema import Schema as IcebergSchema
from pyiceberg.types import LongType, NestedField, StringType
from tests.support.iceberg_tables import load, open_table, plan, rows_of, write

from lakebed.errors import (
    AmbiguousColumnCase,
    ColumnDropRefused,
    ConcurrentModification,
    SchemaIncompatible,
    TargetError,
)
from lakebed.schema.arrow import from_arrow_schema
from lakebed.schema.evolve import AddColumn, EvolutionPlan, WidenColumn
from lakebed.schema.types import Column, Integer, Schema, Text
from lakebed.schema.types import Decimal as DecimalType
from lakebed.targets.base import Change
from lakebed.targets.iceberg.files import field_ids
from lakebed.targets.iceberg.schema import evolve, require_no_loss


def handmade(current: Schema, final: Schema, **steps: tuple[object, ...]) -> EvolutionPlan:
    """A plan that `plan_evolution` would never make."""
    empty: dict[str, tuple[object, ...]] = {"adds": (), "widenings": (), "relaxations": (), "conflicts": ()}
    return EvolutionPlan(current=current, incoming=final, final=final, sources=(), **{**empty, **steps})  # type: ignore[arg-type]


def test_a_decimal_scale_never_changes_in_place(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    load(target, pa.table({"cost": pa.array([Decimal("1.25")], pa.decimal128(18, 2))}))
    before = target.existing_table().metadata_location
    with pytest.raises(SchemaIncompatible, match="cost"):
        load(target, pa.table({"cost": pa.array([Decimal("1.2500")], pa.decimal128(18, 4))}))
    # PyIceberg accepts this one, so a plan that asked for it must not get that far either.
    state = target.state()
    wrong = WidenColumn(("cost",), DecimalType(18, 2), DecimalType(18, 4))
    with pytest.raises(SchemaIncompatible, match="precision"):
        target.stage(state, handmade(state.schema, state.schema, widenings=(wrong,)))
    assert target.existing_table().metadata_location == before


def test_names_that_differ_only_in_case_are_one_column(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    load(target, pa.table({"B": [1]}))
    load(target, pa.table({"b": [2]}))
    assert rows_of(target) == [{"B": 1}, {"B": 2}]
    with pytest.raises(AmbiguousColumnCase):
        load(target, pa.table({"x": [1], "X": [2]}))


def test_a_table_that_already_has_both_cases_is_refused(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    load(target, pa.table({"B": [1]}))
    with target.existing_table().update_schema() as update:
        update.add_column("b", LongType())  # PyIceberg accepts it
    with pytest.raises(AmbiguousColumnCase):
        load(target, pa.table({"c": [2]}))


def test_required_columns_arrive_as_optional(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    strict = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("name", pa.string(), nullable=False)])
    load(target, pa.table({"id": [1], "name": ["x"]}, schema=strict))
    assert not any(field.required for field in target.existing_table().schema().fields)
    load(target, pa.table({"id": [2]}, schema=pa.schema([strict.field("id")])))
    assert rows_of(target) == [{"id": 1, "name": "x"}, {"id": 2, "name": None}]


def test_a_strangers_required_column_is_relaxed_when_new_rows_lack_it(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    schema = IcebergSchema(
        NestedField(1, "id", LongType(), required=True), NestedField(2, "name", StringType(), required=False)
    )
    target.catalog.create_namespace("billing")
    target.catalog.create_table(target.identifier, schema)
    load(target, pa.table({"name": ["only a name"]}))
    assert rows_of(target) == [{"id": None, "name": "only a name"}]


def test_text_never_silently_becomes_binary(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    load(target, pa.table({"x": ["text"]}))
    with pytest.raises(SchemaIncompatible, match="x"):
        load(target, pa.table({"x": [b"bytes"]}))


@pytest.mark.parametrize(
    ("current", "incoming"),
    [
        (pa.array([1], pa.int32()), pa.array([1.5])),
        (pa.array([1], pa.int32()), pa.array(["1"])),
        (pa.array([1], pa.int64()), pa.array([Decimal("1.5")], pa.decimal128(20, 2))),
        (pa.array([0], pa.date32()), pa.array([0], pa.timestamp("us"))),
        (pa.array([0], pa.timestamp("us")), pa.array([0], pa.timestamp("us", "UTC"))),
    ],
    ids=["int to double", "int to text", "int to decimal", "date to timestamp", "zone"],
)
def test_what_iceberg_cannot_express_is_refused_before_any_write(
    tmp_path: Path, current: pa.Array, incoming: pa.Array
) -> None:
    target = open_table(tmp_path)
    load(target, pa.table({"x": current}))
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(SchemaIncompatible):
        load(target, pa.table({"x": incoming}))
    assert sorted(tmp_path.rglob("*")) == before


def test_everything_that_may_widen_does_and_old_rows_keep_their_values(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    old = {
        "i": pa.array([1], pa.int32()),
        "f": pa.array([0.5], pa.float32()),
        "d": pa.array([Decimal("1.25")], pa.decimal128(9, 2)),
        "s": pa.array([{"a": 1}], pa.struct([("a", pa.int32())])),
        "l": pa.array([[{"a": 1}]], pa.list_(pa.struct([("a", pa.int32())]))),
        "m": pa.array([[("k", "v")]], pa.map_(pa.string(), pa.string())),
    }
    load(target, pa.table(old))
    ids = field_ids(target.stage(target.state(), plan(target, target.state(), target.state().schema)).schema)
    new = {
        "i": pa.array([2**40], pa.int64()),
        "f": pa.array([0.25], pa.float64()),
        "d": pa.array([Decimal("12345678901.25")], pa.decimal128(18, 2)),
        "s": pa.array([{"a": 2**40, "b": "x"}], pa.struct([("a", pa.int64()), ("b", pa.string())])),
        "l": pa.array([[{"a": 2, "b": "y"}]], pa.list_(pa.struct([("a", pa.int32()), ("b", pa.string())]))),
        "m": pa.array([[("k2", "v2")]], pa.map_(pa.string(), pa.string())),
        "extra": pa.array([{"z": [1]}], pa.struct([("z", pa.list_(pa.int32()))])),
    }
    load(target, pa.table(new))
    found = rows_of(target)
    first = next(row for row in found if row["i"] == 1)
    assert first == {
        "i": 1,
        "f": 0.5,
        "d": Decimal("1.25"),
        "s": {"a": 1, "b": None},
        "l": [{"a": 1, "b": None}],
        "m": [("k", "v")],
        "extra": None,
    }
    second = next(row for row in found if row["i"] != 1)
    assert second["s"] == {"a": 2**40, "b": "x"}
    assert second["extra"] == {"z": [1]}
    after = field_ids(target.stage(target.state(), plan(target, target.state(), target.state().schema)).schema)
    assert ids.items() <= after.items(), "every field kept its id"
    assert len(set(after.values())) == len(after)


def test_format_version_three_is_refused_before_any_write(tmp_path: Path) -> None:
    load(open_table(tmp_path), pa.table({"id": [1]}))
    made = Path(open_table(tmp_path).existing_table().metadata_location.removeprefix("file://"))
    # PyIceberg cannot write version 3, so another engine's table is made by hand from ours.
    metadata = json.loads(made.read_text()) | {"format-version": 3, "next-row-id": 1}
    metadata["snapshots"][0] |= {"first-row-id": 0, "added-rows": 1}
    newer = made.with_name("00001-v3.metadata.json")
    newer.write_text(json.dumps(metadata))
    target = open_table(tmp_path, "billing.newer")
    target.catalog.register_table(target.identifier, str(newer))
    with pytest.raises(TargetError, match="format version 3"):
        load(target, pa.table({"id": [2]}))


def test_files_carry_field_ids_and_one_without_is_refused(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    load(target, pa.table({"id": [1]}))
    (file,) = target.state().files
    assert field_ids(pq.read_schema(file.uri)) == {"id": 1}
    state = target.state()
    evolution = plan(target, state, state.schema)
    staging = target.stage(state, evolution)
    written = write(pa.table({"id": [2]}), staging)
    path = Path(staging.folder.removeprefix("file://")) / written.path
    pq.write_table(pa.table({"id": [2]}), path)
    with pytest.raises(TargetError, match="field id -1"):
        target.commit(state, staging, Change(evolution, (written,)))
    assert rows_of(target) == [{"id": 1}]


def test_a_schema_race_is_told_and_planning_again_keeps_both_columns(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    load(target, pa.table({"id": [1]}))
    state = target.state()
    mine = pa.table({"id": [2], "mine": ["x"]})
    evolution = plan(target, state, from_arrow_schema(mine.schema))
    staging = target.stage(state, evolution)
    written = write(mine, staging)
    load(open_table(tmp_path), pa.table({"id": [3], "yours": ["y"]}))
    with pytest.raises(ConcurrentModification):
        target.commit(state, staging, Change(evolution, (written,)))
    load(target, mine)
    assert [row["id"] for row in rows_of(target)] == [1, 2, 3]
    fields = target.existing_table().schema().fields
    assert [(field.name, field.field_id) for field in fields] == [("id", 1), ("yours", 2), ("mine", 3)]


def test_the_guard_refuses_a_schema_that_lost_a_field(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    load(target, pa.table({"id": [1], "name": ["x"]}))
    before = target.existing_table().schema()
    without = IcebergSchema(before.fields[0])
    with pytest.raises(ColumnDropRefused, match="name"):
        require_no_loss("billing.costs", before, without)
    renamed = IcebergSchema(before.fields[0], NestedField(2, "title", StringType(), required=False))
    with pytest.raises(ColumnDropRefused, match="name"):
        require_no_loss("billing.costs", before, renamed)


def test_no_plan_can_add_a_required_column(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    load(target, pa.table({"id": [1]}))
    state = target.state()
    required = AddColumn(("code",), Column("code", Text(), nullable=False))
    widened = WidenColumn(("id",), Integer(64), Integer(64))
    final = state.schema.with_columns([required.column])
    evolved = evolve(
        target.existing_table().transaction(),
        handmade(state.schema, final, adds=(required,), widenings=(widened,)),
    )
    assert evolved.find_field("code").required is False
