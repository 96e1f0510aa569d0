"""JSON Schema as regular expressions.

Expressions of types and formats stand for what RFC 8259 and the RFCs of the formats say.
"""

from __future__ import annotations

import json
from typing import Any

from ..._tokenmold import _json_schema_regex

#: What may stand between the tokens of JSON unless told otherwise.
WHITESPACE = "[ ]?"


def _of(schema: dict[str, Any]) -> str:
    return _json_schema_regex(json.dumps(schema), WHITESPACE, 0)


def build_regex_from_schema(
    json_schema: str, whitespace_pattern: str | None = None, max_recursion_depth: int = 3
) -> str:
    """A regular expression for the JSON that a schema admits.

    What cannot be enforced is refused, with its place: unlike ``outlines_core``, no keyword is dropped.
    """
    try:
        json.loads(json_schema)
    except ValueError:
        raise TypeError("Expected a valid JSON string.") from None
    whitespace = WHITESPACE if whitespace_pattern is None else whitespace_pattern
    return _json_schema_regex(json_schema, whitespace, max_recursion_depth)


BOOLEAN = "(true|false)"
NULL = _of({"type": "null"})
INTEGER = _of({"type": "integer"})
NUMBER = _of({"type": "number"})
STRING = _of({"type": "string"})
STRING_INNER = _of({"type": "string", "minLength": 1, "maxLength": 1})[1:-1]
DATE = _of({"type": "string", "format": "date"})
DATE_TIME = _of({"type": "string", "format": "date-time"})
TIME = _of({"type": "string", "format": "time"})
UUID = _of({"type": "string", "format": "uuid"})
EMAIL = _of({"type": "string", "format": "email"})
URI = _of({"type": "string", "format": "uri"})

__all__ = [
    "BOOLEAN",
    "DATE",
    "DATE_TIME",
    "EMAIL",
    "INTEGER",
    "NULL",
    "NUMBER",
    "STRING",
    "STRING_INNER",
    "TIME",
    "URI",
    "UUID",
    "WHITESPACE",
    "build_regex_from_schema",
]
