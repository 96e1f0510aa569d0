"""Tokenmold as a grammar backend of SGLang (0.5.23).

Where SGLang is started from the command line the installed package is enough::

    python -m sglang.launch_server --model-path MODEL --grammar-backend tokenmold

In a program, name the backend before the engine is made::

    from tokenmold.integrations.sglang import register

    register()
    engine = sglang.Engine(model_path=MODEL, grammar_backend="tokenmold")

``json_schema``, ``regex``, ``ebnf`` (GBNF, EBNF or Lark, whichever it looks like) and ``structural_tag``
are taken, also behind the frame of an answer, where ``ebnf`` is XGrammar's EBNF alone; the settings for
white space that are not known here are refused by name. What cannot be compiled ends its request with the reason.

The options of schemas are those of :class:`~tokenmold.Compiler`, by the same names: ``register(formats="annotate")``, or
``TOKENMOLD_SCHEMA_OPTIONS='{"formats": "annotate"}'`` where the command line starts the server. An object
``x-tokenmold`` at the root of a request's schema chooses for that schema.

Answers end: each is complete within ``max_new_tokens``, and a request whose shortest answer takes more ends
with the number that would do. ``{"tokenmold": {"budget": "cut"}}`` in ``custom_params`` switches that off.
"""

from __future__ import annotations

import codecs
import dataclasses
import functools
import json
import os
import weakref
from collections.abc import Callable, Iterable
from typing import Any, Unpack

from sglang.srt.arg_groups.choices import GRAMMAR_BACKEND_CHOICES, add_grammar_backend_choices
from sglang.srt.constrained.base_grammar_backend import (
    GRAMMAR_BACKEND_REGISTRY,
    BaseGrammarBackend,
    BaseGrammarObject,
    GrammarStats,
    InvalidGrammarObject,
    register_grammar_backend,
    register_vocab_mask_buffer,
)
from sglang.srt.constrained.grammar_manager import GrammarManager
from sglang.srt.constrained.torch_ops.token_filter_torch_ops import set_token_filter_torch
from sglang.srt.runtime_context import get_serving
from sglang.version import __version__ as _version

from tokenmold import Compiler, Constraint, Vocabulary, fill_batch
from tokenmold.torch import allocate_mask, apply_mask

from . import UnsupportedEngine, _options, require_series
from ._budget import Budget, BudgetOptions, Landing

__all__ = ["TokenmoldBackend", "TokenmoldGrammar", "register"]

NAME = "tokenmold"
KNOWN_VERSIONS = ("0.5.23",)


class TokenmoldGrammar(BaseGrammarObject):
    """What one request may say next."""

    def __init__(
        self, constraint: Constraint, ends: list[int] | None, content: dict[str, Any], stats: GrammarStats
    ) -> None:
        super().__init__()
        self.constraint = constraint
        self.ends = ends
        # The format of a structural tag that says the same, for frames around it.
        self.content = content
        self.grammar_stats = stats
        self.matcher = constraint.matcher(ends)
        self._budget: Budget | None = None

    def limit(self, left: Callable[[], int], landing: Landing) -> None:
        """From now on the answer is complete within the tokens that its request has left."""
        self._budget = Budget(self.matcher, self.constraint, left, landing)

    def accept_token(self, token: int) -> None:
        if self.matcher.is_terminated:
            return
        self.current_token = token
        if not self.matcher.accept(token):
            why = self.matcher.explain(token)
            raise ValueError(f"token {token} is refused at {why.place}: {why.refused}")

    def rollback(self, k: int) -> None:
        if k > 0:
            self.matcher.rollback(k)

    def is_terminated(self) -> bool:
        return self.matcher.is_terminated

    def allocate_vocab_mask(self, vocab_size: int, batch_size: int, device: Any) -> Any:
        return _allocate(self.constraint.vocabulary, batch_size, device)

    def fill_vocab_mask(self, vocab_mask: Any, idx: int) -> None:
        self._tell()
        self.matcher.fill(vocab_mask, idx)

    def _tell(self) -> None:
        if self._budget is not None:
            self._budget.tell()

    @staticmethod
    def fill_vocab_mask_batched(entries: list[Any], vocab_mask: Any) -> None:
        if all(isinstance(entry.grammar, TokenmoldGrammar) for entry in entries):
            if entries:
                for entry in entries:
                    entry.grammar._tell()
                fill_batch(
                    [entry.grammar.matcher for entry in entries], vocab_mask, [entry.row for entry in entries]
                )
        else:
            BaseGrammarObject.fill_vocab_mask_batched(entries, vocab_mask)

    @staticmethod
    def reset_vocab_mask(vocab_mask: Any) -> None:
        vocab_mask.fill_(-1)

    @staticmethod
    def move_vocab_mask(vocab_mask: Any, device: Any) -> Any:
        return vocab_mask.to(device, non_blocking=True)

    @staticmethod
    def apply_vocab_mask(logits: Any, vocab_mask: Any) -> None:
        apply_mask(logits, vocab_mask)

    def copy(self) -> TokenmoldGrammar:
        stats = dataclasses.replace(self.grammar_stats, is_cache_hit=True, tree_traversal_time=[])
        return TokenmoldGrammar(self.constraint, self.ends, self.content, stats)

    def try_jump_forward(self, tokenizer: Any) -> tuple[list[int], str] | None:
        """The text that must come next, as far as it has whole characters."""
        text = codecs.getincrementaldecoder("utf-8")().decode(self.matcher.forced_bytes())
        return ([], text) if text else None

    def jump_forward_str_state(self, helper: tuple[list[int], str]) -> tuple[str, int]:
        return helper[1], -1

    def jump_and_retokenize(
        self, old_output_ids: list[int], new_output_ids: list[int], next_state: int
    ) -> None:
        common = 0
        for old, new in zip(old_output_ids, new_output_ids, strict=False):
            if old != new:
                break
            common += 1
        self.rollback(len(old_output_ids) - common)
        for token in new_output_ids[common:]:
            self.accept_token(token)


