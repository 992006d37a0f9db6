"""Opens Iceberg catalogs: SQLite under the work directory by default, any that PyIceberg knows by its properties."""

import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError as PydanticValidationError
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from pyiceberg.exceptions import (
    NoSuchNamespaceError,
    NoSuchTableError,
    NotInstalledError,
    RESTError,
    SignError,
    ValidationError,
)
from pyiceberg.table import Table
from requests.exceptions import RequestException
from sqlalchemy import Select, select
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from lakebed.config import DEFAULT_CATALOG, is_secret_name
from lakebed.errors import ConfigError, LakebedError, TargetError, first_line, redacted, system_refusal
from lakebed.kernels.storage_settings import LentKeys, StorageSettings
from lakebed.storage import local_path, make_private_folder
from lakebed.targets.iceberg.sql_catalog import LeanSqlCatalog

# How long a SQLite catalog waits for another process's commit, which takes milliseconds.
SQLITE_TIMEOUT_SECONDS = 60
_OPENING = threading.Lock()


def _catalog_failures() -> tuple[type[Exception], ...]:
    known: tuple[type[Exception], ...] = (RESTError, SignError, RequestException, SQLAlchemyError)
    try:
        # Glue, and the signing of S3 Tables
        from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]
    except ModuleNotFoundError:
        return known
    return (*known, BotoCoreError, ClientError)


# What a catalog that cannot be reached, or refuses, raises. PyIceberg's exceptions have no common base.
_CATALOG_FAILURES = _catalog_failures()


@dataclass(frozen=True)
class CatalogSettings:
    """Which catalog: its name, PyIceberg's properties for it, and how the storage below it is reached."""

    name: str
    properties: Mapping[str, str]
    storage: StorageSettings = field(default_factory=StorageSettings)

    @classmethod
    def for_workdir(
        cls,
        workdir: Path,
        *,
        properties: Mapping[str, str] | None = None,
        storage: StorageSettings | None = None,
        name: str = DEFAULT_CATALOG,
    ) -> "CatalogSettings":
        """The catalog with these properties; without any, `catalog.db` and `warehouse/` in the work directory."""
        return cls(name, dict(properties or _beside(workdir.absolute())), storage or StorageSettings())

    @classmethod
    def choose(
        cls,
        name: str | None,
        catalogs: Mapping[str, Mapping[str, str]],
        *,
        workdir: Path,
        storage: StorageSettings | None = None,
    ) -> "CatalogSettings":
        """The catalog of this name in the settings, the default one without a name; ConfigError for an unknown one."""
        if name is None or name == DEFAULT_CATALOG:
            return cls.for_workdir(workdir, properties=catalogs.get(DEFAULT_CATALOG), storage=storage)
        if name not in catalogs:
            known = ", ".join(sorted({DEFAULT_CATALOG, *catalogs}))
            raise ConfigError(
                f"there is no Iceberg catalog {name!r} in the settings",
                remedy=f"Known catalogs: {known}. Others are set as [catalog.NAME] in lakebed.toml.",
            )
        return cls(name, dict(catalogs[name]), storage or StorageSettings())

    @property
    def sqlite_file(self) -> Path | None:
        """The database file of a SQLite catalog."""
        uri = self.properties.get("uri", "")
        if not uri.startswith("sqlite"):
            return None
        database = make_url(uri).database
        return Path(database) if database and database != ":memory:" else None

    @property
    def exists(self) -> bool:
        """Opening it would create nothing: plans and reads look here before they open a catalog."""
        return self.sqlite_file is None or self.sqlite_file.exists()

    def describe(self) -> str:
        """The catalog for a message: every property, secrets hidden."""
        shown = {
            key: "***" if is_secret_name(key) else redacted(value) for key, value in sorted(self.properties.items())
        }
        return f"{self.name!r} ({', '.join(f'{key}={value}' for key, value in shown.items())})"

    def open(self) -> Catalog:
        """Connects, or raises TargetError with the catalog's settings."""
        properties = {**_storage_properties(self.storage), **self.properties}
        with self.translated_errors():
            if self.sqlite_file is not None:
                make_private_folder(self.sqlite_file.parent)
                url = make_url(properties["uri"])
                waiting = url.update_query_dict({"timeout": str(SQLITE_TIMEOUT_SECONDS)})
                properties["uri"] = waiting.render_as_string(False)
            if properties.get("warehouse", "").startswith("file:"):
                local_path(properties["warehouse"]).mkdir(parents=True, exist_ok=True)
            try:
                # A catalog in a database makes its tables when it is opened first, by several threads at once too.
                with _OPENING:
                    catalog = load_catalog(self.name, **properties)
            except ValueError as unfit:
                raise ConfigError(
                    f"the Iceberg catalog {self.describe()} cannot be opened: {first_line(unfit)}",
                    remedy=f"Correct [catalog.{self.name}] in lakebed.toml: a catalog has a type and a uri.",
                ) from unfit
            return LeanSqlCatalog.of(catalog) if type(catalog) is SqlCatalog else catalog

    def lent_keys(self, properties: Mapping[str, str]) -> LentKeys | None:
        """The keys of these properties of a table; None where there are none, or they are those of the settings."""
        key = properties.get("s3.access-key-id")
        if not key or key == self.storage.resolved().access_key_id:
            return None
        return LentKeys(
            key,
            properties.get("s3.secret-access-key"),
            properties.get("s3.session-token"),
            endpoint_url=properties.get("s3.endpoint"),
            region=properties.get("s3.region") or properties.get("client.region"),
        )

    @contextmanager
    def translated_errors(self) -> Iterator[None]:
        """Turns a catalog that cannot be reached, or refuses, into one clear error."""
        try:
            yield
        except (NotInstalledError, ModuleNotFoundError) as missing:
            raise ConfigError(
                f"the Iceberg catalog {self.describe()} needs a package that is not installed: {missing}",
                remedy="pip install 'lakebed[iceberg]', or PyIceberg's extra for this kind of catalog.",
            ) from missing
        except _CATALOG_FAILURES as error:
            raise TargetError(
                f"the Iceberg catalog {self.describe()} failed: {first_line(error)}",
                remedy="Check its uri, warehouse and credentials under [catalog] in lakebed.toml.",
            ) from error
        except OSError as error:
            if isinstance(error, LakebedError):
                raise
            # PyIceberg's own storage: metadata, manifests and data lie in the warehouse.
            refused = system_refusal(error, self.properties.get("warehouse", self.name))
            raise TargetError(
                f"the storage of the Iceberg catalog {self.describe()} failed: {refused.message}", remedy=refused.remedy
            ) from error

    def load(self, catalog: Catalog, identifier: tuple[str, ...], known: Table | None = None) -> Table | None:
        """The table, or None where there is none; as it was `known`, where the catalog says that it is still that."""
        with self.translated_errors():
            if known is not None and _metadata_location(catalog, identifier) == known.metadata_location:
                return Table(known.name(), known.metadata, known.metadata_location, known.io, catalog, known.config)
            try:
                return catalog.load_table(identifier)
            except (NoSuchTableError, NoSuchNamespaceError):
                if _is_view(catalog, identifier):
                    raise TargetError(
                        f"{'.'.join(identifier)} is a view, and only tables are read and written here",
                        remedy="Name the table that it selects from, or another name for a new table.",
                    ) from None
                return None
            except (PydanticValidationError, ValidationError) as error:
                raise _unreadable(".".join(identifier), error) from error


