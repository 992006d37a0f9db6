"""The same statements with sqllineage and the full schema. Runs in an environment of its own.

sqllineage_lineage.py WORKLOAD.json   prints the milliseconds per statement as the last line
"""

import json
import sys
import time
from pathlib import Path

from sqllineage.core.metadata.dummy import DummyMetaDataProvider
from sqllineage.runner import LineageRunner


def main(file: str) -> None:
    work = json.loads(Path(file).read_text())
    # sqllineage wants tables in a schema; its default one is called so
    metadata = {
        f"<default>.{table['name']}": [column["name"] for column in table["columns"]]
        for table in work["schema"]["tables"]
    }
    times = []
    for sql in work["queries"]:
        fastest = float("inf")
        for _ in range(work["repeat"]):
            started = time.perf_counter()
            # it follows statements that write, so the query becomes one
            runner = LineageRunner(
                f"INSERT INTO result {sql}", dialect="duckdb", metadata_provider=DummyMetaDataProvider(metadata)
            )
            try:
                runner.get_column_lineage()
            except Exception as error:  # noqa: BLE001 - a peer's failure is its own; the time still counts
                print(type(error).__name__, file=sys.stderr)
            fastest = min(fastest, time.perf_counter() - started)
        times.append(fastest * 1000)
    print(json.dumps(times))


main(sys.argv[1])
