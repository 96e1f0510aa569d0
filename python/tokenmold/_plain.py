"""Messages and tools as plain values: what `json` does not know becomes what it does."""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Mapping
from typing import Any

from .tool_schema import tool_schema


def dumps(value: Any) -> str:
    """JSON of a value, with dataclasses and pydantic models as maps of their fields.

    Tuples become lists and keys texts, as ``json`` has it; ``NaN`` and integers of any size stay.

    >>> dumps({"content": ("a", 10**30), 1: float("nan")})
    '{"content": ["a", 1000000000000000000000000000000], "1": NaN}'
    """
    return json.dumps(value, ensure_ascii=False, default=_fields)


def _fields(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if callable(dump := getattr(value, "model_dump", None)) and not isinstance(value, type):
        return dump()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a chat has dicts, dataclasses, pydantic models and plain values, not {value!r:.200}")


def messages(chat: Any) -> Any:
    """The messages of a chat, which may be an object that has them."""
    return getattr(chat, "messages", chat)


def tools(given: Any) -> Any:
    """Tools as schemas: functions and methods become theirs."""
    if isinstance(given, Mapping | str):
        return given
    return [tool_schema(tool) if inspect.isfunction(tool) or inspect.ismethod(tool) else tool for tool in given]
