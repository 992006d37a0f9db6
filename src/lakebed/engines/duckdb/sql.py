"""The SQL of a merge. Names are quoted, types cast, and no column is ever addressed by its position."""

import base64
from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from lakebed.kernels.columns import field_id, find_columns, nested_agree
from lakebed.merge_core.spec import RowEffects
from lakebed.model import Lacking
from lakebed.schema.duckdb import OWN, quote_literal, struct_with_kept_fields, to_duckdb
from lakebed.schema.duckdb import quote_identifier as q
from lakebed.schema.types import Schema, fold

# What Parquet files of DuckDB and of Arrow call the schema that Arrow restores types and field metadata from.
ARROW_SCHEMA = "ARROW:schema"
FILE = f"{OWN} file"
NUMBER = f"{OWN} row"
# Aliases, quoted. Plain ones would do until a user has a struct of that name: then `target.id` is a field of it.
TARGET, SOURCE, WANTED, PATHS = (q(f"{OWN} {word}") for word in ("target", "source", "wanted", "paths"))
# DuckDB's own row groups hold 122,880 rows, for each of which a thread that writes holds every column: of 300 columns
# that is half a gigabyte. So many values are a row group at most, and it is made of whole vectors of 2,048 rows.
ROW_GROUP_VALUES, ROW_GROUP_ROWS, VECTOR_ROWS = 4_194_304, 122_880, 2_048
CODECS = {"none": "uncompressed", "lz4": "lz4_raw"}


def path_list(uris: Iterable[str]) -> str:
    """Paths as a SQL list. A quoted literal ends at its quote and nowhere else: whatever a path holds is data."""
    return "[" + ", ".join(quote_literal(_literally(uri)) for uri in uris) + "]"


def _literally(path: str) -> str:
    """A path that DuckDB takes letter by letter, though it reads names as patterns."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in path)


def read_files(uris: Sequence[str], *, filename: str | None = None) -> str:
    """The rows of Parquet files, columns unified by name; values in paths are not columns."""
    named = f", filename = {quote_literal(filename)}" if filename else ""
    return f"read_parquet({path_list(uris)}, union_by_name = true, hive_partitioning = false{named})"


def equal_keys(keys: Sequence[str], left: str, right: str, right_keys: Sequence[str] | None = None) -> str:
    """`(target."a" = source."a" AND target."b" = source."b")`: every component, never a concatenation.

    `left` and `right` are aliases as SQL writes them.
    """
    pairs = zip(keys, right_keys or keys, strict=True)
    return "(" + " AND ".join(f"{left}.{q(one)} = {right}.{q(other)}" for one, other in pairs) + ")"


def scratch_keys(keys: Sequence[str]) -> list[str]:
    """What keys are called in scratch tables: a user's column called `merge_action` would hide MERGE's own."""
    return [f"{OWN} key {place}" for place in range(len(keys))]


def as_scratch_keys(keys: Sequence[str]) -> str:
    """The select list that gives keys their names in scratch tables."""
    return ", ".join(f"{q(key)} AS {q(own)}" for key, own in zip(keys, scratch_keys(keys), strict=True))


def in_order_of(scratch: str, source: str, keys: Sequence[str]) -> str:
    """The source in the order in which its keys lie in the scratch table, those that it lacks last.

    MERGE changes rows in the order of its source, and one that jumps to and fro takes a hundred times as long.
    """
    own, place = scratch_keys(keys), q(f"{OWN} place")
    columns = ", ".join(q(key) for key in own)
    places = f"SELECT {columns}, min(rowid) AS {place} FROM {q(scratch)} GROUP BY {columns}"
    return (
        f"(SELECT {SOURCE}.* FROM {source} AS {SOURCE} LEFT JOIN ({places}) AS {WANTED} "
        f"ON {equal_keys(own, SOURCE, WANTED)} ORDER BY {WANTED}.{place})"
    )


def merge_statement(scratch: str, source: str, keys: Sequence[str], does: RowEffects) -> str:
    """MERGE into the scratch table that holds the matched rows of the target; it returns an action for each row.

    `UPDATE BY NAME` and `INSERT BY NAME`: DuckDB's `SET *` goes by position and would swap columns in silence.
    """
    actions = []
    if does.delete_matched:
        actions.append("WHEN MATCHED THEN DELETE")
    if does.update_matched:
        actions.append("WHEN MATCHED THEN UPDATE BY NAME")
    if does.insert_unmatched:
        actions.append("WHEN NOT MATCHED THEN INSERT BY NAME")
    return (
        f"MERGE INTO {q(scratch)} AS {TARGET} USING {source} AS {SOURCE} ON "
        + f"{equal_keys(scratch_keys(keys), TARGET, SOURCE)} "
        + " ".join(actions)
        + " RETURNING merge_action"
    )


def in_table_schema(
    relation: str, present: pa.Schema, schema: Schema, physical: pa.Schema, constants: Mapping[str, str | None]
) -> str:
    """The rows of a relation that has these columns, in the table's names and types.

    `physical` has the ids by which columns are found where the relation has ids too.
    """
    places = dict(zip(physical.names, find_columns(physical, present), strict=True))
    fixed = {fold(name): value for name, value in constants.items()}
    columns = []
    for column in schema:
        kind = to_duckdb(column.type, column=column.name)
        place = places.get(column.name)
        if fold(column.name) in fixed:
            value = fixed[fold(column.name)]
            expression = "NULL" if value is None else quote_literal(value)
        elif place is None:
            expression = "NULL"
        else:
            found = present.field(place)
            expression = nested_by_id(q(found.name), found.type, physical.field(column.name).type)
        columns.append(f"CAST({expression} AS {kind}) AS {q(column.name)}")
    return f"SELECT {', '.join(columns)} FROM {relation}"


def nested_by_id(value: str, given: pa.DataType, wanted: pa.DataType, depth: int = 0) -> str:
    """A value whose nested fields have the names that CAST will look for: CAST goes by name, and ids may differ."""
    if nested_agree(given, wanted):
        return value
    if pa.types.is_struct(wanted):
        inside = list(given)
        fields = []
        for field, place in zip(wanted, find_columns(wanted, inside), strict=True):
            part = "NULL"
            if place is not None:
                own = f"struct_extract({value}, {quote_literal(inside[place].name)})"
                part = nested_by_id(own, inside[place].type, field.type, depth)
            fields.append(f"{quote_literal(field.name)}: {part}")
        return f"CASE WHEN {value} IS NOT NULL THEN {{{', '.join(fields)}}} END"
    each = q(f"{OWN} {depth}")
    if pa.types.is_map(wanted):
        item = nested_by_id(f"{each}.value", given.item_type, wanted.item_type, depth + 1)
        entries = f"[{{'key': {each}.key, 'value': {item}}} for {each} in map_entries({value})]"
        return f"CASE WHEN {value} IS NOT NULL THEN map_from_entries({entries}) END"
    return f"[{nested_by_id(each, given.value_type, wanted.value_type, depth + 1)} for {each} in {value}]"


def updated_rows(
    schema: Schema,
    delivered: Iterable[str],
    emptied: Iterable[str],
    kept_fields: Mapping[str, Lacking],
    *,
    rows: str,
    changes: str,
    keys: Sequence[str],
    marker: str,
    joined: str,
) -> str:
    """Rows joined with their changes. With a left join unmatched rows stay; order stays as well."""
    new, empty = set(delivered), set(emptied)
    columns = []
    for column in schema:
        name = q(column.name)
        if column.name in new:
            arriving = f"{SOURCE}.{name}"
            if (lacking := kept_fields.get(column.name)) is not None:
                arriving = struct_with_kept_fields(column.type, lacking, source=arriving, target=f"{TARGET}.{name}")
            value = f"CASE WHEN {SOURCE}.{q(marker)} IS NOT NULL THEN {arriving} ELSE {TARGET}.{name} END AS {name}"
        elif column.name in empty:
            value = f"CASE WHEN {SOURCE}.{q(marker)} IS NULL THEN {TARGET}.{name} END AS {name}"
        else:
            value = f"{TARGET}.{name}"
        columns.append(value)
    return (
        f"SELECT {', '.join(columns)} FROM ({rows}) AS {TARGET} {joined} ({changes}) AS {SOURCE} "
        f"ON {equal_keys(keys, TARGET, SOURCE)}"
    )


def source_rows(schema: Schema, delivered: Iterable[str], relation: str) -> str:
    """Source rows in the table's schema; what the source lacks is NULL."""
    new = set(delivered)
    columns = [
        f"{SOURCE}.{q(column.name)}"
        if column.name in new
        else f"CAST(NULL AS {to_duckdb(column.type, column=column.name)}) AS {q(column.name)}"
        for column in schema
    ]
    return f"SELECT {', '.join(columns)} FROM {relation} AS {SOURCE}"


