"""Commands as typer sees them: groups of options spread out, and a switch for tracebacks."""

from __future__ import annotations

import functools
import inspect
import traceback
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import Annotated, Any, get_type_hints

import typer

Traceback = Annotated[bool, typer.Option("--traceback", hidden=True)]


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter that is a dataclass by the fields of the dataclass.

    The default of a field is that of the parameter, if the parameter has one, and that of the dataclass otherwise.
    """
    groups: dict[str, Any] = {}
    parameters = []
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        if is_dataclass(parameter.annotation):
            groups[parameter.name] = parameter.annotation
            parameters += _parameters(parameter.annotation, parameter.default)
        else:
            parameters.append(parameter.replace(kind=parameter.KEYWORD_ONLY))
    parameters += [_parameter("traceback", Traceback, False), _parameter("context", typer.Context, MISSING)]

    @functools.wraps(command)
    def run(**values: Any) -> None:
        context = values.pop("context")
        wanted = values.pop("traceback") or context.find_root().params.get("traceback")
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        try:
            command(**values)
        except (typer.Exit, typer.Abort, BrokenPipeError):
            raise
        except Exception as error:
            if not wanted:
                raise
            typer.echo("".join(traceback.format_exception(error)), err=True, nl=False)
            raise typer.Exit(1) from error

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _parameters(group: Any, defaults: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    source = group if defaults is inspect.Parameter.empty else defaults
    return [_parameter(field.name, hints[field.name], getattr(source, field.name, MISSING)) for field in fields(group)]


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    default = inspect.Parameter.empty if default is MISSING else default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
