"""What people call the columns of a bill: `account`, `service`, `tag:team`, in a table of any format and naming."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from lakebed.errors import SchemaError
from lakebed.finops.bill_columns import aws_name
from lakebed.model import RESERVED_COLUMNS, GroupKey
from lakebed.schema.names import normalize_column_name
from lakebed.schema.types import Column, Map, Schema, fold

# By AWS's finished names: those of CUR and CUR 2.0 first, then FOCUS's.
WORDS: dict[str, tuple[str, ...]] = {
    "account": ("line_item_usage_account_id", "sub_account_id"),
    "payer": ("bill_payer_account_id", "billing_account_id"),
    "service": ("line_item_product_code", "service_name"),
    "line_item_type": ("line_item_line_item_type", "charge_category"),
    "usage_type": ("line_item_usage_type", "sku_meter", "x_usage_type"),
    "operation": ("line_item_operation", "x_operation"),
    "resource": ("line_item_resource_id", "resource_id"),
    "region": ("product_region_code", "product_region", "region_id"),
    "zone": ("line_item_availability_zone", "availability_zone"),
    "invoice": ("bill_invoice_id", "invoice_id"),
    "bill_type": ("bill_bill_type",),
    "term": ("pricing_term", "pricing_category"),
}
# Prefixed words: the category of CUR's columns, and the maps of CUR 2.0 and FOCUS.
_PREFIXES = {
    "tag": (("resourceTags/user:", "resourceTags/"), ("resource_tags", "tags")),
    "category": (("costCategory/",), ("cost_category", "x_cost_categories")),
    "product": (("product/",), ("product",)),
}
DEFAULT_WORDS = ("account", "service", "line_item_type")


@dataclass(frozen=True)
class GroupColumn:
    """A word, and the columns of a table that it means."""

    word: str
    key: GroupKey
    originals: tuple[str, ...]


def find_group_columns(schema: Schema, words: Sequence[str] | None, *, table: str) -> tuple[GroupColumn, ...]:
    """The columns that words mean, or those of the words that every bill has. Raises SchemaError for an unknown one."""
    if words is None:
        found = (_find(schema, word) for word in DEFAULT_WORDS)
        return tuple(one for one in found if one is not None)
    chosen = []
    for word in dict.fromkeys(words):
        one = _find(schema, word)
        if one is None:
            known = [*WORDS, *(f"{prefix}:NAME" for prefix in _PREFIXES), *schema.names]
            near = difflib.get_close_matches(word, known, n=3)
            raise SchemaError(
                f"{table} has no column for {word}",
                remedy=f"Did you mean {', '.join(near)}? " * bool(near)
                + f"Write one of {', '.join(WORDS)}, tag:NAME, category:NAME, product:NAME, or a column's name.",
            )
        chosen.append(one)
    return tuple(chosen)


def _find(schema: Schema, word: str) -> GroupColumn | None:
    if word in schema or word in {original for column in schema for original in _originals(column)}:
        columns = [column for column in schema if fold(column.name) == fold(word) or word in _originals(column)]
        return _made(word, [(column, None) for column in columns if not isinstance(column.type, Map)])
    prefix, colon, name = word.partition(":")
    if colon and prefix in _PREFIXES and name:
        return _made(word, _prefixed(schema, prefix, name))
    by_name: dict[str, list[Column]] = {}
    for column in schema:
        if fold(column.name) not in RESERVED_COLUMNS:
            by_name.setdefault(aws_name(column), []).append(column)
    return _made(word, [(column, None) for name in WORDS.get(word, ()) for column in by_name.get(name, ())])


def _prefixed(schema: Schema, prefix: str, name: str) -> list[tuple[Column, str | None]]:
    categories, maps = _PREFIXES[prefix]
    wanted = {f"{category}{name}" for category in categories}
    found: list[tuple[Column, str | None]] = [
        (column, None) for column in schema if wanted & set(_originals(column)) and not isinstance(column.type, Map)
    ]
    if not found:
        # A format with finished names has no originals: `resource_tags_user_team`.
        names = {normalize_column_name(one, "athena") for one in wanted}
        found = [(column, None) for column in schema if aws_name(column) in names and not isinstance(column.type, Map)]
    # CUR 2.0 writes the keys of its maps with underscores, FOCUS as they are.
    keys = dict.fromkeys(
        key
        for key in (name, f"user:{name}", f"user_{name}", f"user_{name.replace('-', '_')}")
        if prefix == "tag" or key == name
    )
    for column in schema:
        if isinstance(column.type, Map) and aws_name(column) in maps:
            found += [(column, key) for key in keys]
    return found


def _made(word: str, found: Sequence[tuple[Column, str | None]]) -> GroupColumn | None:
    if not found:
        return None
    key = GroupKey(tuple((column.name, inside) for column, inside in found))
    originals = (
        (column.original or column.name) + ("" if inside is None else f"[{inside}]") for column, inside in found
    )
    return GroupColumn(word, key, tuple(dict.fromkeys(originals)))


def _originals(column: Column) -> tuple[str, ...]:
    return (*(() if column.original is None else (column.original,)), *column.aliases)
