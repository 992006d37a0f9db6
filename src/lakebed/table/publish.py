"""`lakebed publish`: what was written to a branch and looked at becomes the table that everybody reads."""

import os
from dataclasses import replace

from lakebed.errors import ConfigError
from lakebed.state.rebuild import describe_table
from lakebed.table.read import TableLike, open_table, open_workspace
from lakebed.targets.address import Address
from lakebed.targets.snapshots import HasBranches, Publication


def publish(
    target: TableLike,
    *,
    drop_branch: bool = False,
    dry_run: bool = False,
    workdir: str | os.PathLike[str] | None = None,
) -> Publication:
    """Makes what a branch of an Iceberg table holds that of the table, in one commit that copies nothing.

    It only goes forwards: where the table was changed after the branch was made, it is refused. The ledger then knows
    which deliveries the table holds. With `drop_branch` the branch is gone afterwards.

    >>> for address in ("iceberg:billing.costs", "iceberg:billing.costs@audit"):
    ...     _ = lakebed.merge(pa.table({"id": [len(address)]}), address, keys="id", workdir="work")
    >>> lakebed.read("iceberg:billing.costs", workdir="work").count_rows()
    1
    >>> lakebed.publish("iceberg:billing.costs@audit", workdir="work").commits
    1
    >>> lakebed.read("iceberg:billing.costs", workdir="work").count_rows()
    2
    """
    opened = open_table(target, workdir=workdir)
    if not isinstance(opened, HasBranches) or opened.branch is None:
        raise ConfigError(
            f"{opened.address} names no branch to publish",
            remedy="Name a branch of an Iceberg table: iceberg:NAMESPACE.TABLE@BRANCH.",
        )
    if dry_run:
        return opened.publish(drop_branch=drop_branch, dry_run=True)
    described = describe_table(opened, opened.state())
    done = opened.publish(drop_branch=drop_branch)
    if done.commits:
        table = str(replace(Address.parse(opened.address), branch=None))
        with open_workspace(workdir).ledger() as ledger:
            ledger.rebuild([replace(described, table=table)])
    return done
