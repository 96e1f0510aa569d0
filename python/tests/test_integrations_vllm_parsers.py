"""Tools in a model's own format in vLLM: read back, and enforced."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest

FOLDER = os.environ.get("TOKENMOLD_HF_MODEL")
if not FOLDER:
    pytest.skip("TOKENMOLD_HF_MODEL names no model folder: vLLM is not tried", allow_module_level=True)
os.environ.update(HF_HUB_OFFLINE="1")
pytest.importorskip("vllm", reason="vLLM is not installed")

from transformers import AutoTokenizer
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.exceptions import VLLMValidationError
from vllm.parser.parser_manager import ParserManager
from vllm.reasoning import ReasoningParserManager
from vllm.sampling_params import StructuredOutputsParams
from vllm.tool_parsers import ToolParserManager

from tokenmold import Compiler, Constraint, Vocabulary
from tokenmold.integrations.vllm import register
from tokenmold.integrations.vllm_parsers import TemplateReasoningParser, TemplateToolParser

register()

TEMPLATE = {
    "defaults": {"role": "assistant"},
    "start_anchor": "<|im_start|>assistant\n",
    "fields": {
        "thinking": {"open": "<think>", "close": "</think>"},
        "content": {"close": "<|im_end|>"},
        "tool_calls": {
            "open": "<tool_call>",
            "close": "</tool_call>",
            "repeats": True,
            "content": "json",
            "transform": {
                "type": "function",
                "function": {"name": "{content.name}", "arguments": "{content.arguments}"},
            },
        },
    },
}


def tool(name: str, strict: bool) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": name, "strict": strict, "parameters": schema}}


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    made = AutoTokenizer.from_pretrained(FOLDER)
    made.response_template = TEMPLATE
    return made


@pytest.fixture(scope="module")
def compiler(tokenizer: Any) -> Compiler:
    return Compiler(Vocabulary.from_huggingface(tokenizer))


def asked(tokenizer: Any, *, strict: bool = False, **options: Any) -> ChatCompletionRequest:
    request = ChatCompletionRequest(
        model="m",
        messages=[{"role": "user", "content": "hi"}],
        tools=[tool("weather", strict), tool("tides", False)],
        **options,
    )
    return TemplateToolParser(tokenizer, request.tools).adjust_request(request)


def constraint(compiler: Compiler, request: ChatCompletionRequest) -> Constraint:
    from vllm.v1.structured_output.request import get_structured_output_key

    from tokenmold.integrations.vllm import _compile, _Options

    params = request.extract_structured_outputs()
    assert isinstance(params, StructuredOutputsParams)
    return _compile(compiler, *get_structured_output_key(params), _Options(compact=False))


def call(name: str, **arguments: Any) -> str:
    return "<tool_call>" + json.dumps({"name": name, "arguments": arguments}) + "</tool_call>"


def test_it_is_registered() -> None:
    assert ToolParserManager.get_tool_parser("tokenmold") is TemplateToolParser


def test_no_guarantee_is_no_constraint(tokenizer: Any) -> None:
    for options in ({}, {"tool_choice": "auto"}, {"tool_choice": "none", "strict": True}):
        request = asked(tokenizer, **options)
        assert request.extract_structured_outputs() is None
        assert request.skip_special_tokens is False


def takes(constraint: Constraint, tokenizer: Any, text: str) -> bool:
    """Marks may be special tokens, so a text is tried as tokens."""
    whole = [*tokenizer.encode(text, add_special_tokens=False), tokenizer.eos_token_id]
    return constraint.matcher().validate(whole) == len(whole)


def test_guarantees(tokenizer: Any, compiler: Compiler) -> None:
    required = constraint(compiler, asked(tokenizer, tool_choice="required"))
    assert takes(required, tokenizer, call("weather", city="Ulm"))
    assert takes(required, tokenizer, call("tides", city="Ulm") + call("weather", city="Ulm"))
    assert not takes(required, tokenizer, "I do not know.")
    # Nothing to say before, and so nothing to run out of tokens over.
    assert not takes(required, tokenizer, "Let me see. " + call("weather", city="Ulm"))
    assert not takes(required, tokenizer, "<think>So.</think>" + call("weather", city="Ulm"))
    assert not takes(required, tokenizer, "null")
    assert not takes(required, tokenizer, call("weather", town="Ulm"))
    assert not takes(required, tokenizer, call("storms", city="Ulm"))

    named = constraint(
        compiler, asked(tokenizer, tool_choice={"type": "function", "function": {"name": "tides"}})
    )
    assert takes(named, tokenizer, call("tides", city="Ulm"))
    assert not takes(named, tokenizer, call("weather", city="Ulm"))
    assert not takes(named, tokenizer, call("tides", city="Ulm") + call("tides", city="Ulm"))

    single = constraint(compiler, asked(tokenizer, tool_choice="required", parallel_tool_calls=False))
    assert takes(single, tokenizer, call("weather", city="Ulm"))
    assert not takes(single, tokenizer, call("weather", city="Ulm") + call("weather", city="Ulm"))

    once = constraint(compiler, asked(tokenizer, parallel_tool_calls=False))
    assert takes(once, tokenizer, "I do not know.")
    assert takes(once, tokenizer, "Let me see. " + call("weather", city="Ulm"))
    assert not takes(once, tokenizer, call("weather", city="Ulm") + call("tides", city="Ulm"))

    strict = constraint(compiler, asked(tokenizer, strict=True))
    assert takes(strict, tokenizer, "I do not know.")
    assert takes(strict, tokenizer, call("weather", city="Ulm", days=3))
    assert not takes(strict, tokenizer, call("weather", city="Ulm", days="3"))


@pytest.mark.parametrize(
    "options",
    [
        {"tool_choice": "required"},
        {"tool_choice": "required", "parallel_tool_calls": False},
        {"tool_choice": {"type": "function", "function": {"name": "tides"}}},
        {"parallel_tool_calls": False},
        # The other tool is strict.
        {"strict": True},
    ],
    ids=str,
)
def test_tools_that_are_not_strict_have_their_arguments(
    tokenizer: Any, compiler: Compiler, options: dict[str, Any]
) -> None:
    """Where there is a constraint, it holds for the arguments of every tool that it admits."""
    made = constraint(compiler, asked(tokenizer, **options))
    assert takes(made, tokenizer, call("tides", city="Ulm", days=3))
    for arguments in (
        "Ulm",
        3,
        None,
        ["Ulm"],
        {},
        {"city": 3},
        {"city": "Ulm", "days": "3"},
        {"town": "Ulm"},
    ):
        text = "<tool_call>" + json.dumps({"name": "tides", "arguments": arguments}) + "</tool_call>"
        assert not takes(made, tokenizer, text), arguments


def test_strict_tools_and_a_schema(tokenizer: Any, compiler: Compiler) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    answer = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
    request = asked(tokenizer, strict=True, response_format=answer)
    assert request.response_format is None
    both = constraint(compiler, request)
    assert takes(both, tokenizer, '{"a": 1}')
    assert takes(both, tokenizer, call("weather", city="Ulm"))
    assert not takes(both, tokenizer, "I do not know.")
    with pytest.raises(VLLMValidationError, match="JSON schema"):
        asked(tokenizer, strict=True, structured_outputs={"regex": "a"})


ANSWER = "Let me see." + call("weather", city="Ulm", days="3") + call("tides", city="Ōsaka") + "<|im_end|>"


def test_a_whole_answer(tokenizer: Any) -> None:
    request = asked(tokenizer)
    parser = TemplateToolParser(tokenizer, request.tools)
    read = parser.extract_tool_calls(ANSWER, request)
    assert read.tools_called
    assert [(one.function.name, json.loads(one.function.arguments)) for one in read.tool_calls] == [
        ("weather", {"city": "Ulm", "days": 3}),
        ("tides", {"city": "Ōsaka"}),
    ]
    plain = parser.extract_tool_calls("Nothing.<|im_end|>", request)
    assert (plain.tools_called, plain.content) == (False, "Nothing.")
    cut = parser.extract_tool_calls(ANSWER.removesuffix("<|im_end|>") + "<tool_call>{", request)
    assert len(cut.tool_calls) == 2 and cut.content == "Let me see."


def streamed(
    parser: Any, tokenizer: Any, request: ChatCompletionRequest, text: str, step: int
) -> Iterator[dict[str, Any]]:
    """The deltas of a text in pieces of so many characters, as the server sends them."""
    pieces = [text[at : at + step] for at in range(0, len(text), step)]
    for number, piece in enumerate(pieces):
        delta = parser.parse_delta(
            piece,
            tokenizer.encode(piece, add_special_tokens=False),
            request,
            prompt_token_ids=[1],
            finished=number == len(pieces) - 1,
        )
        yield delta.model_dump(exclude_unset=True) if delta else {}


@pytest.mark.parametrize("step", [1, 2, 7, 1000])
def test_an_answer_in_pieces(tokenizer: Any, step: int) -> None:
    """Through vLLM's own composition of parsers, as its server has it."""
    parser_class = ParserManager.get_parser("tokenmold", None, enable_auto_tools=True, tokenizer=tokenizer)
    request = asked(tokenizer)
    for text, ends in [(ANSWER, 2), ("1 < 2 and <tool", 0)]:
        parser = parser_class(tokenizer, request.tools)
        content, calls = "", {}
        for sent in streamed(parser, tokenizer, request, text, step):
            content += sent.get("content", "")
            for one in sent.get("tool_calls", ()):
                assert one["id"]
                calls[one["index"]] = (one["function"]["name"], json.loads(one["function"]["arguments"]))
        assert content == text.partition("<tool_call>")[0]
        assert (
            list(calls.values())
            == [("weather", {"city": "Ulm", "days": 3}), ("tides", {"city": "Ōsaka"})][:ends]
        )
        assert len(parser.tool_parser.prev_tool_call_arr) == ends


