"""Which DuckDB this is, and whether it has MERGE."""

import logging
from typing import Protocol
from weakref import WeakKeyDictionary

import duckdb

from lakebed.errors import DatasetMergeError
from lakebed.merge_core.spec import MergeSpec

log = logging.getLogger("lakebed.engines.duckdb.merge")

Version = tuple[int, int, int]
MERGE_SINCE: Version = (1, 4, 0)
UNKNOWN: Version = (0, 0, 0)


class Connection(Protocol):
    """What version detection needs of a connection."""

    def execute(self, query: str) -> "duckdb.DuckDBPyConnection": ...


_KNOWN: "WeakKeyDictionary[Connection, Version]" = WeakKeyDictionary()


def detect_version(connection: Connection) -> Version:
    """The version as numbers, asked once for each connection; (0, 0, 0) with a warning where it is unknown."""
    if (known := _cached(connection)) is not None:
        return known
    try:
        result = connection.execute("SELECT * FROM pragma_version()")
        names = [column[0] for column in result.description or ()]
        # All of it: a result that is not fetched to its end keeps DuckDB 2 from other work.
        rows = result.fetchall()
        if not rows:
            raise ValueError("pragma_version() returned no row")
        version = parse_version(str(rows[0][names.index("library_version")]))
    except (duckdb.Error, ValueError) as error:
        log.warning("Could not determine DuckDB version: %s", error)
        return UNKNOWN
    try:
        _KNOWN[connection] = version
    except TypeError:
        log.debug("this connection cannot be remembered; its version is asked for again")
    return version


def parse_version(text: str) -> Version:
    """`v1.4.0` as (1, 4, 0); what follows a third number (`-dev123`) is left out.

    >>> parse_version("v10.2.3")
    (10, 2, 3)
    """
    parts = text.strip().removeprefix("v").split("-")[0].split("+")[0].split(".")
    if len(parts) < 3:
        raise ValueError(f"{text!r} is not a version")
    major, minor, patch = (int(part) for part in parts[:3])
    return (major, minor, patch)


def supports_merge(version: Version) -> bool:
    return version >= MERGE_SINCE


def choose_merge(connection: Connection, use_merge: bool | None, spec: MergeSpec) -> bool:
    """Whether this merge uses MERGE: what the user asked for, or else what this DuckDB can do."""
    if use_merge is False:
        log.info("Using UNION ALL (explicitly requested)")
        return False
    version = detect_version(connection)
    able = supports_merge(version)
    if able and use_merge is None and spec.effects.delete_unmatched:
        log.info("Using a join for %s: MERGE would keep two versions of nearly every row in memory", spec.strategy)
        return False
    if use_merge:
        if not able:
            raise merge_unavailable(
                spec,
                "DuckDB MERGE requested but not available. Required version: >= 1.4.0, "
                f"Current: {'.'.join(str(part) for part in version)}",
                remedy="Upgrade DuckDB, or set use_merge=False.",
            )
        log.info("Using DuckDB MERGE (explicitly requested)")
    elif able:
        log.info("Using DuckDB MERGE for merge operation (auto-detected)")
    else:
        log.info("Using UNION ALL fallback for merge operation (DuckDB < 1.4.0 or MERGE unavailable)")
    return able


def merge_unavailable(
    spec: MergeSpec,
    message: str,
    *,
    remedy: str = "Leave use_merge out: then Arrow merges what DuckDB cannot merge exactly.",
) -> DatasetMergeError:
    """MERGE was demanded, and nothing else may take its place."""
    return DatasetMergeError(
        message, kind="MERGE_UNAVAILABLE", remedy=remedy, strategy=spec.strategy, key_columns=spec.keys
    )


def _cached(connection: Connection) -> Version | None:
    try:
        return _KNOWN.get(connection)
    except TypeError:
        return None
