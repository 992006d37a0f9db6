"""Options that several commands take together: a group is declared once, and a command takes it as one parameter.

    def stage(source: options.Source, *, filters: Filters, workdir: Workdir = None) -> None:
        lakebed.stage(source, workdir=workdir, **filters)

The command line sees the group's options one by one, in the place of that parameter.
"""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict, get_args, get_type_hints, is_typeddict

from lakebed.cli import options


class Filters(TypedDict):
    """Which deliveries are wanted."""

    report: options.Report
    payer: options.Payer
    period: options.Period
    since: options.Since
    until: options.Until


class PlanOptions(TypedDict):
    """How a delivery becomes rows of a table."""

    decimals: options.Decimals
    naming: options.NamingRule
    on_conflict: options.Conflict
    allow_missing: options.AllowMissing
    strict: options.Strict


class LoadOptions(PlanOptions):
    """The same, and how the load itself goes."""

    on_bad_value: options.BadValue
    retain: options.Retain
    no_stage: options.NoStage
    master: options.Master
    remote: options.Remote


class IngestOptions(TypedDict):
    """How files of any kind become rows of a table."""

    decimals: options.Decimals
    naming: options.NamingRule
    on_conflict: options.Conflict
    on_bad_value: options.BadValue
    strict: options.Strict
    master: options.Master
    remote: options.Remote


class ConsentOptions(TypedDict):
    """What is done only where the user says so."""

    reload: options.Reload
    replace: options.Replace
    accept_shrink: options.AcceptShrink


def expand_groups(command: Callable[..., None]) -> Callable[..., None]:
    """The command with each of its groups in the form that the command line reads: an option for each key."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: get_type_hints(kind, include_extras=True) for name, kind in hints.items() if is_typeddict(kind)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name in groups:
            parameters.extend(options_of(groups[name]))
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[name]))

    @functools.wraps(command)
    def run(**arguments: object) -> None:
        taken = {name: {key: arguments.pop(key) for key in keys} for name, keys in groups.items()}
        command(**arguments, **taken)

    return with_parameters(run, parameters)


def options_of(group: Mapping[str, Any]) -> list[inspect.Parameter]:
    """The parameters that a group's keys stand for; one that is not given is False if it is a flag, else None."""
    return [
        inspect.Parameter(
            key,
            inspect.Parameter.KEYWORD_ONLY,
            default=False if get_args(annotation)[0] is bool else None,
            annotation=annotation,
        )
        for key, annotation in group.items()
    ]


def with_parameters(command: Callable[..., None], parameters: Sequence[inspect.Parameter]) -> Callable[..., None]:
    """The command, said to take these parameters: it is what the command line asks of a function."""
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command