# A quoted mark, a postcode, a call of a tool that nobody offered, and one that is cut.
WRITTEN = (
    "Let me see.\n"
    '<tool_call>\n{"name": "weather", "arguments": {"city": "</tool_call> 10115"}}\n</tool_call>\n'
    '<tool_call>\n{"name": "delete_all", "arguments": {}}\n</tool_call>\n'
    '<tool_call>\n{"name": "tides", "argu'
)


@pytest.mark.parametrize("named", ["tokenmold", "tokenmold-hermes"])
@pytest.mark.parametrize("step", [1, 5, 1000])
def test_a_family_by_name_or_by_the_chat_template(named: str, step: int) -> None:
    plain = AutoTokenizer.from_pretrained(FOLDER)
    parser_class = ParserManager.get_parser(named, None, enable_auto_tools=True, tokenizer=plain)
    request = asked(plain)
    parser = parser_class(plain, request.tools)
    content = ""
    calls: list[Any] = []
    for sent in streamed(parser, plain, request, WRITTEN, step):
        content += sent.get("content") or ""
        calls += [one["function"] for one in sent.get("tool_calls") or ()]
    assert [(one["name"], json.loads(one["arguments"])) for one in calls] == [
        ("weather", {"city": "</tool_call> 10115"})
    ]
    assert content.startswith("Let me see.") and "delete_all" in content
    whole = ToolParserManager.get_tool_parser(named)(plain, request.tools).extract_tool_calls(WRITTEN, request)
    assert [one.function.name for one in whole.tool_calls] == ["weather"]
    assert whole.content == content


