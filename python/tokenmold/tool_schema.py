"""A Python function as the schema of a tool.

The rule is the one of chat templates: a docstring in Google's style says what the function and each
of its arguments are for, type hints say what values they take. The result is what
``transformers.utils.get_json_schema`` returns, without transformers.
"""

from __future__ import annotations

import inspect
import json
import re
import types
from collections.abc import Callable
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from ._tokenmold import TokenmoldError

__all__ = ["DocstringError", "TypeHintError", "tool_schema"]


class DocstringError(TokenmoldError):
    """A function whose docstring does not say what a tool needs."""

    kind = "docstring"
    pointer = None
    offset = None


class TypeHintError(TokenmoldError):
    """A function with a type that has no JSON Schema, or with no type."""

    kind = "type_hint"
    pointer = None
    offset = None


def tool_schema(function: Callable[..., Any]) -> dict[str, Any]:
    """Writes the schema of a tool from a function's docstring and type hints.

    >>> def weather(city: str, days: int = 1) -> str:
    ...     '''The weather of the next days.
    ...
    ...     Args:
    ...         city: Where
    ...         days: How many days (choices: [1, 3, 7])
    ...     '''
    >>> tool_schema(weather)["function"]["parameters"]["required"]
    ['city']

    An argument's description may end with ``(choices: [...])``, a JSON list, which becomes its
    ``enum``. Arguments without a default are required. A first argument ``self`` or ``cls`` without a
    type is left out, and so is a return type that has no schema.

    Raises :class:`DocstringError` where a description is missing, :class:`TypeHintError` where a type
    is missing or is not ``int``, ``float``, ``str``, ``bool``, ``None``, ``Any``, an ``Enum`` or
    ``Literal`` of such values, or a ``list``, ``tuple``, ``dict`` or union of these.
    """
    name = getattr(function, "__name__", "operation")
    doc = (inspect.getdoc(function) or "").strip()
    if not doc:
        raise DocstringError(
            f"{name} has no docstring: describe what it does and, under 'Args:', each argument"
        )
    described = _arguments(_section(doc, "Args", ("Returns:", "Raises:")))
    properties, required, returned = _parameters(function, name)
    for argument, schema in properties.items():
        if argument not in described:
            raise DocstringError(
                f"{name} does not describe its argument {argument!r}: add '{argument}: ...' under 'Args:' of "
                "its docstring"
            )
        _describe(schema, described[argument], f"{name}: argument {argument!r}")

    parameters: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        parameters["required"] = required
    description = re.split(r"Args:|Returns:|Raises:", doc, maxsplit=1)[0].strip()
    tool: dict[str, Any] = {"name": name, "description": description, "parameters": parameters}
    if returned is not None:
        text = _section(doc, "Returns", ("Raises:",))
        if text is not None:
            returned["description"] = text.strip()
        tool["return"] = returned
    return {"type": "function", "function": tool}


def _section(doc: str, heading: str, until: tuple[str, ...]) -> str | None:
    """The text below a heading that has a line of its own, up to the next of other headings."""
    begin = re.search(rf"\n\s*{heading}:\n", doc)
    if begin is None:
        return None
    text = doc[begin.end() :]
    return text[: min((at for at in map(text.find, until) if at >= 0), default=len(text))]


def _arguments(section: str | None) -> dict[str, str]:
    """The descriptions by argument. Lines indented deeper than an argument go on with it."""
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    indent = ""
    for line in (section or "").split("\n"):
        if not line.strip():
            continue
        head = re.match(r"([ \t]*)(\w+):", line)
        deeper = line.startswith((indent + " ", indent + "\t"))
        # Where nothing follows the colon, the next line is the description, whatever it looks like.
        if head and (current is None or (not deeper and any(map(str.strip, current)))):
            indent, name = head.groups()
            current = found[name] = [line[head.end() :]]
        elif current is not None:
            current.append(line)
    return {name: " ".join(filter(None, map(str.strip, lines))) for name, lines in found.items()}


