"""Answers read back, and chats written out."""

from __future__ import annotations

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
            answer = ResponseSchema(record["schema"], mode="reference").parse(record["input"])
        except TokenmoldError:
            assert "error" in record, record["id"]
            refused += 1
        else:
            assert "error" not in record and tagged(answer) == record["expected"], record["id"]
            answered += 1
    assert answered > 300 and refused > 100
    with pytest.raises(TokenmoldError, match="mode is one of"):
        ResponseSchema({}, mode="strict")  # type: ignore[arg-type]


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


HERMES = json.loads((pathlib.Path(__file__).parents[2] / "crates/response-parser/src/formats/hermes.json").read_text())
