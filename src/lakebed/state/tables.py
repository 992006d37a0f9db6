"""The ledger's tables. Names carry a prefix, so that a ledger can share a database with others.

Times are UTC without a zone, because SQLite keeps none; sums are text, because neither database has 38 digits to trust.
"""

from datetime import UTC, datetime

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    Float,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    TypeDecorator,
    UniqueConstraint,
)

METADATA = MetaData()


class UtcTime(TypeDecorator[datetime]):
    """A moment, in UTC on the way in and on the way out."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value.astimezone(UTC).replace(tzinfo=None) if value is not None else None

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value.replace(tzinfo=UTC) if value is not None else None


def _slice(*, nullable: bool = False, key: bool = False) -> tuple[Column[str], ...]:
    return tuple(
        Column(name, String, nullable=nullable, primary_key=key) for name in ("payer", "report", "period", "delivery")
    )


VERSION = Table("lakebed_ledger", METADATA, Column("version", Integer, nullable=False))

DELIVERIES = Table(
    "lakebed_deliveries",
    METADATA,
    *_slice(key=True),
    Column("source", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("manifest", String),
    Column("manifest_etag", String),
    Column("files", Integer, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("missing", JSON, nullable=False),
    Column("created_at", UtcTime),
    Column("state", String, nullable=False),
    Column("error", String),
    Column("discovered_at", UtcTime, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
    Column("file_uris", JSON),  # of files without a manifest, which nothing else remembers
)

STAGED_FILES = Table(
    "lakebed_staged_files",
    METADATA,
    *_slice(key=True),
    Column("key", String, primary_key=True),
    Column("uri", String, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("sha256", String, nullable=False),
    Column("etag", String),
)

LOADS = Table(
    "lakebed_loads",
    METADATA,
    Column("table_address", String, primary_key=True),
    *_slice(key=True),
    Column("state", String, nullable=False),
    Column("error", String),
    Column("rows_loaded", BigInteger, nullable=False),
    Column("files", Integer, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("added_columns", JSON, nullable=False),
    Column("complete", Boolean, nullable=False),
    Column("reconciled", Boolean),
    Column("source_rows", BigInteger),
    Column("rejected_rows", BigInteger, nullable=False),
    Column("plan_hash", String),
    Column("table_version", String),
    Column("started_at", UtcTime, nullable=False),
    Column("finished_at", UtcTime),
)

IDENTITIES = Table(
    "lakebed_identities",
    METADATA,
    # The order in which originals were decided is part of their meaning.
    Column("position", Integer, primary_key=True, autoincrement=True),
    Column("table_address", String, nullable=False),
    Column("original", String, nullable=False),
    Column("name", String, nullable=False),
    Column("delivery", String),
    Column("decided_at", UtcTime, nullable=False),
    UniqueConstraint("table_address", "original", name="lakebed_identities_once"),
)

SCHEMA_CHANGES = Table(
    "lakebed_schema_changes",
    METADATA,
    Column("position", Integer, primary_key=True, autoincrement=True),
    Column("table_address", String, nullable=False),
    *_slice(nullable=True),
    Column("kind", String, nullable=False),
    Column("column_name", String, nullable=False),
    Column("type_before", String),
    Column("type_after", String, nullable=False),
    Column("original", String),
    Column("table_version", String),
    Column("at", UtcTime, nullable=False),
    Index("lakebed_schema_changes_of_table", "table_address"),
)

TABLES = Table(
    "lakebed_tables",
    METADATA,
    Column("table_address", String, primary_key=True),
    Column("version_left", String, nullable=False),
)

SUMS = Table(
    "lakebed_sums",
    METADATA,
    Column("table_address", String, primary_key=True),
    *_slice(key=True),
    Column("column_name", String, primary_key=True),
    Column("currency", String, primary_key=True),  # empty for the sum over all: keys hold no NULL
    Column("source_sum", String, nullable=False),
    Column("table_sum", String, nullable=False),
    Column("rounded", String, nullable=False),
    Column("at", UtcTime, nullable=False),
)

FILES = Table(
    "lakebed_files",
    METADATA,
    Column("table_address", String, primary_key=True),
    Column("path", String, primary_key=True),
    # What the rows of the file carry: an identity of several contents of one path, of which one is loaded.
    Column("identity", String, primary_key=True),
    Column("sha256", String, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("etag", String),
    Column("rows_loaded", BigInteger, nullable=False),
    Column("state", String, nullable=False),
    Column("at", UtcTime, nullable=False),
)

CLAIMS = Table(
    "lakebed_claims",
    METADATA,
    Column("resource", String, primary_key=True),
    Column("owner", String, nullable=False),
    Column("host", String, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("process_started", String, nullable=False),
    Column("claimed_at", UtcTime, nullable=False),
    Column("seen_at", UtcTime, nullable=False),
)

STAGING_FOLDERS = Table(
    "lakebed_staging_folders",
    METADATA,
    Column("folder", String, primary_key=True),
    Column("table_address", String, nullable=False),
    Column("owner", String, nullable=False),
    Column("opened_at", UtcTime, nullable=False),
)
