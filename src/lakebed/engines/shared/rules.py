"""The plan of a merge as the kernels take it."""

import pyarrow as pa

from lakebed.engines.protocols.merge import MergeJob
from lakebed.kernels.merge import Rules
from lakebed.kernels.merge_files import codec_of
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.merge_core.plan import MergePlan
from lakebed.merge_core.validate import emptied_columns
from lakebed.schema.arrow import to_arrow_schema


def rules_of(job: MergeJob) -> Rules:
    """What happens to rows, and in which columns."""
    plan = job.plan
    does = plan.spec.effects
    return Rules(
        schema=pa.schema([field.with_nullable(True) for field in to_arrow_schema(plan.evolution.final)]),
        physical=job.physical,
        emptied=frozenset(emptied_columns(plan.spec, plan.evolution)),
        kept_fields=plan.evolution.padded_fields if plan.spec.keeps_missing else {},
        update_matched=does.update_matched,
        delete_matched=does.delete_matched,
        delete_unmatched=does.delete_unmatched,
        partition_by=job.staging.partition_by,
        in_path=job.in_path,
    )


def codec_for(plan: MergePlan, storage: StorageSettings) -> str:
    """The codec of new files: that of the files which they replace or lie beside."""
    return codec_of(next((file.uri for file in (*plan.rewrite, *plan.keep)), None), storage)
