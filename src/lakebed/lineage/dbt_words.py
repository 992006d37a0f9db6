"""dbt's words in templates: `ref`, `source`, `var`, `this`, `config`, and stubs for macros that are not here.

A macro of a package is taken for a function of its arguments, so that the columns among them keep their lineage; every
such stub is told, because what the macro really makes of them is not known.
"""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Literal, Protocol

import jinja2

_NAME = re.compile(r"[A-Za-z_]\w*")
_COLUMN_LIKE = re.compile(r"[A-Za-z_\"`\[][\w.\"`\]]*")
# Values of the environment that a project may read: dbt's own, but for those that dbt itself keeps out of logs.
_ENVIRONMENT, _SECRET = "DBT_", "DBT_ENV_SECRET"
_BACKTICKS = frozenset({"spark", "databricks", "spark2", "hive", "bigquery", "mysql", "mariadb", "clickhouse"})


@dataclass(slots=True)
class ModelConfig:
    """What a model's `config(...)` says, over what the project says of it."""

    values: dict[str, object] = field(default_factory=dict)

    def text(self, name: str) -> str | None:
        value = self.values.get(name)
        return str(value) if isinstance(value, str) and value else None

    @property
    def kind(self) -> Literal["view", "table"]:
        return "view" if self.text("materialized") in (None, "view", "ephemeral") else "table"


def config_recorder(config: ModelConfig) -> "_ConfigWord":
    """The word `config`: what it is called with goes into the model's config."""
    return _ConfigWord(config)


