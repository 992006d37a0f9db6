"""What names prove: whether a column of a file may be known by its name, or only by its field id."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from uuid import UUID

from pyiceberg.schema import Schema, index_by_id
from pyiceberg.table import Table


def names_suffice(table: Table) -> bool:
    """Whether a reader who knows only names finds the table's columns, and no others, in every file of it.

    That is so where each field id had one name and each name one id in every schema since the first, and where files
    without ids mean by a name what the table means. A schema that was removed from the metadata proves nothing.
    """
    schemas = table.schemas()
    if len(schemas) <= max(schemas) or not mapping_agrees(table):
        return False
    return _history(table.metadata.table_uuid).is_unique(schemas)


@dataclass
class _NameHistory:
    """Which name each field id had, and which id each name. A schema never changes, so each is looked at once."""

    name_of: dict[int, str] = field(default_factory=dict)
    id_of: dict[str, int] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)
    unique: bool = True

    def is_unique(self, schemas: Mapping[int, Schema]) -> bool:
        for number in [number for number in schemas if number not in self.seen]:
            for field_id, name in schemas[number]._lazy_id_to_name.items():
                known = self.name_of.setdefault(field_id, name), self.id_of.setdefault(name.casefold(), field_id)
                self.unique = self.unique and known == (name, field_id)
            self.seen.add(number)
        return self.unique


@lru_cache(maxsize=64)
def _history(table_uuid: UUID) -> _NameHistory:
    return _NameHistory()


def field_ids_where_needed(table: Table) -> dict[str, int]:
    """The ids of the table's columns; none where names say the same."""
    return {} if names_suffice(table) else {one.name: one.field_id for one in table.schema().fields}


def mapping_agrees(table: Table) -> bool:
    """Whether the table's name mapping, which is for files without field ids, gives every name its present id."""
    if table.name_mapping() is None:
        return True
    mapped, schema = mapped_ids(table), table.schema()
    present = {str(schema.find_column_name(field_id)): field_id for field_id in index_by_id(schema)}
    return all(mapped.get(name) == field_id for name, field_id in present.items()) and mapped.keys() <= present.keys()


def mapped_ids(table: Table) -> dict[str, int]:
    """Dotted name -> field id of the table's name mapping, for columns that it still has."""
    mapping = table.name_mapping()
    if mapping is None:
        return {}
    present = index_by_id(table.schema())
    return {
        name: one.field_id
        for name, one in mapping._field_by_name.items()
        if one.field_id is not None and one.field_id in present
    }
