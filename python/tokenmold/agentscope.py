"""Text parsers with the names, arguments and answers of AgentScope 0.1.6.

::

    parser = MarkdownJsonDictParser({"thought": "what you think", "speak": "what you say"}, required_keys=["speak"])
    prompt = question + parser.format_instruction
    response = parser.parse(model(prompt))      # a text, or an object with `text`
    memory, content = parser.to_memory(response.parsed), parser.to_content(response.parsed)

What a model wrote wrongly is a :class:`ResponseParsingError`, whose text can be sent back to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ._tokenmold import TextParser, TokenmoldError

__all__ = [
    "JsonParsingError",
    "JsonTypeError",
    "MarkdownCodeBlockParser",
    "MarkdownJsonDictParser",
    "MarkdownJsonObjectParser",
    "MultiTaggedContentParser",
    "ParsedResponse",
    "RegexTaggedContentParser",
    "RequiredFieldNotFoundError",
    "ResponseParsingError",
    "TagNotFoundError",
    "TaggedContent",
]

# `True` is the whole dictionary, `False` nothing, a name its value, names a dictionary of them.
Keys = bool | str | Sequence[str]


class ResponseParsingError(TokenmoldError):
    """A response that is not of the form that was asked for. As a text it is what to tell the model."""

    message: str
    raw_response: str | None

    def __str__(self) -> str:
        return f"{type(self).__name__}: {self.message}"


class JsonParsingError(ResponseParsingError):
    """The text is no JSON, or does not obey the data model."""


class JsonTypeError(ResponseParsingError):
    """The JSON is no dictionary."""


class RequiredFieldNotFoundError(ResponseParsingError):
    """The dictionary lacks a key that it must have."""


class TagNotFoundError(ResponseParsingError):
    """The text lacks a tag."""

    missing_begin_tag: bool
    missing_end_tag: bool


_ERRORS: dict[str, type[ResponseParsingError]] = {
    "json_parsing": JsonParsingError,
    "json_type": JsonTypeError,
    "required_field_not_found": RequiredFieldNotFoundError,
    "tag_not_found": TagNotFoundError,
}


def _raised(error: Any) -> Exception:
    """The exception of AgentScope's that an error of the compiled parser is."""
    kind = _ERRORS.get(error.kind)
    if kind is None:
        return ValueError(str(error))
    return _error(kind, error.message, error.raw_response, error.missing_tags)


def _error(
    kind: type[ResponseParsingError], message: str, raw: str | None, missing: tuple[bool, bool] | None = None
) -> ResponseParsingError:
    made = kind(message)
    made.message, made.raw_response = message, raw
    if isinstance(made, TagNotFoundError) and missing is not None:
        made.missing_begin_tag, made.missing_end_tag = missing
    return made


@dataclass
class ParsedResponse:
    """The response of a parser that was given a text."""

    text: str
    parsed: Any = None


class _Parser:
    _compiled: TextParser

    @property
    def format_instruction(self) -> str:
        """What to tell the model."""
        try:
            return self._compiled.format_instruction()
        except TokenmoldError as error:
            raise ValueError(getattr(error, "message", str(error))) from None

    def parse(self, response: Any) -> Any:
        """Reads a response: an object with ``text``, of which ``parsed`` is set (and ``text``, where fences that
        were missing are put in), or a text, which becomes a :class:`ParsedResponse`."""
        told = ParsedResponse(response) if isinstance(response, str) else response
        try:
            told.parsed, repaired = self._compiled.parse(told.text)
        except TokenmoldError as error:
            repaired = getattr(error, "repaired", None)
            if repaired is not None:
                told.text = repaired
            raise _raised(error) from None
        if repaired is not None:
            told.text = repaired
        return told


def _chosen(keys: Keys, dictionary: Mapping[str, Any], allow_missing: bool) -> Any:
    if isinstance(keys, bool):
        return dict(dictionary) if keys else None
    if isinstance(keys, str):
        return dictionary[keys]
    if not isinstance(keys, Sequence):
        raise TypeError(f"keys are True, False, a name or names, not {keys!r}")
    chosen = {}
    for name in keys:
        if name in dictionary:
            chosen[name] = dictionary[name]
        elif not allow_missing:
            raise ValueError(f"Name {name} not found in the response.")
    return chosen


