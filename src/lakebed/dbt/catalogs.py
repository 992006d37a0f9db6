"""Makes the catalogs of the settings readable in dbt's database: extensions, secrets, and ATTACH where DuckDB can."""

import logging
from collections.abc import Iterator, Mapping

import duckdb

from lakebed.config import DEFAULT_CATALOG, Settings
from lakebed.dbt.places import DEFAULT_ALIAS
from lakebed.engines.duckdb.extensions import load_extension
from lakebed.errors import EngineError, first_line
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.schema.duckdb import quote_identifier, quote_literal

log = logging.getLogger(__name__)

# In the order in which they depend on each other.
EXTENSIONS = ("avro", "httpfs", "iceberg")


def load_extensions(connection: duckdb.DuckDBPyConnection) -> EngineError | None:
    """Loads what reads Iceberg; returns why that was not possible, for whoever has an Iceberg table."""
    try:
        for name in EXTENSIONS:
            load_extension(connection, name)
    except EngineError as missing:
        return missing
    return None


def attach_catalogs(connection: duckdb.DuckDBPyConnection, settings: Settings) -> dict[str, str]:
    """Attaches each REST catalog that DuckDB can open; returns the name of each in dbt's database.

    One that it cannot open is left out: its tables are then read at the metadata file of the last run.
    """
    attached = {}
    for name, properties in settings.catalog.items():
        for statement in _secrets(name, properties, settings.storage.resolved()):
            connection.execute(statement)
        alias = DEFAULT_ALIAS if name == DEFAULT_CATALOG else name
        statements = list(_attach(name, alias, properties))
        try:
            for statement in statements:
                connection.execute(statement)
        except duckdb.Error as refused:
            log.warning("DuckDB cannot attach the Iceberg catalog %s: %s", name, first_line(refused))
            continue
        if statements:
            attached[name] = alias
    return attached


def _secrets(name: str, properties: Mapping[str, str], storage: StorageSettings) -> Iterator[str]:
    """How the files of a warehouse in S3 are reached, where the settings say so."""
    keys = {
        "KEY_ID": properties.get("s3.access-key-id") or storage.access_key_id,
        "SECRET": properties.get("s3.secret-access-key") or storage.secret_access_key,
        "SESSION_TOKEN": properties.get("s3.session-token") or storage.session_token,
        "REGION": properties.get("s3.region") or properties.get("client.region") or storage.region,
    }
    if keys["KEY_ID"] is None:
        return
    endpoint = properties.get("s3.endpoint") or storage.endpoint_url
    given = {word: quote_literal(value) for word, value in keys.items() if value}
    if endpoint:
        scheme, _, host = endpoint.partition("://")
        given |= {"ENDPOINT": quote_literal(host), "USE_SSL": str(scheme == "https").lower(), "URL_STYLE": "'path'"}
    yield _create_secret(f"lakebed_{name}_s3", "s3", given)


def _attach(name: str, alias: str, properties: Mapping[str, str]) -> Iterator[str]:
    """What attaches a catalog; nothing for one of a kind that DuckDB does not know, SQLite's above all."""
    if properties.get("type", "rest") != "rest" or "uri" not in properties:
        return
    warehouse, uri = properties.get("warehouse", ""), properties["uri"]
    if properties.get("rest.sigv4-enabled", "").lower() == "true":
        # DuckDB signs for AWS's own hosts only, and knows S3 Tables by the bucket's ARN.
        if not warehouse.startswith("arn:"):
            return
        options = {"ENDPOINT_TYPE": "s3_tables"}
    else:
        options = {"ENDPOINT": quote_literal(uri)}
        secret = _credentials(properties)
        if secret:
            yield _create_secret(f"lakebed_{name}_catalog", "iceberg", secret)
            options["SECRET"] = quote_identifier(f"lakebed_{name}_catalog")
        else:
            options["AUTHORIZATION_TYPE"] = "'none'"
    listed = ", ".join(f"{word} {value}" for word, value in options.items())
    yield f"ATTACH {quote_literal(warehouse)} AS {quote_identifier(alias)} (TYPE iceberg, {listed})"


def _credentials(properties: Mapping[str, str]) -> dict[str, str]:
    if token := properties.get("token"):
        return {"TOKEN": quote_literal(token)}
    client, colon, secret = properties.get("credential", "").partition(":")
    if not colon:
        return {}
    server = properties.get("oauth2-server-uri") or f"{properties['uri'].rstrip('/')}/v1/oauth/tokens"
    found = {"CLIENT_ID": client, "CLIENT_SECRET": secret, "OAUTH2_SERVER_URI": server}
    if scope := properties.get("scope"):
        found["OAUTH2_SCOPE"] = scope
    return {word: quote_literal(value) for word, value in found.items()}


def _create_secret(name: str, kind: str, values: Mapping[str, str]) -> str:
    """Kept in memory alone: nothing of it is written into dbt's database."""
    listed = ", ".join(f"{word} {value}" for word, value in values.items())
    return f"CREATE OR REPLACE SECRET {quote_identifier(name)} (TYPE {kind}, {listed})"
