"""Where a table lies that is written to until its writer dies, and who reads it: Lakebed and three that do not know it.

Everything of a place lies in one folder, or in one bucket with the work directory in a folder: `save` keeps a copy of
the old state, `renew` brings it back. A place that cannot be copied is a new one each time, and says so.
"""

import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar
from zlib import crc32

import duckdb
import polars
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.fs as pafs
from pyiceberg.catalog import load_catalog
from pyiceberg.table import Table
from tests.support.s3_server import S3Server, StoppableServer
from tests.support.strangers import attach_rest, duckdb_with_iceberg

import lakebed
from lakebed.errors import NotFound

CATALOG = "lake"
Rows = tuple[tuple[str, ...], ...]
ABSENT: Rows = ()


@dataclass
class Place:
    """One table of a kind, with the work directory of those who write to it."""

    copied: ClassVar[bool] = True  # `renew` brings the saved state back; otherwise every number is another place
    partition_by: ClassVar[tuple[str, ...]] = ("part",)  # of merged tables, so that they have several files

    folder: Path
    server: S3Server | None = None
    number: int = 0
    stoppable: StoppableServer | None = None  # the server, where it is to be killed

    @property
    def here(self) -> Path:
        return self.folder / (f"place{self.number}" if not self.copied else "place")

    @property
    def workdir(self) -> Path:
        return self.here / "work"

    @property
    def own_name(self) -> str:
        """For what lies on a server that others use too."""
        return f"{crc32(str(self.folder).encode()):08x}"

    @property
    def address(self) -> str:
        raise NotImplementedError

    def leftovers(self) -> list[str]:
        """Data files that lie beside the table and not in it."""
        return sorted(str(path) for path in self.here.glob(".costs*/**/*.parquet"))

    def enter(self) -> None:
        """Makes the folder the current one, with the settings that lead to the servers."""
        self.here.mkdir(parents=True, exist_ok=True)
        os.chdir(self.folder)
        if self.server is not None:
            storage = {key: value for key, value in asdict(self.server.settings).items() if value}
            sections = {"storage": storage, f"catalog.{CATALOG}": self.server.catalog_properties}
            text = "\n".join(
                f"[{name}]\n" + "\n".join(f"{json.dumps(key)} = {json.dumps(value)}" for key, value in values.items())
                for name, values in sections.items()
            )
            (self.folder / "lakebed.toml").write_text(text)

    def save(self) -> None:
        if self.copied:
            shutil.copytree(self.here, self.folder / "saved")

    def renew(self) -> bool:
        """True if the old state is back; otherwise this is an empty place, in which it is to be made again."""
        self.number += 1
        if self.copied:
            shutil.rmtree(self.here)
            shutil.copytree(self.folder / "saved", self.here)
        return self.copied

    def readers(self, columns: Sequence[str]) -> dict[str, Callable[[], pa.Table]]:
        """Those who know nothing of Lakebed."""
        raise NotImplementedError

    def look(self, columns: Sequence[str]) -> dict[str, Rows]:
        """What everybody reads, others first: Lakebed may repair what it meets."""
        return {
            name: _rows(reader, columns) for name, reader in [*self.readers(columns).items(), ("lakebed", self._ours)]
        }

    def _ours(self) -> pa.Table:
        found = lakebed.read(self.address, workdir=self.workdir)
        return found if isinstance(found, pa.Table) else found.to_table()


class NothingThere(Exception):
    """A reader that finds no table."""


def _rows(reader: Callable[[], pa.Table], columns: Sequence[str]) -> Rows:
    try:
        table = reader()
    except (NothingThere, NotFound):
        return ABSENT
    lists = [[_text(value) for value in table[name].to_pylist()] for name in columns]
    return tuple(sorted(zip(*lists, strict=True)))


def _text(value: object) -> str:
    return format(value.normalize(), "f") if isinstance(value, Decimal) else str(value)