def test_a_family_binds_its_calls(compiler: Compiler) -> None:
    plain = AutoTokenizer.from_pretrained(FOLDER)
    bound = constraint(compiler, asked(plain, strict=True, tool_choice="required"))
    ids = plain.encode(call("weather", city="Ulm"), add_special_tokens=False)
    assert bound.matcher().accept_all(ids) == len(ids)
    ids = plain.encode(call("weather", town="Ulm"), add_special_tokens=False)
    assert bound.matcher().accept_all(ids) < len(ids)


def test_thoughts_of_a_family(thinking: Any) -> None:
    del thinking.response_template
    try:
        for named in ("tokenmold", "tokenmold-hermes"):
            parser = ReasoningParserManager.get_reasoning_parser(named)(thinking)
            assert parser.extract_reasoning("<think>So.</think>Well.", asked(thinking)) == ("So.", "Well.")
    finally:
        thinking.response_template = TEMPLATE


def test_a_tokenizer_without_template_is_told() -> None:
    plain = AutoTokenizer.from_pretrained(FOLDER)
    plain.chat_template = "{{ messages[0].content }}"
    with pytest.raises(TypeError, match="response_template.*tokenmold-hermes"):
        ParserManager.get_parser("tokenmold", None, enable_auto_tools=True, tokenizer=plain)


