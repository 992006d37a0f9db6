"""The plugin of dbt-duckdb: `plugins: [{module: lakebed.dbt.plugin, alias: lakebed}]` in profiles.yml.

The dbt package that comes with it calls `store` with the name of a step and a dictionary, in which the answer is
returned: a plugin has no other way to answer a macro.
"""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import duckdb
from dbt.adapters.duckdb.plugins import BasePlugin
from dbt.adapters.duckdb.utils import TargetConfig
from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtRuntimeError

from lakebed.config import DEFAULT_CATALOG, load_settings
from lakebed.dbt.appends import Acknowledgements, find_pending
from lakebed.dbt.catalogs import attach_catalogs, load_extensions
from lakebed.dbt.model_task import ModelTask, read_columns, show, text_of
from lakebed.dbt.places import DEFAULT_PLACE, Place, Places, Relation
from lakebed.dbt.store import ModelRun
from lakebed.dbt.words import ModelWords
from lakebed.errors import ConfigError, EngineError, LakebedError
from lakebed.schema.types import Schema
from lakebed.storage import absolute

SETTINGS = ("workdir", "catalog", "target")

logger = AdapterLogger("Lakebed")


class Plugin(BasePlugin):  # type: ignore[misc]
    """Writes models of the materialization `lakebed`, and keeps the views on their tables up to date."""

    def initialize(self, plugin_config: dict[str, Any]) -> None:
        _forward_logs()
        self._lock = threading.Lock()
        self._missing: EngineError | None = None
        self._connection: duckdb.DuckDBPyConnection | None = None
        with _as_dbt_errors():
            given = self._own_settings(plugin_config)
            flags = {"workdir": given.get("workdir"), "catalog": _catalogs(given.get("catalog"))}
            self._settings = load_settings(flags)
            self._default = str(given.get("target") or DEFAULT_PLACE)
            self._places: Places | None = None

    def _own_settings(self, plugin_config: Mapping[str, Any]) -> dict[str, Any]:
        """Ours of what the profile says: dbt-duckdb puts DuckDB's own settings among them."""
        others = set(self.creds.settings or {}) if self.creds is not None else set()
        own = {name: value for name, value in plugin_config.items() if name in SETTINGS or name not in others}
        unknown = [name for name in own if name not in SETTINGS]
        if unknown:
            raise ConfigError(
                f"the plugin lakebed has no setting {unknown[0]!r}", remedy=f"It has: {', '.join(SETTINGS)}."
            )
        return own

    def configure_connection(self, conn: duckdb.DuckDBPyConnection) -> None:
        self._connection = conn
        self._missing = load_extensions(conn)
        attached = {} if self._missing else attach_catalogs(conn, self._settings)
        files = {self.creds.database: absolute(self.creds.path)}
        files |= {one.alias: absolute(one.path) for one in self.creds.attach or () if one.alias and one.path}
        self._places = Places(self._settings, self._default, conn.cursor, files, attached)

    def store(self, target_config: TargetConfig) -> None:
        step, request = target_config.location.format, target_config.config
        steps: dict[str, Callable[[TargetConfig, dict[str, Any]], dict[str, object]]] = {
            "find": self._find,
            "begin": self._begin,
            "prepare": self._prepare,
            "prepare_old": self._prepare_old,
            "write": self._write,
            "refresh": self._refresh,
        }
        with _as_dbt_errors():
            if step not in steps:
                raise ConfigError(
                    f"the plugin lakebed is called with {step!r}, which it does not know",
                    remedy="It writes models of the materialization lakebed, not of external: run `dbt deps` where the "
                    "package lakebed is of another version.",
                )
            request["answer"] = steps[step](target_config, request)

    def _place(self, target_config: TargetConfig, wanted: str | None) -> Place:
        given = target_config.relation
        relation = Relation(str(given.database), str(given.schema), str(given.identifier))
        if self._places is None:
            raise ConfigError("dbt's database is not open")
        place = self._places.find(wanted, relation)
        if self._missing is not None and place.address is not None and place.address.kind == "iceberg":
            raise self._missing
        return place

    def _task(self, target_config: TargetConfig, request: Mapping[str, Any]) -> ModelTask:
        model = str(request["model"])
        words = ModelWords.of(model, request["config"])
        run = ModelRun(
            model,
            str(request["invocation_id"]),
            words,
            full_refresh=bool(request["full_refresh"]),
            accepted=bool(request["accepted"]),
        )
        place = self._place(target_config, words.target)
        return ModelTask(run, place, text_of(request, "existing"), self._acknowledgements(place, words))

    def _acknowledgements(self, place: Place, words: ModelWords) -> Acknowledgements:
        if words.strategy == "append" and self.creds.path == ":memory:":
            raise ConfigError(
                "incremental_strategy='append' needs a database that remembers what was appended, and dbt's is in "
                "memory",
                remedy="Set path in the profile to a file, or use 'merge' or 'delete+insert'.",
            )
        return Acknowledgements(place.relation.database, place.places.connect)

    def _find(self, target_config: TargetConfig, request: dict[str, Any]) -> dict[str, object]:
        """Whether the model has rows already, its own or those of the table that dbt had before."""
        task = self._task(target_config, request)
        if task.existing is None:
            return {"exists": False}
        if task.existing == "table":
            return {"exists": True}
        return {"exists": task.place.is_view and task.table.state().exists}

    def _begin(self, target_config: TargetConfig, request: dict[str, Any]) -> dict[str, object]:
        request["task"] = task = self._task(target_config, request)
        with self._lock:
            return task.begin()

    def _prepare(self, target_config: TargetConfig, request: dict[str, Any]) -> dict[str, object]:
        task: ModelTask = request["task"]
        return task.prepare(read_columns(target_config.column_list), str(request["rows_relation"]))

    def _prepare_old(self, target_config: TargetConfig, request: dict[str, Any]) -> dict[str, object]:
        task: ModelTask = request["task"]
        return task.prepare_old(read_columns(target_config.column_list), str(task.place.relation))

    def _write(self, target_config: TargetConfig, request: dict[str, Any]) -> dict[str, object]:
        task: ModelTask = request["task"]
        stored, answer = task.write(int(request["rows"]), text_of(request, "digest"))
        logger.debug(f"{task.run.model}: {stored.message} ({task.table.address})")
        # Columns that a table gains are worth a line on the screen; those of a new table are in the model.
        tell = logger.info if stored.plan.changes_schema and not stored.plan.creates else logger.debug
        for line in stored.plan.describe().splitlines():
            tell(f"{task.table.address}: {line}")
        return answer

    def _refresh(self, target_config: TargetConfig, request: dict[str, Any]) -> dict[str, object]:
        """What dbt's database is to show of a table now, before the models of a run read it.

        What is wrong with one model is no reason to run none: it is said, and whoever needs the view fails by itself.
        """
        try:
            return self._refreshed(target_config, request)
        except LakebedError as error:
            logger.warning(f"the view {target_config.relation} is left as it was: {error}")
            return {"view": None}

    def _refreshed(self, target_config: TargetConfig, request: Mapping[str, Any]) -> dict[str, object]:
        config: Mapping[str, Any] = request["config"]
        model = str(request["model"])
        words = None if request["is_source"] else ModelWords.of(model, config)
        place = self._place(target_config, str(config["lakebed_target"]) if words is None else words.target)
        if not place.is_view:
            return {"view": None}
        table = place.open()
        state = table.state()
        if not state.exists:
            if words is None:
                raise ConfigError(f"{model}: there is no table {table.address}", remedy="Load it first.")
            return {"view": None}
        pending = None
        if words is not None and words.strategy == "append" and self.creds.path != ":memory:":
            known = self._acknowledgements(place, words)
            with self._lock:
                known.prepare()
            pending = find_pending(table, state, model, known)
            if pending is not None and pending.parent is None:
                return {"view": None, "hide": pending.snapshot is not None}
        columns = None
        if words is not None and words.on_schema_change == "sync_all_columns" and target_config.column_list:
            names = [name for name, _ in read_columns(target_config.column_list)]
            columns = Schema.of(state.schema[name] for name in names if name in state.schema)
        return show(place, table, columns, pending=pending)


