"""The engines by name. A new one is a folder whose `facts.py` declares it, and a word in `EngineName`."""

from importlib import import_module
from typing import Any, get_args

from lakebed.engines.protocols.engine import EngineFacts, EngineName, EngineOptions
from lakebed.engines.protocols.load import Engine
from lakebed.engines.protocols.merge import MergeEngine, MergeInput
from lakebed.engines.protocols.rows import RowEngine
from lakebed.engines.shared.sources import is_dataframe
from lakebed.errors import InvalidMergeArgument
from lakebed.kernels.storage_settings import StorageSettings

ENGINES: tuple[EngineName, ...] = get_args(EngineName)


def engine_facts(name: str) -> EngineFacts:
    """What the engine of this name declares. Raises InvalidMergeArgument with the names that there are."""
    if name not in ENGINES:
        raise InvalidMergeArgument(
            f"there is no engine {name!r}", kind="INVALID_STRATEGY", remedy=f"Engines: {', '.join(ENGINES)}."
        )
    facts: EngineFacts = import_module(f"lakebed.engines.{name}.facts").FACTS
    return facts


def require_engine(name: str, what: str) -> None:
    """Raises ExtraMissing, which names the extra to install, where `what` is to run on an engine that is not there."""
    extra = engine_facts(name).extra
    if extra is not None:
        extra.require(what)


def choose_merge_engine(name: str | None, source: MergeInput, options: EngineOptions) -> MergeEngine:
    """The engine of this name; without one the first that reads the source and, if there is a session, runs in it."""
    frame = is_dataframe(source)
    if name is None:
        known = map(engine_facts, ENGINES)
        facts = next(
            one
            for one in known
            if (one.reads_dataframes or not frame) and (one.runs_in_session or not options.asks_for_session)
        )
    else:
        facts = engine_facts(name)
    if frame and not facts.reads_dataframes:
        raise _unfit(
            f"the engine {facts.name} cannot read a Spark DataFrame",
            "Use engine='spark', or give a pyarrow Table or a path.",
        )
    if options.asks_for_session and not facts.runs_in_session:
        raise _unfit(
            f"spark, master and remote have no meaning for the engine {facts.name}",
            "They say where the engine spark runs; leave them out.",
        )
    if options.use_merge is not None and not facts.has_two_merges:
        raise _unfit(
            f"use_merge has no meaning for the engine {facts.name}",
            "It chooses between two implementations of the DuckDB engine; leave it out.",
            kind="INVALID_USE_MERGE",
        )
    require_engine(facts.name, f"a merge on the engine {facts.name}")
    engine: MergeEngine = _load(facts.merge).of(options)
    return engine


def choose_row_engine(data: MergeInput, options: EngineOptions) -> RowEngine:
    """The first engine that writes rows, reads the data and, if there is a session, runs in it."""
    frame = is_dataframe(data)
    facts = next(
        one
        for one in map(engine_facts, ENGINES)
        if one.rows is not None
        and (one.reads_dataframes or not frame)
        and (one.runs_in_session or not options.asks_for_session)
    )
    require_engine(facts.name, f"a write on the engine {facts.name}")
    assert facts.rows is not None
    engine: RowEngine = _load(facts.rows).of(options)
    return engine


def local_engine(storage: StorageSettings) -> Engine:
    """The engine that loads in this process: for a file or two, without a Spark session."""
    place = next(facts.load for facts in map(engine_facts, ENGINES) if facts.load is not None)
    engine: Engine = _load(place)(storage)
    return engine


def _load(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def _unfit(message: str, remedy: str, *, kind: str = "INVALID_STRATEGY") -> InvalidMergeArgument:
    return InvalidMergeArgument(message, kind=kind, remedy=remedy)
