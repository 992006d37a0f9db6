"""Evolution plans on Iceberg schemas: adds, widenings and relaxations, field ids, and the guard over them."""

import json
from dataclasses import replace

import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.partitioning import PARTITION_FIELD_ID_START, PartitionField, PartitionSpec
from pyiceberg.schema import Schema as IcebergSchema
from pyiceberg.schema import assign_fresh_schema_ids, index_by_id
from pyiceberg.table import Transaction
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DecimalType, DoubleType, FloatType, IcebergType, IntegerType, LongType, NestedField

from lakebed.errors import ColumnDropRefused, SchemaError, SchemaIncompatible
from lakebed.schema.evolve import EvolutionPlan
from lakebed.schema.iceberg import from_iceberg_schema, to_iceberg, to_iceberg_schema
from lakebed.schema.originals import originals_text
from lakebed.schema.types import DataType, Schema


def table_schema(schema: IcebergSchema) -> Schema:
    """An Iceberg schema as ours; a field's doc is the name that the column had in its source."""
    return from_iceberg_schema(json.loads(schema.model_dump_json()))


def iceberg_type(type_: DataType, column: str) -> IcebergType:
    """PyIceberg's object for one of our types; its field ids are provisional."""
    field = {"id": 1, "name": column, "required": False, "type": to_iceberg(type_, column=column)}
    return NestedField.model_validate(field).field_type


def new_table_schema(final: Schema) -> IcebergSchema:
    """The schema of a table that is created. Every column is optional: a later delivery may lack any of them."""
    optional = Schema.of(replace(column, nullable=True) for column in final)
    return assign_fresh_schema_ids(IcebergSchema.model_validate(to_iceberg_schema(optional)))


def partition_spec(schema: IcebergSchema, columns: tuple[str, ...]) -> PartitionSpec:
    """One partition per value of these columns."""
    fields = []
    for position, name in enumerate(columns):
        try:
            source = schema.find_field(name, case_sensitive=False)
        except ValueError:
            raise SchemaError(f"there is no column {name} to partition by") from None
        fields.append(
            PartitionField(
                source_id=source.field_id,
                field_id=PARTITION_FIELD_ID_START + position,
                transform=IdentityTransform(),
                name=source.name,
            )
        )
    return PartitionSpec(*fields)


def evolve(transaction: Transaction, plan: EvolutionPlan) -> IcebergSchema:
    """Puts the plan's schema changes into a transaction and returns the schema it then has.

    Nothing is committed. Raises SchemaIncompatible for a step that PyIceberg would let through and readers could not
    bear, and ColumnDropRefused where a field id would be lost.
    """
    before = transaction.table_metadata.schema()
    if not plan.creates and (plan.changes_schema or plan.renamed_sources):
        with transaction.update_schema(case_sensitive=False) as update:
            for relaxation in plan.relaxations:
                update.make_column_optional(relaxation.path)
            for step in plan.widenings:
                current = before.find_field(".".join(step.path), case_sensitive=False).field_type
                wider = iceberg_type(step.after, ".".join(step.path))
                _require_promotion(".".join(step.path), current, wider)
                update.update_column(step.path, field_type=wider)
            for add in plan.adds:
                # New columns are always optional: the rows that are there have no value for them.
                kind = iceberg_type(add.column.type, ".".join(add.path))
                update.add_column(add.path, kind, doc=originals_text(add.column), required=False)
            for column in plan.renamed_sources:
                update.update_column((column.name,), doc=originals_text(column))
    after = transaction.table_metadata.schema()
    require_no_loss(plan_name(transaction), before, after)
    return after


def plan_name(transaction: Transaction) -> str:
    """The dotted name of the table that a transaction is about."""
    return ".".join(transaction._table.name())


def _require_promotion(column: str, current: IcebergType, wider: IcebergType) -> None:
    match current, wider:
        case (IntegerType(), LongType()) | (FloatType(), DoubleType()):
            return
        case DecimalType(), DecimalType() if current.scale == wider.scale and wider.precision >= current.precision:
            return
        case _ if current == wider:
            return
    raise SchemaIncompatible(
        column=column,
        current=str(current),
        incoming=str(wider),
        reason="Iceberg can only grow int to long, float to double and the precision of a decimal",
    )


def require_no_loss(table: str, before: IcebergSchema, after: IcebergSchema) -> None:
    """The guard of every commit: no field id is lost, none gets another name or a type that holds less."""
    old, new = index_by_id(before), index_by_id(after)
    if lost := [str(before.find_column_name(field_id)) for field_id in old if field_id not in new]:
        raise ColumnDropRefused(table=table, columns=lost)
    for field_id, field in old.items():
        if new[field_id].name != field.name:
            raise ColumnDropRefused(table=table, columns=[str(before.find_column_name(field_id))])
        if field.field_type.is_primitive:
            _require_promotion(str(before.find_column_name(field_id)), field.field_type, new[field_id].field_type)


def physical_schema(schema: IcebergSchema) -> pa.Schema:
    """The Arrow schema that engines write: field ids on every level, plain text and lists rather than large ones."""
    return pa.schema([_physical(field) for field in schema_to_pyarrow(schema, include_field_ids=True)])


def _physical(field: pa.Field) -> pa.Field:
    kept = {key: value for key, value in (field.metadata or {}).items() if key != b"doc"}
    return pa.field(field.name, _physical_type(field.type), field.nullable, metadata=kept)


def _physical_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_large_string(kind):
        return pa.string()
    if pa.types.is_large_binary(kind):
        return pa.binary()
    if pa.types.is_struct(kind):
        return pa.struct([_physical(kind.field(index)) for index in range(kind.num_fields)])
    if pa.types.is_map(kind):
        return pa.map_(_physical(kind.key_field), _physical(kind.item_field))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(_physical(kind.value_field))
    return kind
