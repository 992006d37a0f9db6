"""Settings: `lakebed.toml` < environment < flags, each with the help text that the docs are generated from.

A setting has one dotted key (`spark.master`), one environment variable (`LAKEBED_SPARK_MASTER`) and, as a flag or as a
keyword of `lakebed.run`, its last word (`master`). A key that does not exist is refused with the nearest that does.
"""

import difflib
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeAlias, cast
from urllib.parse import unquote
from uuid import uuid4

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from lakebed.errors import ConfigError, hide_secrets
from lakebed.kernels.limits import Limits
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.storage import is_local

FILE_NAME = "lakebed.toml"
ENVIRONMENT_PREFIX = "LAKEBED_"
# The names that `Settings.new_work_folder` gives.
WORK_FOLDER = re.compile(r"(?:merge|write)-[0-9a-f]{32}")
OnConflict: TypeAlias = Literal["refuse", "variant"]
# Settings whose value, or a part of it, is a secret.
_HOLDING_SECRETS = ("storage.", "source", "catalog", "ledger", "spark.conf", "spark.remote")
_SECRET_WORDS = (
    "secret",
    "token",
    "password",
    "passwd",
    "credential",
    "client-id",
    "key-id",
    "access-key",
    "access.key",
    "access_key",
)
_SECRET_VARIABLES = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_STORAGE_ACCOUNT_KEY")
# The Iceberg catalog that an address without one means.
DEFAULT_CATALOG = "lakebed"


def _decimals(text: str) -> str:
    match = re.fullmatch(r"\s*(\d+)\s*,\s*(\d+)\s*", text)
    if match is None:
        raise ValueError("write precision and scale, as in 38,18")
    precision, scale = int(match[1]), int(match[2])
    if not 1 <= precision <= 38 or scale > precision:
        raise ValueError("the precision is 1 to 38, and the scale no more than the precision")
    return f"{precision},{scale}"


def _retain(text: str) -> str:
    words = " ".join(text.lower().split())
    if re.fullmatch(r"all|latest|[1-9]\d{0,3} months?", words) is None:
        raise ValueError("write all, latest or a number of months, as in 12 months")
    return f"{words}s" if words.endswith("month") else words


def _memory(text: str) -> str:
    if re.fullmatch(r"[1-9]\d*[kmgt]", text.lower()) is None:
        raise ValueError("write a number and a unit, as in 512m or 4g")
    return text.lower()


