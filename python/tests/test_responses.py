"""Answers read back, and chats written out."""

from __future__ import annotations

import dataclasses
import json
import math
import pathlib
from typing import Any

import pytest

from tokenmold import ChatTemplate, ResponseSchema, ResponseTemplate, TokenmoldError

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def test_chats() -> None:
    template = ChatTemplate(CHATML)
    messages = [{"role": "user", "content": "Hé"}]
    closed = "<|im_start|>user\nHé<|im_end|>\n"
    assert template.render(messages) == closed
    assert template.render(messages, add_generation_prompt=True) == closed + "<|im_start|>assistant\n"
    begun = [*messages, {"role": "assistant", "content": "I am"}]
    assert template.render(begun, continue_final_message=True).endswith("assistant\nI am")
    assert ChatTemplate("{{ bos_token }}{{ mode }}", special_tokens={"bos_token": "<s>"}).render(
        messages, mode="fast"
    ) == "<s>fast"
    for wrong in (
        lambda: ChatTemplate("{% for %}"),
        lambda: ChatTemplate("{{ raise_exception('no') }}").render(messages),
        lambda: ChatTemplate("{% for i in range(100000000) %}{% endfor %}").render(messages),
        lambda: template.render(begun, add_generation_prompt=True, continue_final_message=True),
        lambda: template.render({"role": "user"}),  # type: ignore[arg-type]
        lambda: ChatTemplate.from_directory("/nowhere/at/all").render(messages),
    ):
        with pytest.raises(TokenmoldError) as error:
            wrong()
        assert error.value.kind
    with pytest.raises(TypeError):
        template.render([object()])
    with pytest.raises(TokenmoldError):
        template.render(5)


@dataclasses.dataclass
class Call:
    name: str
    arguments: dict[str, Any]


@dataclasses.dataclass
class Message:
    role: str
    content: Any
    calls: tuple[Call, ...] = ()


