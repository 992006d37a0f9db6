"""The tables of a database, through SQLAlchemy: PostgreSQL and whatever else has a dialect for it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, create_engine, inspect, make_url
from sqlalchemy.engine import Inspector
from sqlalchemy.engine.reflection import ObjectKind
from sqlalchemy.exc import ArgumentError, CompileError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool
from sqlalchemy.types import NullType

from lakebed.errors import ConfigError, ExtraMissing, LineageError, first_line

_URL = re.compile(r"[a-z][a-z0-9+._-]*://", re.IGNORECASE)
# What databases say of themselves.
_SYSTEM_SCHEMAS = re.compile(
    r"information_schema|pg_\w+|sys|mysql|performance_schema|guest|db_\w+|crdb_internal",
    re.IGNORECASE,
)
_POSTGRES = ("postgres", "postgresql")


def is_database_url(address: str) -> bool:
    """Whether an address is a URL that SQLAlchemy may know."""
    return _URL.match(address) is not None


def read_database(source: object) -> dict[str, object]:
    """Tables and views of a database with their columns and types; its default schema is the search path.

    A URL may end in `#SCHEMA`: only that schema is read then.
    """
    with _engine(source) as (engine, wanted):
        try:
            inspector = inspect(engine)
            default = inspector.default_schema_name
            schemas = [wanted] if wanted else _schemas(inspector, default)
            tables = [table for schema in schemas for table in _tables(inspector, engine, schema)]
        except SQLAlchemyError as error:
            place = engine.url.render_as_string(hide_password=True)
            reason = first_line(getattr(error, "orig", None) or error)
            raise LineageError(
                f"the tables of {place} cannot be read: {reason}", remedy="Check the URL, and that the database runs."
            ) from error
    if wanted and not tables:
        raise ConfigError(f"the database has no tables in the schema {wanted}", remedy="Check the name after #.")
    search = wanted or default
    return {"tables": tables, **({"searchPath": [{"schema": search}]} if search else {})}


@contextmanager
def _engine(source: object) -> Iterator[tuple[Engine, str | None]]:
    if isinstance(source, Engine):
        yield source, None
        return
    address, _, wanted = str(source).partition("#")
    try:
        url = make_url(address)
        if url.drivername in _POSTGRES:
            url = url.set(drivername="postgresql+psycopg")
        engine = create_engine(url, poolclass=NullPool)
    except NoSuchModuleError as error:
        raise ConfigError(
            f"no database is known by the name {url.get_backend_name()}",
            remedy="Install its SQLAlchemy dialect, or export information_schema.columns as CSV.",
        ) from error
    except (ArgumentError, ValueError):
        # Not even a part of it is repeated: where the password begins and ends is what is not known.
        raise ConfigError(
            "the schema's address is no database URL", remedy="Write for example postgresql://user@host/db."
        ) from None
    except ImportError as error:
        if url.get_backend_name() == "postgresql":
            raise ExtraMissing(what="a PostgreSQL schema", modules=["psycopg"], extras=["postgres"]) from error
        raise ConfigError(
            f"the driver of {url.drivername} is not installed: {first_line(error)}", remedy="Install it with pip."
        ) from error
    try:
        yield engine, wanted or None
    finally:
        engine.dispose()


def _schemas(inspector: Inspector, default: str | None) -> list[str | None]:
    found = [name for name in inspector.get_schema_names() if not _SYSTEM_SCHEMAS.fullmatch(name)]
    return sorted(found, key=lambda name: (name != default, name)) or [default]


def _tables(inspector: Inspector, engine: Engine, schema: str | None) -> Iterator[dict[str, object]]:
    found = inspector.get_multi_columns(schema=schema, kind=ObjectKind.ANY)
    for (_, table), columns in sorted(found.items(), key=lambda item: item[0][1]):
        listed = [
            {"name": str(one["name"]), **({"dataType": kind} if (kind := _type_name(one["type"], engine)) else {})}
            for one in columns
        ]
        yield {**({"schema": schema} if schema else {}), "name": table, "columns": listed}


def _type_name(kind: Any, engine: Engine) -> str | None:
    if isinstance(kind, NullType):
        return None
    try:
        return str(kind.compile(dialect=engine.dialect))
    except CompileError:
        return str(kind)
