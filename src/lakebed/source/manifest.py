"""Reads manifests of CUR and of Data Exports, tolerantly: what can be known from elsewhere may be missing."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from lakebed.errors import ManifestError
from lakebed.kernels.limits import DEFAULT_LIMITS, Limits, json_depth
from lakebed.model import Compression, Content, SourceColumn, SourceKind
from lakebed.source.deliveries import (
    FOCUS_COLUMNS,
    MANIFEST_NAME,
    UNKNOWN_PAYER,
    FileForm,
    file_form,
    folder_period,
    parse_moment,
    run_moment,
)
from lakebed.storage import Entry

Facts = dict[str, object]

_ADDRESS = re.compile(r"s3[an]?://(?P<bucket>[^/]+)/(?P<key>.*)", re.DOTALL)
_OWN_KEYS = frozenset(
    {"assemblyId", "executionId", "exportArn", "reportKeys", "dataFiles", "reportName", "billingPeriod"}
)
_COMPRESSIONS: dict[str, Compression] = {"gzip": "gzip", "zip": "zip", "none": "none", "": "none"}


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest as it was read. `keys` are places in the bucket that AWS delivered to, wherever that is mirrored now.

    `created_at` is when AWS made the delivery, where the manifest or its id says so; the file's own time is `modified`.
    """

    uri: str
    etag: str | None
    modified: datetime | None
    kind: SourceKind
    id: str
    payer: str
    report: str
    period: str
    columns: tuple[SourceColumn, ...]
    keys: tuple[str, ...]
    forms: tuple[FileForm, ...]
    created_at: datetime | None

    @property
    def in_own_folder(self) -> bool:
        """This is the copy that lies in the delivery's own folder, which no later delivery writes over."""
        return any(self.id in segment for segment in self.uri.split("/")[:-1])

    @property
    def overwritten_in_place(self) -> bool:
        """The next delivery writes over this one's files."""
        return not any(self.id in segment for key in self.keys for segment in key.split("/")[:-1])


def read_manifest(entry: Entry, content: bytes, limits: Limits = DEFAULT_LIMITS) -> Manifest | None:
    """A manifest from its bytes, or None where it is that of something else, such as dbt's `manifest.json`.

    Raises ManifestError that names the file and the key at fault.
    """
    facts = _parse(entry.uri, content, limits)
    if not _OWN_KEYS & facts.keys():
        return None
    if not {"reportKeys", "dataFiles"} & facts.keys():
        raise ManifestError("lists no files: neither reportKeys nor dataFiles is in it", manifest=entry.uri)
    is_export = "dataFiles" in facts or "executionId" in facts
    keys = _keys(entry.uri, facts, "dataFiles" if "dataFiles" in facts else "reportKeys")
    identifier = _text(facts, "executionId", "assemblyId")
    if not identifier:
        raise ManifestError("has neither assemblyId nor executionId", manifest=entry.uri)
    segments = entry.uri.split("/")
    columns = _columns(entry.uri, facts)
    limits.require_columns(columns, entry.uri)
    created = parse_moment(identifier) or parse_moment(_text(facts, "createdAt", "executionTime", "deliveredAt"))
    return Manifest(
        uri=entry.uri,
        etag=entry.etag,
        modified=entry.modified,
        kind=_export_kind(facts, columns) if is_export else "cur",
        id=identifier,
        payer=_text(facts, "account", "accountId", "payerAccountId") or _arn_account(facts) or UNKNOWN_PAYER,
        report=_report(entry.uri, facts),
        period=_period(entry.uri, facts, keys),
        columns=columns,
        keys=keys,
        forms=tuple(_form(entry.uri, facts, key) for key in keys),
        created_at=created
        or run_moment(segments)
        or next(filter(None, (run_moment(k.split("/")) for k in keys)), None),
    )


def _parse(uri: str, content: bytes, limits: Limits) -> Facts:
    try:
        text = content.decode("utf-8-sig")
        if json_depth(text) > limits.json_depth:
            raise ManifestError("is nested too deep", manifest=uri, remedy=limits.remedy("json_depth"))
        facts = json.loads(text)
    except (UnicodeDecodeError, ValueError) as error:
        raise ManifestError(f"is not JSON: {error}", manifest=uri, remedy="Copy it again from its bucket.") from error
    if not isinstance(facts, dict):
        raise ManifestError("is not a JSON object", manifest=uri)
    return cast(Facts, facts)


def _text(facts: Facts, *names: str) -> str:
    """The first of these keys that holds text or a number; empty where none does."""
    for name in names:
        value = facts.get(name)
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            return str(value).strip()
    return ""