class ParquetFolder(Place):
    @property
    def address(self) -> str:
        return f"parquet:{self.here / 'costs'}"

    def readers(self, columns: Sequence[str]) -> dict[str, Callable[[], pa.Table]]:
        folder = self.here / "costs"

        def found(read: Callable[[], pa.Table]) -> Callable[[], pa.Table]:
            def reading() -> pa.Table:
                if not list(folder.glob("**/*.parquet")):
                    raise NothingThere
                return read()

            return reading

        every = f"{folder}/**/*.parquet"
        return {
            "pyarrow": found(
                lambda: pads.dataset(folder, format="parquet", partitioning="hive").to_table(columns=list(columns))
            ),
            "duckdb": found(
                lambda: (
                    duckdb.connect()
                    .execute(f"FROM read_parquet('{every}', union_by_name = true, hive_partitioning = true)")
                    .to_arrow_table()
                )
            ),
            "polars": found(
                lambda: (
                    polars.scan_parquet(every, hive_partitioning=True, missing_columns="insert", extra_columns="ignore")
                    .select(columns)
                    .collect()
                    .to_arrow()
                )
            ),
        }


class ParquetOnS3(Place):
    copied = False

    @cached_property
    def bucket(self) -> str:
        assert self.server is not None
        name = f"faults-{self.own_name}"
        self.server.filesystem().create_dir(name)
        return name

    @property
    def address(self) -> str:
        return f"parquet:s3://{self.bucket}/place{self.number}/costs"

    def leftovers(self) -> list[str]:
        assert self.server is not None
        every = pafs.FileSelector(f"{self.bucket}/place{self.number}", allow_not_found=True, recursive=True)
        paths = (info.path for info in self.server.filesystem().get_file_info(every))
        return sorted(path for path in paths if "/.costs" in path and path.endswith(".parquet"))

    def readers(self, columns: Sequence[str]) -> dict[str, Callable[[], pa.Table]]:
        assert self.server is not None
        server, inside = self.server, f"{self.bucket}/place{self.number}/costs"
        every = f"s3://{inside}/**/*.parquet"

        def listed() -> pads.Dataset:
            try:
                return pads.dataset(inside, filesystem=server.filesystem(), format="parquet", partitioning="hive")
            except FileNotFoundError:
                raise NothingThere from None

        def in_duckdb() -> pa.Table:
            if not listed().files:
                raise NothingThere
            connection = duckdb_with_iceberg()
            connection.execute(
                f"CREATE SECRET (TYPE s3, KEY_ID '{server.access_key}', SECRET '{server.secret_key}', ENDPOINT "
                f"'{server.endpoint.removeprefix('http://')}', USE_SSL false, URL_STYLE 'path', "
                f"REGION '{server.region}')"
            )
            query = f"FROM read_parquet('{every}', union_by_name = true, hive_partitioning = true)"
            return connection.execute(query).to_arrow_table()

        def in_polars() -> pa.Table:
            if not listed().files:
                raise NothingThere
            options = {key.lower(): value for key, value in server.environment.items()}
            return (
                polars.scan_parquet(
                    every,
                    hive_partitioning=True,
                    missing_columns="insert",
                    extra_columns="ignore",
                    storage_options=options,
                )
                .select(columns)
                .collect()
                .to_arrow()
            )

        return {
            "pyarrow": lambda: listed().to_table(columns=list(columns)),
            "duckdb": in_duckdb,
            "polars": in_polars,
        }


class DuckDBFile(Place):
    partition_by = ()

    @property
    def address(self) -> str:
        return f"duckdb:{self.here / 'costs.duckdb'}#bill"

    def readers(self, columns: Sequence[str]) -> dict[str, Callable[[], pa.Table]]:
        file, names = self.here / "costs.duckdb", ", ".join(columns)

        def opened(act: Callable[[duckdb.DuckDBPyConnection], pa.Table]) -> Callable[[], pa.Table]:
            def reading() -> pa.Table:
                if not file.exists():
                    raise NothingThere
                with duckdb.connect(file, read_only=True) as connection:
                    if not connection.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = 'bill'").fetchall():
                        raise NothingThere
                    return act(connection)

            return reading

        def attached() -> pa.Table:
            if not file.exists():
                raise NothingThere
            with duckdb.connect() as connection:
                connection.execute(f"ATTACH '{file}' AS other (READ_ONLY)")
                if not connection.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = 'bill'").fetchall():
                    raise NothingThere
                return connection.execute(f"SELECT {names} FROM other.bill").to_arrow_table()

        return {
            "duckdb": opened(lambda connection: connection.execute(f"SELECT {names} FROM bill").to_arrow_table()),
            "attached": attached,
            "polars": opened(lambda connection: connection.execute(f"SELECT {names} FROM bill").pl().to_arrow()),
        }