def _describe(schema: dict[str, Any], text: str, where: str) -> None:
    choices = re.search(r"\(choices:\s*(.*?)\)\s*$", text, flags=re.IGNORECASE)
    if choices:
        try:
            values = json.loads(choices.group(1))
        except ValueError as error:
            raise DocstringError(f"{where}: the choices are not a JSON list ({error})") from None
        if not isinstance(values, list):
            raise DocstringError(f"{where}: the choices are not a JSON list")
        schema["enum"] = [value.strip() if isinstance(value, str) else value for value in values]
        text = text[: choices.start()].strip()
    schema["description"] = text


def _parameters(
    function: Callable[..., Any], name: str
) -> tuple[dict[str, dict[str, Any]], list[str], dict[str, Any] | None]:
    """The schemas of the arguments, which of them are required, and the schema of what is returned."""
    parameters = inspect.signature(function).parameters
    receiver = next(iter(parameters), None)
    if receiver not in ("self", "cls") or parameters[receiver].annotation is not inspect.Parameter.empty:
        receiver = None
    required = []
    for argument, parameter in parameters.items():
        if argument == receiver:
            continue
        if parameter.annotation is inspect.Parameter.empty:
            raise TypeHintError(f"{name}: argument {argument!r} has no type hint")
        if parameter.default is inspect.Parameter.empty:
            required.append(argument)
    try:
        hints = get_type_hints(function)
    except NameError as error:
        raise TypeHintError(f"{name}: a type hint cannot be resolved ({error})") from None

    returned = None
    properties = {}
    for argument, hint in hints.items():
        if argument == "return":
            # A model never writes what a function returns, so a type without a schema does no harm here.
            try:
                returned = _schema(hint, name)
            except TypeHintError:
                continue
        elif argument != receiver:
            properties[argument] = _schema(hint, f"{name}: argument {argument!r}")
    return properties, required, returned


_SCALARS: dict[Any, str] = {
    int: "integer",
    float: "number",
    str: "string",
    bool: "boolean",
    type(None): "null",
}
_CONTAINERS: dict[Any, str] = {list: "array", tuple: "array", dict: "object"}


def _schema(hint: Any, where: str) -> dict[str, Any]:
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return {}
    # Unhashable hints are none of these, and are refused below.
    if origin is None and isinstance(hint, type):
        if issubclass(hint, Enum):
            return _values([member.value for member in hint], f"{where}: the Enum {hint.__name__}")
        kind = _SCALARS.get(hint) or _CONTAINERS.get(hint)
        if kind is not None:
            return {"type": kind}
    if origin is Union or origin is types.UnionType:
        return _union(arguments, where)
    if origin is Literal:
        return _values(list(arguments), f"{where}: a Literal")
    if origin in _CONTAINERS and not arguments:
        return {"type": _CONTAINERS[origin]}
    if origin is list:
        return {"type": "array", "items": _schema(arguments[0], where)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(arguments[1], where)}
    if origin is tuple:
        if len(arguments) == 1 or ... in arguments:
            raise TypeHintError(
                f"{where}: {hint!r} is a tuple of one element or of any number: write list[...]"
            )
        return {"type": "array", "prefixItems": [_schema(argument, where) for argument in arguments]}
    raise TypeHintError(
        f"{where}: no JSON Schema for the type {hint!r}: use int, float, str, bool, an Enum, Literal, or "
        "list, tuple, dict and unions of these, or write the tool's schema by hand"
    )


def _union(members: tuple[Any, ...], where: str) -> dict[str, Any]:
    schemas = [_schema(member, where) for member in members if member is not type(None)]
    if len(schemas) == 1:
        union = schemas[0]
    elif all(schema.keys() == {"type"} and isinstance(schema["type"], str) for schema in schemas):
        kinds = sorted({schema["type"] for schema in schemas})
        union = {"type": kinds[0] if len(kinds) == 1 else kinds}
    else:
        union = {"anyOf": schemas}
    if type(None) in members:
        union["nullable"] = True
    return union


def _values(values: list[Any], where: str) -> dict[str, Any]:
    if not values:
        raise TypeHintError(f"{where} has no members")
    if any(type(value) not in _SCALARS for value in values):
        raise TypeHintError(f"{where} has values that are no int, float, str, bool or None")
    kinds = list(dict.fromkeys(_SCALARS[type(value)] for value in values))
    return {"type": kinds[0] if len(kinds) == 1 else kinds, "enum": values}