class TokenmoldBackend(BaseGrammarBackend):
    """Compiles what requests ask for, for one engine."""

    is_support_token_filter = True
    set_token_filter = staticmethod(set_token_filter_torch)
    move_vocab_mask = staticmethod(TokenmoldGrammar.move_vocab_mask)
    apply_vocab_mask = staticmethod(TokenmoldGrammar.apply_vocab_mask)

    def __init__(
        self,
        tokenizer: Any,
        vocab_size: int,
        eos_token_ids: Iterable[int] | None,
        options: _options.HostOptions | None = None,
    ) -> None:
        super().__init__()
        self.compiler = Compiler(
            Vocabulary.from_huggingface(tokenizer, width=max(vocab_size, len(tokenizer)))
        )
        vocabulary = self.compiler.vocabulary
        # SGLang itself stops at others, which spell text that a schema may need.
        given = [
            end
            for end in eos_token_ids or ()
            if 0 <= end < vocabulary.width and vocabulary.kind(end) != "text"
        ]
        self.ends = sorted({*vocabulary.ends, *given})
        self.options = _options.of_schemas(options or {})
        self._grammars = _options.of_grammars(options or {})
        self._tags = _options.of_tags(options or {})

    def allocate_vocab_mask(self, vocab_size: int, batch_size: int, device: Any) -> Any:
        return _allocate(self.compiler.vocabulary, batch_size, device)

    def initialize_vocab_mask_buffer(self, name: str, vocab_size: int, max_rows: int, device: Any) -> Any:
        return register_vocab_mask_buffer(
            name, self.allocate_vocab_mask(vocab_size, max_rows, device), max_rows
        )

    def dispatch_json(self, key_string: str) -> BaseGrammarObject:
        schema = "true" if key_string == "$$ANY$$" else key_string

        def compiled() -> tuple[Constraint, dict[str, Any]]:
            constraint = self.compiler.json_schema(schema, settings="follow", **self.options)
            return constraint, {"type": "json_schema", "json_schema": json.loads(schema)}

        return self._grammar("json", compiled)

    def dispatch_regex(self, key_string: str) -> BaseGrammarObject:
        return self._grammar(
            "regex", lambda: (self.compiler.regex(key_string), {"type": "regex", "pattern": key_string})
        )

    def dispatch_ebnf(self, key_string: str) -> BaseGrammarObject:
        return self._grammar(
            "ebnf",
            lambda: (
                self.compiler.grammar(key_string, **self._grammars),
                {"type": "grammar", "grammar": key_string},
            ),
        )

    def dispatch_structural_tag(self, key_string: str) -> BaseGrammarObject:
        def compiled() -> tuple[Constraint, dict[str, Any]]:
            content = _format(json.loads(key_string))
            return self.compiler.structural_tag({"type": "structural_tag", "format": content}, **self._tags), content

        return self._grammar("structural_tag", compiled)

    def compile_framed_grammar(
        self, grammar: BaseGrammarObject, frame: Callable[[dict[str, Any]], dict[str, Any]]
    ) -> BaseGrammarObject:
        content = frame(grammar.content)
        return self._grammar(
            "structural_tag",
            lambda: (self.compiler.structural_tag(content, **self._tags), content.get("format")),
        )

    def _grammar(self, kind: str, compiled: Callable[[], tuple[Constraint, Any]]) -> BaseGrammarObject:
        try:
            constraint, content = compiled()
        except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            # TokenmoldError is a ValueError; the others are of JSON that is no tag at all.
            return InvalidGrammarObject(f"{type(error).__name__}: {error}")
        return TokenmoldGrammar(constraint, self.ends, content, GrammarStats(dispatch_type=kind))

    def reset(self) -> None:
        super().reset()
        self.compiler.cache_clear()


def _allocate(vocabulary: Vocabulary, rows: int, device: Any) -> Any:
    # Only what lies in pinned memory is copied to a GPU while the processor goes on.
    return allocate_mask(rows, vocabulary, pin_memory=str(device).startswith("cuda"))


