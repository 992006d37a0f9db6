"""Other writers and readers of our Iceberg tables: DuckDB with its extension, Spark with Iceberg's own runtime."""

import os
import shutil
import subprocess
from pathlib import Path

import duckdb

from lakebed.engines.duckdb.extensions import load_extension
from tests.support.s3_server import S3Server

# Iceberg's own Spark runtime, the SQLite driver for its JDBC catalog, and its S3 client.
RUNTIME = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
SQLITE = "org.xerial:sqlite-jdbc:3.49.1.0"
AWS = "org.apache.iceberg:iceberg-aws-bundle:1.12.0"


def duckdb_with_iceberg() -> duckdb.DuckDBPyConnection:
    """DuckDB with the extensions that read and write Iceberg, in the order in which they depend on each other."""
    connection = duckdb.connect()
    for name in ("avro", "httpfs", "iceberg"):
        load_extension(connection, name)
    return connection


def attach_rest(connection: duckdb.DuckDBPyConnection, server: S3Server, *, name: str = "lake") -> None:
    """Attaches the server's catalog under a name. OAuth2: DuckDB signs requests for AWS's own hosts only."""
    host = server.endpoint.removeprefix("http://")
    connection.execute(
        f"CREATE SECRET {name}_s3 (TYPE s3, KEY_ID '{server.access_key}', SECRET '{server.secret_key}', "
        f"ENDPOINT '{host}', USE_SSL false, URL_STYLE 'path', REGION '{server.region}')"
    )
    connection.execute(
        f"CREATE SECRET {name}_oauth (TYPE iceberg, CLIENT_ID '{server.access_key}', CLIENT_SECRET "
        f"'{server.secret_key}', OAUTH2_SERVER_URI '{server.iceberg_endpoint}/v1/oauth/tokens')"
    )
    connection.execute(
        f"ATTACH '{server.table_bucket}' AS {name} "
        f"(TYPE iceberg, ENDPOINT '{server.iceberg_endpoint}', SECRET {name}_oauth)"
    )


def jars(*artifacts: str) -> list[Path] | str:
    """The jars, fetched with Maven into a cache folder the first time; else why they cannot be had."""
    folder = Path(os.environ.get("LAKEBED_TEST_JARS", Path.home() / ".cache" / "lakebed" / "jars"))
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for artifact in artifacts:
        _, name, version = artifact.split(":")
        path = folder / f"{name}-{version}.jar"
        if not path.exists():
            maven = shutil.which("mvn")
            if maven is None:
                return f"Maven is not installed, and {path.name} is not in {folder}"
            command = [maven, "-q", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={folder}"]
            done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
            if not path.exists():
                return f"Maven could not fetch {artifact}: {(done.stdout + done.stderr).strip()[-300:]}"
        found.append(path)
    return found