class IcebergOnSQLite(Place):
    @property
    def address(self) -> str:
        return "iceberg:faults.bill"

    @property
    def table_name(self) -> str:
        return "faults.bill"

    def leftovers(self) -> list[str]:
        """Data files in the warehouse that no snapshot names."""
        table = self._table()
        named = {path.removeprefix("file://") for path in table.inspect.all_files()["file_path"].to_pylist()}
        return sorted({str(path) for path in self.workdir.glob("warehouse/**/data/**/*.parquet")} - named)

    def catalog_properties(self) -> Mapping[str, str]:
        return {
            "type": "sql",
            "uri": f"sqlite:///{self.workdir / 'catalog.db'}",
            "warehouse": f"file://{self.workdir / 'warehouse'}",
        }

    def _table(self) -> Table:
        properties = self.catalog_properties()
        if properties["type"] == "sql" and not (self.workdir / "catalog.db").exists():
            raise NothingThere
        catalog = load_catalog("lakebed" if properties["type"] == "sql" else CATALOG, **properties)
        if not catalog.table_exists(self.table_name):
            raise NothingThere
        table = catalog.load_table(self.table_name)
        if table.current_snapshot() is None:
            raise NothingThere
        return table

    def _in_duckdb(self, columns: Sequence[str]) -> pa.Table:
        location = self._table().metadata_location.removeprefix("file://")
        query = f"SELECT {', '.join(columns)} FROM iceberg_scan('{location}')"
        return duckdb_with_iceberg().execute(query).to_arrow_table()

    def readers(self, columns: Sequence[str]) -> dict[str, Callable[[], pa.Table]]:
        chosen = list(columns)
        return {
            "pyiceberg": lambda: self._table().scan(selected_fields=tuple(chosen)).to_arrow(),
            "duckdb": lambda: self._in_duckdb(chosen),
            "polars": lambda: (
                polars.scan_iceberg(self._table(), reader_override="pyiceberg").select(chosen).collect().to_arrow()
            ),
        }


class IcebergOnRest(IcebergOnSQLite):
    copied = False

    @property
    def namespace(self) -> str:
        return f"faults_{self.own_name}"

    @property
    def address(self) -> str:
        return f"iceberg:{CATALOG}:{self.table_name}"

    def leftovers(self) -> list[str]:
        """What lies beside others' tables on the server is not looked at."""
        return []

    @property
    def table_name(self) -> str:
        return f"{self.namespace}.bill{self.number}"

    def catalog_properties(self) -> Mapping[str, str]:
        assert self.server is not None
        storage = {
            "s3.endpoint": self.server.endpoint,
            "s3.access-key-id": self.server.access_key,
            "s3.secret-access-key": self.server.secret_key,
            "s3.region": self.server.region,
        }
        return {**self.server.catalog_properties, **storage}

    def _in_duckdb(self, columns: Sequence[str]) -> pa.Table:
        assert self.server is not None
        self._table()
        connection = duckdb_with_iceberg()
        attach_rest(connection, self.server)
        return connection.execute(f"SELECT {', '.join(columns)} FROM lake.{self.table_name}").to_arrow_table()


class IcebergOnFixture(IcebergOnRest):
    """The Iceberg project's own catalog, over the same storage."""

    catalog_uri = ""

    def enter(self) -> None:
        super().enter()
        path = self.folder / "lakebed.toml"
        kept = path.read_text().partition(f"[catalog.{CATALOG}]")[0]
        path.write_text(f'{kept}[catalog.{CATALOG}]\ntype = "rest"\nuri = "{self.catalog_uri}"\n')


PLACES: dict[str, type[Place]] = {
    "Parquet": ParquetFolder,
    "Parquet on S3": ParquetOnS3,
    "DuckDB": DuckDBFile,
    "Iceberg on SQLite": IcebergOnSQLite,
    "Iceberg on REST": IcebergOnRest,
}
ON_SERVER = frozenset({"Parquet on S3", "Iceberg on REST"})


def open_place(kind: str, folder: Path, server: Mapping[str, Any] | None) -> Place:
    """A place of one of PLACES, or in the catalog at an address, over the server's storage."""
    reached = S3Server(**server) if server else None
    if kind not in PLACES:
        place = IcebergOnFixture(folder, reached)
        place.catalog_uri = kind
        return place
    return PLACES[kind](folder, reached)
