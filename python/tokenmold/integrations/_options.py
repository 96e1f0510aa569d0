"""Options of schemas, and limits of all kinds, as the hosts of engines, and their requests, hand them over: by name,
as JSON.

Names and values are those of :class:`tokenmold.Compiler`; a limit holds for each kind that has it. A request chooses
what its answer looks like; what a compilation may take is the host's choice. For example ``{"formats": "annotate", "cap_length": 200}``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, get_args, get_type_hints

from tokenmold._compiler import GrammarLimits, SchemaOptions, TagLimits

__all__ = ["ENVIRONMENT", "LIMITS", "NAMES", "HostOptions", "check", "of_environment", "of_grammars", "of_schemas", "of_tags"]


class HostOptions(SchemaOptions, TagLimits, total=False):
    """Options of schemas, and limits of schemas, grammars and structural tags: ``max_depth`` is one of each."""


_KNOWN: dict[str, Any] = get_type_hints(HostOptions)
NAMES: tuple[str, ...] = tuple(_KNOWN)
# Bounds on the work of a compilation.
LIMITS: tuple[str, ...] = tuple(name for name in _KNOWN if name.startswith("max_"))
# The variable with the options of a host whose command line has no place for them.
ENVIRONMENT = "TOKENMOLD_SCHEMA_OPTIONS"


def check(given: Mapping[str, Any], where: str, without: Iterable[str] = ()) -> HostOptions:
    """The options, each with a value that it has. Raises ``ValueError`` for others, and for those to do ``without``."""
    refused = set(without)
    for name, value in given.items():
        if name not in _KNOWN:
            raise ValueError(f"{where} has no `{name}`, but {', '.join(n for n in NAMES if n not in refused)}")
        if name in refused:
            raise ValueError(f"`{name}` is no choice of {where}: it is the host's")
        words = [word for word in get_args(_KNOWN[name]) if isinstance(word, str)]
        is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
        if words and value not in words:
            raise ValueError(f"`{name}` of {where} is one of {', '.join(words)}, not {value!r}")
        if not words and value is not None and not is_count:
            raise ValueError(f"`{name}` of {where} is a whole number, or null, not {value!r}")
    options: Any = dict(given)
    return options  # type: ignore[no-any-return]


def of_schemas(options: Mapping[str, Any]) -> SchemaOptions:
    """Those of the options that schemas have."""
    return _of(options, SchemaOptions)  # type: ignore[no-any-return]


def of_grammars(options: Mapping[str, Any]) -> GrammarLimits:
    """Those of the options that grammars have."""
    return _of(options, GrammarLimits)  # type: ignore[no-any-return]


def of_tags(options: Mapping[str, Any]) -> TagLimits:
    """Those of the options that structural tags have."""
    return _of(options, TagLimits)  # type: ignore[no-any-return]


def _of(options: Mapping[str, Any], kind: Any) -> Any:
    return {name: value for name, value in options.items() if name in kind.__optional_keys__}


def of_environment() -> HostOptions:
    """The options that the variable has; none without it. Raises ``ValueError`` for what are none."""
    written = os.environ.get(ENVIRONMENT)
    if not written:
        return {}
    try:
        given = json.loads(written)
    except ValueError as error:
        raise ValueError(f"{ENVIRONMENT} is no JSON: {error}") from error
    if not isinstance(given, dict):
        raise ValueError(f"{ENVIRONMENT} is an object, not {given!r}")
    return check(given, ENVIRONMENT)