@pytest.fixture(scope="module")
def thinking() -> Any:
    made = AutoTokenizer.from_pretrained(FOLDER)
    made.add_special_tokens({"additional_special_tokens": ["<think>", "</think>"]})
    made.response_template = TEMPLATE
    return made


THOUGHT = "<think>So, Ulm.</think>" + ANSWER.removesuffix("<|im_end|>")


def test_thoughts_of_a_whole_answer(thinking: Any) -> None:
    assert ReasoningParserManager.get_reasoning_parser("tokenmold") is TemplateReasoningParser
    parser = TemplateReasoningParser(thinking)
    request = parser.adjust_request(
        ChatCompletionRequest(model="m", messages=[{"role": "user", "content": "hi"}])
    )
    assert request.skip_special_tokens is False
    assert parser.extract_reasoning("<think>So.</think>Well.", request) == ("So.", "Well.")
    assert parser.extract_reasoning("So.</think>Well.", request) == ("So.", "Well.")
    assert parser.extract_reasoning("<think>So, cut", request) == ("So, cut", None)
    assert parser.extract_reasoning("<think></think>Well.", request) == (None, "Well.")
    assert parser.extract_reasoning("Well.", request) == (None, "Well.")
    parser.adjust_initial_state_from_prompt(thinking.encode("Hi.<think>"))
    assert parser.extract_reasoning("So, cut", request) == ("So, cut", None)
    ids = thinking.encode(THOUGHT, add_special_tokens=False)
    close = ids.index(parser.end_token_id)
    assert not parser.is_reasoning_end(ids[:close]) and parser.is_reasoning_end(ids[: close + 1])
    assert parser.extract_content_ids(ids) == ids[close + 1 :]


def test_thoughts_that_the_chat_template_opens(thinking: Any) -> None:
    template = thinking.chat_template
    try:
        thinking.chat_template = "{{ messages[0].content }}{% if not quick %}<think>{% endif %}"
        assert TemplateReasoningParser(thinking).extract_reasoning("So, cut", None) == ("So, cut", None)  # type: ignore[arg-type]
        quick = TemplateReasoningParser(thinking, chat_template_kwargs={"quick": True})
        assert quick.extract_reasoning("Well.", None) == (None, "Well.")  # type: ignore[arg-type]
    finally:
        thinking.chat_template = template


@pytest.mark.parametrize("step", [1, 3, 1000])
@pytest.mark.parametrize("begun", [False, True])
def test_thoughts_that_arrive(thinking: Any, step: int, begun: bool) -> None:
    request = asked(thinking)
    parser_type = ParserManager.get_parser(
        "tokenmold", "tokenmold", enable_auto_tools=True, tokenizer=thinking
    )
    parser = parser_type(thinking, request.tools)
    text = THOUGHT.removeprefix("<think>") if begun else THOUGHT
    prompt = thinking.encode("Hi.<think>" if begun else "Hi.", add_special_tokens=False)
    ids = thinking.encode(text, add_special_tokens=False)
    pieces = [ids[at : at + step] for at in range(0, len(ids), step)]
    reasoning = content = ""
    calls: list[str] = []
    for number, piece in enumerate(pieces):
        delta = parser.parse_delta(
            thinking.decode(piece),
            piece,
            request,
            prompt_token_ids=prompt,
            finished=number == len(pieces) - 1,
        )
        sent = delta.model_dump(exclude_unset=True) if delta else {}
        reasoning += sent.get("reasoning") or ""
        content += sent.get("content") or ""
        calls += [one["function"]["name"] for one in sent.get("tool_calls") or ()]
    assert (reasoning, content, calls) == ("So, Ulm.", "Let me see.", ["weather", "tides"])


def test_marks_that_are_no_tokens_are_told(tokenizer: Any) -> None:
    with pytest.raises(ValueError, match="field `thinking`.*<think>"):
        TemplateReasoningParser(tokenizer)