class _ConfigWord:
    def __init__(self, config: ModelConfig) -> None:
        self._config = config

    def __call__(self, *mappings: object, **values: object) -> str:
        for mapping in mappings:
            if isinstance(mapping, Mapping):
                self._config.values.update({str(name): value for name, value in mapping.items()})
        self._config.values.update(values)
        return ""

    def get(self, name: str, default: object = None, **_: object) -> object:
        return self._config.values.get(name, default)

    def require(self, name: str, **_: object) -> object:
        return self._config.values.get(name, "")

    def set(self, name: str, value: object) -> str:
        self._config.values[name] = value
        return ""

    def persist_relation_docs(self) -> bool:
        return False

    def persist_column_docs(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class RelationName:
    """A table as templates see it: its text is its name, written as the dialect writes names."""

    parts: tuple[str, ...]
    # the name as dbt wrote it into its manifest
    written: str | None = None
    quote: str = '"'

    def __str__(self) -> str:
        if self.written is not None:
            return self.written
        quote = self.quote
        return ".".join(p if _NAME.fullmatch(p) else f"{quote}{p.replace(quote, quote * 2)}{quote}" for p in self.parts)

    @property
    def identifier(self) -> str:
        return self.parts[-1]

    name = table = identifier

    @property
    def schema(self) -> str:
        return self.parts[-2] if len(self.parts) > 1 else ""

    @property
    def database(self) -> str:
        return self.parts[-3] if len(self.parts) > 2 else ""

    def include(self, **_: object) -> "RelationName":
        return self

    def quoted(self, dialect: str) -> "RelationName":
        return RelationName(self.parts, self.written, "`" if dialect in _BACKTICKS else '"')


class RelationNames(Protocol):
    """Where a project's names lead."""

    def model(self, name: str, package: str | None, version: str | None) -> RelationName: ...

    def source(self, source: str, table: str) -> RelationName: ...


class _MacroReturn(jinja2.TemplateRuntimeError):
    """What a macro gives back by `return(...)`, which may be a list."""

    def __init__(self, value: object) -> None:
        super().__init__()
        self.value = value


class MacroStub:
    """A macro that is not here: called, it is a function of its arguments; what it would list is empty."""

    def __init__(self, name: str, text: str | None, record: Callable[[str], None]) -> None:
        self._name = name
        self._text = text
        self._record = record

    def __call__(self, *arguments: object, **named: object) -> "MacroStub":
        self._record(self._name)
        last = self._name.rpartition(".")[2]
        if last == "dispatch" and arguments:
            return MacroStub(str(arguments[0]), None, self._record)
        # dbt_utils.star is what it is called, whatever package brings it
        text = "*" if last == "star" else f"{last}({', '.join(_columns([*arguments, *named.values()]))})"
        return MacroStub(self._name, text, self._record)

    def __getattr__(self, name: str) -> "MacroStub":
        if name.startswith("_"):
            raise AttributeError(name)
        return MacroStub(f"{self._name}.{name}", self._text, self._record)

    def __str__(self) -> str:
        if self._text is None:
            raise jinja2.UndefinedError(f"{self._name} is not defined")
        return self._text

    def __iter__(self) -> Iterator[object]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return False


def _columns(arguments: list[object]) -> Iterator[str]:
    """The arguments of a stub as SQL: what looks like a name is one."""
    for argument in arguments:
        if isinstance(argument, list | tuple):
            yield from _columns(list(argument))
        elif isinstance(argument, str):
            yield argument if _COLUMN_LIKE.fullmatch(argument) else "'" + argument.replace("'", "''") + "'"
        elif (isinstance(argument, int | float) and not isinstance(argument, bool)) or isinstance(argument, MacroStub):
            yield str(argument)


def stub_type(record: Callable[[str], None]) -> type[jinja2.Undefined]:
    """What a name is that no template and no macro defines: a macro of a package, until it is printed uncalled."""

    class _UnknownMacro(jinja2.Undefined):
        def _stub(self) -> MacroStub:
            return MacroStub(str(self._undefined_name), None, record)

        def __call__(self, *arguments: object, **named: object) -> MacroStub:  # type: ignore[override]
            return self._stub()(*arguments, **named)

        def __getattr__(self, name: str) -> MacroStub:
            return self._stub().__getattr__(name)

        def __str__(self) -> str:
            return str(self._stub())

    return _UnknownMacro


@dataclass(slots=True)
class _ModelRun:
    """The model that is rendered now."""

    config: ModelConfig
    this: RelationName
    stubs: dict[str, None] = field(default_factory=dict)
    refs: dict[str, None] = field(default_factory=dict)


class DbtWords:
    """The words of one project; which model `this` and `config` mean changes from model to model."""

    def __init__(self, names: RelationNames, variables: Mapping[str, object], *, dialect: str, project: str) -> None:
        self.names = names
        self.variables = variables
        self.dialect = dialect
        self.project = project
        self.current = _ModelRun(ModelConfig(), RelationName(("",)))
        self._macros: dict[str, Callable[..., object]] = {}

    def begin(self, config: ModelConfig, this: RelationName) -> _ModelRun:
        """The next template is this model's."""
        self.current = _ModelRun(config, this)
        return self.current

    def record_stub(self, name: str) -> None:
        self.current.stubs[name] = None

    def define_macro(self, name: str, macro: Callable[..., object]) -> None:
        """A macro of the project; `return` ends it with any value, as in dbt."""

        def call(*arguments: object, **named: object) -> object:
            try:
                return macro(*arguments, **named)
            except _MacroReturn as returned:
                return returned.value

        self._macros[name] = call

    def for_model(self) -> dict[str, object]:
        """The words as they are while the current model is rendered."""
        return {
            **self._fixed(),
            # Of the package of our own that models of the materialization `lakebed` ask.
            "lakebed": SimpleNamespace(is_incremental=lambda: False),
            **self._macros,
            self.project: SimpleNamespace(**self._macros),
            "config": config_recorder(self.current.config),
            "this": self.current.this,
            "model": {"name": self.current.this.identifier, "alias": self.current.this.identifier},
        }

    def _fixed(self) -> dict[str, object]:
        target = {"name": "default", "schema": "", "database": "", "type": self.dialect, "profile_name": "default"}
        return {
            "ref": self._ref,
            "source": self._source,
            "var": self._var,
            "env_var": _environment_variable,
            "is_incremental": lambda: False,
            "should_full_refresh": lambda: False,
            "target": target,
            "schema": "",
            "database": "",
            "project_name": self.project,
            # `execute` is dbt's word for "there is a warehouse to ask": here there is none
            "execute": False,
            "adapter": _Adapter(self),
            "exceptions": SimpleNamespace(raise_compiler_error=_refuse, warn=_nothing),
            "log": _nothing,
            "print": _nothing,
            "return": _return,
            "flags": {"FULL_REFRESH": False, "STORE_FAILURES": False},
            "graph": {"nodes": {}, "sources": {}},
            "invocation_id": "",
            "dbt_version": "",
            "run_started_at": datetime.now(UTC),
            "modules": {
                "datetime": SimpleNamespace(datetime=datetime, date=date, timedelta=timedelta, timezone=timezone)
            },
            "tojson": lambda value, default=None: json.dumps(value, default=str),
            "fromjson": lambda text, default=None: json.loads(text),
            "set": set,
            "zip": zip,
        }

    def _ref(self, *parts: object, **named: object) -> RelationName:
        version = named.get("version", named.get("v"))
        name = str(parts[-1]) if parts else ""
        self.current.refs[name] = None
        package = str(parts[0]) if len(parts) > 1 else None
        return self.names.model(name, package, None if version is None else str(version)).quoted(self.dialect)

    def _source(self, *parts: object, **_: object) -> RelationName:
        names = [str(part) for part in parts]
        if len(names) != 2:
            raise jinja2.TemplateRuntimeError(f"source({', '.join(names)}) does not name a source and a table")
        return self.names.source(*names).quoted(self.dialect)

    def _var(self, name: str, default: object = None) -> object:
        if name in self.variables:
            return self.variables[name]
        if default is None:
            raise jinja2.UndefinedError(f"the variable {name!r} is not given")
        return default

    def macro(self, name: str) -> Callable[..., object]:
        """The macro that `adapter.dispatch` finds: the project's for this adapter, its default one, or a stub."""
        for wanted in (f"{self.dialect}__{name}", f"default__{name}"):
            if wanted in self._macros:
                return self._macros[wanted]
        return MacroStub(name, None, self.record_stub)


class _Adapter:
    """dbt's adapter without a warehouse: it can dispatch macros, and everything else is a stub."""

    def __init__(self, words: DbtWords) -> None:
        self._words = words

    def dispatch(self, name: str, macro_namespace: object = None, **_: object) -> Callable[..., object]:
        return self._words.macro(name)

    def __getattr__(self, name: str) -> MacroStub:
        if name.startswith("_"):
            raise AttributeError(name)
        return MacroStub(f"adapter.{name}", None, self._words.record_stub)


def _environment_variable(name: str, default: object = None) -> object:
    if name.startswith(_ENVIRONMENT) and not name.startswith(_SECRET) and name in os.environ:
        return os.environ[name]
    return "" if default is None else default


def _refuse(message: object = "", *_: object) -> str:
    raise jinja2.TemplateRuntimeError(str(message))


def _return(value: object = None) -> str:
    raise _MacroReturn(value)


def _nothing(*_: object, **__: object) -> str:
    return ""
