"""Changes to JSON Schemas that engines ask for."""

from __future__ import annotations

import json
from typing import Any

# Keywords whose value is a schema or a list of schemas, and those whose value maps names to schemas.
_SCHEMAS = frozenset(
    [
        "additionalItems",
        "additionalProperties",
        "allOf",
        "anyOf",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "oneOf",
        "prefixItems",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    ]
)
_MAPS = frozenset(
    ["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"]
)


def close_objects(schema: str) -> str:
    """The schema with ``additionalProperties: false`` where properties are named and others not told."""
    document = json.loads(schema)
    ahead: list[Any] = [document]
    while ahead:
        one = ahead.pop()
        if isinstance(one, list):
            ahead.extend(one)
        elif isinstance(one, dict):
            ahead.extend(value for key, value in one.items() if key in _SCHEMAS)
            for key in _MAPS & one.keys():
                if isinstance(one[key], dict):
                    ahead.extend(one[key].values())
            if any(isinstance(one.get(key), dict) for key in ("properties", "patternProperties")):
                one.setdefault("additionalProperties", False)
    return json.dumps(document)
