"""Deliveries of a sample with columns dropped, renamed or declared otherwise, in their manifests and in their files."""

import csv
import gzip
import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path


def change_delivery(
    folder: Path,
    *,
    drop: Iterable[str] = (),
    rename: Mapping[str, str] | None = None,
    declare: Mapping[str, str] | None = None,
) -> None:
    """Changes every delivery below a folder; columns are `category/name`."""
    gone, names, types = set(drop), dict(rename or {}), dict(declare or {})
    for path in folder.rglob("*-Manifest.json"):
        manifest = json.loads(path.read_text())
        columns = []
        for column in manifest["columns"]:
            original = f"{column['category']}/{column['name']}"
            if original in gone:
                continue
            if original in names:
                column["category"], _, column["name"] = names[original].partition("/")
            column["type"] = types.get(original, column["type"])
            columns.append(column)
        manifest["columns"] = columns
        path.write_text(json.dumps(manifest))
    for path in folder.rglob("*.csv.gz"):
        rows = list(csv.reader(io.StringIO(gzip.decompress(path.read_bytes()).decode())))
        kept = [place for place, name in enumerate(rows[0]) if name not in gone]
        rows[0] = [names.get(name, name) for name in rows[0]]
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([[row[place] for place in kept] for row in rows])
        path.write_bytes(gzip.compress(out.getvalue().encode()))
