"""The compiler: descriptions in the forms that Python has them, and threads to compile on."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Literal, TypeAlias, TypedDict, Unpack

from . import _tokenmold
from ._tokenmold import Constraint, ResponseTemplate

Whitespace: TypeAlias = Literal["flexible", "single", "spaced", "compact"]
Order: TypeAlias = Literal["declared", "any"]
AdditionalMembers: TypeAlias = Literal["closed", "open"]
Formats: TypeAlias = Literal["assert", "annotate", "strict"]
OneOf: TypeAlias = Literal["exclusive", "any"]
UnknownKeywords: TypeAlias = Literal["ignore", "refuse"]
Escapes: TypeAlias = Literal["standard", "shortest", "all", "all-in-values"]
Integers: TypeAlias = Literal["plain", "zero-fraction"]
Settings: TypeAlias = Literal["ignore", "follow"]
Beside: TypeAlias = Literal["text", "nothing"]
Calls: TypeAlias = Literal["any", "required", "one", "at_most_one", "none"]
Dialect: TypeAlias = Literal["gbnf", "ebnf", "lark", "lark-splits", "lark-ascii", "w3c", "abnf", "regex"]
Reasoning: TypeAlias = Literal["absent", "optional", "required"]


class SchemaOptions(TypedDict, total=False):
    """The options of schemas: :class:`Compiler` says what they are."""

    whitespace: Whitespace
    order: Order
    additional_members: AdditionalMembers
    formats: Formats
    one_of: OneOf
    unknown_keywords: UnknownKeywords
    escapes: Escapes
    integers: Integers
    cap_length: int | None
    cap_items: int | None
    cap_depth: int | None
    cap_digits: int | None
    cap_members: int | None
    cap_name_length: int | None
    max_alternatives: int | None
    max_automaton_states: int | None
    max_steps: int | None
    max_depth: int | None
    max_nesting: int | None
    max_nodes: int | None


class GrammarLimits(TypedDict, total=False):
    """The limits of grammars: :meth:`Compiler.grammar` says what they are."""

    max_cache_bytes: int | None
    max_count: int | None
    max_depth: int | None
    max_parser_states: int | None
    max_proof_work: int | None
    max_states: int | None
    max_terminal_states: int | None
    max_text_bytes: int | None
    max_walk_work: int | None
    max_work: int | None


class TagLimits(GrammarLimits, total=False):
    """The limits of structural tags: :meth:`Compiler.structural_tag` says what they are."""

    max_parts: int | None
    max_repeat: int | None
    max_whitespace: int | None


def _options(
    *,
    whitespace: Whitespace = "flexible",
    order: Order = "declared",
    additional_members: AdditionalMembers = "closed",
    formats: Formats = "assert",
    one_of: OneOf = "exclusive",
    unknown_keywords: UnknownKeywords = "ignore",
    escapes: Escapes = "standard",
    integers: Integers = "plain",
    **bounds: int | None,
) -> dict[str, Any]:
    """The options as the compiled module takes them, those that are not given too."""
    chosen = {
        "whitespace": whitespace,
        "order": order,
        "additional_members": additional_members,
        "formats": formats,
        "one_of": one_of,
        "unknown_keywords": unknown_keywords,
        "escapes": escapes,
        "integers": integers,
    }
    return chosen | _bounds(bounds, SchemaOptions, "a schema")


def _bounds(given: Mapping[str, Any], known: type, whose: str) -> dict[str, int]:
    """The bounds that are given, by name in order; ``TypeError`` for names that ``known`` does not have."""
    for name, bound in given.items():
        if name not in known.__optional_keys__:  # type: ignore[attr-defined]
            raise TypeError(f"{whose} has no option {name!r}")
        if isinstance(bound, bool):
            raise TypeError(f"{name} is a number, not {bound!r}")
    return {name: bound for name, bound in sorted(given.items()) if bound is not None}


def _json_of(value: Any) -> str:
    """The JSON text of a schema, a tag or a model of pydantic's; a text is JSON already."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode()
    return json.dumps(_plain(value), ensure_ascii=False)


def _plain(value: Any) -> Any:
    for method in ("model_json_schema", "json_schema"):  # a pydantic model; a TypeAdapter
        if callable(schema := getattr(value, method, None)):
            return schema()
    if not isinstance(value, type) and callable(dump := getattr(value, "model_dump", None)):
        return dump(mode="json", by_alias=True, exclude_none=True)
    return value


