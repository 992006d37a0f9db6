"""How users write a target: a place, or one table in it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from lakebed.errors import ConfigError
from lakebed.storage import Storage, absolute
from lakebed.targets.base import Target

Kind: TypeAlias = Literal["duckdb", "iceberg", "parquet"]
FORMS = "duckdb:FILE[#TABLE], iceberg:NAMESPACE[.TABLE], parquet:FOLDER"


@dataclass(frozen=True, slots=True)
class Address:
    """A target as it was written; `table` is None where the place can hold several and none was named."""

    kind: Kind
    place: str
    table: str | None = None

    @classmethod
    def parse(cls, text: str, *, bare_path: bool = False) -> "Address":
        """Reads an address; with `bare_path` a path without a kind is a Parquet folder.

        >>> str(Address.parse("duckdb:costs.duckdb").with_table("report"))
        'duckdb:costs.duckdb#report'
        """
        kind, colon, rest = text.partition(":")
        if colon and kind in get_args(Kind):
            if not rest:
                raise _wrong(text, f"nothing follows {kind}:")
            return _READERS[kind](text, rest)
        if bare_path and text:
            return cls("parquet", text)
        raise _wrong(text, "it does not begin with a kind of target")

    @property
    def names_table(self) -> bool:
        """One table is meant. A Parquet folder is always one."""
        return self.kind == "parquet" or self.table is not None

    def with_table(self, name: str) -> "Address":
        """The address of this table in the place; a Parquet folder stays itself, being one table already."""
        if self.kind == "parquet" or self.table == name:
            return self
        if self.table is not None:
            raise ConfigError(
                f"the target {self} names the table {self.table}, and the table {name} was asked for too",
                remedy="Leave one of the two out.",
            )
        return replace(self, table=name)

    def beside(self, suffix: str) -> "Address":
        """The table of the same place whose name has a suffix: `costs.duckdb#report_rejected`."""
        if self.kind == "parquet":
            return replace(self, place=self.place.rstrip("/") + suffix)
        return replace(self, table=f"{self.table or ''}{suffix}")

    def __str__(self) -> str:
        if self.table is None:
            return f"{self.kind}:{self.place}"
        return f"{self.kind}:{self.place}{'#' if self.kind == 'duckdb' else '.'}{self.table}"


def open_target(
    address: Address | str,
    *,
    workdir: Path,
    storage: Storage | None = None,
    catalogs: Mapping[str, Mapping[str, str]] | None = None,
    staging: str | None = None,
    read_only: bool = False,
) -> Target:
    """The table at an address, which need not exist yet. Only the modules of its own kind are imported.

    `catalogs` are the Iceberg catalogs of the settings; `lakebed` is SQLite in the work directory unless it is set.
    `staging` is a folder that workers reach, for a DuckDB file, beside which only this machine can write. Opened
    `read_only`, not even a commit that a crash interrupted is finished.
    """
    if isinstance(address, str):
        address = Address.parse(address)
    if address.kind == "parquet":
        from lakebed.targets.parquet.target import ParquetTarget

        return ParquetTarget(absolute(address.place), storage, read_only=read_only)
    if address.table is None:
        form = {"duckdb": "duckdb:FILE#TABLE", "iceberg": "iceberg:NAMESPACE.TABLE"}[address.kind]
        raise ConfigError(f"{address} names no table", remedy=f"Name one with --table, or write {form}.")
    if address.kind == "duckdb":
        from lakebed.targets.duckdb.target import DuckDBTarget

        return DuckDBTarget(absolute(address.place), address.table, storage=storage, staging=staging)
    try:
        from lakebed.targets.iceberg.catalog import DEFAULT_CATALOG, CatalogSettings
        from lakebed.targets.iceberg.target import IcebergTarget
    except ModuleNotFoundError as missing:
        raise ConfigError(
            f"{address} needs {missing.name}, which is not installed", remedy="pip install 'lakebed[iceberg]'"
        ) from missing
    catalog = CatalogSettings.for_workdir(
        workdir,
        properties=(catalogs or {}).get(DEFAULT_CATALOG),
        storage=None if storage is None else storage.settings,
    )
    return IcebergTarget(address.place, address.table, catalog)


def _parquet(text: str, rest: str) -> Address:
    return Address("parquet", rest)


def _duckdb(text: str, rest: str) -> Address:
    if "://" in rest:
        raise _wrong(text, "a DuckDB file lies on a local disk")
    place, mark, table = rest.rpartition("#")
    if not mark:
        return Address("duckdb", rest)
    if not place or not table:
        raise _wrong(text, "the file or the table beside # is missing")
    return Address("duckdb", place, table)


def _iceberg(text: str, rest: str) -> Address:
    namespace, dot, table = rest.rpartition(".")
    if not dot:
        return Address("iceberg", rest)
    if not all(rest.split(".")):
        raise _wrong(text, "a part between its dots is empty")
    return Address("iceberg", namespace, table)


_READERS = {"parquet": _parquet, "duckdb": _duckdb, "iceberg": _iceberg}


def _wrong(text: str, why: str) -> ConfigError:
    return ConfigError(f"{text!r} is not a target: {why}", remedy=f"A target is written as one of: {FORMS}.")
