"""OpenLineage: what a load, write or merge tells those who collect lineage: what it read, which columns went where.

Nothing is sent unless the client library is configured by its own means (`OPENLINEAGE_URL`, `openlineage.yml`, ...). An
event that cannot be sent is a warning: nobody's load fails because nobody listens.
"""

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from uuid import UUID, uuid4

from lakebed.errors import LakebedError
from lakebed.extras import Extra
from lakebed.schema.evolve import EvolutionPlan
from lakebed.schema.types import Column, Schema
from lakebed.storage import is_local, local_path
from lakebed.subject import subject, working_on
from lakebed.targets.address import Address

if TYPE_CHECKING:
    from openlineage.client import OpenLineageClient
    from openlineage.client.event_v2 import InputDataset, OutputDataset
    from openlineage.client.facet_v2 import schema_dataset

log = logging.getLogger(__name__)

OPENLINEAGE = Extra("openlineage", ("openlineage",))
PRODUCER = "https://pypi.org/project/lakebed"
NAMESPACE = "lakebed"


@dataclass(frozen=True)
class Dataset:
    """A table, a folder or a file by OpenLineage's two names."""

    namespace: str
    name: str

    @classmethod
    def of_path(cls, uri: str) -> "Dataset":
        """A place in storage.

        >>> Dataset.of_path("s3://bucket/a/b")
        Dataset(namespace='s3://bucket', name='a/b')
        """
        if is_local(uri):
            return cls("file", str(local_path(uri).absolute()))
        parts = urlsplit(uri)
        return cls(f"{parts.scheme}://{parts.netloc}", parts.path.strip("/"))

    @classmethod
    def of_table(cls, address: str) -> "Dataset":
        """A table by its address; one that is a folder of files is known by its place.

        >>> Dataset.of_table("iceberg:prod:billing.cur")
        Dataset(namespace='iceberg:prod:billing', name='cur')
        """
        table = Address.parse(address, bare_path=True).as_recorded()
        if table.data_folder is not None:
            return cls.of_path(table.data_folder)
        return cls(str(replace(table, table=None, branch=None)), table.table or "")


@dataclass
class Task:
    """One piece of work on one table. Whoever does it says what it read and wrote; that goes into its last event."""

    name: str
    table: str
    run: str = field(default_factory=lambda: str(uuid4()))
    inputs: tuple[Dataset, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)  # of the table, by what they are called in the inputs
    schema: Schema | None = None
    rows: int | None = None
    files: int | None = None

    def reads(self, paths: Sequence[str]) -> None:
        """The data came from there."""
        self.inputs = tuple(dict.fromkeys(Dataset.of_path(path) for path in paths))

    def wrote(self, evolution: EvolutionPlan, originals: Mapping[str, str] | None = None) -> None:
        """The table has the plan's schema now. `originals` are the inputs' own names, where the plan has others."""
        self.schema = evolution.final
        if originals is None:
            originals = {one.column: one.incoming for one in evolution.sources if one.incoming is not None}
        self.columns = originals

    def counted(self, *, rows: int, files: int) -> None:
        """So many rows were written, in so many files."""
        self.rows, self.files = rows, files


@contextmanager
def task(name: str, table: str, *, dry_run: bool = False) -> Iterator[Task]:
    """Work on a table: log lines and Spark's jobs say so, and OpenLineage hears of its begin and of its end."""
    work = Task(name, table)
    parent = subject().get("run")
    with working_on({"run": parent or work.run, "task": name, "table": table}), _sender(silent=dry_run) as client:
        _send(client, "START", work, parent)
        try:
            yield work
        except BaseException as error:
            said = error.message if isinstance(error, LakebedError) else str(error) or type(error).__name__
            _send(client, "FAIL", work, parent, said)
            raise
        _send(client, "COMPLETE", work, parent)