def negative_zero(columns: Iterable[str]) -> str:
    """The condition of rows that hold -0.0 in one of these columns."""
    return " OR ".join(f"({q(name)} = 0 AND signbit({q(name)}))" for name in columns)


def copy_to(query: str, uri: str, physical: pa.Schema, codec: str, *, dictionaries: bool = True) -> str:
    """COPY into one Parquet file that says what an Arrow writer's would: field ids, types, original names.

    In DuckDB's dictionaries -0.0 and 0.0 are one value: without `dictionaries` each stays what it is.
    """
    columns = ", ".join(q(name) for name in physical.names)
    options = ["FORMAT parquet", f"COMPRESSION {quote_literal(CODECS.get(codec, codec))}"]
    rows = ROW_GROUP_VALUES // max(1, len(physical)) // VECTOR_ROWS * VECTOR_ROWS
    if rows < ROW_GROUP_ROWS:
        options.append(f"ROW_GROUP_SIZE {max(VECTOR_ROWS, rows)}")
    if not dictionaries:
        options.append("DICTIONARY_SIZE_LIMIT 0")
    if ids := _field_ids(physical):
        options.append(f"FIELD_IDS {ids}")
    arrow = base64.b64encode(physical.serialize().to_pybytes()).decode()
    options.append(f"KV_METADATA {{{quote_literal(ARROW_SCHEMA)}: {quote_literal(arrow)}}}")
    return f"COPY (SELECT {columns} FROM ({query})) TO {quote_literal(uri)} ({', '.join(options)})"


def _field_ids(schema: Iterable[pa.Field]) -> str:
    parts = []
    for field in schema:
        number = field_id(field)
        if number is None:
            continue
        inner = _inner_ids(field.type)
        value = f"{{__duckdb_field_id: {number}, {inner}}}" if inner else str(number)
        parts.append(f"{quote_literal(field.name)}: {value}")
    return "{" + ", ".join(parts) + "}" if parts else ""


def _inner_ids(kind: pa.DataType) -> str:
    if pa.types.is_struct(kind):
        fields = [(field.name, field) for field in kind]
    elif pa.types.is_map(kind):
        fields = [("key", kind.key_field), ("value", kind.item_field)]
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        fields = [("element", kind.value_field)]
    else:
        return ""
    return _field_ids([field.with_name(name) for name, field in fields]).removeprefix("{").removesuffix("}")
