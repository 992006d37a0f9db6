"""Merges on Spark by shuffling: for sources whose keys no worker should have to hold.

Source rows and the target's keys meet in a join, which spills and splits skewed keys as Spark does. Matched rows then
go to the pack of files that they change, new ones to buckets of their own.
"""

import pickle
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from lakebed.engines.protocols.merge import FileLayout
from lakebed.engines.spark.tasks import collect, map_batches, reason, remedy
from lakebed.errors import UnsupportedType
from lakebed.kernels.columns import top_level_ids, with_ids
from lakebed.kernels.merge import Rules
from lakebed.kernels.merge_shuffle import FILE, GROUP, RESULT, ROW, ApplyPack, ReadSource, ReadTargetKeys
from lakebed.kernels.merge_tasks import StagedSource
from lakebed.merge_core import refusals
from lakebed.merge_core.plan import Matches
from lakebed.merge_core.spec import MergeSpec
from lakebed.model import DataFile
from lakebed.schema.arrow import from_arrow_schema, to_arrow_schema
from lakebed.schema.spark import from_spark_ddl, to_spark_ddl
from lakebed.schema.types import Column as SchemaColumn
from lakebed.schema.types import Integer, Schema

ROWS_PER_BUCKET = 500_000


@dataclass(frozen=True)
class Shuffle:
    """A staged source, as DataFrames. Columns are called k0, k1, ... for keys and c0, c1, ... for all of them."""

    spark: SparkSession
    source: StagedSource
    spec: MergeSpec

    def check(self) -> tuple[pa.Table, int, list[tuple[object, ...]]]:
        """The smallest and largest of each key, how many keys repeat, and up to five of those."""
        names = self._key_names()
        counted = self._source_keys().groupBy(*names).agg(F.count("*").alias("times"))
        several = counted.where("times > 1")
        extremes = [
            part for name in names for part in (F.min(name).alias(f"min_{name}"), F.max(name).alias(f"max_{name}"))
        ]
        found = self._run(
            counted.agg(F.count_if(F.col("times") > 1).alias("several"), *extremes), "look for keys that repeat"
        ).to_pylist()[0]
        keys = pa.table(
            [
                pa.array([found[f"min_{name}"], found[f"max_{name}"]]).cast(field.type)
                for name, field in zip(names, self._key_schema(), strict=True)
            ],
            schema=self._key_schema(),
        )
        shown: list[tuple[object, ...]] = []
        if found["several"] and not self.spec.keys_may_repeat:
            first = several.select(*names).orderBy(*names).limit(refusals.SHOWN_KEYS)
            rows = self._run(first, "show keys that repeat").to_pylist()
            shown = [tuple(row[name] for name in names) for row in rows]
        return keys, found["several"], shown

    def match(self, files: Sequence[DataFile], layout: FileLayout) -> Matches:
        """Looks the keys up in these files."""
        names = self._key_names()
        target = self._target_keys(files, layout)
        source = self._source_keys().distinct().withColumn("hit", F.lit(1))
        nulls = [F.sum(F.col(name).isNull().cast("long")).alias(f"null_{name}") for name in names]
        joined = target.join(source, on=names, how="left").groupBy(FILE).agg(F.count("hit").alias("rows"), *nulls)
        doing = f"look keys up in {len(files)} files"
        by_file = self._run(joined, doing).to_pylist()
        counted_keys = source.join(target, on=names, how="left_semi").agg(F.count("*").alias("n"))
        [found] = self._run(counted_keys, doing).to_pylist()
        counted = {
            key: sum(row[f"null_{name}"] or 0 for row in by_file)
            for key, name in zip(self.spec.keys, names, strict=True)
        }
        rows = {files[row[FILE]].uri: row["rows"] for row in by_file if row["rows"]}
        return Matches(rows, {key: count for key, count in counted.items() if count}, found["n"])

    def write(
        self,
        files: Sequence[DataFile],
        packs: Sequence[Sequence[int]],
        rules: Rules,
        *,
        folder: str,
        codec: str,
        inserts: int,
    ) -> list[object]:
        """Rewrites the packs and writes the inserts; what each group returned."""
        apply = ApplyPack(
            tuple(tuple(pack) for pack in packs),
            tuple(files),
            self.source.schema,
            rules,
            folder,
            codec,
            self.source.storage,
        )
        columns = [F.col(f"c{place}") for place in range(len(self.source.schema))]
        keyed = self._source_rows()
        target = self._target_keys(files, FileLayout(rules.in_path, top_level_ids(rules.physical)))
        changes = rules.update_matched or rules.delete_matched
        # A source key may repeat only where rows are deleted by it, and then any of its rows will do.
        matching = keyed.dropDuplicates(self._key_names()) if rules.delete_matched else keyed
        placed = matching.join(target, on=self._key_names(), how="inner" if rules.delete_matched else "left")
        pack_of = {file: number for number, pack in enumerate(packs) for file in pack}
        arriving = F.col(FILE).isNull()
        grouped = placed.where(F.col(FILE).isNotNull()).withColumn(GROUP, _mapped(pack_of))
        wanted = [F.col(GROUP), F.col(FILE), F.col(ROW), *columns]
        frames = []
        if changes and packs:
            frames.append(grouped.where(F.col(GROUP).isNotNull()).select(*wanted))
        if inserts:
            new = keyed.withColumn(FILE, F.lit(None).cast("int")).withColumn(ROW, F.lit(None).cast("long"))
            rows = new if rules.delete_matched else placed.where(arriving)
            buckets = -(-inserts // ROWS_PER_BUCKET)
            bucket = -1 - F.pmod(F.xxhash64(*self._key_names()), F.lit(buckets)).cast("int")
            frames.append(rows.withColumn(GROUP, bucket).select(*wanted))
        if not frames:
            return []
        together = frames[0] if len(frames) == 1 else frames[0].unionByName(frames[1])
        # Spark counts the parameters of what it calls, and would count `self` as one.
        applied = together.groupBy(GROUP).applyInArrow(lambda group: apply.apply(group), RESULT)
        done = self._run(applied, f"rewrite {len(packs)} packs of files, insert {inserts} rows")
        return [pickle.loads(result) for result in done.column("result").to_pylist()]

    def _source_rows(self) -> DataFrame:
        """Every row, its keys first."""
        names = (*self.source.keys, *self.source.schema.names)
        labels = [*self._key_names(), *(f"c{place}" for place in range(len(self.source.schema)))]
        return self._read(names, labels)

    def _source_keys(self) -> DataFrame:
        return self._read(self.source.keys, self._key_names())

    def _read(self, columns: Sequence[str], labels: Sequence[str]) -> DataFrame:
        schema = pa.schema(
            [
                self.source.schema.field(name).with_name(label).remove_metadata()
                for name, label in zip(columns, labels, strict=True)
            ]
        )
        ddl, wire = self._wire(from_arrow_schema(schema))
        reader = ReadSource(self.source, tuple(columns), wire)
        parts = len(self.source.parts)
        return map_batches(self.spark.range(0, parts, 1, parts), reader.read, ddl)

    def _target_keys(self, files: Sequence[DataFile], layout: FileLayout) -> DataFrame:
        keys = [field.with_name(name) for field, name in zip(self._key_schema(), self._key_names(), strict=True)]
        typed = from_arrow_schema(pa.schema(keys))
        places = [SchemaColumn(FILE, Integer(32)), SchemaColumn(ROW, Integer(64))]
        ddl, wire = self._wire(Schema.of([*places, *typed]))
        wanted = with_ids(self._key_schema(), layout.field_ids)
        reader = ReadTargetKeys(tuple(files), wanted, wire, self.source.storage, layout.in_path)
        found = map_batches(self.spark.range(0, len(files), 1, len(files)), reader.read, ddl)
        # Spark takes it for as many rows as there are files, and would send all keys of the table to every worker.
        return found.hint("merge")

    def _wire(self, schema: Schema) -> tuple[str, pa.Schema]:
        """The columns as Spark declares them, and as its Arrow has them."""
        try:
            ddl = to_spark_ddl(schema)
        except UnsupportedType as error:
            raise refusals.incompatible(
                self.spec, error.message, column=error.column, remedy="Use engine='arrow' or 'duckdb', which have it."
            ) from error
        return ddl, to_arrow_schema(from_spark_ddl(ddl))

    def _run(self, frame: DataFrame, doing: str) -> pa.Table:
        try:
            return collect(frame, doing=doing)
        except PySparkException as error:
            raise refusals.engine_failed(
                self.spec, f"the Spark job failed: {reason(error)}", remedy=remedy(error)
            ) from error

    def _key_schema(self) -> pa.Schema:
        return pa.schema([self.source.schema.field(name) for name in self.source.keys])

    def _key_names(self) -> list[str]:
        return [f"k{place}" for place in range(len(self.source.keys))]


def _mapped(pack_of: dict[int, int]) -> Column:
    """The pack of a file, by its number: an array to look it up in, since a CASE of ten thousand branches is none."""
    size = max(pack_of, default=-1) + 1
    packs = F.array(*(F.lit(pack_of.get(file)).cast("int") for file in range(size)))
    return F.get(packs, F.col(FILE))
