"""AWS billing columns: from AWS's words for types to ours, and what is known of columns whose manifest says nothing."""

import re
from collections.abc import Iterable, Mapping

from lakebed.errors import ConfigError
from lakebed.model import Delivery, SourceColumn
from lakebed.schema.duckdb import to_duckdb
from lakebed.schema.identity import Identities, assign
from lakebed.schema.names import Naming, distinct_originals, normalize_column_name
from lakebed.schema.types import (
    Boolean,
    Column,
    DataType,
    Date,
    Decimal,
    Integer,
    Map,
    Schema,
    Text,
    Timestamp,
    fold,
)
from lakebed.schema.widen import Mismatch, widen

DEFAULT_DECIMALS = "38,18"
DATETIME = Timestamp("us")
TEXT_MAP = Map(Text(), Text())

# The names are the specification's for legacy CUR, CUR 2.0's own, and FOCUS's in the same form. What is in none of the
# three lists is text: rates too, which real manifests declare as String.
KNOWN_DECIMALS = frozenset(
    f"{prefix}_{name}"
    for prefix, names in {
        "line_item": "blended_cost net_unblended_cost normalization_factor normalized_usage_amount unblended_cost "
        "usage_amount",
        "pricing": "public_on_demand_cost",
        "reservation": "amortized_upfront_cost_for_usage amortized_upfront_fee_for_billing_period effective_cost "
        "net_amortized_upfront_cost_for_usage net_amortized_upfront_fee_for_billing_period net_effective_cost "
        "net_recurring_fee_for_usage net_unused_amortized_upfront_fee_for_billing_period net_unused_recurring_fee "
        "net_upfront_value recurring_fee_for_usage unused_amortized_upfront_fee_for_billing_period "
        "unused_normalized_unit_quantity unused_quantity unused_recurring_fee upfront_value",
        "savings_plan": "amortized_upfront_commitment_for_billing_period "
        "net_amortized_upfront_commitment_for_billing_period net_recurring_commitment_for_billing_period "
        "net_savings_plan_effective_cost recurring_commitment_for_billing_period savings_plan_effective_cost "
        "savings_plan_rate total_commitment_to_date used_commitment",
        "split_line_item": "actual_usage net_split_cost net_unused_cost public_on_demand_split_cost "
        "public_on_demand_unused_cost reserved_usage split_cost split_usage split_usage_ratio unused_cost",
        "discount": "bundled_discount total_discount",
    }.items()
    for name in names.split()
) | {
    "billed_cost",
    "commitment_discount_quantity",
    "consumed_quantity",
    "contracted_cost",
    "contracted_unit_price",
    "effective_cost",
    "list_cost",
    "list_unit_price",
    "pricing_currency_contracted_unit_price",
    "pricing_currency_effective_cost",
    "pricing_currency_list_unit_price",
    "pricing_quantity",
}
KNOWN_DATETIMES = frozenset(
    {
        "bill_billing_period_end_date",
        "bill_billing_period_start_date",
        "billing_period_end",
        "billing_period_start",
        "charge_period_end",
        "charge_period_start",
        "line_item_usage_end_date",
        "line_item_usage_start_date",
    }
)
KNOWN_MAPS = frozenset(
    {
        "cost_category",
        "discount",
        "product",
        "resource_tags",
        "sku_price_details",
        "tags",
        "x_cost_categories",
        "x_discounts",
    }
)

_DECIMAL_TYPES = frozenset({"BigDecimal", "OptionalBigDecimal"})
_DECIMALS_SETTING = re.compile(r"\s*(\d{1,2})\s*,\s*(\d{1,2})\s*")


def parse_decimals(setting: str) -> Decimal:
    """The `decimals` setting, `38,18` or the specification's `18,2`, as a type."""
    found = _DECIMALS_SETTING.fullmatch(setting)
    precision, scale = (int(found[1]), int(found[2])) if found else (0, 0)
    if not (1 <= precision <= 38 and scale <= precision):
        raise ConfigError(
            f"decimals = {setting!r} is not a precision and a scale",
            remedy="Write precision,scale with a precision of at most 38, such as 38,18.",
        )
    return Decimal(precision, scale)


def column_type(original: str, declared_type: str | None = None, *, decimals: str = DEFAULT_DECIMALS) -> DataType:
    """Our type for a billing column: the manifest's where it declares one, else what is known of the column, else text.

    Columns of the category resourceTags are text whatever is declared.
    """
    category, slash, _ = original.partition("/")
    if slash and category == "resourceTags":
        return Text()
    known = known_type(original, decimals=decimals)
    if not slash and known == TEXT_MAP:
        # Whatever a manifest calls them, these are objects of text.
        return TEXT_MAP
    if declared_type is None:
        return known or Text()
    if declared_type in _DECIMAL_TYPES:
        return parse_decimals(decimals)
    if declared_type == "DateTime":
        return DATETIME
    return Text() if slash else _export_type(declared_type, decimals)


