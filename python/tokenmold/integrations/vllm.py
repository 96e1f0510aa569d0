"""Tokenmold as a structured output backend of vLLM (0.32, 0.33).

Where vLLM is started from the command line the installed package is enough::

    vllm serve MODEL --structured-outputs-config '{"backend": "tokenmold"}'

In a program, the configuration is read before plugins are, so name the backend first::

    from tokenmold.integrations.vllm import register

    register()
    llm = LLM(MODEL, structured_outputs_config={"backend": "tokenmold"})

Everything that a request can ask for is taken: ``json``, ``json_object``, ``regex``, ``choice``,
``grammar`` (GBNF, EBNF or Lark, whichever it looks like) and ``structural_tag`` (which strict tool calls
are), with ``disable_any_whitespace`` for the engine or for one request. The options of schemas are those of
:class:`~tokenmold.Compiler`, by the same names: of one request by
``SamplingParams(extra_args={"tokenmold": {"whitespace": "single"}})``, which a server takes as
``"vllm_xargs": {"tokenmold": "{\\"whitespace\\": \\"single\\"}"}``, and of an engine by
``additional_config={"tokenmold": {"whitespace": "single", "formats": "annotate"}}``; limits of compilations (``max_..``)
are the engine's alone. An object ``x-tokenmold`` at the root of a request's schema chooses for that schema:
``"x-tokenmold": {"additionalMembers": "open"}``. ``whitespace_pattern`` is refused by name, as
is whatever cannot be compiled: a request is answered with HTTP 400 before it reaches the engine.

An object that lists ``properties`` and does not speak of others has no others, as
``disable_additional_properties`` has it for other backends; ``"additional_members": "open"`` chooses otherwise.

Answers end: each is complete within ``max_tokens`` and what the context leaves, and a request whose
shortest answer takes more is HTTP 400 with the number that would do. ``"budget": "cut"`` beside
``whitespace`` switches that off, and ``"landing": "hard"`` lets answers go on as long as they can be completed.

The tool and reasoning parsers ``tokenmold`` are in :mod:`tokenmold.integrations.vllm_parsers`.

vLLM has no registry of backends. :func:`register` changes the places that name them: the
configuration, the validation of requests, the manager of an engine, and the beam search of ``LLM``.
"""

from __future__ import annotations

import functools
import json
import weakref
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

import vllm
from vllm.config import structured_outputs as _configuration
from vllm.entrypoints.generate.beam_search.offline import BeamSearchOfflineMixin
from vllm.exceptions import VLLMValidationError
from vllm.logger import init_logger
from vllm.reasoning import ReasoningParserManager
from vllm.sampling_params import SamplingParams, StructuredOutputsParams
from vllm.tool_parsers import ToolParserManager
from vllm.v1.engine.input_processor import InputProcessor
from vllm.v1.structured_output import StructuredOutputManager
from vllm.v1.structured_output.backend_types import (
    StructuredOutputBackend,
    StructuredOutputGrammar,
    StructuredOutputOptions,
)
from vllm.v1.structured_output.request import get_structured_output_key

from tokenmold import Compiler, Constraint, Matcher, Vocabulary, __version__, families
from tokenmold.torch import allocate_mask

from . import UnsupportedEngine, _options, require_series
from ._budget import Budget, BudgetOptions

__all__ = ["RESPONSE_FORMAT", "TokenmoldBackend", "TokenmoldGrammar", "register"]

NAME = "tokenmold"
# The `type` of a structural tag that is an answer in a model's own format: the other members are what
# `Compiler.response_format` takes.
RESPONSE_FORMAT = "tokenmold.response_format"
KNOWN_VERSIONS = ("0.32", "0.33")

_log = init_logger(f"vllm.{__name__}")


class _Memory:
    """The memory of a mask. An engine fills the same one at each step, and to ask a tensor where its memory
    is takes longer than to fill a row of it."""

    def __init__(self) -> None:
        self._last: tuple[Any, Any] = (None, None)

    def of(self, mask: Any) -> Any:
        tensor, array = self._last
        if tensor is not mask:
            array = mask.numpy()
            # In one step: threads fill rows at the same time.
            self._last = (mask, array)
        return array