def _keys(uri: str, facts: Facts, name: str) -> tuple[str, ...]:
    listed = facts[name]
    if not isinstance(listed, list):
        raise ManifestError(f"{name} is not a list", manifest=uri)
    bucket = _text(facts, "bucket")
    keys: list[str] = []
    for item in listed:
        # Data Exports write plain addresses; other tools wrap each in an object.
        text = item if isinstance(item, str) else _text(item, "path", "key", "uri") if isinstance(item, dict) else ""
        if not text:
            raise ManifestError(f"{name} has an entry that is no address: {item!r:.200}", manifest=uri)
        if address := _ADDRESS.fullmatch(text):
            if bucket and address["bucket"] != bucket:
                raise ManifestError(f"{name} points outside its bucket {bucket}: {text}", manifest=uri)
            bucket, text = address["bucket"], address["key"]
        # A report without a prefix has keys such as `/report/...` in some manifests, or `prefix//report/...`.
        parts = [part for part in text.split("/") if part]
        if not parts or {".", ".."} & set(parts) or any(mark in text for mark in ("\\", "\0", "://", "file:")):
            raise ManifestError(
                f"{name} points outside its bucket: {text!r}",
                manifest=uri,
                remedy="AWS never writes such keys: find out who changed the manifest.",
            )
        keys.append("/".join(parts))
    if not keys:
        # A month without any usage still has one file. Loading nothing would empty the month in the table.
        raise ManifestError(f"{name} is empty: a delivery has at least one file", manifest=uri)
    if repeated := [key for key, count in Counter(keys).items() if count > 1]:
        raise ManifestError(f"{name} lists a file twice: {repeated[0]}", manifest=uri)
    return tuple(keys)


def _columns(uri: str, facts: Facts) -> tuple[SourceColumn, ...]:
    listed = facts.get("columns") or []
    if not isinstance(listed, list):
        raise ManifestError("columns is not a list", manifest=uri)
    columns = []
    for item in listed:
        if isinstance(item, str):
            columns.append(SourceColumn(item))
            continue
        if not isinstance(item, dict) or not isinstance(item.get("name"), str):
            raise ManifestError(f"columns has an entry without a name: {item!r:.200}", manifest=uri)
        columns.append(manifest_column(item))
    return tuple(columns)


def manifest_column(listed: Mapping[str, object]) -> SourceColumn:
    """A column as a manifest lists it: `{"category", "name", "type"}`, of which only the name must be there."""
    category, name, declared = listed.get("category"), str(listed["name"]), listed.get("type")
    original = f"{category}/{name}" if category else name
    return SourceColumn(original, declared if isinstance(declared, str) and declared else None)


def _export_kind(facts: Facts, columns: tuple[SourceColumn, ...]) -> SourceKind:
    """CUR 2.0 or FOCUS, by the columns or by the query; the header decides where neither says."""
    names = {column.original for column in columns}
    if names:
        return "focus" if len(FOCUS_COLUMNS & names) > 1 else "cur2"
    return "focus" if "FOCUS_" in json.dumps(facts) else "cur2"


def _report(uri: str, facts: Facts) -> str:
    if named := _text(facts, "reportName", "exportName"):
        return named
    found = MANIFEST_NAME.search(uri.rsplit("/", 1)[-1])
    if found and found["report"]:
        return found["report"]
    arn = _text(facts, "exportArn")
    if "export/" in arn:
        return arn.split("export/", 1)[1]
    raise ManifestError("does not name its report: reportName is missing", manifest=uri)


def _arn_account(facts: Facts) -> str:
    parts = _text(facts, "exportArn").split(":")
    return parts[4] if len(parts) > 5 else ""


def _period(uri: str, facts: Facts, keys: tuple[str, ...]) -> str:
    """The month of the billing period's start; its end is exclusive, or not, and is not needed."""
    billing = facts.get("billingPeriod")
    start = billing.get("start") if isinstance(billing, dict) else billing
    if isinstance(start, str) and (at := parse_moment(start)):
        return at.strftime("%Y-%m")
    if isinstance(start, str) and len(start) >= 7 and start[4] == "-" and start[5:7].isdigit():
        return start[:7]
    for place in (uri, *keys[:1]):
        if period := folder_period(place.split("/")[:-1]):
            return period
    raise ManifestError("does not say its month: billingPeriod.start is missing", manifest=uri)


def _form(uri: str, facts: Facts, key: str) -> FileForm:
    """What a file is: by its name, and where that says nothing by the manifest."""
    form = file_form(key)
    if form is not None:
        return form
    words = f"{_text(facts, 'contentType')} {_text(facts, 'format')} {_text(facts, 'compression')}".lower()
    content: Content = "parquet" if "parquet" in words else "csv"
    if content == "parquet":
        return FileForm("parquet", "none")
    compression = _COMPRESSIONS.get(_text(facts, "compression").lower())
    if compression is None:
        raise ManifestError(
            f"compression is {_text(facts, 'compression')}, which is not known",
            manifest=uri,
            remedy="GZIP, ZIP or NONE.",
        )
    return FileForm(content, compression)
