"""How users write a target: a place, or one table in it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from lakebed.errors import ConfigError
from lakebed.storage import SCHEMES, Storage, absolute, unknown_scheme
from lakebed.targets.base import Target
from lakebed.targets.registry import BARE_PATH, NAMES, Opening, forms, require_target, target_kind


@dataclass(frozen=True, slots=True)
class Address:
    """A target as it was written; `table` is None where the place can hold several and none was named.

    `catalog` and `branch` are None where none was written, or where the kind has no such thing.
    """

    kind: str
    place: str
    table: str | None = None
    catalog: str | None = None
    branch: str | None = None

    @classmethod
    def parse(cls, text: str, *, bare_path: bool = False) -> "Address":
        """Reads an address; with `bare_path` a path without a kind is a Parquet folder.

        >>> str(Address.parse("duckdb:costs.duckdb").with_table("report"))
        'duckdb:costs.duckdb#report'
        """
        kind, colon, rest = text.partition(":")
        if colon and kind in NAMES:
            if not rest:
                raise _wrong(text, f"nothing follows {kind}:")
            try:
                return target_kind(kind).read(rest)
            except ValueError as wrong:
                raise _wrong(text, str(wrong)) from None
        if bare_path and (scheme := unknown_scheme(text)) is not None:
            raise _wrong(text, f"{scheme}: is neither a kind of target nor a storage, which are {', '.join(SCHEMES)}")
        if bare_path and text:
            return cls(BARE_PATH, text)
        raise _wrong(text, "it does not begin with a kind of target")

    @property
    def names_table(self) -> bool:
        """One table is meant."""
        return self.table is not None or target_kind(self.kind).always_one_table

    @property
    def data_folder(self) -> str | None:
        """The folder that engines write into, where the address alone says which."""
        return absolute(self.place) if target_kind(self.kind).data_at_place else None

    def with_table(self, name: str) -> "Address":
        """The address of this table in the place; a place that is always one table stays itself."""
        if target_kind(self.kind).always_one_table or self.table == name:
            return self
        if self.table is not None:
            raise ConfigError(
                f"the target {self} names the table {self.table}, and the table {name} was asked for too",
                remedy="Leave one of the two out.",
            )
        return replace(self, table=name)

    def as_recorded(self) -> "Address":
        """The address as reports and the ledger write it: the same from whichever folder a run is started."""
        return target_kind(self.kind).recorded(self)

    def beside(self, suffix: str) -> "Address":
        """The table of the same place whose name has a suffix: `costs.duckdb#report_rejected`."""
        if target_kind(self.kind).always_one_table:
            return replace(self, place=self.place.rstrip("/") + suffix)
        return replace(self, table=f"{self.table or ''}{suffix}")

    def __str__(self) -> str:
        return f"{self.kind}:{target_kind(self.kind).write(self)}"


def with_absolute_place(address: Address) -> Address:
    """How addresses whose place is a path are recorded."""
    return replace(address, place=absolute(address.place))


def open_target(
    address: Address | str,
    *,
    workdir: Path,
    storage: Storage | None = None,
    catalogs: Mapping[str, Mapping[str, str]] | None = None,
    staging: str | None = None,
    read_only: bool = False,
) -> Target:
    """The table at an address, which need not exist yet; `Opening` says what the other parameters are for."""
    if isinstance(address, str):
        address = Address.parse(address)
    kind = target_kind(address.kind)
    if not address.names_table:
        raise ConfigError(f"{address} names no table", remedy=f"Name it in the address: {kind.table_form}.")
    require_target(address.kind, str(address))
    return kind.open(address, Opening(workdir, storage, catalogs or {}, staging, read_only))


def _wrong(text: str, why: str) -> ConfigError:
    return ConfigError(f"{text!r} is not a target: {why}", remedy=f"A target is written as one of: {forms()}.")
