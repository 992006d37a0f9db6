"""`iceberg:NAMESPACE[.TABLE]`: how an Iceberg table is written and opened."""

from lakebed.targets.address import Address
from lakebed.targets.base import Target
from lakebed.targets.registry import Opening, TargetKind


def read(text: str) -> Address:
    namespace, dot, table = text.rpartition(".")
    if not dot:
        return Address("iceberg", text)
    if not all(text.split(".")):
        raise ValueError("a part between its dots is empty")
    return Address("iceberg", namespace, table)


def write(address: Address) -> str:
    return address.place if address.table is None else f"{address.place}.{address.table}"


def open_(address: Address, opening: Opening) -> Target:
    from lakebed.targets.iceberg.catalog import DEFAULT_CATALOG, CatalogSettings
    from lakebed.targets.iceberg.target import IcebergTarget

    catalog = CatalogSettings.for_workdir(
        opening.workdir,
        properties=opening.catalogs.get(DEFAULT_CATALOG),
        storage=None if opening.storage is None else opening.storage.settings,
    )
    return IcebergTarget(address.place, address.table or "", catalog)


KIND = TargetKind(
    name="iceberg",
    form="iceberg:NAMESPACE[.TABLE]",
    table_form="iceberg:NAMESPACE.TABLE",
    read=read,
    write=write,
    open=open_,
    recorded=lambda address: address,
    extra="iceberg",
)
