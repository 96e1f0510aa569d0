"""Why an answer in JSON was cut: the place that was open when the tokens ran out, under the schema.

For example, ``{"name": "Ada", "family": {"mother": "A`` was cut by `extra members` under a schema whose one
property is ``name``, and ``{"name": "Ada Ada Ada ..`` by a `string`.

The causes, in the order in which they are asked:

- `white space`: the text ends in a long run of it, or consists of little else;
- `digits`: a number, or a string, ends in more digits than any integer of 64 bits has;
- `extra members`: a member is open that the schema does not name, in an object whose members it names;
- `string`: a value or a name is open and long;
- `nesting`: many arrays and objects are open;
- `array`: an array, or an object whose names are free, has many items already;
- `not done`: none of these, so that a few tokens more might have been enough.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

CAUSES = ("extra members", "string", "array", "digits", "white space", "nesting", "not done")

# The everyday answers in benches/answers stay below all of these, which their test checks.
#
# Twenty, because no unsigned integer of 64 bits is longer.
DIGITS = 20
# Longer than the indentation of anything that is not nested too deep already, at two blanks a level.
WHITE_SPACE = 20
# A text that is pretty-printed has less.
WHITE_SHARE = 0.75
STRING = 100
# The longest expected list has so many.
ITEMS = 5
NESTING = 8

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_WORD = re.compile(r"[^\s,:{}\[\]\"]+")
_SPACE = re.compile(r"[ \t\r\n]+")


@dataclass
class Level:
    """An array or object that is open."""

    is_object: bool
    # How many items or members are complete.
    complete: int = 0
    # The names that were read, and the one whose value is open.
    names: list[str] = field(default_factory=list)
    member: str | None = None


@dataclass
class Place:
    """Where a text of JSON stops."""

    levels: list[Level]
    # `between` tokens, or inside of a `string`, `name` or `word` (a number or a literal).
    inside: str
    # What was read of that.
    text: str
    # The characters of white space outside of strings: those at the end, and all.
    trailing: int
    white: int


def place(text: str) -> Place:
    """The place where a text stops. What is no JSON is read as if it were."""
    levels: list[Level] = []
    at = white = trailing = 0

    def complete() -> None:
        if levels:
            levels[-1].complete += 1
            levels[-1].member = None

    while at < len(text):
        trailing = 0
        if space := _SPACE.match(text, at):
            trailing = len(space.group())
            white += trailing
            at = space.end()
        elif text[at] == '"':
            string = _STRING.match(text, at)
            named = bool(levels) and levels[-1].is_object and levels[-1].member is None
            if string is None:
                return Place(levels, "name" if named else "string", text[at + 1 :], 0, white)
            at = string.end()
            if named:
                name = _unescaped(string.group())
                levels[-1].names.append(name)
                levels[-1].member = name
            else:
                complete()
        elif text[at] in "{[":
            levels.append(Level(text[at] == "{"))
            at += 1
        elif text[at] in "}]":
            if levels:
                levels.pop()
            complete()
            at += 1
        elif text[at] in ",:":
            at += 1
        else:
            word = _WORD.match(text, at)
            assert word is not None, "every other character is one of a word"
            at = word.end()
            if at == len(text):
                return Place(levels, "word", word.group(), 0, white)
            complete()
    return Place(levels, "between", "", trailing, white)


def _unescaped(string: str) -> str:
    try:
        return str(json.loads(string, strict=False))
    except ValueError:
        return string[1:-1]


def cause(schema: Any, text: str) -> str:
    """The cause by which an answer was cut, one of :data:`CAUSES`."""
    at = place(text)
    if at.trailing > WHITE_SPACE or at.white > max(WHITE_SPACE, WHITE_SHARE * len(text)):
        return "white space"
    if len(at.text) - len(at.text.rstrip("0123456789")) > DIGITS:
        return "digits"
    known = _Names(schema)
    within, free = known.of_places([schema]), []
    for level in at.levels:
        free.append(not known.named(within))
        if level.is_object and level.member is None:
            # Between two members, or inside of a name: undeclared members stand behind it.
            begun = at.text if at.inside == "name" and level is at.levels[-1] else None
            if known.named(within) and (
                any(not known.declares(within, name) for name in level.names)
                or (begun is not None and not known.begins(within, begun))
            ):
                return "extra members"
            break
        if level.is_object:
            assert level.member is not None
            if known.named(within) and not known.declares(within, level.member):
                return "extra members"
            within = known.of_member(within, level.member)
        else:
            within = known.of_item(within, level.complete)
    if at.inside in ("string", "name") and len(at.text) > STRING:
        return "string"
    if len(at.levels) > NESTING:
        return "nesting"
    if any(
        level.complete > ITEMS and (not level.is_object or is_free)
        for level, is_free in zip(at.levels, free, strict=False)
    ):
        return "array"
    return "not done"


class _Names:
    """The names that schemas declare, wherever one of several alternatives does."""

    def __init__(self, root: Any) -> None:
        self._root = root

    def of_places(self, schemas: Iterable[Any]) -> list[dict[str, Any]]:
        """The schemas with those that they refer to, join or choose from."""
        found: list[dict[str, Any]] = []
        ahead = list(schemas)
        while ahead:
            one = ahead.pop()
            if not isinstance(one, dict) or any(one is other for other in found):
                continue
            found.append(one)
            for keyword in ("allOf", "anyOf", "oneOf"):
                if isinstance(one.get(keyword), list):
                    ahead.extend(one[keyword])
            ahead.extend(one[keyword] for keyword in ("then", "else") if keyword in one)
            if isinstance(one.get("dependentSchemas"), dict):
                ahead.extend(one["dependentSchemas"].values())
            reference = one.get("$ref")
            if isinstance(reference, str) and reference.startswith("#"):
                ahead.append(at_pointer(self._root, reference[1:]))
        return found

    @staticmethod
    def named(schemas: list[dict[str, Any]]) -> bool:
        """True if objects have names that the schema tells, and others are not described by it."""
        return any("properties" in one or "patternProperties" in one for one in schemas) and not any(
            isinstance(one.get("additionalProperties"), dict) and one["additionalProperties"]
            for one in schemas
        )

    @staticmethod
    def _of_name(schemas: list[dict[str, Any]], name: str) -> Iterator[Any]:
        for one in schemas:
            properties = one.get("properties")
            if isinstance(properties, dict) and name in properties:
                yield properties[name]
            patterns = one.get("patternProperties")
            for pattern, schema in patterns.items() if isinstance(patterns, dict) else ():
                try:
                    matches = re.search(pattern, name) is not None
                except re.error:
                    # An expression that Python does not read gets the benefit of the doubt.
                    matches = True
                if matches:
                    yield schema

    def declares(self, schemas: list[dict[str, Any]], name: str) -> bool:
        return any(True for _ in self._of_name(schemas, name))

    @staticmethod
    def begins(schemas: list[dict[str, Any]], text: str) -> bool:
        """True if a name that is declared begins so, or may: patterns are not asked."""
        return any(
            one.get("patternProperties") or any(name.startswith(text) for name in one.get("properties") or ())
            for one in schemas
        )

    def of_member(self, schemas: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
        found = list(self._of_name(schemas, name))
        if not found:
            found = [one["additionalProperties"] for one in schemas if "additionalProperties" in one]
        return self.of_places(found)

    def of_item(self, schemas: list[dict[str, Any]], number: int) -> list[dict[str, Any]]:
        found: list[Any] = []
        for one in schemas:
            listed = one.get("prefixItems", one.get("items"))
            if isinstance(listed, list) and number < len(listed):
                found.append(listed[number])
            elif isinstance(one.get("items"), dict):
                found.append(one["items"])
        return self.of_places(found)


def at_pointer(document: Any, pointer: str) -> Any:
    """The value at a JSON Pointer, or None where there is none."""
    for step in pointer.split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(document, list) and step.isdigit() and int(step) < len(document):
            document = document[int(step)]
        elif isinstance(document, dict):
            document = document.get(step)
        else:
            return None
    return document