def known_type(original: str, *, decimals: str = DEFAULT_DECIMALS) -> DataType | None:
    """What is known of a billing column by its name alone, in whichever format it is written; None where nothing is."""
    for name in (normalize_column_name(original, "spec"), normalize_column_name(original, "athena")):
        if name in KNOWN_DECIMALS:
            return parse_decimals(decimals)
        if name in KNOWN_DATETIMES:
            return DATETIME
        if name in KNOWN_MAPS and "/" not in original:
            return TEXT_MAP
    return None


def _export_type(declared: str, decimals: str) -> DataType:
    """The words of Data Exports and of Parquet files, where money is a double: it becomes a decimal by its text."""
    word = re.split(r"[(\[<]", declared.strip().lower(), maxsplit=1)[0]
    match word:
        case "double" | "float" | "decimal" | "decimal128":
            return parse_decimals(decimals)
        case "timestamp" | "datetime":
            return DATETIME
        case "map":
            return TEXT_MAP
        case "bigint" | "long" | "int64" | "int" | "integer" | "int32":
            return Integer(64)
        case "boolean" | "bool":
            return Boolean()
        case "date" | "date32":
            return Date()
        case _:
            return Text()


def incoming_schema(
    columns: Iterable[SourceColumn],
    identities: Identities,
    *,
    decimals: str = DEFAULT_DECIMALS,
    current: Schema | None = None,
    follow_table: bool = True,
) -> Schema:
    """The columns of a delivery as the table will call them, each with its original.

    A column of which neither manifest nor dictionary says anything has the type that the table gives it already. So has
    one that is text on one side only, unless `follow_table` is False: manifests with and without types disagree about
    columns whose values are alike, and a value that does not parse is refused with its line.
    """
    given = list(columns)
    originals = distinct_originals(column.original for column in given)
    schema = []
    for column, original in zip(given, originals, strict=True):
        name = identities[original]
        present = current.get(name) if current is not None else None
        type_ = column_type(column.original, column.declared_type, decimals=decimals)
        if present is not None:
            silent = column.declared_type is None and known_type(column.original) is None
            if silent or (follow_table and _only_one_is_text(present.type, type_)):
                type_ = present.type
        schema.append(Column(name, type_, original=original))
    return Schema.of(schema)


def _only_one_is_text(a: DataType, b: DataType) -> bool:
    values = (Decimal, Integer, Boolean, Date, Timestamp)
    return (isinstance(a, Text) and isinstance(b, values)) or (isinstance(b, Text) and isinstance(a, values))


Manifest = Delivery | Mapping[str, object]


def get_unified_schema(
    manifests: Iterable[Manifest], *, decimals: str = DEFAULT_DECIMALS, naming: Naming = "spec"
) -> dict[str, str]:
    """Column name -> DuckDB type over the columns of all manifests, each original once, in the order they are met.

    Where manifests disagree on a type, the wider one is taken, and text where there is none: a CSV's values are text.
    """
    identities = Identities()
    types: dict[str, DataType] = {}
    for manifest in manifests:
        columns = source_columns(manifest)
        identities = assign(identities, (c.original for c in columns), naming, finished_names=_finished(columns))
        for column in incoming_schema(columns, identities, decimals=decimals):
            wider = widen(types.get(column.name, column.type), column.type)
            types[column.name] = Text() if isinstance(wider, Mismatch) else wider
    return {name: to_duckdb(type_, column=name) for name, type_ in types.items()}


def get_new_columns(
    existing: Schema | Iterable[str],
    manifest_columns: Iterable[Mapping[str, object] | SourceColumn],
    *,
    decimals: str = DEFAULT_DECIMALS,
    naming: Naming = "spec",
) -> dict[str, str]:
    """Column name -> DuckDB type of the manifest's columns that the table does not have yet.

    `existing` are the table's names; as a Schema that knows its originals, it keeps each of them on its column.
    """
    columns = tuple(_source_column(column) for column in manifest_columns)
    schema = existing if isinstance(existing, Schema) else None
    identities = Identities.from_schema(schema) if schema is not None else Identities(names=tuple(map(str, existing)))
    taken = {fold(name) for name in identities.names}
    identities = assign(identities, (c.original for c in columns), naming, finished_names=_finished(columns))
    return {
        column.name: to_duckdb(column.type, column=column.name)
        for column in incoming_schema(columns, identities, decimals=decimals, current=schema)
        if fold(column.name) not in taken
    }


def source_columns(manifest: Manifest) -> tuple[SourceColumn, ...]:
    """The columns of a manifest, as AWS writes it or as a delivery holds it."""
    if isinstance(manifest, Delivery):
        return manifest.columns
    listed = manifest.get("columns")
    return tuple(_source_column(column) for column in listed) if isinstance(listed, list | tuple) else ()


def _source_column(column: Mapping[str, object] | SourceColumn) -> SourceColumn:
    if isinstance(column, SourceColumn):
        return column
    category, declared = column.get("category"), column.get("type")
    name = str(column["name"])
    return SourceColumn(f"{category}/{name}" if category else name, None if declared is None else str(declared))


def _finished(columns: Iterable[SourceColumn]) -> bool:
    """Exports without categories deliver the names of tables."""
    return all("/" not in column.original for column in columns)