class TokenmoldGrammar(StructuredOutputGrammar):
    """What one request may say next."""

    def __init__(self, matcher: Matcher, memory: _Memory, budget: Budget | None = None) -> None:
        self.matcher = matcher
        self._memory = memory
        self._budget = budget

    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
        """Takes tokens. Those behind the end of the text are ignored, and not counted."""
        taken = self.matcher.accept_all(tokens)
        if taken == len(tokens) or self.matcher.is_terminated:
            return True
        why = self.matcher.explain(tokens[taken])
        _log.error(
            "Request %s: token %s is refused at %s: %s", request_id, tokens[taken], why.place, why.refused
        )
        return False

    def validate_tokens(self, tokens: list[int]) -> list[int]:
        if self._budget is not None:
            self._budget.tell()
        return tokens[: self.matcher.validate(tokens)]

    def rollback(self, num_tokens: int) -> None:
        if num_tokens > 0:
            self.matcher.rollback(num_tokens)

    def fill_bitmask(self, bitmask: Any, batch_index: int) -> None:
        if self._budget is not None:
            self._budget.tell()
        self.matcher.fill(self._memory.of(bitmask), batch_index)

    def is_terminated(self) -> bool:
        return self.matcher.is_terminated

    def reset(self) -> None:
        self.matcher.reset()


class TokenmoldBackend(StructuredOutputBackend):
    """Compiles what requests ask for, for one engine."""

    def __init__(self, vllm_config: Any, tokenizer: Any, vocab_size: int) -> None:
        super().__init__(vllm_config, tokenizer, vocab_size)
        self.compiler = _compiler(tokenizer, vocab_size)
        self._memory = _Memory()
        self.options = _Options.of(vllm_config.structured_outputs_config, engine=_of_engine(vllm_config))
        _log.info(
            "Tokenmold %s constrains the structured outputs of this engine: %d tokens.",
            __version__,
            len(self.compiler.vocabulary),
        )

    def compile_grammar(
        self, request_type: StructuredOutputOptions, grammar_spec: str, stop_token_ids: set[int] | None = None
    ) -> TokenmoldGrammar:
        options = getattr(grammar_spec, "options", self.options)
        constraint = _compile(self.compiler, request_type, grammar_spec, options)
        matcher = constraint.matcher(_ends(self.compiler.vocabulary, stop_token_ids))
        left = getattr(grammar_spec, "left", None)
        budget = None if left is None else Budget(matcher, constraint, left, options.budget.landing)
        return TokenmoldGrammar(matcher, self._memory, budget)

    def allocate_token_bitmask(self, max_num_seqs: int) -> Any:
        return allocate_mask(max_num_seqs, self.compiler.vocabulary)

    def destroy(self) -> None:
        """Nothing is held but the compiler, which other engines of the process may share."""


def _ends(vocabulary: Vocabulary, stop_token_ids: set[int] | None) -> list[int] | None:
    """The tokens that end a text: those at which vLLM stops.

    Behind any other end vLLM would go on, and nothing would hold the model. Stop tokens that spell text
    are left to vLLM: a schema may need them. Without a stop token it is the vocabulary that says.
    """
    stops = [t for t in stop_token_ids or () if 0 <= t < vocabulary.width and vocabulary.kind(t) != "text"]
    return stops or None


@functools.lru_cache(maxsize=8)
def _compiler(tokenizer: Any, width: int) -> Compiler:
    """The compiler of a tokenizer: requests are validated and served with the same one."""
    return Compiler(Vocabulary.from_huggingface(tokenizer, width=max(width, len(tokenizer))))


# What an engine's `additional_config` and a request's `extra_args` may say under our name beside the
# options of schemas.
_ENDINGS = ("budget", "landing")


