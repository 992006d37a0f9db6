"""What an ingest is asked to do, checked before any file is looked at."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from lakebed.errors import ConfigError
from lakebed.kernels.dialects import require_known
from lakebed.merge_core.spec import MergeSpec, MergeStrategy
from lakebed.schema.types import DataType, Schema
from lakebed.source.files import FileFormat, require_format
from lakebed.table.evolve import SchemaLike, as_schema


@dataclass(frozen=True)
class IngestSpec:
    """The arguments of an ingest, in one form. Names of columns are originals, or those of the table."""

    format: FileFormat | None = None
    infer: bool = True
    types: Schema = field(default_factory=Schema)
    keys: tuple[str, ...] = ()
    strategy: MergeStrategy = "upsert"
    dedup_order_by: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    delimiter: str | None = None
    quote: str | None = None
    encoding: str | None = None

    @classmethod
    def of(
        cls,
        *,
        format_: str | None,
        infer: bool,
        types: SchemaLike | None,
        keys: Sequence[str] | str | None,
        strategy: str,
        dedup_order_by: Sequence[str] | str | None,
        partition_by: Sequence[str] | str | None,
        delimiter: str | None,
        quote: str | None,
        encoding: str | None,
    ) -> "IngestSpec":
        """The arguments, or ConfigError for the first that is wrong."""
        wanted = _names(keys)
        if not wanted and (strategy != "upsert" or dedup_order_by):
            raise ConfigError(
                f"strategy={strategy!r} has no meaning without keys",
                remedy="Give the keys by which rows are matched, or leave the strategy out.",
            )
        if strategy == "full_merge":
            raise ConfigError(
                "full_merge removes every row that its source lacks, and an ingest reads only files that are new",
                remedy="Use upsert, or merge the whole source: lakebed merge SOURCE TARGET --strategy full_merge.",
            )
        chosen: MergeStrategy = "upsert"
        if wanted:
            # The one validation that merges have.
            chosen = MergeSpec.of(keys=wanted, strategy=strategy, dedup_order_by=dedup_order_by).strategy
        for what, mark in (("delimiter", delimiter), ("quote", quote)):
            if mark and (len(mark) > 1 or mark in "\r\n" or not mark.isascii()):
                raise ConfigError(
                    f"the {what} is {mark!r}", remedy="It is one letter of ASCII, as in ';' or '\\t' or '|'."
                )
        if delimiter is not None and delimiter in ("", quote):
            raise ConfigError(f"the delimiter is {delimiter!r}", remedy="Give one letter that is not the quote.")
        if encoding is not None:
            encoding = require_known(encoding)
        return cls(
            format=require_format(format_),
            infer=infer,
            types=Schema() if types is None else as_schema(_existing(types)),
            keys=wanted,
            strategy=chosen,
            dedup_order_by=_names(dedup_order_by),
            partition_by=_names(partition_by),
            delimiter=delimiter,
            quote=quote,
            encoding=encoding,
        )

    def given_type(self, originals: Sequence[str], name: str) -> DataType | None:
        """What the user says that a column is, by any of its names."""
        for one in (*originals, name):
            if (column := self.types.get(one)) is not None:
                return column.type
        return None


def _existing(types: SchemaLike) -> SchemaLike:
    """The types as they are given; a path that is misspelt is no DDL."""
    if isinstance(types, str | os.PathLike) and " " not in os.fspath(types) and not os.path.exists(os.fspath(types)):
        raise ConfigError(
            f"there is no file {os.fspath(types)}",
            remedy="Give a .json file of {name: type}, a .sql file, or DDL as in 'id bigint, cost decimal(38,18)'.",
        )
    return types


def _names(given: Sequence[str] | str | None) -> tuple[str, ...]:
    return () if given is None else (given,) if isinstance(given, str) else tuple(given)