def _catalogs(given: object) -> dict[str, dict[str, str]] | None:
    """Properties of the default catalog, or of several by their names."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise ConfigError(f"the plugin's catalog is {given!r}", remedy="Write {type: rest, uri: ..., warehouse: ...}.")
    if all(isinstance(value, Mapping) for value in given.values()):
        named = {str(name): dict(value) for name, value in given.items()}
    else:
        named = {DEFAULT_CATALOG: dict(given)}
    return {name: {str(key): _text(value) for key, value in one.items()} for name, one in named.items()}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@contextmanager
def _as_dbt_errors() -> Iterator[None]:
    """Errors of ours as dbt's own, which it prints without a traceback."""
    try:
        yield
    except LakebedError as error:
        raise DbtRuntimeError(str(error)) from error
    except (OSError, duckdb.Error) as error:
        raise DbtRuntimeError(f"{type(error).__name__}: {error}") from error


class _DbtLog(logging.Handler):
    """Hands what Lakebed logs on to dbt's log; dbt prints warnings."""

    def emit(self, record: logging.LogRecord) -> None:
        said = record.getMessage()
        if record.levelno >= logging.WARNING:
            logger.warning(said)
        else:
            logger.debug(said)


def _forward_logs() -> None:
    ours = logging.getLogger("lakebed")
    if not any(isinstance(handler, _DbtLog) for handler in ours.handlers):
        ours.addHandler(_DbtLog(logging.INFO))
        ours.setLevel(logging.INFO)
        ours.propagate = False