def _settings(given: Any, where: str, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """The settings under our name, of what an engine or a request carries for its extensions.

    Options of schemas that are not the asker's to choose are ``without``.
    """
    told = given.get(NAME) if isinstance(given, dict) else None
    if isinstance(told, str):
        # A server hands on texts and numbers alone.
        try:
            told = json.loads(told)
        except ValueError as error:
            raise VLLMValidationError(f"`{NAME}` of {where} is no JSON: {error}", parameter=NAME) from error
    if told is None:
        return {}
    if not isinstance(told, dict):
        raise VLLMValidationError(f"`{NAME}` of {where} is an object, not {told!r}", parameter=NAME)
    for name, value in told.items():
        try:
            if name in _ENDINGS:
                BudgetOptions.of({name: value})
            else:
                _options.check({name: value}, f"`{NAME}` of {where}", without)
        except ValueError as error:
            raise VLLMValidationError(str(error), parameter=name) from error
    return told


class _Options:
    """What the configuration and a request say beside the specification."""

    def __init__(
        self,
        compact: bool,
        chosen: Mapping[str, Any] | None = None,
        budget: BudgetOptions | None = None,
    ) -> None:
        self.budget = budget or BudgetOptions()
        chosen = {**(chosen or {})}
        if compact:
            chosen["whitespace"] = "compact"
        self.schema = _options.of_schemas(chosen)
        self.grammar = _options.of_grammars(chosen)
        self.tag = _options.of_tags(chosen)

    @staticmethod
    def of(
        config: Any,
        params: StructuredOutputsParams | None = None,
        *,
        engine: dict[str, Any] | None = None,
        request: Any = None,
    ) -> _Options:
        """The settings of a request come before switches of either, and these before the engine's."""
        given = [config] if params is None else [config, params]
        of_request = _settings(request, "`extra_args`", _options.LIMITS)
        of_engine: dict[str, Any] = engine if engine is not None else getattr(config, _ENGINE, {})
        settings = {**of_engine, **of_request}
        chosen = {name: value for name, value in settings.items() if name not in _ENDINGS}
        asked = "whitespace" in of_request
        return _Options(
            compact=not asked and any(one.disable_any_whitespace for one in given),
            chosen=chosen,
            budget=BudgetOptions.of(settings),
        )


# The engine's settings beside its configuration of structured outputs, which alone requests are validated with.
_ENGINE = "_tokenmold_settings"


def _of_engine(vllm_config: Any) -> dict[str, Any]:
    return _settings(getattr(vllm_config, "additional_config", None), "`additional_config`")


class _Specification(str):
    """A specification with the options of its request: vLLM hands the text alone to backends."""

    options: _Options
    # How many tokens its request has left; None where the answer may be cut.
    left: Callable[[], int] | None = None


def _compile(
    compiler: Compiler, kind: StructuredOutputOptions, specification: str, options: _Options
) -> Constraint:
    if kind in (StructuredOutputOptions.JSON, StructuredOutputOptions.JSON_OBJECT):
        schema = str(specification) if kind is StructuredOutputOptions.JSON else '{"type": "object"}'
        return compiler.json_schema(schema, settings="follow", **options.schema)
    if kind is StructuredOutputOptions.REGEX:
        return compiler.regex(str(specification))
    if kind is StructuredOutputOptions.CHOICE:
        return compiler.choice(json.loads(specification))
    if kind is StructuredOutputOptions.GRAMMAR:
        return compiler.grammar(str(specification), **options.grammar)
    if kind is StructuredOutputOptions.STRUCTURAL_TAG:
        tag = json.loads(specification)
        if isinstance(tag, dict) and tag.get("type") == RESPONSE_FORMAT:
            del tag["type"]
            return compiler.response_format(**{**options.schema, **tag})
        return compiler.structural_tag(str(specification), **options.tag)
    raise VLLMValidationError(
        f"The backend '{NAME}' has no `{kind.name.lower()}`: write a JSON schema, a regular expression, a "
        "grammar or a structural tag.",
        parameter=kind.name.lower(),
    )


def _left_of(request: Any, longest: int) -> Callable[[], int]:
    """How many tokens a request has left: vLLM stops at its own number, or where the context ends.

    ``max_tokens`` is read each time: a request that is gone on with gets another one. It keeps nothing
    alive, as the request owns what was compiled for it.
    """
    known = weakref.ref(request)

    def left() -> int:
        request = known()
        if request is None:
            return 0
        own = longest if request.max_tokens is None else request.max_tokens
        return int(min(own - request.num_output_tokens, longest - request.num_tokens))

    return left


def _validate(
    params: StructuredOutputsParams,
    config: Any,
    tokenizer: Any,
    width: int,
    request: Any = None,
    tokens: int | None = None,
) -> None:
    """Compiles what a request asks for, so that what is refused is refused before the engine sees it.

    So is an answer that takes more than so many ``tokens``, if they are given and it may not be cut.
    """
    if params.whitespace_pattern is not None:
        raise VLLMValidationError(
            f"The backend '{NAME}' has no `whitespace_pattern`: `disable_any_whitespace` writes none.",
            parameter="whitespace_pattern",
        )
    if params.json_object is False:
        raise VLLMValidationError("`json_object` is true or absent.", parameter="json_object")
    parameter = None
    try:
        kind, specification = get_structured_output_key(params)
        parameter = kind.name.lower()
        options = _Options.of(config, params, request=request)
        constraint = _compile(_compiler(tokenizer, width), kind, specification, options)
        needed = constraint.tokens_needed if tokens is not None and options.budget.complete else None
        if tokens is not None and needed is not None and needed > tokens:
            raise VLLMValidationError(
                f"The shortest answer takes {needed} tokens and one to end it, and `max_tokens` is {tokens}: "
                f'allow {needed + 1}, or let the answer be cut with `"{NAME}": {{"budget": "cut"}}` in '
                "`extra_args` (`vllm_xargs`).",
                parameter="max_tokens",
                value=tokens,
            )
    except VLLMValidationError:
        raise
    except (TypeError, ValueError, RecursionError) as error:
        # TokenmoldError is a ValueError. A schema that is a Python object can be what JSON is not.
        raise VLLMValidationError(str(error), parameter=parameter) from error


def register() -> None:
    """Adds the backend ``tokenmold`` to vLLM in this process. A second call does nothing.

    Raises :class:`~tokenmold.integrations.UnsupportedEngine`, and changes nothing, in a vLLM that is not
    known here.
    """
    if NAME in get_args(_configuration.StructuredOutputsBackend):
        return
    require_series("vLLM", vllm.__version__, KNOWN_VERSIONS)
    places: list[tuple[type, str, Callable[..., Any]]] = [
        (SamplingParams, "_validate_structured_outputs", _validating),
        (InputProcessor, "__init__", _starting),
        (StructuredOutputManager, "grammar_init", _constructing),
        (BeamSearchOfflineMixin, "_init_beam_search_structured_output", _searching),
        (BeamSearchOfflineMixin, "beam_search", _counting_beams),
    ]
    config = _configuration.StructuredOutputsConfig
    missing = [
        f"{owner.__name__}.{name}" for owner, name, _ in places if not callable(getattr(owner, name, None))
    ]
    if _CHECK not in config.__pydantic_decorators__.model_validators:
        missing.append(f"{config.__name__}.{_CHECK}")
    if missing:
        raise UnsupportedEngine(f"vLLM {vllm.__version__} has no {', '.join(missing)}: nothing was changed")
    _widen(config)
    parsers = "tokenmold.integrations.vllm_parsers"
    ToolParserManager.register_lazy_module(NAME, parsers, "TemplateToolParser")
    ReasoningParserManager.register_lazy_module(NAME, parsers, "TemplateReasoningParser")
    for family in families():
        ToolParserManager.register_lazy_module(f"{NAME}-{family}", parsers, f"ToolParser_{family}")
        ReasoningParserManager.register_lazy_module(f"{NAME}-{family}", parsers, f"ReasoningParser_{family}")
    for owner, name, around in places:
        setattr(owner, name, around(getattr(owner, name)))
    _log.info("Tokenmold %s: the structured outputs backend '%s' was added.", __version__, NAME)


_CHECK = "_validate_structured_output_config"


def _widen(config: Any) -> None:
    """The configuration takes the name, and the options that it has for other backends only."""
    from pydantic.dataclasses import rebuild_dataclass

    names = Literal[(*get_args(_configuration.StructuredOutputsBackend), NAME)]  # type: ignore[valid-type]
    _configuration.StructuredOutputsBackend = names
    config.__annotations__["backend"] = names
    config.__dataclass_fields__["backend"].type = names
    config.__pydantic_fields__["backend"].annotation = names
    check = config.__pydantic_decorators__.model_validators[_CHECK]
    original = check.func

    def validate(self: Any, *arguments: Any) -> Any:
        return self if self.backend == NAME else original(self, *arguments)

    check.func = validate
    rebuild_dataclass(config, force=True)


def _validating(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def validate(self: Any, model_config: Any, structured_outputs_config: Any, tokenizer: Any) -> None:
        params = self.structured_outputs
        chosen = getattr(structured_outputs_config, "backend", None)
        # What is refused whatever the backend, and another backend in the request, vLLM says itself.
        if (
            chosen != NAME
            or params is None
            or model_config.is_diffusion
            or tokenizer is None
            or params._backend not in (None, NAME)
        ):
            original(self, model_config, structured_outputs_config, tokenizer)
            return
        params._backend = NAME
        width = model_config.get_vocab_size()
        _validate(params, structured_outputs_config, tokenizer, width, self.extra_args, self.max_tokens)

    return validate


def _starting(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def init(self: Any, vllm_config: Any, *arguments: Any, **options: Any) -> None:
        # What is wrong in them is said before the engine is there.
        setattr(vllm_config.structured_outputs_config, _ENGINE, _of_engine(vllm_config))
        original(self, vllm_config, *arguments, **options)

    return init


def _constructing(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def grammar_init(self: Any, request: Any) -> None:
        wanted = request.structured_output_request
        if wanted is not None and wanted.params._backend == NAME:
            if self.backend is None:
                width = self.vllm_config.model_config.get_vocab_size()
                self.backend = TokenmoldBackend(self.vllm_config, tokenizer=self.tokenizer, vocab_size=width)
                self.backend_name = NAME
            kind, text = get_structured_output_key(wanted.params)
            specification = _Specification(text)
            specification.options = _Options.of(
                self.vllm_config.structured_outputs_config,
                wanted.params,
                engine=_of_engine(self.vllm_config),
                request=request.sampling_params.extra_args,
            )
            if specification.options.budget.complete:
                specification.left = _left_of(request, self.vllm_config.model_config.max_model_len)
            wanted.structured_output_key = (kind, specification)
        original(self, request)

    return grammar_init


def _searching(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def init(self: Any, structured_outputs: Any, tokenizer: Any) -> Any:
        engine = self.llm_engine.vllm_config
        config = engine.structured_outputs_config
        if (structured_outputs._backend or getattr(config, "backend", None)) != NAME:
            return original(self, structured_outputs, tokenizer)
        width = self.model_config.get_vocab_size()
        structured_outputs._backend = NAME
        _validate(structured_outputs, config, tokenizer, width)
        backend = TokenmoldBackend(engine, tokenizer=tokenizer, vocab_size=width)
        kind, text = get_structured_output_key(structured_outputs)
        specification = _Specification(text)
        specification.options = _Options.of(config, structured_outputs, engine=_of_engine(engine))
        tokens = getattr(self, _BEAM_TOKENS, None)
        if tokens is not None and specification.options.budget.complete:
            # Each beam is read from its beginning at each step, and counts by itself.
            specification.left = lambda: tokens
        return backend, (kind, specification), backend.allocate_token_bitmask(1)

    return init


_BEAM_TOKENS = "_tokenmold_beam_tokens"


def _counting_beams(original: Callable[..., Any]) -> Callable[..., Any]:
    """Beam search names the tokens of its answers where it is called, and nowhere else."""

    @functools.wraps(original)
    def beam_search(self: Any, prompts: Any, params: Any, *arguments: Any, **options: Any) -> Any:
        setattr(self, _BEAM_TOKENS, params.max_tokens)
        try:
            return original(self, prompts, params, *arguments, **options)
        finally:
            delattr(self, _BEAM_TOKENS)

    return beam_search