def is_configured() -> bool:
    """Whether somebody listens: what the client library would find, without importing it."""
    if os.environ.get("OPENLINEAGE_DISABLED", "").lower() == "true":
        return False
    named = (
        name in ("OPENLINEAGE_URL", "OPENLINEAGE_CONFIG") or name.startswith("OPENLINEAGE__TRANSPORT__")
        for name in os.environ
    )
    return any(named) or any(
        folder.joinpath("openlineage.yml").is_file() for folder in (Path.cwd(), Path.home() / ".openlineage")
    )


@contextmanager
def _sender(*, silent: bool) -> Iterator["OpenLineageClient | None"]:
    if silent or not is_configured():
        yield None
        return
    if OPENLINEAGE.missing:
        log.warning(
            "OpenLineage is configured, and its client is not installed: no event is sent. "
            "Install lakebed[openlineage], or set OPENLINEAGE_DISABLED=true."
        )
        yield None
        return
    from openlineage.client import OpenLineageClient

    try:
        client = OpenLineageClient()
    except Exception as error:  # noqa: BLE001 -- whatever a transport of the user's choice raises
        log.warning("OpenLineage events are not sent: its client cannot be set up: %s", error)
        yield None
        return
    try:
        yield client
    finally:
        client.close(timeout=10)


def _send(
    client: "OpenLineageClient | None", kind: str, work: Task, parent: str | None, failure: str | None = None
) -> None:
    if client is None:
        return
    from openlineage.client.event_v2 import Job, Run, RunEvent, RunState
    from openlineage.client.facet_v2 import RunFacet, error_message_run, parent_run

    facets: dict[str, RunFacet] = {}
    namespace = os.environ.get("OPENLINEAGE_NAMESPACE", NAMESPACE)
    if parent is not None:
        facets["parent"] = parent_run.ParentRunFacet(
            run=parent_run.Run(runId=str(UUID(parent))), job=parent_run.Job(namespace=namespace, name="lakebed run")
        )
    if failure is not None:
        facets["errorMessage"] = error_message_run.ErrorMessageRunFacet(failure, "python")
    try:
        client.emit(
            RunEvent(
                eventType=RunState[kind],
                eventTime=datetime.now(UTC).isoformat(),
                run=Run(work.run, facets),
                job=Job(namespace, f"{work.name} {work.table}"),
                producer=PRODUCER,
                inputs=_inputs(work),
                outputs=[_output(work)],
            )
        )
    except Exception as error:  # noqa: BLE001 -- whatever a transport of the user's choice raises
        log.warning("the OpenLineage event %s of %s %s was not sent: %s", kind, work.name, work.table, error)


def _inputs(work: Task) -> "list[InputDataset]":
    from openlineage.client.event_v2 import InputDataset

    return [InputDataset(one.namespace, one.name) for one in work.inputs]


def _output(work: Task) -> "OutputDataset":
    from openlineage.client.event_v2 import OutputDataset
    from openlineage.client.facet_v2 import (
        DatasetFacet,
        OutputDatasetFacet,
        column_lineage_dataset,
        output_statistics_output_dataset,
        schema_dataset,
    )

    table = Dataset.of_table(work.table)
    facets: dict[str, DatasetFacet] = {}
    counted: dict[str, OutputDatasetFacet] = {}
    if work.schema is not None:
        fields = [_field(column) for column in work.schema]
        facets["schema"] = schema_dataset.SchemaDatasetFacet(fields)
    if work.columns and work.inputs:
        copied = [column_lineage_dataset.Transformation("DIRECT", "IDENTITY", "", masking=False)]
        facets["columnLineage"] = column_lineage_dataset.ColumnLineageDatasetFacet(
            {
                column: column_lineage_dataset.Fields(
                    [
                        column_lineage_dataset.InputField(one.namespace, one.name, original, copied)
                        for one in work.inputs
                    ]
                )
                for column, original in work.columns.items()
            }
        )
    if work.rows is not None:
        counted["outputStatistics"] = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
            rowCount=work.rows, fileCount=work.files
        )
    return OutputDataset(table.namespace, table.name, counted, facets=facets)


def _field(column: Column) -> "schema_dataset.SchemaDatasetFacetFields":
    from openlineage.client.facet_v2 import schema_dataset

    return schema_dataset.SchemaDatasetFacetFields(column.name, str(column.type))
