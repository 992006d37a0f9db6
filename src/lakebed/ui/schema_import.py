"""Schemas that somebody imports in the browser: only from below the folders that the explorer was started with."""

from pathlib import Path

from lakebed.errors import ConfigError
from lakebed.lineage.imports import load_schema
from lakebed.ui.analyses import Sources

# Kinds of addresses that are paths. A database's URL would make the server speak with any host, and Spark start a JVM.
PATH_KINDS = ("duckdb", "parquet", "dbt")


def import_schema(sources: Sources, address: str) -> dict[str, object]:
    """The tables at an address: a file, `duckdb:FILE`, `parquet:FOLDER`, `dbt:DIR`, or `iceberg:NS` of the catalog."""
    if not address.isprintable():
        raise ConfigError(f"{address!r} is no address", remedy="Write it without control characters.")
    kind, colon, place = address.partition(":")
    if kind == "spark":
        raise ConfigError(
            "the explorer starts no Spark session for a request", remedy=f"Start it with --schema {address}."
        )
    if not (colon and kind == "iceberg"):
        path = place.partition("#")[0] if colon and kind in PATH_KINDS else address
        _require_inside(sources, path)
    try:
        loaded = load_schema([address], dialect=sources.dialect, workdir=sources.workdir)
    except OSError as error:
        raise ConfigError(f"{address} cannot be read: {error.strerror or error}") from error
    return {"tables": loaded["tables"]}


def _require_inside(sources: Sources, path: str) -> None:
    """Refuses what does not lie below the folders, links included."""
    folders = sources.folders or (Path.cwd().resolve(),)
    found = Path(path).resolve()
    if "://" in path or not any(found.is_relative_to(folder) for folder in folders):
        raise ConfigError(
            f"{path} does not lie below the folders of this explorer",
            remedy=f"Start it with --schema {path}, or copy it below {folders[0]}.",
        )
