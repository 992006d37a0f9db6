"""The kinds of targets. A new one is a folder here, whose module `kind` says what it is, and its name in NAMES.

Nothing else knows a kind by name. Only the modules of the kind that is opened are imported.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from lakebed.extras import Extra
from lakebed.storage import Storage
from lakebed.targets.base import Target

if TYPE_CHECKING:
    from lakebed.targets.address import Address

NAMES = ("duckdb", "iceberg", "parquet")
# What a path without a kind is, where one is allowed.
BARE_PATH = "parquet"


@dataclass(frozen=True)
class Opening:
    """What a target may need beside its address.

    `catalogs` are the Iceberg catalogs of the settings. `staging` is a folder that workers reach, for a target beside
    which only this machine can write. Opened `read_only`, not even a commit that a crash interrupted is finished.
    """

    workdir: Path
    storage: Storage | None = None
    catalogs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    staging: str | None = None
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class TargetKind:
    """How a kind of target is written, read back and opened."""

    name: str
    form: str  # with everything that can be left out in brackets
    table_form: str  # the shortest that names one table
    read: Callable[[str], "Address"]  # what follows `name:`; raises ValueError with what is wrong
    write: Callable[["Address"], str]
    open: Callable[["Address", Opening], Target]
    recorded: Callable[["Address"], "Address"]  # as reports and the ledger write it
    always_one_table: bool = False
    # Engines write their files at the place itself, so workers must reach it.
    data_at_place: bool = False
    keeps_views: bool = False  # beside its tables, as targets.base.HoldsViews
    extra: Extra | None = None  # what a plain install lacks of it


@cache
def target_kind(name: str) -> TargetKind:
    """The kind of this name, one of NAMES."""
    kind: TargetKind = import_module(f"lakebed.targets.{name}.kind").KIND
    return kind


def require_target(name: str, what: str) -> None:
    """Raises ExtraMissing, which names the extra to install, where `what` needs a kind of target that is not there."""
    extra = target_kind(name).extra
    if extra is not None:
        extra.require(what)


def forms() -> str:
    """How targets are written, for messages."""
    return ", ".join(target_kind(name).form for name in NAMES)