def _as_text(value: object) -> object:
    """What TOML has as a number or a truth value is text to Spark and to PyIceberg."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


PropertyText = Annotated[str, BeforeValidator(_as_text)]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SparkSection(_Section):
    """Which Spark runs the load, and how."""

    master: str | None = Field(
        default=None,
        description="Master URL of a classic session: local[*], local[4], spark://host:7077, yarn, k8s://... "
        "Without it and without remote: local[*].",
    )
    remote: str | None = Field(
        default=None,
        description="Spark Connect URL: sc://host:15002, or local[2] for a Connect server of our own. Excludes master.",
    )
    memory: Annotated[str, AfterValidator(_memory)] | None = Field(
        default=None,
        description="Memory of the driver's JVM, as in 4g. Without it a local session takes a quarter of the "
        "machine, between 1g and 8g: rows stay in the Python workers.",
    )
    conf: dict[str, PropertyText] = Field(
        default_factory=dict, description="Any Spark settings, as a table of names and values; they win over ours."
    )
    log: str | None = Field(
        default=None,
        description="File that gets what Spark's JVM writes to stderr. Without it the last lines are shown "
        "when Spark fails and nothing is kept.",
    )
    shared_folders: tuple[str, ...] = Field(
        default=(),
        description="Folders that driver and workers of a cluster see under the same path (NFS and the like). "
        "Other local paths are refused on a cluster.",
    )


class StagingSection(_Section):
    """Where copies of source files lie between discovery and load."""

    location: str | None = Field(
        default=None,
        description="Folder or URL of the staged copies. Without it: staging/ in the work directory. On a "
        "cluster it must be reachable by the workers, as in s3://bucket/lakebed.",
    )
    retention_hours: float = Field(
        default=24,
        ge=0,
        description="How long staged copies of loaded deliveries are kept; 0 removes them after the load.",
    )


class SourceSection(_Section):
    """One source: what it is, where it goes, and how its storage is reached where that differs from [storage]."""

    url: str = Field(description="A folder, a manifest or a data file: a local path, s3://, gs:// or az://.")
    target: str | None = None
    table: str | None = None
    report: str | None = None
    payer: str | None = None
    period: str | None = None
    since: str | None = None
    until: str | None = None
    # the keys of [storage]
    endpoint_url: str | None = None
    region: str | None = None
    profile: str | None = None
    access_key_id: str | None = Field(default=None, repr=False)
    secret_access_key: str | None = Field(default=None, repr=False)
    session_token: str | None = Field(default=None, repr=False)
    anonymous: bool | None = None
    role_arn: str | None = None
    role_session_name: str | None = None
    external_id: str | None = None
    requester_pays: bool | None = None


class Settings(_Section):
    """Everything that can be set. Paths are absolute once loaded."""

    workdir: str = Field(default=".lakebed", description="Where the ledger, staging and the default catalog lie.")
    ledger: str | None = Field(
        default=None,
        description="SQLAlchemy URL of the ledger's database, as in postgresql+psycopg://user@host/db. "
        "Without it: ledger.db in the work directory.",
    )
    decimals: Annotated[str, AfterValidator(_decimals)] = Field(
        default="38,18",
        description="Precision and scale of money and quantities. 18,2 gives the specification's table; "
        "what a narrower type rounds away is counted and reported.",
    )
    naming: Literal["spec", "athena"] = Field(
        default="spec", description="How column names are made: spec (line_item_arn) or athena (line_item_a_r_n)."
    )
    on_bad_value: Literal["refuse", "quarantine"] = Field(
        default="refuse",
        description="What happens to a value that does not parse: refuse fails the delivery with file, line "
        "and column; quarantine sets its row aside and counts it.",
    )
    on_conflict: OnConflict = Field(
        default="refuse",
        description="What happens to a column whose new type does not fit the table's: refuse fails the delivery; "
        "variant keeps the new values in a column of their own beside it.",
    )
    allow_missing: tuple[str, ...] = Field(
        default=(),
        description="Columns that files may lack though their manifest lists them, by the name in the manifest or in "
        "the table; they are NULL there. Without it such a delivery is refused.",
    )
    shrink_limit: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="The share of its rows or of its cost that a closed month may lose by a newer delivery: 0.5 is "
        "half. One that loses more is refused until --accept-shrink; 1 asks nothing.",
    )
    shrink_limits: dict[str, Annotated[float, Field(ge=0, le=1)]] = Field(
        default_factory=dict, description="The same for single reports, as a table of their names and shares."
    )
    retain: Annotated[str, AfterValidator(_retain)] | None = Field(
        default=None,
        description="Which replaced deliveries stay readable (`--as-of`): all, those replaced in the last `12 months`, "
        "or only the latest. Without it: what the table was loaded with before, and latest for a new one.",
    )
    retains: dict[str, Annotated[str, AfterValidator(_retain)]] = Field(
        default_factory=dict, description="The same for single reports, as a table of their names and rules."
    )
    no_stage: bool = Field(default=False, description="Read source files where they are instead of copying them first.")
    strict: bool = Field(default=False, description="Refuse what would otherwise be a warning, such as a missing file.")
    parallelism: int | None = Field(
        default=None, ge=1, description="How many files are copied at once. Without it: four for each core."
    )
    deliveries_at_once: int = Field(
        default=8,
        ge=1,
        description="How many small deliveries are converted in one Spark job. Each is committed on its own.",
    )
    spark: SparkSection = SparkSection()
    storage: StorageSettings = StorageSettings()
    staging: StagingSection = StagingSection()
    limits: Limits = Limits()
    catalog: dict[str, dict[str, PropertyText]] = Field(
        default_factory=dict,
        description="Iceberg catalogs by name, as [catalog.NAME] with any PyIceberg properties; iceberg:NAME:NAMESPACE "
        "opens one. `lakebed` is the default one: SQLite in the work directory unless it is set here.",
    )
    source: dict[str, SourceSection] = Field(
        default_factory=dict,
        description="Sources by name, as [source.NAME] with url, target, table, report, payer, period, since, until "
        "and any key of [storage]. `lakebed run` without a source runs them all, `lakebed run NAME` one.",
    )

    def shrink_limit_of(self, report: str) -> float:
        """The share that a closed month of this report may lose."""
        return self.shrink_limits.get(report, self.shrink_limit)

    def retain_of(self, report: str) -> str | None:
        """Which replaced deliveries of this report are kept; None where nothing is said."""
        return self.retains.get(report, self.retain)

    @property
    def workdir_path(self) -> Path:
        return Path(self.workdir)

    @property
    def staging_location(self) -> str:
        return self.staging.location or str(self.workdir_path / "staging")

    def new_work_folder(self, what: Literal["merge", "write"]) -> str:
        """A folder that workers reach, for rows between two steps of a merge or a write."""
        return f"{self.staging_location.rstrip('/')}/{what}-{uuid4().hex}"

    @property
    def commit_staging(self) -> str:
        """Where workers with disks of their own write for a target that has no place for them."""
        return f"{self.staging_location.rstrip('/')}/commits"

    @property
    def ledger_place(self) -> str | Path:
        """A database URL, or the SQLite file in the work directory."""
        return self.ledger or self.workdir_path / "ledger.db"

    @property
    def copies_at_once(self) -> int:
        return self.parallelism or 4 * (os.cpu_count() or 1)


@dataclass(frozen=True, slots=True)
class SettingInfo:
    """One setting as docs and messages name it."""

    key: str
    environment: str | None  # None for tables, which only the file can hold
    keyword: str
    default: object
    help: str
    kind: str


def setting_infos() -> tuple[SettingInfo, ...]:
    """All settings in the order in which they are declared."""
    return tuple(_infos(Settings, ()))


def _infos(section: type[BaseModel], path: tuple[str, ...]) -> Iterator[SettingInfo]:
    for name, field in section.model_fields.items():
        here, kind = (*path, name), field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _infos(kind, here)
        elif isinstance(kind, type) and is_dataclass(kind):
            for one in fields(kind):
                yield _info((*here, one.name), one.type, one.default, one.metadata["help"])
        else:
            yield _info(here, kind, field.get_default(call_default_factory=True), field.description or "")


def _info(path: tuple[str, ...], annotation: object, default: object, help_: str) -> SettingInfo:
    kind = _kind(annotation)
    return SettingInfo(
        key=".".join(path),
        environment=None if kind == "table" else ENVIRONMENT_PREFIX + "_".join(path).upper(),
        keyword=path[-1],
        default=default,
        help=help_,
        kind=kind,
    )


def _kind(annotation: object) -> str:
    text = str(annotation)
    for word, kind in (("dict", "table"), ("tuple", "list"), ("Literal", "choice"), ("bool", "yes or no")):
        if word in text:
            return kind
    return "number" if re.search(r"\b(int|float)\b", text) else "text"


def load_settings(
    flags: Mapping[str, object] | None = None, *, cwd: Path | str | None = None, parameters: Iterable[str] = ()
) -> Settings:
    """The settings for a run in `cwd`: its `lakebed.toml`, then LAKEBED_* variables, then `flags` that are not None.

    Flags are named by their key (`spark.master`) or its last word (`master`). Raises ConfigError, which says where the
    wrong setting stands and what would be right. `parameters` are other keywords of the function that took the flags:
    a misspelt one arrives here as a flag.
    """
    folder = Path(cwd) if cwd is not None else Path.cwd()
    values: dict[str, object] = {}
    origins: dict[str, str] = {}
    for layer in (_from_file(folder / FILE_NAME), _from_environment(), _from_flags(flags or {}, parameters)):
        for key, (value, origin) in layer.items():
            # A master given later answers a remote given earlier, and the other way round.
            if key in ("spark.master", "spark.remote"):
                other = "spark.remote" if key == "spark.master" else "spark.master"
                if other not in layer:
                    values.pop(other, None)
            values[key] = value
            origins[key] = origin
    try:
        settings = Settings.model_validate(_nested(values))
    except ValidationError as invalid:
        raise _explain(invalid, values, origins) from None
    if settings.spark.master and settings.spark.remote:
        raise ConfigError(
            f"{origins['spark.master']} and {origins['spark.remote']} exclude each other",
            remedy="Give the master of a classic session or the URL of a Spark Connect server, not both.",
        )
    hide_secrets(secrets_of(settings))
    return _with_absolute_paths(settings, folder.absolute())


def secrets_of(settings: Settings) -> Iterator[str | None]:
    """Every secret of the settings and of the environment that storage is opened with."""
    storage = settings.storage
    yield from (storage.access_key_id, storage.secret_access_key, storage.session_token)
    yield from (os.environ.get(name) for name in _SECRET_VARIABLES)
    for properties in (*settings.catalog.values(), settings.spark.conf):
        yield from (value for name, value in properties.items() if is_secret_name(name))
    for url in (settings.ledger, settings.storage.endpoint_url, settings.spark.remote):
        if url and (found := re.search(r"://[^/@\s]*?:([^/@\s]+)@", url)):
            yield found[1]
            yield unquote(found[1])


def is_secret_name(name: str) -> bool:
    """Whether a property of this name holds a secret: `s3.secret-access-key`, `token`, `credential`."""
    return any(word in name.lower() for word in _SECRET_WORDS)


def _from_file(path: Path) -> dict[str, tuple[object, str]]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as unreadable:
        raise ConfigError(f"{path} cannot be read: {unreadable}") from unreadable
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as broken:
        raise ConfigError(f"{path} is not valid TOML: {broken}") from broken
    known = {info.key: info for info in setting_infos()}
    found: dict[str, tuple[object, str]] = {}
    for key, value in _flat(content, {key for key, info in known.items() if info.kind == "table"}):
        origin = f"{path}, line {_line(text, key)}: {key}"
        if key not in known:
            of_source = f"Write it below [source.NAME], or give --{key} on the command line."
            remedy = of_source if key in _OF_SOURCES else _nearest(key, known)
            raise ConfigError(f"{origin} is not a setting", remedy=remedy)
        found[key] = (value, origin)
    return found


def _flat(content: Mapping[str, object], tables: set[str], prefix: str = "") -> Iterator[tuple[str, object]]:
    sections = {"spark", "storage", "staging", "limits"}
    for name, value in content.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict) and key not in tables and key in sections:
            yield from _flat(value, tables, f"{key}.")
        else:
            yield key, value


def _line(text: str, key: str) -> int:
    """The line on which a key is set; tomllib does not say, so the text is walked once more."""
    section = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if header := re.match(r"\s*\[\s*([^\[\]]+?)\s*\]", line):
            section = header[1].replace('"', "").replace("'", "").replace(" ", "")
            if section == key or section.startswith(f"{key}."):
                return number
        elif assignment := re.match(r"\s*([\w.\"'\- ]+?)\s*=", line):
            name = assignment[1].replace('"', "").replace("'", "").replace(" ", "")
            full = f"{section}.{name}" if section else name
            if full == key or full.startswith(f"{key}."):
                return number
    return 1


def _from_environment() -> dict[str, tuple[object, str]]:
    found: dict[str, tuple[object, str]] = {}
    for info in setting_infos():
        value = os.environ.get(info.environment) if info.environment else None
        if value:
            # Paths are separated as in PATH; names of columns have colons in them.
            separator = os.pathsep if info.key.endswith("folders") else ","
            parsed = tuple(part for part in value.split(separator) if part) if info.kind == "list" else value
            found[info.key] = (parsed, f"the environment variable {info.environment}")
    return found


def unknown_environment() -> tuple[str, ...]:
    """LAKEBED_* variables that set nothing, which are probably misspelt."""
    known = {info.environment for info in setting_infos()}
    return tuple(sorted(name for name in os.environ if name.startswith(ENVIRONMENT_PREFIX) and name not in known))


def _from_flags(flags: Mapping[str, object], parameters: Iterable[str]) -> dict[str, tuple[object, str]]:
    infos = {info.key: info for info in setting_infos()}
    by_keyword = {info.keyword: info.key for info in infos.values()}
    found: dict[str, tuple[object, str]] = {}
    for name, value in flags.items():
        key = name if name in infos else by_keyword.get(name)
        if key is None:
            raise ConfigError(f"there is no setting {name!r}", remedy=_nearest(name, [*parameters, *by_keyword]))
        if value is not None:
            found[key] = (value, f"--{infos[key].keyword.replace('_', '-')}")
    return found


# What is said of one source, and is no setting of all of them.
_OF_SOURCES = ("target", "table", "report", "payer", "period", "since", "until")


def _nearest(key: str, known: Iterable[str]) -> str:
    known = list(known)
    close = difflib.get_close_matches(key, known, n=1, cutoff=0.6)
    if not close:
        by_last_word = {name.rsplit(".", 1)[-1]: name for name in known}
        words = difflib.get_close_matches(key.rsplit(".", 1)[-1], by_last_word, n=1, cutoff=0.6)
        close = [by_last_word[word] for word in words]
    return f"Did you mean {close[0]}?" if close else f"The settings are: {', '.join(known)}."


def _nested(values: Mapping[str, object]) -> dict[str, object]:
    nested: dict[str, object] = {}
    for key, value in values.items():
        *path, last = key.split(".")
        place = nested
        for part in path:
            place = cast("dict[str, object]", place.setdefault(part, {}))
        place[last] = value
    return nested


def _explain(invalid: ValidationError, values: Mapping[str, object], origins: Mapping[str, str]) -> ConfigError:
    problem = invalid.errors(include_url=False)[0]
    where = ".".join(str(part) for part in problem["loc"])
    key = next((known for known in values if where == known or where.startswith(f"{known}.")), where)
    message = problem["msg"].removeprefix("Value error, ")
    inside = f" ({where})" if where != key else ""  # below: keys and tokens are not repeated in a log
    shown = "wrong" if key.startswith(_HOLDING_SECRETS) else repr(problem["input"])
    if problem["type"] == "extra_forbidden" and len(problem["loc"]) > 1:
        remedy = _nearest(str(problem["loc"][-1]), SourceSection.model_fields)
        return ConfigError(f"{origins.get(key, key)}{inside} is not a setting", remedy=remedy)
    return ConfigError(f"{origins.get(key, key)}{inside} is {shown}: {message}")


def _with_absolute_paths(settings: Settings, folder: Path) -> Settings:
    def absolute(path: str) -> str:
        return os.path.normpath(folder / Path(path).expanduser())

    staging, spark = settings.staging, settings.spark
    if staging.location and is_local(staging.location) and not staging.location.startswith("file:"):
        staging = staging.model_copy(update={"location": absolute(staging.location)})
    spark = spark.model_copy(
        update={
            "log": absolute(spark.log) if spark.log else None,
            "shared_folders": tuple(absolute(path) for path in spark.shared_folders),
        }
    )
    return settings.model_copy(update={"workdir": absolute(settings.workdir), "staging": staging, "spark": spark})
