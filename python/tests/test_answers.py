"""The everyday schemas of benches/answers, and what benches/python makes of answers under them."""

from __future__ import annotations

import json
import pathlib
import sys
from typing import Any

import pytest

from tokenmold import Compiler, Vocabulary

from conftest import encode

BENCHES = pathlib.Path(__file__).resolve().parents[2] / "benches"
sys.path.insert(0, str(BENCHES / "python"))
jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
import answers
import cut_answers

FILES = sorted((BENCHES / "answers").glob("*.json"))


def told(path: pathlib.Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def test_there_are_forty() -> None:
    assert len(FILES) == 40
    assert sum("facts" in told(path) for path in FILES) >= 15


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_is_expected_is_an_answer(
    path: pathlib.Path, compiler: Compiler, vocabulary: Vocabulary
) -> None:
    case = told(path)
    assert set(case) <= {"prompt", "schema", "expected", "facts"}
    text = json.dumps(case["expected"], ensure_ascii=False)
    assert answers.verdict(case["schema"], text) == "valid"
    for written in (text, json.dumps(case["expected"], ensure_ascii=False, indent=2)):
        matcher = compiler.json_schema(case["schema"]).matcher()
        for token in encode(vocabulary, written):
            assert matcher.accept(token), matcher.explain(token)
        assert matcher.is_complete
    read = answers.read_case(path)
    assert answers.fields_right(read.facts, text) == len(read.facts) == len(case.get("facts", ()))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_ordinary_answer_is_cut_by_nothing(path: pathlib.Path) -> None:
    case = told(path)
    for indent in (None, 2):
        text = json.dumps(case["expected"], ensure_ascii=False, indent=indent)
        for end in range(1, len(text)):
            assert cut_answers.cause(case["schema"], text[:end]) == "not done", text[:end]


PERSON = {
    "$defs": {"Name": {"type": "object", "properties": {"first": {}, "last": {}}}},
    "properties": {
        "name": {"anyOf": [{"$ref": "#/$defs/Name"}, {"type": "null"}]},
        "tags": {"type": "array"},
        "notes": {"type": "object"},
    },
}
TREE = {"properties": {"left": {"$ref": "#"}}}


@pytest.mark.parametrize(
    ("schema", "text", "cause"),
    [
        (PERSON, '{"name": null, "age": 3', "extra members"),
        (PERSON, '{"name": {"first": "A", "middle": {"a": [', "extra members"),
        (PERSON, '{"name": null, "age": 3, ', "extra members"),
        (PERSON, '{"name": null, "ag', "extra members"),
        (PERSON, '{"name": null, "ta', "not done"),
        # The array is what was written on, and not the member before it.
        (PERSON, '{"age": 3, "tags": [' + "1, " * 6, "array"),
        (PERSON, '{"tags": [' + "1, " * 5, "not done"),
        (PERSON, '{"notes": {' + ", ".join(f'"{n}": 1' for n in range(6)) + ",", "array"),
        (PERSON, '{"tags": ["' + "so " * 40, "string"),
        (PERSON, '{"tags": ["' + "so " * 30, "not done"),
        (PERSON, '{"tags": [0.' + "3" * 25, "digits"),
        (PERSON, '{"tags": ["10:30:00.' + "0" * 25, "digits"),
        (PERSON, '{"tags": [' + "3" * 20, "not done"),
        (PERSON, '{"tags": [1,' + "\n" * 30, "white space"),
        (PERSON, '{"tags": [1,' + "\n        1," * 4, "not done"),
        (PERSON, '{"tags": [' + "\n                   1," * 5, "white space"),
        (PERSON, '{"tags": ' + "[" * 9, "nesting"),
        (TREE, '{"left": ' * 9, "nesting"),
        (TREE, '{"left": {"left": {"right": ', "extra members"),
        ({"additionalProperties": {"properties": {"a": {}}}}, '{"x": {"b": ', "extra members"),
        ({"patternProperties": {"^x": {}}, "additionalProperties": {}}, '{"xy": [', "not done"),
        ({"items": {"properties": {"a": {}}}}, '[{"a": 1}, {"b": ', "extra members"),
        ({"prefixItems": [{}, {"properties": {"a": {}}}]}, '[{"b": 1}, {"b": ', "extra members"),
        (True, "", "not done"),
        ({}, "No JSON } at all, {", "not done"),
    ],
)
def test_causes(schema: Any, text: str, cause: str) -> None:
    assert cause in cut_answers.CAUSES
    assert cut_answers.cause(schema, text) == cause


def test_verdicts() -> None:
    schema = {"type": "object", "properties": {"a": {"format": "ipv4"}}}
    texts = ['{"a": "127.0.0.1"}', '{"a": "127.0.0.1"', '{"a": "127.0.0"}', "[]"]
    assert [answers.verdict(schema, text) for text in texts] == ["valid", "cut", "invalid", "invalid"]
    case = answers.Case("c", "", schema, {"/a": "X", "/b/0": 1})
    right = answers.record(case, answers.Answer('{"a": "x ", "b": [true]}', 9, "stop"))
    assert (right["verdict"], right["right"], right["facts"]) == ("invalid", 1, 2)
    cut = answers.record(case, answers.Answer('{"a": "x", "b": [1', 9, "length"))
    assert (cut["verdict"], cut["cause"], cut["right"]) == ("cut", "extra members", 0)
    # An engine that stops within a text has given a wrong answer.
    assert answers.record(case, answers.Answer('{"a": ', 9, "stop"))["verdict"] == "invalid"
    row = {"variant": "v", "temperature": 0.0, "budget": 8, "seconds": 1.0, "processor": 1.0}
    lines = answers.table([row | {"records": [right, cut, answers.record(case, "no")]}]).splitlines()
    cells = dict(zip(lines[0].split(" | "), lines[2].split(" | "), strict=True))
    assert (cells["answers"], cells["cut"], cells["refused"], cells["extra members"]) == ("3", "1", "1", "1")
    assert cells["fields right"] == "1 of 6"
