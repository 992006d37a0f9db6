"""The settings with which a user's own Spark, with Iceberg's runtime, opens the tables of a catalog."""

from pyiceberg.catalog import infer_catalog_type

from lakebed.targets.iceberg.catalog import CatalogSettings

# What was tried together: the runtime ends at Spark 4.1.
RUNTIME = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
SQLITE_DRIVER = "org.xerial:sqlite-jdbc:3.49.1.0"
AWS_BUNDLE = "org.apache.iceberg:iceberg-aws-bundle:1.12.0"

_EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
_CATALOG = "org.apache.iceberg.spark.SparkCatalog"


def spark_conf(settings: CatalogSettings) -> dict[str, str]:
    """Spark's settings for this catalog, secrets left out: keys come from the environment or the machine's role."""
    prefix = f"spark.sql.catalog.{settings.name}"
    own, packages = _catalog_options(settings)
    return {
        "spark.jars.packages": ",".join(packages),
        "spark.sql.extensions": _EXTENSIONS,
        prefix: _CATALOG,
        **{f"{prefix}.{key}": value for key, value in own.items()},
    }


def _catalog_options(settings: CatalogSettings) -> tuple[dict[str, str], list[str]]:
    properties = dict(settings.properties)
    if settings.sqlite_file is not None:
        options = {
            "type": "jdbc",
            "uri": f"jdbc:sqlite:{settings.sqlite_file}",
            "jdbc.schema-version": "V1",
            "warehouse": properties.get("warehouse", ""),
        }
        return options, [RUNTIME, SQLITE_DRIVER]
    kind = infer_catalog_type(settings.name, dict(properties))
    options = {"type": kind.value if kind is not None else properties.get("type", "rest")}
    for key in ("uri", "warehouse", "rest.sigv4-enabled", "rest.signing-name", "rest.signing-region"):
        if key in properties:
            options[key] = properties[key]
    region = properties.get("client.region") or settings.storage.region or properties.get("s3.region")
    if region:
        options["client.region"] = region
    endpoint = properties.get("s3.endpoint") or settings.storage.endpoint_url
    options["io-impl"] = "org.apache.iceberg.aws.s3.S3FileIO"
    if endpoint:
        options |= {"s3.endpoint": endpoint, "s3.path-style-access": "true"}
    return options, [RUNTIME, AWS_BUNDLE]