class Model:
    """What pydantic's models have, without pydantic."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def model_dump(self) -> dict[str, Any]:
        return self.fields


def test_chats_of_objects() -> None:
    template = ChatTemplate(
        "{% for m in messages %}{{ m.role }}:{{ m.content }}{% for c in m.calls %}{{ c.name }}{{ c.arguments | tojson }}"
        "{% endfor %};{% endfor %}"
    )
    chat = [
        Message("user", "Hi", (Call("f", {"n": 10**30}),)),
        Model(role="assistant", content=Model(a=1)),
        {"role": "tool", "content": math.nan, "calls": None},
    ]
    expected = "user:Hif{\"n\": 1000000000000000000000000000000};assistant:{'a': 1};tool:nan;"
    assert template.render(chat) == expected
    assert template.render(Model(messages=chat).fields["messages"]) == expected

    def weather(city: str) -> str:
        """The weather.

        Args:
            city: Where
        """
        return city

    written = ChatTemplate("{{ tools[0].function.name }} {{ tools[1].name }}").render(
        [{"role": "user", "content": ""}], tools=[weather, {"name": "g"}]
    )
    assert written == "weather g"
    with pytest.raises(TokenmoldError, match="/messages/0/content/0: .*127 bits"):
        template.render([{"role": "user", "content": [10**60]}])
    with pytest.raises(TypeError, match="pydantic"):
        template.render([{"role": "user", "content": object()}])


def test_keywords_that_mean_nothing_are_errors() -> None:
    chat = [{"role": "user", "content": "x"}]
    template = ChatTemplate("{{ messages[0].content }}{{ enable_thinking }}")
    assert template.render(chat, enable_thinking=False) == "xFalse"
    assert template.render(chat, variables={"enable_thinking": 10**30, "other": 1}) == f"x{10**30}"
    for keywords, said in (
        ({"enable_thinkng": False}, "no variable of that name"),
        ({"return_assistant_tokens_mask": True}, "render_with_spans"),
        ({"tokenize": False}, "the prompt is a text"),
        ({"template": "{{ 1 }}"}, "chat_template"),
        ({"sanitize_control_tokens": True}, "sanitize="),
        ({"sanitize": "sometimes"}, "refuse"),
        ({"control_tokens": ["</s>"]}, "sanitize"),
        ({"chat_template": "tool_use"}, "no template"),
    ):
        with pytest.raises(TokenmoldError, match=said):
            template.render(chat, **keywords)
    assert template.render(chat, chat_template="{{ 1 + 1 }}") == "2"
    assert template.render(chat, tools=None, chat_template=None, variables=None, enable_thinking=None) == "xNone"
    named = ChatTemplate({"default": "plain", "tool_use": "tools{{ a }}"})
    assert named.names == ["default", "tool_use"]
    assert named.render(chat) == "plain"
    assert named.render(chat, chat_template="tool_use", a=1) == "tools1"
    with pytest.raises(TokenmoldError, match="default, tool_use"):
        named.render(chat, chat_template="tool-use")


def test_spans_are_characters() -> None:
    template = ChatTemplate(
        "{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}{{ m.content }}{% endgeneration %}"
        "{% else %}{{ m.content }}|{% endif %}{% endfor %}"
    )
    chat = [{"role": "user", "content": "é😀"}, {"role": "assistant", "content": "Já."}]
    text, spans = template.render_with_spans(chat)
    assert (text, spans) == ("é😀|Já.", [(3, 6)])
    assert [text[start:end] for start, end in spans] == ["Já."]


def test_control_tokens_of_users(tmp_path: pathlib.Path) -> None:
    (tmp_path / "chat_template.jinja").write_text(CHATML + "<think>")
    added = [
        {"content": "<|im_end|>", "special": True},
        {"content": "<think>", "special": False},
        {"content": "<table>", "special": False},
    ]
    (tmp_path / "tokenizer.json").write_text(json.dumps({"added_tokens": added}))
    template = ChatTemplate.from_directory(tmp_path)
    chat = [{"role": "user", "content": "<|im_end|><think><table>"}]
    assert "user\n<|im_end|><think><table><|im_end|>" in template.render(chat)
    broken = template.render(chat, sanitize="break")
    assert "user\n<\u200b|im_end|><\u200bthink><table><|im_end|>" in broken
    with pytest.raises(TokenmoldError, match="/messages/0/content"):
        template.render(chat, sanitize="refuse")
    assert "<\u200btable>" in template.render(chat, sanitize="break", control_tokens=["<table>"])
    with pytest.raises(TokenmoldError, match="give control_tokens"):
        ChatTemplate(CHATML).render(chat, sanitize="break")


def test_limits_of_templates() -> None:
    chat = [{"role": "user", "content": "x"}]
    source = "{% for i in range(1000) %}{{ i }}{% endfor %}"
    assert ChatTemplate(source).render(chat).endswith("999")
    for limits in ({"instructions": 100}, {"output": 100}, {"work": 100}):
        with pytest.raises(TokenmoldError) as error:
            ChatTemplate(source, limits=limits).render(chat)
        assert error.value.kind == "limit"
    with pytest.raises(TokenmoldError, match="limit"):
        ChatTemplate(source, limits={"source": 10})
    with pytest.raises(TokenmoldError, match="instructions"):
        ChatTemplate(source, limits={"steps": 10})


def test_a_model_folder(tmp_path: pathlib.Path) -> None:
    (tmp_path / "chat_template.jinja").write_text(CHATML)
    (tmp_path / "tokenizer_config.json").write_text('{"bos_token": "<s>"}')
    template = ChatTemplate.from_directory(tmp_path)
    assert template.render([{"role": "user", "content": "x"}]).startswith("<|im_start|>user")
    with pytest.raises(TokenmoldError):
        ResponseTemplate.from_directory(tmp_path)


def records(data: pathlib.Path, name: str) -> list[dict]:  # type: ignore[type-arg]
    return [json.loads(line) for line in (data / "goldens" / name).open(encoding="utf-8")]


def tagged(value: Any) -> Any:
    """A value as the records have it: what JSON cannot hold says what it is."""
    match value:
        case dict():
            return {name: tagged(member) for name, member in value.items()}
        case list():
            return [tagged(item) for item in value]
        case float() if not math.isfinite(value):
            return {"$float": json.dumps(value)}
        case int() if not -(2**63) <= value < 2**64:
            return {"$bigint": str(value)}
        case str() if any("\ud800" <= c <= "\udfff" for c in value):
            data = value.encode("utf-16-le", "surrogatepass")
            return {"$utf16": [data[at] + 256 * data[at + 1] for at in range(0, len(data), 2)]}
    return value


def test_answers_of_the_reference(data: pathlib.Path) -> None:
    answered = refused = 0
    for record in records(data, "response-schema.jsonl"):
        if not isinstance(record["input"], str):
            continue
        try:
            schema = ResponseSchema(record["schema"], mode="reference", release="5.0")
            answer = schema.parse(record["input"])
        except TokenmoldError:
            assert "error" in record, record["id"]
            refused += 1
        else:
            assert "error" not in record and tagged(answer) == record["expected"], record["id"]
            answered += 1
    assert answered > 300 and refused > 100
    with pytest.raises(TokenmoldError, match="mode is one of"):
        ResponseSchema({}, mode="strict")  # type: ignore[arg-type]
    with pytest.raises(TokenmoldError, match="release is one of"):
        ResponseSchema({}, release="5.24")  # type: ignore[arg-type]
    loose = {"x-parser": "json", "type": "object"}
    assert ResponseSchema(loose).parse('{"a": NaN}').keys() == {"a"}
    assert ResponseSchema(loose, release="5.0").parse('{"a": 1}') == {}


def test_releases_of_templates() -> None:
    call = {
        "open": "<call>",
        "close_pattern": r"</call (?P<name>\w+)>",
        "transform": {"name": "{name}", "input": "{content}"},
    }
    template = {"start_anchor": "<|assistant|>", "fields": {"call": call}}
    wanted = {"call": {"name": "f", "input": "x"}}
    assert ResponseTemplate(template).parse("<call>x</call f>") == wanted
    assert ResponseTemplate(template, release="5.24").parse("<call>x</call f>") == wanted
    stream = ResponseTemplate(template, release="5.24").stream()
    stream.feed("<call>x</call f>")
    assert stream.finish()[1] == wanted
    with pytest.raises(TokenmoldError, match="name"):
        ResponseTemplate(template, release="5.23").parse("<call>x</call f>")
    with pytest.raises(TokenmoldError, match=r'release is one of "5.23", "5.24", not "5.12"'):
        ResponseTemplate(template, release="5.12")  # type: ignore[arg-type]


def test_streams() -> None:
    from_hermes = ResponseTemplate(HERMES)
    text = 'Sure.<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'
    whole = from_hermes.parse(text)
    stream = from_hermes.stream()
    events, partials = [], []
    for at in range(0, len(text), 3):
        events += stream.feed(text[at : at + 3])
        if (partial := stream.partial()) is not None:
            partials.append(partial)
    last, message = stream.finish()
    events += last
    assert message == whole and message["tool_calls"][0]["function"]["name"] == "add"
    assert events[0]["type"] == "region_open" and events[-1]["type"] == "region_close"
    assert any(partial["value"] == {"name": "add"} for partial in partials)
    with pytest.raises(TokenmoldError) as error:
        stream.feed("more")
    assert error.value.kind == "finished"
    with pytest.raises(TokenmoldError) as error:
        from_hermes.parse("<tool_call>{nonsense</tool_call>")
    assert error.value.kind and str(error.value)
    for wrong in ("{", "[]", '{"fields": 5}'):
        with pytest.raises(TokenmoldError):
            ResponseTemplate(wrong)
    with pytest.raises(TokenmoldError):
        ResponseSchema("{")
    with pytest.raises(TokenmoldError):
        ResponseSchema({"type": "integer"}).parse("twelve")


def test_families() -> None:
    hermes = ResponseTemplate.family("hermes")
    call = '<tool_call>{"name": "f", "arguments": {"n": 123456789012345678901}}</tool_call>'
    text = f"<think>Hm.</think>{call}<tool_call>{{bad}}</tool_call> End."
    message = hermes.parse(text)
    assert message["content"] == "<tool_call>{bad}</tool_call> End."
    assert message["tool_calls"][0]["function"]["arguments"] == {"n": 123456789012345678901}
    for step in (1, 5, len(text)):
        stream = ResponseTemplate.family("hermes", errors="drop", arguments="stream").stream()
        events = [event for at in range(0, len(text), step) for event in stream.feed(text[at : at + step])]
        last, message = stream.finish()
        events += last
        assert message["content"] == " End."
        pieces = [event["text"] for event in events if event["type"] == "arguments"]
        assert json.loads("".join(pieces)) == {"n": 123456789012345678901}
        errors = [event for event in events if event["type"] == "region_error"]
        assert [error["kind"] for error in errors] == ["json_invalid"]
    # A failing stream gives what came before, then raises.
    stream = ResponseTemplate.family("hermes", errors="raise").stream()
    events = stream.feed(text)
    assert [event["type"] for event in events].count("region_close") == 2
    with pytest.raises(TokenmoldError):
        stream.feed("")
    cut = '{"name": "f", "parameters": {}}'
    llama = ResponseTemplate.family("llama3")
    assert "tool_calls" in llama.parse(cut)
    assert llama.parse(cut, reason="length")["content"] == cut
    stream = llama.stream()
    stream.feed(cut)
    assert stream.finish("length")[1]["content"] == cut
    stream = hermes.stream(special_tokens=["<tool_call>", "</tool_call>"])
    stream.feed_pieces([(call, False), ("<tool_call>", True)])
    assert stream.finish()[1]["content"] == call
    offered = ResponseTemplate.family("hermes", names="offered")
    tools = [{"type": "function", "function": {"name": "g"}}]
    assert "tool_calls" not in offered.parse(call, tools=tools)
    for wrong in ({"name": "qwen"}, {"name": "hermes", "errors": "ignore"}):
        with pytest.raises(TokenmoldError):
            ResponseTemplate.family(**wrong)  # type: ignore[arg-type]
    with pytest.raises(TokenmoldError, match="reason"):
        hermes.parse("", reason="eos")  # type: ignore[arg-type]


HERMES = json.loads((pathlib.Path(__file__).parent / "hermes.json").read_text())
