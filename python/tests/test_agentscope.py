"""AgentScope's text parsers, by its own names; the recorded answers are those of agentscope 0.1.6."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import pytest
from tokenmold import agentscope


def test_a_dictionary_is_read_and_goes_where_it_is_to() -> None:
    parser = agentscope.MarkdownJsonDictParser(
        {"thought": "what you think", "speak": "what you say", "done": "whether you are"},
        required_keys=["thought", "speak"],
        keys_to_memory=["thought", "speak"],
        keys_to_content="speak",
        keys_to_metadata=["done"],
    )
    assert '"thought": "what you think"' in parser.format_instruction
    response = parser.parse('```json\n{"thought": "Hm.", "speak": "Hello.", "done": true}\n```')
    assert parser.to_memory(response.parsed) == {"thought": "Hm.", "speak": "Hello."}
    assert parser.to_content(response.parsed) == "Hello."
    assert parser.to_metadata(response.parsed) == {"done": True}
    with pytest.raises(ValueError, match="Name done not found"):
        parser.to_metadata({"speak": "x"})
    assert parser.to_metadata({"speak": "x"}, allow_missing=True) == {}


def test_what_is_wrong_can_be_told_to_the_model() -> None:
    parser = agentscope.MarkdownJsonDictParser("{...}", required_keys=["speak"])
    with pytest.raises(agentscope.RequiredFieldNotFoundError) as caught:
        parser.parse('```json\n{"thought": "Hm."}\n```')
    assert str(caught.value) == (
        "RequiredFieldNotFoundError: Missing required field speak in the JSON dictionary object."
    )
    with pytest.raises(agentscope.JsonTypeError):
        parser.parse("[1]")
    with pytest.raises(agentscope.JsonParsingError):
        parser.parse("I would rather not.")
    with pytest.raises(agentscope.TagNotFoundError) as missing:
        agentscope.MarkdownCodeBlockParser("python").parse("no code")
    assert missing.value.missing_begin_tag and missing.value.missing_end_tag


def test_a_response_keeps_its_repaired_text() -> None:
    class Response:
        text = '{"a": 1}'
        parsed: Any = None

    response = Response()
    assert agentscope.MarkdownJsonObjectParser().parse(response) is response
    assert response.parsed == {"a": 1} and response.text.startswith("```json\n")


def test_a_pydantic_class_says_what_is_wanted() -> None:
    pydantic = pytest.importorskip("pydantic", reason="pydantic is not installed")

    class Person(pydantic.BaseModel):  # type: ignore[name-defined, misc]
        name: str
        age: int = 1

        @pydantic.field_validator("name")  # type: ignore[untyped-decorator]
        @classmethod
        def is_long(cls, name: str) -> str:
            if len(name) < 2:
                raise ValueError("a name has two letters")
            return name

    parser = agentscope.MarkdownJsonDictParser(Person)
    assert parser.parse('{"name": "Ann", "more": 2}').parsed == {"name": "Ann", "age": 1}
    for wrong in ('{"age": 3}', '{"name": "A"}'):
        with pytest.raises(agentscope.JsonParsingError):
            parser.parse(wrong)


PARTS = {
    "MarkdownJsonObjectParser": agentscope.MarkdownJsonObjectParser,
    "MarkdownJsonDictParser": agentscope.MarkdownJsonDictParser,
    "MarkdownCodeBlockParser": agentscope.MarkdownCodeBlockParser,
    "RegexTaggedContentParser": agentscope.RegexTaggedContentParser,
}


def made(record: dict[str, Any]) -> Any:
    arguments = dict(record["args"])
    if record["parser"] == "MultiTaggedContentParser":
        tags = [agentscope.TaggedContent(**tag) for tag in arguments.pop("tagged_contents")]
        return agentscope.MultiTaggedContentParser(*tags, **arguments)
    return PARTS[record["parser"]](**arguments)


def recorded() -> list[dict[str, Any]]:
    folder = os.environ.get("TOKENMOLD_DATA")
    if not folder:
        return []
    lines = (Path(folder) / "goldens/agentscope.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    # Models are recorded by their schemas alone, of which Python has no class; the Rust tests read those.
    usable = [r for r in records if "$pydantic" not in json.dumps(r["args"])]
    return [r for r in usable if r["parser"] in PARTS or r["parser"] == "MultiTaggedContentParser"]


def same(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, dict) and set(theirs) == {"$nonfinite"}:
        named = {"NaN": math.isnan(ours), "Infinity": ours == math.inf, "-Infinity": ours == -math.inf}
        return named[theirs["$nonfinite"]]
    if isinstance(theirs, dict) and isinstance(ours, dict):
        return ours.keys() == theirs.keys() and all(same(ours[key], theirs[key]) for key in theirs)
    if isinstance(theirs, list) and isinstance(ours, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    return type(ours) is type(theirs) and bool(ours == theirs)


@pytest.mark.skipif(not os.environ.get("TOKENMOLD_DATA"), reason="TOKENMOLD_DATA is not set: no recorded answers")
def test_recorded_answers() -> None:
    records = recorded()
    assert len(records) > 80
    for record in records:
        what = record["id"]
        error = record.get("error")
        try:
            parser = made(record)
            response = agentscope.ParsedResponse(record["text"])
            parser.parse(response)
        except agentscope.ResponseParsingError as raised:
            assert error is not None, what
            assert (type(raised).__name__, raised.message) == (error["type"], error["message"]), what
            continue
        except (ValueError, TypeError):
            # Misuse: no text, or a pattern that cannot work.
            assert error is not None and not error["type"].endswith(("ParsingError", "FoundError")), what
            continue
        assert error is None, what
        assert same(response.parsed, record["expected_parsed"]), what
        assert response.text == record.get("text_after", record["text"]), what
        if record.get("format_instruction") is not None:
            assert parser.format_instruction == record["format_instruction"], what
        for step in ("memory", "content", "metadata"):
            allow = record.get("allow_missing", False)
            if f"to_{step}" in record:
                assert same(getattr(parser, f"to_{step}")(response.parsed, allow), record[f"to_{step}"]), what
            elif f"to_{step}_error" in record:
                with pytest.raises((KeyError, ValueError, TypeError)):
                    getattr(parser, f"to_{step}")(response.parsed, allow)
