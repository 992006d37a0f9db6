"""The settings that every function of the pipeline takes as keywords, by their last word in `lakebed.toml`."""

import os
from collections.abc import Mapping, Sequence
from typing import TypedDict

from lakebed.config import OnConflict
from lakebed.engines.protocols.load import OnBadValue
from lakebed.schema.names import Naming
from lakebed.workspace import Workspace

# Parameters of the functions, so that a misspelt keyword is answered with the one that was meant.
PARAMETERS = (
    "table",
    "report",
    "payer",
    "period",
    "since",
    "until",
    "workdir",
    "spark",
    "observer",
    "reload",
    "replace",
    "accept_shrink",
    "format",
    "name",
    "infer",
    "types",
    "keys",
    "strategy",
    "dedup_order_by",
    "partition_by",
    "delimiter",
    "quote",
    "encoding",
    "dry_run",
)


class RunSettings(TypedDict, total=False):
    """Keywords of `lakebed.run` and its steps; `docs/reference/settings.md` says what each does. None leaves it unset.

    >>> settings: RunSettings = {"decimals": "18,2", "strict": True, "master": "local[4]"}
    """

    ledger: str | None
    decimals: str | None
    naming: Naming | None
    on_bad_value: OnBadValue | None
    on_conflict: OnConflict | None
    allow_missing: Sequence[str] | None
    shrink_limit: float | None
    shrink_limits: Mapping[str, float] | None
    retain: str | None
    retains: Mapping[str, str] | None
    no_stage: bool | None
    strict: bool | None
    parallelism: int | None
    deliveries_at_once: int | None
    # under [spark] in lakebed.toml:
    master: str | None
    remote: str | None
    memory: str | None
    conf: Mapping[str, str] | None
    log: str | None
    shared_folders: Sequence[str] | None
    # under [storage]:
    endpoint_url: str | None
    region: str | None
    profile: str | None
    access_key_id: str | None
    secret_access_key: str | None
    session_token: str | None
    anonymous: bool | None
    role_arn: str | None
    role_session_name: str | None
    external_id: str | None
    requester_pays: bool | None
    # under [staging]:
    location: str | None
    retention_hours: float | None
    # under [limits]:
    header_bytes: int | None
    line_bytes: int | None
    columns: int | None
    packed_ratio: int | None
    unpacked_bytes: int | None
    manifest_bytes: int | None
    json_depth: int | None
    # tables [catalog.NAME]:
    catalog: Mapping[str, Mapping[str, str]] | None


def open_workspace(workdir: str | os.PathLike[str] | None, settings: RunSettings) -> Workspace:
    """The work directory with these settings over those of the environment and of `lakebed.toml`."""
    folder = None if workdir is None else os.fspath(workdir)
    return Workspace.open({"workdir": folder, **settings}, parameters=PARAMETERS)
