"""Tokenmold in ``transformers``: a processor of logits, and answers read back.

::

    compiler = Compiler(Vocabulary.from_huggingface(tokenizer, width=model.config.vocab_size))
    generate(model, compiler.json_schema(schema), **inputs, max_new_tokens=200)

or, with a processor of one's own list,

::

    processor = ConstraintLogitsProcessor(compiler.json_schema(schema), max_new_tokens=200)
    model.generate(**inputs, logits_processor=[processor], max_new_tokens=200)

It follows several sequences, prompts of different lengths with padding on their left, and beams.
Continuous batching is not supported: its batches change between steps.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from transformers import LogitsProcessor

from tokenmold import Constraint, ResponseTemplate, tool_schema
from tokenmold.torch import allocate_mask, apply_mask

from ._budget import Landing
from ._rows import Rows

__all__ = ["ConstraintLogitsProcessor", "ResponseParser", "generate", "get_response_parser", "parse_response"]

# The tokens of a call that names no number, because transformers generates so many ("max_length" of
# its GenerationConfig).
_DEFAULT_TOKENS = 20


class ConstraintLogitsProcessor(LogitsProcessor):
    """Leaves the tokens that a constraint admits.

    ``constraints`` is one for all sequences, or one for each. ``ends`` are the tokens that end a text,
    where they are not the vocabulary's: those that ``generate`` stops at, ``eos_token_id``.

    ``max_new_tokens`` is what ``generate`` is given (of ``max_length`` what the prompt leaves), or a number for
    each sequence, which may be less: each text, and each beam, is complete by then, and a number under the
    shortest text's is a ``ValueError`` that names it. ``landing`` is that of
    :meth:`tokenmold.Constraint.matcher`. ``model.generate`` does not tell processors its limits: :func:`generate` of
    this module reads them.

    A processor is for one call of ``generate``, or for one after another: rows that do not go on from
    those before begin anew. :meth:`reset` says so where a prompt is what was generated just before and
    one token more.
    """

    supports_continuous_batching = False

    def __init__(
        self,
        constraints: Constraint | Sequence[Constraint],
        *,
        ends: Iterable[int] | None = None,
        max_new_tokens: int | Sequence[int | None] | None = None,
        landing: Landing = "soft",
    ) -> None:
        self._rows = Rows(constraints, ends, max_new_tokens, landing)

    def reset(self) -> None:
        self._rows.reset()

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        mask = allocate_mask(scores.shape[0], self._rows.constraint.vocabulary)
        self._rows.fill(self._rows.generated(input_ids), mask)
        # The scores themselves may be kept by the caller, as `output_logits` has it.
        scores = scores.clone()
        apply_mask(scores, mask)
        return scores


def generate(
    model: Any,
    constraints: Constraint | Sequence[Constraint],
    *,
    ends: Iterable[int] | None = None,
    landing: Landing = "soft",
    **call: Any,
) -> Any:
    """Calls ``model.generate(**call)`` under constraints: each text is complete within the call's own limit.

    The limit is ``max_new_tokens`` or ``max_length`` of the call, of its ``generation_config`` or of the model's,
    as transformers reads them. A limit under the shortest text is a ``ValueError`` that names the number which would
    do. The other arguments are those of :class:`ConstraintLogitsProcessor`.
    """
    limit = _limit(model, call)
    processor = ConstraintLogitsProcessor(constraints, ends=ends, max_new_tokens=limit, landing=landing)
    given = call.pop("logits_processor", None) or []
    return model.generate(logits_processor=[*given, processor], **call)


def _limit(model: Any, call: Mapping[str, Any]) -> int:
    """The new tokens that a call allows: see ``_prepare_generated_length`` in transformers."""

    def said(name: str) -> int | None:
        places = (call.get("generation_config"), getattr(model, "generation_config", None))
        values = [call.get(name), *(getattr(place, name, None) for place in places)]
        return next((int(value) for value in values if value is not None), None)

    new = said("max_new_tokens")
    if new is not None:
        return new
    prompt: Any = None
    if not getattr(model.config, "is_encoder_decoder", False):
        prompts = (call.get(name) for name in ("input_ids", "inputs", "inputs_embeds"))
        prompt = next((given for given in prompts if given is not None), None)
    else:
        prompt = call.get("decoder_input_ids")
    taken = 1 if prompt is None else int(prompt.shape[1])
    longest = said("max_length")
    if longest is None or longest == _DEFAULT_TOKENS and call.get("max_length") is None:
        longest = taken + _DEFAULT_TOKENS
        room = getattr(model.config, "max_position_embeddings", None)
        longest = longest if room is None else min(longest, room)
    return max(longest - taken, 0)


class ResponseParser:
    """The twin of the parser that ``tokenizer.get_response_parser`` makes."""

    def __init__(self, template: ResponseTemplate, prefix: str, tools: Sequence[Any] | None = None) -> None:
        self._stream = template.stream(prefix=prefix, tools=_described(tools))
        self.initial_events = self._stream.feed("")

    def feed(self, text: str) -> list[dict[str, Any]]:
        return self._stream.feed(text)

    def finalize(self) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        events, message = self._stream.finish()
        return message, events


def get_response_parser(
    tokenizer: Any,
    response_template: dict[str, Any] | None = None,
    *,
    prefix: Any = None,
    tools: Sequence[dict[str, Any] | Callable[..., Any]] | None = None,
) -> ResponseParser:
    """As ``tokenizer.get_response_parser``: reads an answer while it arrives."""
    prefixes, _ = _texts(tokenizer, _required(prefix))
    if len(prefixes) != 1:
        raise ValueError("a stream reads one answer: `prefix` is one prompt")
    return ResponseParser(_template(tokenizer, response_template), prefixes[0], tools)


def parse_response(
    tokenizer: Any,
    response: Any,
    schema: dict[str, Any] | None = None,
    *,
    prefix: Any = None,
    tools: Sequence[dict[str, Any] | Callable[..., Any]] | None = None,
) -> Any:
    """As ``tokenizer.parse_response``: the message of an answer, or a list of those of several.

    ``response`` is text or tokens, or a batch of either; ``prefix`` is the prompt, or that of each.
    ``schema`` is a response template in place of the tokenizer's.
    """
    template = _template(tokenizer, schema)
    prefixes, several = _texts(tokenizer, _required(prefix))
    responses, batched = _texts(tokenizer, response)
    if not several:
        prefixes *= len(responses)
    elif len(prefixes) != len(responses):
        raise ValueError(
            f"{len(responses)} responses and {len(prefixes)} prefixes: pass one for all, or one for each"
        )
    described = _described(tools)
    messages = [
        template.parse(text, prefix=said, tools=described)
        for text, said in zip(responses, prefixes, strict=True)
    ]
    return messages if batched else messages[0]


def _required(prefix: Any) -> Any:
    if prefix is None:
        raise ValueError("`prefix` is the prompt: it may begin the answer. Pass '' where it does not")
    return "" if isinstance(prefix, list | tuple) and not prefix else prefix


def _texts(tokenizer: Any, given: Any) -> tuple[list[str], bool]:
    """Texts, of texts or tokens; and whether they are a batch."""
    if isinstance(given, str):
        return [given], False
    if isinstance(given, list | tuple) and (not given or isinstance(given[0], str)):
        return list(given), True
    decoded = tokenizer.decode(given)
    return ([decoded], False) if isinstance(decoded, str) else (list(decoded), True)


def _described(tools: Sequence[Any] | None) -> list[Any] | None:
    return None if tools is None else [tool_schema(tool) if callable(tool) else tool for tool in tools]


def _template(tokenizer: Any, template: dict[str, Any] | None) -> ResponseTemplate:
    if template is None:
        template = getattr(tokenizer, "response_template", None)
    if template is None:
        raise AttributeError("the tokenizer has no `response_template`: pass one")
    return _compiled(json.dumps(template))


@functools.lru_cache(maxsize=32)
def _compiled(template: str) -> ResponseTemplate:
    return ResponseTemplate(template)
