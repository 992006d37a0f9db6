"""What the Arrow engine declares of itself."""

from lakebed.engines.protocols.engine import EngineFacts

FACTS = EngineFacts(
    "arrow",
    merge="lakebed.engines.arrow.merge:ArrowMerge",
    load="lakebed.engines.arrow.load:ArrowEngine",
    rows="lakebed.engines.arrow.rows:ArrowRows",
)