class Compiler(_tokenmold.Compiler):
    """Compiles constraints for one vocabulary, and remembers them within a bound of bytes.

    ``threads`` is how many constraints ``submit_*`` compiles at a time (as many as the process
    may use, unless told), ``cache_bytes`` how much is remembered. What is refused is a
    :class:`TokenmoldError` that says where.

    Whitespace between the tokens of JSON: ``"flexible"`` is blanks, or a line break and an
    indentation, of at most 40 columns; ``"single"`` a blank behind ``,`` and ``:`` or none,
    ``"spaced"`` a blank there, as ``json.dumps`` writes it, ``"compact"`` none. The members of objects come in the order in which the schema declares them, or in ``"any"``.

    ``additional_members`` are those of which a schema says nothing: an object that lists ``properties``
    has none (``"closed"``), unless the schema speaks of them, or any, as JSON Schema has it (``"open"``).

    Caps bound what a schema leaves without a bound: ``cap_length`` the characters of a string,
    ``cap_items`` the items of an array, ``cap_depth`` the levels of arrays and objects, ``cap_digits``
    the digits of a number, ``cap_members`` the members of an object, ``cap_name_length`` the characters
    of a name that the schema does not have. A minimum of the schema goes before a cap; ``ledger`` shows
    what was narrowed.

    ``formats`` says what ``format`` does: those that are known are enforced (``"assert"``), none is
    (``"annotate"``), or moreover unknown ones are refused (``"strict"``). ``one_of`` says how many schemas of
    ``oneOf`` a value meets: one (``"exclusive"``), or one or more, as ``anyOf`` (``"any"``). ``unknown_keywords`` are
    annotations (``"ignore"``), or refused (``"refuse"``). ``escapes`` are those of strings:
    ``"shortest"`` is one spelling a character, ``"standard"`` has short escapes and ``\\\\u00XX`` besides, ``"all"`` all
    of JSON's, ``"all-in-values"`` these but for names. ``integers`` are written ``"plain"``, or with a fraction
    of zeros, too (``"zero-fraction"``).

    Limits bound what a compilation may take; an error names the one to raise: ``max_alternatives`` at one
    place (2,000), ``max_automaton_states`` of a string or number (3,000), ``max_steps`` (500,000),
    ``max_depth`` of subschemas (128), ``max_nodes`` of them (200,000), and ``max_nesting``, the levels of a value (127).
    """

    __slots__ = ("_lock", "_pool", "_pool_process")

    _pool: ThreadPoolExecutor | None
    _pool_process: int
    _lock: threading.Lock

    def __init__(self, vocabulary: _tokenmold.Vocabulary, **_: Any) -> None:
        self._pool = None
        self._pool_process = 0
        self._lock = threading.Lock()

    def json_schema(
        self,
        schema: Any,
        *,
        settings: Settings = "ignore",
        documents: Mapping[str, Any] | None = None,
        **options: Unpack[SchemaOptions],
    ) -> Constraint:
        """JSON of a schema: its text, a dict, a pydantic model or ``TypeAdapter``.

        Pass the text where numbers have more digits than a float keeps. With ``settings="follow"`` an
        object ``x-tokenmold`` at the root of the schema overrides the options.

        ``documents`` are those that references may lead to, by URI, in the same forms as the schema; each is
        found by its own ``$id``, too, and read by the draft that its ``$schema`` names. Nothing is ever fetched.
        """
        chosen = _options(**options) | {"settings": settings}
        if documents:
            chosen["documents"] = {uri: _json_of(document) for uri, document in documents.items()}
        return self._json_schema(_json_of(schema), json.dumps(chosen))

    def regex(self, pattern: str) -> Constraint:
        """A text that matches a regular expression as a whole."""
        return self._regex(pattern)

    def choice(self, texts: Iterable[str]) -> Constraint:
        """One of some texts."""
        return self._choice(list(texts))

    def grammar(
        self, text: str, *, dialect: Dialect | None = None, **limits: Unpack[GrammarLimits]
    ) -> Constraint:
        """A text of a context-free grammar.

        ``dialect`` is how it is written: ``"gbnf"`` as llama.cpp reads it, ``"ebnf"`` as XGrammar does,
        ``"lark"`` as llguidance and OpenAI's custom tools do; ``"lark-splits"`` and ``"lark-ascii"`` are
        Lark as its own package and XGrammar read it, ``"w3c"`` is the EBNF of the W3C's specifications
        and ``"abnf"`` that of the IETF's, ``"regex"`` is a regular expression. Without it the text tells, but never of
        ``"w3c"`` and ``"abnf"``.

        Limits bound what the grammar may cost; an error names the one to raise: ``max_walk_work`` of the steps
        behind its texts (300,000), ``max_work`` of a compilation (40,000,000), ``max_parser_states`` (100,000),
        ``max_states`` of all terminals (200,000), ``max_terminal_states`` of one (50,000), ``max_count`` of a
        repetition (1,000,000), ``max_depth`` of groups (200), ``max_text_bytes`` of the grammar (4 MiB), and
        ``max_cache_bytes`` of what is remembered (64 MiB). ``max_proof_work`` (3,000) is no bound of grammars: a proof that
        texts can be finished which takes more is made on another thread, and masks take longer until it is there.
        """
        return self._grammar(text, dialect, json.dumps(_bounds(limits, GrammarLimits, "a grammar")))

    def structural_tag(self, tag: Any, **limits: Unpack[TagLimits]) -> Constraint:
        """A structural tag as servers exchange it: its JSON, a dict, or a pydantic model of it.

        Limits bound what the tag may cost: ``max_parts`` of the automaton (50,000), ``max_repeat`` of what is counted
        (10,000), ``max_whitespace`` that is counted (1,000 characters), and those of :meth:`grammar` for each grammar in it.
        """
        return self._structural_tag(_json_of(tag), json.dumps(_bounds(limits, TagLimits, "a structural tag")))

    def response_format(
        self,
        format: str | Mapping[str, Any] | ResponseTemplate,
        tools: Sequence[Any] | None = None,
        *,
        calls: Calls = "any",
        beside: Beside = "text",
        reasoning: Reasoning = "optional",
        answer: Any = None,
        prompt: str | None = None,
        **options: Unpack[SchemaOptions],
    ) -> Constraint:
        """An answer of a model: reasoning, content, and calls of tools, in the model's own format.

        ``format`` is the name of a ready-made one (``"hermes"``, ``"llama3"``, ``"harmony"``, ..),
        or a response template. ``tools`` are dicts as chat templates take them; ``calls`` says how
        many there are, and ``beside="nothing"`` that they are all of the answer, as servers have it
        of calls that are required; ``answer`` is a schema of the content where there is no call. ``prompt`` is
        the rendered prompt: some begin the reasoning. A dict with ``"type": "json_schema"`` or
        ``"json_object"``, as chat requests have it, is that schema.
        """
        if isinstance(format, Mapping) and format.get("type") in ("json_schema", "json_object"):
            if tools:
                raise _tokenmold.TokenmoldError(
                    "how calls are written depends on the model: name its format, and pass the schema as `answer`"
                )
            return self.json_schema(_requested(format), **options)
        if isinstance(format, ResponseTemplate):
            format = format.json
        asked = _options(**options) | {"calls": calls, "beside": beside, "reasoning": reasoning}
        if tools is not None:
            asked["tools"] = [_plain(tool) for tool in tools]
        if answer is not None:
            asked["answer"] = _json_of(answer)
        if prompt is not None:
            asked["prompt"] = prompt
        return self._response_format(json.dumps(format), json.dumps(asked))

    def submit_json_schema(
        self,
        schema: Any,
        *,
        settings: Settings = "ignore",
        documents: Mapping[str, Any] | None = None,
        **options: Unpack[SchemaOptions],
    ) -> Future[Constraint]:
        """As :meth:`json_schema`, on another thread."""
        return self._submit(
            lambda: self.json_schema(schema, settings=settings, documents=documents, **options)
        )

    def submit_regex(self, pattern: str) -> Future[Constraint]:
        """As :meth:`regex`, on another thread."""
        return self._submit(lambda: self.regex(pattern))

    def submit_choice(self, texts: Iterable[str]) -> Future[Constraint]:
        """As :meth:`choice`, on another thread."""
        listed = list(texts)
        return self._submit(lambda: self.choice(listed))

    def submit_grammar(
        self, text: str, *, dialect: Dialect | None = None, **limits: Unpack[GrammarLimits]
    ) -> Future[Constraint]:
        """As :meth:`grammar`, on another thread."""
        return self._submit(lambda: self.grammar(text, dialect=dialect, **limits))

    def submit_structural_tag(self, tag: Any, **limits: Unpack[TagLimits]) -> Future[Constraint]:
        """As :meth:`structural_tag`, on another thread."""
        return self._submit(lambda: self.structural_tag(tag, **limits))

    def submit_response_format(
        self,
        format: str | Mapping[str, Any] | ResponseTemplate,
        tools: Sequence[Any] | None = None,
        **options: Any,
    ) -> Future[Constraint]:
        """As :meth:`response_format`, on another thread."""
        return self._submit(lambda: self.response_format(format, tools, **options))

    def _submit(self, work: Callable[[], Constraint]) -> Future[Constraint]:
        with self._lock:
            # Threads do not survive a fork.
            if self._pool is None or self._pool_process != os.getpid():
                self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="tokenmold-compile")
                self._pool_process = os.getpid()
            pool = self._pool
        return pool.submit(work)


def _requested(format: Mapping[str, Any]) -> Any:
    """The schema of a chat request's ``response_format``."""
    if format["type"] == "json_object":
        return {"type": "object"}
    described = format.get("json_schema")
    if isinstance(described, Mapping) and "schema" in described:
        return described["schema"]
    if "schema" in format:
        return format["schema"]
    raise _tokenmold.TokenmoldError('a response format of type "json_schema" has a "schema"')
