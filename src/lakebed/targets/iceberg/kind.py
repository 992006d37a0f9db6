"""`iceberg:[CATALOG:]NAMESPACE[.TABLE][@BRANCH]`: how an Iceberg table is written and opened."""

from dataclasses import replace

from lakebed.config import DEFAULT_CATALOG
from lakebed.extras import Extra
from lakebed.targets.address import Address
from lakebed.targets.base import Target
from lakebed.targets.registry import Opening, TargetKind

MAIN = "main"


def read(text: str) -> Address:
    rest, at, branch = text.partition("@")
    catalog, colon, name = rest.rpartition(":")
    if (at and not branch) or (colon and not catalog) or ":" in catalog or not all(name.split(".")):
        raise ValueError("a part of it is empty, or it names two catalogs")
    namespace, dot, table = name.rpartition(".")
    place, chosen = (namespace, table) if dot else (name, None)
    return Address("iceberg", place, chosen, catalog=catalog or None, branch=branch or None)


def write(address: Address) -> str:
    catalog = "" if address.catalog is None else f"{address.catalog}:"
    table = "" if address.table is None else f".{address.table}"
    branch = "" if address.branch is None else f"@{address.branch}"
    return f"{catalog}{address.place}{table}{branch}"


def recorded(address: Address) -> Address:
    """Without the default catalog, which addresses could not name at first, and without the branch that all have."""
    catalog = None if address.catalog == DEFAULT_CATALOG else address.catalog
    return replace(address, catalog=catalog, branch=None if address.branch == MAIN else address.branch)


def open_(address: Address, opening: Opening) -> Target:
    from lakebed.targets.iceberg.catalog import CatalogSettings
    from lakebed.targets.iceberg.target import IcebergTarget

    storage = None if opening.storage is None else opening.storage.settings
    catalog = CatalogSettings.choose(address.catalog, opening.catalogs, workdir=opening.workdir, storage=storage)
    first = address.place.split(".")[0]
    is_catalog = address.catalog is None and first in opening.catalogs and first != DEFAULT_CATALOG
    return IcebergTarget(
        address.place,
        address.table or "",
        catalog,
        branch=recorded(address).branch,
        namespace_is_catalog=is_catalog,
        may_begin_branch=not opening.read_only,
    )


KIND = TargetKind(
    name="iceberg",
    form="iceberg:[CATALOG:]NAMESPACE[.TABLE][@BRANCH]",
    table_form="iceberg:NAMESPACE.TABLE",
    read=read,
    write=write,
    open=open_,
    recorded=recorded,
    extra=Extra("iceberg", ("pyiceberg",)),
)