def _format(tag: dict[str, Any]) -> dict[str, Any]:
    """The format of a structural tag. SGLang leaves schemas out where a tool takes anything."""
    if tag.get("structures") is None:
        content: dict[str, Any] = tag["format"]
    else:
        tags = [
            {
                "type": "tag",
                "begin": structure["begin"],
                "content": {"type": "json_schema", "json_schema": structure.get("schema")},
                "end": structure["end"],
            }
            for structure in tag["structures"]
        ]
        content = {"type": "triggered_tags", "triggers": tag["triggers"], "tags": tags}
        content["at_least_one"] = tag.get("at_least_one", False)
    ahead: list[Any] = [content]
    while ahead:
        one = ahead.pop()
        if isinstance(one, list):
            ahead.extend(one)
        elif isinstance(one, dict):
            if one.get("type") in ("json_schema", "qwen_xml_parameter") and one.get("json_schema") is None:
                one["json_schema"] = {}
            ahead.extend(value for name, value in one.items() if name in ("content", "elements", "tags"))
    return content


def _backend(server_args: Any, tokenizer: Any, vocab_size: int, eos_token_ids: Iterable[int] | None) -> Any:
    """What SGLang calls. It wraps its own backends for reasoning, and not those that are registered."""
    serving = get_serving()
    for setting in ("constrained_json_whitespace_pattern", "constrained_json_max_whitespace_cnt"):
        if getattr(serving, setting, None) is not None:
            raise ValueError(f"the grammar backend {NAME!r} has no --{setting.replace('_', '-')}")
    if isinstance(eos_token_ids, int):
        eos_token_ids = [eos_token_ids]
    options = _options.of_environment()
    if serving.constrained_json_disable_any_whitespace:
        options["whitespace"] = "compact"
    backend = TokenmoldBackend(tokenizer, vocab_size, eos_token_ids, options)
    if not serving.reasoning_parser:
        return backend

    from sglang.srt.constrained.reasoner_grammar_backend import ReasonerGrammarBackend
    from sglang.srt.parser.reasoning_parser import ReasoningParser

    parser = ReasoningParser(model_type=serving.reasoning_parser, stream_reasoning=False, tokenizer=tokenizer)
    # Where the end of reasoning is no token, SGLang says so and constrains from the start.
    if not parser.detector.get_think_end_token_ids(tokenizer):
        return backend
    return ReasonerGrammarBackend(
        backend, parser, tokenizer, enable_strict_thinking=serving.enable_strict_thinking
    )


def register(**options: Unpack[_options.HostOptions]) -> None:
    """Adds the backend ``tokenmold`` to SGLang in this process. A second call does nothing but take its options.

    ``options`` are those of schemas, and limits of schemas, grammars and structural tags, for every request of
    engines that are started from now on. They are told to their processes by the variable ``TOKENMOLD_SCHEMA_OPTIONS``.

    Raises :class:`~tokenmold.integrations.UnsupportedEngine`, and changes nothing, in an SGLang that is
    not known here.
    """
    require_series("SGLang", _version, KNOWN_VERSIONS)
    if options:
        os.environ[_options.ENVIRONMENT] = json.dumps(_options.check(options, "`register`"))
    if NAME not in GRAMMAR_BACKEND_CHOICES:
        add_grammar_backend_choices([NAME])
    if NAME not in GRAMMAR_BACKEND_REGISTRY:
        register_grammar_backend(NAME, _backend)
    if not hasattr(GrammarManager, _CONFIGURED):
        raise UnsupportedEngine(f"SGLang {_version} has no GrammarManager.{_CONFIGURED}: answers may be cut")
    configured = getattr(GrammarManager, _CONFIGURED)
    if not hasattr(configured, "__wrapped__"):
        setattr(GrammarManager, _CONFIGURED, _limiting(configured))


# SGLang calls it for each request whose grammar is ready, and for no other.
_CONFIGURED = "_apply_request_reasoning_config"


def _limiting(original: Callable[..., None]) -> Callable[..., None]:
    """Tells a grammar how many tokens its request has left."""

    @functools.wraps(original)
    def configure(self: Any, req: Any) -> None:
        original(self, req)
        grammar = getattr(req.grammar, "grammar", req.grammar)
        if not isinstance(grammar, TokenmoldGrammar):
            return
        asked = req.sampling_params.custom_params
        most = req.sampling_params.max_new_tokens
        try:
            options = BudgetOptions.of(asked.get(NAME) if isinstance(asked, dict) else None)
        except ValueError as error:
            req.set_finish_with_abort(str(error))
            return
        if not options.complete or most is None:
            return
        needed = grammar.constraint.tokens_needed
        if needed is not None and needed > most:
            req.set_finish_with_abort(
                f"the shortest answer takes {needed} tokens and one to end it, and `max_new_tokens` is {most}: "
                f'allow {needed + 1}, or let it be cut with `"{NAME}": {{"budget": "cut"}}` in `custom_params`'
            )
            return
        known = weakref.ref(req)

        def left() -> int:
            request = known()
            return 0 if request is None else int(most) - len(request.output_ids)

        grammar.limit(left, options.landing)

    return configure
