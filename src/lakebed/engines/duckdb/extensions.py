"""DuckDB's extensions, from the wheels that carry them: they load without a network."""

from importlib.util import find_spec
from pathlib import Path

import duckdb

from lakebed.engines.duckdb.facts import EXTENSIONS
from lakebed.errors import EngineError


def load_extension(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Loads an extension from its wheel, else from where DuckDB itself has installed it. Nothing is downloaded."""
    packaged = packaged_extension(name)
    place = "'" + str(packaged).replace("'", "''") + "'" if packaged is not None else name
    try:
        connection.execute(f"LOAD {place}")
    except duckdb.Error as refused:
        raise EngineError(
            f"DuckDB {duckdb.__version__} cannot load its extension {name}: {str(refused).splitlines()[0]}",
            remedy=f"pip install 'lakebed[{EXTENSIONS.name}]'",
        ) from refused


def packaged_extension(name: str) -> Path | None:
    """The extension's file in the wheel `duckdb-extension-NAME`, where that is installed for this DuckDB."""
    spec = find_spec(f"duckdb_extension_{name}")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        file = Path(folder) / "extensions" / f"v{duckdb.__version__}" / f"{name}.duckdb_extension"
        if file.exists():
            return file
    return None
