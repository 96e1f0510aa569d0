"""Tools of a model's own format in vLLM: read back, and enforced, by its response template.

::

    vllm serve MODEL --structured-outputs-config '{"backend": "tokenmold"}' \\
        --enable-auto-tool-choice --tool-call-parser tokenmold

The tokenizer's ``response_template`` says how the model writes calls, or else the family of its chat
template; ``--tool-call-parser tokenmold-hermes`` names a family (``tokenmold.families()`` lists them). The same
becomes a constraint where a request asks for a guarantee: a tool that is ``strict``, ``tool_choice``
``required`` or a name, ``parallel_tool_calls`` false. vLLM's own parser of templates, ``hf``, refuses such
requests. Reasoning is left to a reasoning parser: any of vLLM's, or with ``--reasoning-parser tokenmold``
(``tokenmold-hermes``) the template's or the family's own marks.

Of a family, a call exists if it was written to its end and its tool was offered; all other text is content.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import Any

from vllm.entrypoints.generate.base.protocol import (
    DeltaFunctionCall,
    DeltaMessage,
    DeltaToolCall,
    ExtractedToolCallInformation,
    FunctionCall,
    ToolCall,
)
from vllm.exceptions import VLLMValidationError
from vllm.reasoning.basic_parsers import BaseThinkingReasoningParser
from vllm.renderers.chat_utils import make_tool_call_id
from vllm.sampling_params import StructuredOutputsParams
from vllm.tool_parsers.abstract_tool_parser import ToolParser

from tokenmold import ResponseStream, ResponseTemplate, TokenmoldError, families, family_of
from tokenmold._tokenmold import reasoning_marks

from .vllm import RESPONSE_FORMAT

logger = logging.getLogger(__name__)

__all__ = ["TemplateReasoningParser", "TemplateToolParser"]


class TemplateToolParser(ToolParser):
    """Reads the calls of one answer, whole or while it arrives."""

    # The family that was named, if one was.
    family: str | None = None
    # Calls that are required or named stand in the model's own format too.
    supports_required_and_named = False
    # It takes pieces of text as they come, and is told when the answer is over.
    engine_based_streaming = True

    def __init__(self, tokenizer: Any, tools: list[Any] | None = None) -> None:
        super().__init__(tokenizer, tools)
        source = self._source = _format(tokenizer, "tool", self.family)
        self._template = (
            ResponseTemplate.family(source, names="offered")
            if isinstance(source, str)
            else ResponseTemplate(source)
        )
        self._described = [_described(tool) for tool in self.tools]
        self._stream: ResponseStream | None = None
        # Text of the call that is open, and whether the template could not read one.
        self._open = ""
        self._failed = False

    def adjust_request(self, request: Any) -> Any:
        # Marks of calls may be special tokens.
        request.skip_special_tokens = False
        offered = [_described(tool) for tool in request.tools or ()]
        choice = request.tool_choice
        if not offered or choice == "none":
            return request
        named = None if choice in (None, "auto", "required") else _name(choice)
        single = request.parallel_tool_calls is False
        strict = any(tool["function"].get("strict") for tool in offered)
        if not (strict or single or named or choice == "required"):
            return request
        if named:
            offered = [tool for tool in offered if tool["function"]["name"] == named]
        tag: dict[str, Any] = {"type": RESPONSE_FORMAT, "format": self._source, "tools": offered}
        if named or choice == "required":
            tag["calls"] = "one" if single or named else "required"
            # A reasoning parser has let the model think by then; without one its thoughts would be lost.
            tag |= {"beside": "nothing", "reasoning": "absent"}
        else:
            if single:
                tag["calls"] = "at_most_one"
            answer = request.extract_structured_outputs()
            if answer is not None and answer.json is None:
                raise VLLMValidationError(
                    "Tools that are strict, or called once at most, and an answer go together where the "
                    "answer is a JSON schema."
                )
            if answer is not None:
                tag["answer"] = json.loads(answer.json) if isinstance(answer.json, str) else answer.json
        request.structured_outputs = StructuredOutputsParams(structural_tag=json.dumps(tag))
        if hasattr(request, "response_format"):
            request.response_format = None
        return request

    def extract_tool_calls(self, model_output: str, request: Any) -> ExtractedToolCallInformation:
        self._open, self._failed = "", False
        # Read as a stream is: of an answer that was cut short within a call, those before it are whole.
        stream = self._template.stream(prefix="", tools=self._described)
        deltas = [self._fed(stream, model_output), self._finished(stream)]
        calls = [
            ToolCall(
                id=call.id, function=FunctionCall(name=call.function.name, arguments=call.function.arguments)
            )
            for delta in deltas
            for call in (delta.tool_calls if delta else ())
        ]
        content = "".join(delta.content or "" for delta in deltas if delta)
        return ExtractedToolCallInformation(
            tools_called=bool(calls), tool_calls=calls, content=content or None
        )

    def extract_tool_calls_streaming(
        self,
        previous_text: str,
        current_text: str,
        delta_text: str,
        previous_token_ids: Sequence[int],
        current_token_ids: Sequence[int],
        delta_token_ids: Sequence[int],
        request: Any,
    ) -> DeltaMessage | None:
        if self._stream is None:
            self._open, self._failed = "", False
            self._stream = self._template.stream(prefix="", tools=self._described)
        return self._fed(self._stream, delta_text)

    def finish_streaming(self) -> DeltaMessage | None:
        """What was held back as it might have been the beginning of a mark."""
        stream, self._stream = self._stream, None
        return self._finished(stream) if stream else None

    def _finished(self, stream: ResponseStream) -> DeltaMessage | None:
        if self._failed:
            return None
        try:
            return self._delta(stream.finish()[0])
        except TokenmoldError:
            # The answer was cut short within a call.
            return None

    def _fed(self, stream: ResponseStream, text: str) -> DeltaMessage | None:
        if self._failed:
            return DeltaMessage(content=text) if text else None
        delta, left = None, text
        try:
            delta, left = self._delta(stream.feed(text)), ""
            # What was read before an error is given first; the error comes with the next piece.
            stream.feed("")
        except TokenmoldError as error:
            logger.warning("A call could not be read, and is content: %s", error)
            self._failed = True
            unread, self._open = self._open + left, ""
            parts: dict[str, Any] = {"content": (delta.content if delta else None) or ""}
            parts["content"] += unread
            if delta and delta.tool_calls:
                parts["tool_calls"] = delta.tool_calls
            return DeltaMessage(**parts)
        return delta

    def _delta(self, events: list[dict[str, Any]]) -> DeltaMessage | None:
        content = ""
        calls: list[Any] = []
        for event in events:
            if event["type"] == "region_chunk" and event["field"] == "tool_calls":
                self._open += event["text"]
            elif event["type"] in ("region_open", "region_close", "region_error"):
                self._open = ""
            if event["type"] == "region_chunk" and event["field"] == "content":
                content += event["text"]
            elif event["type"] == "region_close" and event["field"] == "tool_calls":
                for name, arguments in _calls(event["value"]):
                    self.current_tool_id += 1
                    self.prev_tool_call_arr.append({"name": name, "arguments": json.loads(arguments)})
                    self.streamed_args_for_tool.append(arguments)
                    call = DeltaFunctionCall(name=name, arguments=arguments)
                    calls.append(
                        DeltaToolCall(
                            id=make_tool_call_id(), type="function", index=self.current_tool_id, function=call
                        )
                    )
        # What is not set when it is made is not sent.
        parts = {name: part for name, part in (("content", content), ("tool_calls", calls)) if part}
        return DeltaMessage(**parts) if parts else None


class TemplateReasoningParser(BaseThinkingReasoningParser):
    """Tells thoughts from the answer by the marks of the template's field ``thinking``, or those of a family.

    Both marks are single tokens. Where the chat template has opened the thoughts in the prompt already,
    an answer begins with them.
    """

    family: str | None = None
    _start: str
    _end: str

    def __init__(self, tokenizer: Any, *args: Any, **kwargs: Any) -> None:
        source = _format(tokenizer, "reasoning", self.family)
        if isinstance(source, str):
            marks: tuple[Any, Any] = reasoning_marks(source) or (None, None)
            whose = f"the family {source}"
        else:
            field = source.get("fields", {}).get("thinking") or {}
            marks = field.get("open"), field.get("close")
            whose = "the field `thinking` of the `response_template`"
        vocabulary = tokenizer.get_vocab()
        for mark in marks:
            if not isinstance(mark, str) or mark not in vocabulary:
                raise ValueError(
                    "the reasoning parser 'tokenmold' needs marks that are a token of the tokenizer each, and "
                    f"{whose} opens and closes with {marks[0]!r} and {marks[1]!r}"
                )
        self._start, self._end = marks
        super().__init__(tokenizer, *args, **kwargs)
        self._begun = self._opens_in_prompt(kwargs.get("chat_template_kwargs") or {})

    @property
    def start_token(self) -> str:
        return self._start

    @property
    def end_token(self) -> str:
        return self._end

    def _opens_in_prompt(self, options: dict[str, Any]) -> bool:
        if not getattr(self.model_tokenizer, "chat_template", None):
            return False
        chat = [{"role": "user", "content": ""}]
        options = {**options, "tokenize": False, "add_generation_prompt": True}
        prompt = str(self.model_tokenizer.apply_chat_template(chat, **options))
        return prompt.rfind(self._start) > prompt.rfind(self._end)

    def adjust_request(self, request: Any) -> Any:
        # The marks may be special tokens.
        request.skip_special_tokens = False
        return request

    def adjust_initial_state_from_prompt(self, prompt_token_ids: Sequence[int]) -> None:
        marks = [one for one in prompt_token_ids if one in (self.start_token_id, self.end_token_id)]
        self._begun = bool(marks) and marks[-1] == self.start_token_id

    def extract_reasoning(self, model_output: str, request: Any) -> tuple[str | None, str | None]:
        before, opened, rest = model_output.partition(self._start)
        if not opened:
            if not self._begun and self._end not in model_output:
                return None, model_output
            before, rest = "", model_output
        reasoning, _, content = rest.partition(self._end)
        return reasoning or None, (before.strip() + content) or None

    def extract_reasoning_streaming(
        self,
        previous_text: str,
        current_text: str,
        delta_text: str,
        previous_token_ids: Sequence[int],
        current_token_ids: Sequence[int],
        delta_token_ids: Sequence[int],
    ) -> DeltaMessage | None:
        if self.end_token_id in previous_token_ids:
            return DeltaMessage(content=delta_text) if delta_text else None
        begun = self._begun or self.start_token_id in current_token_ids
        if not begun and self.end_token_id not in delta_token_ids:
            return DeltaMessage(content=delta_text) if delta_text else None
        reasoning, _, content = delta_text.replace(self._start, "", 1).partition(self._end)
        parts = {name: part for name, part in (("reasoning", reasoning), ("content", content)) if part}
        return DeltaMessage(**parts) if parts else None


def _format(tokenizer: Any, parser: str, family: str | None) -> dict[str, Any] | str:
    """How the model writes: a template, or the name of a family."""
    if family is not None:
        return family
    template = getattr(tokenizer, "response_template", None)
    if not isinstance(template, dict):
        template = (getattr(tokenizer, "init_kwargs", None) or {}).get("response_template")
    if isinstance(template, dict):
        return template
    sources = getattr(tokenizer, "chat_template", None)
    if isinstance(sources, dict):
        # Several by name: any of them has the marks.
        sources = "\n".join(str(source) for source in sources.values())
    try:
        return family_of(str(sources or ""))
    except TokenmoldError as error:
        raise ValueError(
            f"the {parser} parser 'tokenmold' needs a `response_template` in the tokenizer's configuration, or the "
            f"name of a family, such as 'tokenmold-hermes': {error}"
        ) from None


def __getattr__(name: str) -> Any:
    """The parsers of a family: ``ToolParser_hermes``, ``ReasoningParser_hermes``."""
    kind, _, family = name.partition("_")
    parsers: dict[str, type] = {"ToolParser": TemplateToolParser, "ReasoningParser": TemplateReasoningParser}
    if kind not in parsers or family not in families():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = globals()[name] = type(name, (parsers[kind],), {"family": family})
    return made


def _described(tool: Any) -> dict[str, Any]:
    """A tool as chat templates take it; the Responses API writes them flat."""
    told: dict[str, Any] = tool if isinstance(tool, dict) else tool.model_dump(exclude_none=True)
    if "function" in told:
        return told
    return {"type": "function", "function": {name: value for name, value in told.items() if name != "type"}}


def _name(choice: Any) -> str:
    name: str = choice.function.name if hasattr(choice, "function") else choice.name
    return name


def _calls(value: Any) -> list[tuple[str, str]]:
    """Names and arguments of what a region of calls holds; nothing for what is no call."""
    found = []
    for call in value if isinstance(value, list) else [value]:
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict) and isinstance(function.get("name"), str):
            arguments = function.get("arguments")
            text = (
                arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
            )
            found.append((function["name"], text))
    return found