class _DictParser(_Parser):
    def __init__(self, memory: Keys, content: Keys, metadata: Keys) -> None:
        self.keys_to_memory, self.keys_to_content, self.keys_to_metadata = memory, content, metadata

    def to_memory(self, parsed_response: Mapping[str, Any], allow_missing: bool = False) -> Any:
        """What of the dictionary goes into memory."""
        return _chosen(self.keys_to_memory, parsed_response, allow_missing)

    def to_content(self, parsed_response: Mapping[str, Any], allow_missing: bool = False) -> Any:
        """What of it is the message's content."""
        return _chosen(self.keys_to_content, parsed_response, allow_missing)

    def to_metadata(self, parsed_response: Mapping[str, Any], allow_missing: bool = False) -> Any:
        """What of it is the message's metadata."""
        return _chosen(self.keys_to_metadata, parsed_response, allow_missing)


class MarkdownJsonObjectParser(_Parser):
    """JSON in a block that is fenced as ``json``; a fence that is missing is put in."""

    def __init__(self, content_hint: Any = None) -> None:
        self._compiled = TextParser({"form": "markdown_json", "hint": content_hint})


class MarkdownJsonDictParser(_DictParser):
    """The same for a dictionary. ``content_hint`` may be a pydantic class, which the dictionary obeys and is
    replaced by its dump."""

    def __init__(
        self,
        content_hint: Any = None,
        required_keys: Sequence[str] | None = None,
        keys_to_memory: Keys = True,
        keys_to_content: Keys = True,
        keys_to_metadata: Keys = False,
    ) -> None:
        super().__init__(keys_to_memory, keys_to_content, keys_to_metadata)
        self._model = content_hint if hasattr(content_hint, "model_json_schema") else None
        told: dict[str, Any] = {"form": "markdown_dict", "required": list(required_keys or ())}
        if self._model is None:
            told["hint"] = content_hint
        else:
            told["model"] = {"name": self._model.__name__, "schema": self._model.model_json_schema()}
        self._compiled = TextParser(told)

    def parse(self, response: Any) -> Any:
        told = super().parse(response)
        validate = getattr(self._model, "model_validate", None)
        if validate is not None:
            # The class may ask for more than its schema says.
            try:
                told.parsed = validate(told.parsed).model_dump()
            except ValueError as error:
                raise _error(JsonParsingError, str(error), told.text) from None
        return told


class MarkdownCodeBlockParser(_Parser):
    """Code in a block that is fenced as its language."""

    def __init__(self, language_name: str, content_hint: str | None = None) -> None:
        self._compiled = TextParser({"form": "markdown_code", "language": language_name, "hint": content_hint})


@dataclass
class TaggedContent:
    """A part of a text, and its tags."""

    name: str
    tag_begin: str
    content_hint: str
    tag_end: str
    parse_json: bool = False

    def __str__(self) -> str:
        return f"{self.tag_begin}{self.content_hint}{self.tag_end}"


class MultiTaggedContentParser(_DictParser):
    """Parts, each between tags of its own."""

    def __init__(
        self,
        *tagged_contents: TaggedContent,
        keys_to_memory: Keys = True,
        keys_to_content: Keys = True,
        keys_to_metadata: Keys = False,
        keys_allow_missing: Sequence[str] | None = None,
    ) -> None:
        super().__init__(keys_to_memory, keys_to_content, keys_to_metadata)
        tags = [
            {
                "name": tag.name,
                "begin": tag.tag_begin,
                "hint": tag.content_hint,
                "end": tag.tag_end,
                "values": "json" if tag.parse_json else "text",
            }
            for tag in tagged_contents
        ]
        self._compiled = TextParser({"form": "tags", "tags": tags, "optional": list(keys_allow_missing or ())})


class RegexTaggedContentParser(_DictParser):
    """What a regular expression of Python's ``re`` finds, with the groups ``name`` and ``content``; by default
    ``<name>content</name>``."""

    def __init__(
        self,
        tagged_content_pattern: str | None = None,
        format_instruction: str | None = None,
        try_parse_json: bool = True,
        required_keys: Sequence[str] | None = None,
        keys_to_memory: Keys = True,
        keys_to_content: Keys = True,
        keys_to_metadata: Keys = False,
    ) -> None:
        super().__init__(keys_to_memory, keys_to_content, keys_to_metadata)
        self._compiled = TextParser(
            {
                "form": "regex",
                "pattern": tagged_content_pattern,
                "instruction": format_instruction,
                "required": list(required_keys or ()),
                "values": "json" if try_parse_json else "text",
            }
        )
