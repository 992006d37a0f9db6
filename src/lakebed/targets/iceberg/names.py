"""What names prove: whether a column of a file may be known by its name, or only by its field id."""

from pyiceberg.schema import index_by_id
from pyiceberg.table import Table


def names_suffice(table: Table) -> bool:
    """Whether a reader who knows only names finds the table's columns, and no others, in every file of it.

    That is so where each field id had one name and each name one id in every schema since the first, and where files
    without ids mean by a name what the table means. A schema that was removed from the metadata proves nothing.
    """
    schemas = table.schemas()
    if len(schemas) <= max(schemas) or not mapping_agrees(table):
        return False
    name_of: dict[int, str] = {}
    id_of: dict[str, int] = {}
    for schema in schemas.values():
        for field_id in index_by_id(schema):
            name = str(schema.find_column_name(field_id))
            if name_of.setdefault(field_id, name) != name or id_of.setdefault(name.casefold(), field_id) != field_id:
                return False
    return True


def field_ids_where_needed(table: Table) -> dict[str, int]:
    """The ids of the table's columns; none where names say the same."""
    return {} if names_suffice(table) else {field.name: field.field_id for field in table.schema().fields}


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
        name: field.field_id
        for name, field in mapping._field_by_name.items()
        if field.field_id is not None and field.field_id in present
    }