def _metadata_location(catalog: Catalog, identifier: tuple[str, ...]) -> str | None:
    """Where a table's metadata lies, from catalogs that say so without sending it: a database's."""
    if not isinstance(catalog, SqlCatalog):
        return None
    with Session(catalog.engine) as session:
        return session.scalar(_recorded(catalog, identifier))


def _recorded(catalog: SqlCatalog, identifier: tuple[str, ...]) -> Select[str | None]:
    return select(IcebergTables.metadata_location).where(
        IcebergTables.catalog_name == catalog.name,
        IcebergTables.table_namespace == ".".join(identifier[:-1]),
        IcebergTables.table_name == identifier[-1],
    )


def _is_view(catalog: Catalog, identifier: tuple[str, ...]) -> bool:
    """Whether the catalog has a view of this name; one that cannot say so has none."""
    if isinstance(catalog, SqlCatalog):
        # PyIceberg reads no views in databases; Iceberg's JDBC catalog keeps them beside the tables.
        with Session(catalog.engine) as session:
            return session.scalar(_recorded(catalog, identifier)) is not None
    try:
        return bool(catalog.view_exists(identifier))
    except (NotImplementedError, RESTError):
        return False


def _unreadable(table: str, error: Exception) -> TargetError:
    """What metadata holds that PyIceberg does not know: types, mostly, of version 3 of the format."""
    unknown = sorted(set(re.findall(r"(?:Unsupported field type|Type not recognized): '?(\w+)", str(error))))
    if not unknown:
        return TargetError(f"the metadata of {table} cannot be read: {first_line(error)}")
    return TargetError(
        f"{table} has columns of type {', '.join(unknown)}, which PyIceberg does not know yet",
        remedy="Read it with the engine that made it, or give those columns another type there: text holds a variant.",
    )


def _beside(folder: Path) -> dict[str, str]:
    # Iceberg's engines do not agree on how such letters are written in an address.
    if odd := sorted(set("%?#") & set(str(folder))):
        raise ConfigError(
            f"an Iceberg warehouse cannot lie in {folder}: its path has {' '.join(odd)}",
            remedy="Choose another work directory with --workdir or LAKEBED_WORKDIR.",
        )
    return {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}/warehouse"}


def _storage_properties(storage: StorageSettings) -> dict[str, str]:
    resolved = storage.resolved()
    named = {
        "s3.endpoint": resolved.endpoint_url,
        "s3.region": resolved.region,
        "s3.access-key-id": resolved.access_key_id,
        "s3.secret-access-key": resolved.secret_access_key,
        "s3.session-token": resolved.session_token,
        "s3.role-arn": resolved.role_arn,
        "s3.role-session-name": resolved.role_session_name,
        "s3.anonymous": "true" if resolved.anonymous else None,
    }
    return {key: value for key, value in named.items() if value}
