"""What dbt wrote: the nodes of `manifest.json`, and the columns of `catalog.json`."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lakebed.errors import ConfigError
from lakebed.lineage.dbt_words import ModelConfig, RelationName

SchemaTable = dict[str, object]


def read_artifact(path: Path, what: str, *, remedy: str) -> Mapping[str, object]:
    """A JSON file of dbt's target folder."""
    try:
        loaded = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} is not a dbt {what}: {error}", remedy=remedy) from error
    if not isinstance(loaded, dict) or not isinstance(loaded.get("nodes"), dict):
        raise ConfigError(f"{path} is not a dbt {what}: it has no nodes", remedy=remedy)
    return loaded


@dataclass(frozen=True, slots=True)
class DbtNode:
    """A model, seed, snapshot or source of a manifest."""

    unique_id: str
    kind: str
    name: str
    source: str
    file: str
    language: str
    raw: str
    compiled: str
    version: str | None
    config: ModelConfig
    relation: RelationName
    columns: tuple[Mapping[str, object], ...]
    # documented columns need not be all of them, except where a contract enforces them
    contract: bool

    @classmethod
    def of(cls, manifest: Mapping[str, object]) -> "Iterator[DbtNode]":
        """The nodes that are tables; what has another shape than dbt gives it is left out."""
        for group in ("sources", "nodes"):
            nodes = manifest.get(group)
            for unique_id, node in (nodes if isinstance(nodes, dict) else {}).items():
                if isinstance(node, dict) and node.get("resource_type") in ("source", "seed", "snapshot", "model"):
                    yield cls._of(str(unique_id), node)

    @classmethod
    def _of(cls, unique_id: str, node: Mapping[str, object]) -> "DbtNode":
        config, contract = _mapping(node.get("config")), _mapping(node.get("contract"))
        name = str(node.get("name") or unique_id)
        identifier = str(node.get("identifier") or node.get("alias") or name)
        parts = (_text(node.get("database")), _text(node.get("schema")), identifier)
        columns = [one for one in _mapping(node.get("columns")).values() if isinstance(one, dict) and one.get("name")]
        version = node.get("version")
        return cls(
            unique_id=unique_id,
            kind=str(node.get("resource_type")),
            name=name,
            source=_text(node.get("source_name")),
            file=_text(node.get("original_file_path")) or unique_id,
            language=_text(node.get("language")) or "sql",
            raw=_text(node.get("raw_code")) or _text(node.get("raw_sql")),
            compiled=_text(node.get("compiled_code")) or _text(node.get("compiled_sql")),
            version=None if version is None else str(version),
            config=ModelConfig({str(key): value for key, value in config.items()}),
            relation=RelationName(tuple(part for part in parts if part), _text(node.get("relation_name")) or None),
            columns=tuple(columns),
            contract=bool(contract.get("enforced")),
        )


def catalog_columns(catalog: Mapping[str, object]) -> dict[str, list[dict[str, str]]]:
    """The columns that dbt found in the warehouse, by the node's id."""
    found: dict[str, list[dict[str, str]]] = {}
    for group in ("sources", "nodes"):
        for unique_id, node in _mapping(catalog.get(group)).items():
            columns = [one for one in _mapping(_mapping(node).get("columns")).values() if isinstance(one, dict)]
            columns.sort(key=_position)
            found[str(unique_id)] = [_column(one.get("name"), one.get("type")) for one in columns if one.get("name")]
    return found


def catalog_tables(catalog: Mapping[str, object]) -> list[SchemaTable]:
    """The tables of a catalog on its own, which names them as the warehouse does."""
    columns = catalog_columns(catalog)
    tables: list[SchemaTable] = []
    for group in ("sources", "nodes"):
        for unique_id, node in _mapping(catalog.get(group)).items():
            facts = _mapping(_mapping(node).get("metadata"))
            names = {"catalog": facts.get("database"), "schema": facts.get("schema"), "name": facts.get("name")}
            if names["name"] and columns.get(str(unique_id)):
                given = {key: str(name) for key, name in names.items() if name}
                tables.append({**given, "columns": columns[str(unique_id)]})
    return tables


def dbt_tables(nodes: Iterable[DbtNode], catalog: Mapping[str, list[dict[str, str]]]) -> list[SchemaTable]:
    """Tables with the columns of the catalog, which are all of them, or with those that the project documents."""
    tables: list[SchemaTable] = []
    for node in nodes:
        columns = catalog.get(node.unique_id) or []
        complete = bool(columns) or node.contract
        if not columns:
            columns = [_column(one.get("name"), one.get("data_type")) for one in node.columns]
        if columns:
            names = dict(zip(("name", "schema", "catalog"), reversed(node.relation.parts), strict=False))
            tables.append({**names, "columns": columns, "complete": complete})
    return tables


def _column(name: object, data_type: object) -> dict[str, str]:
    return {"name": str(name), **({"dataType": str(data_type)} if data_type else {})}


def _position(column: Mapping[str, object]) -> int:
    index = column.get("index")
    return index if isinstance(index, int) else 0


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
