"""Compilers: what is refused says where, what is remembered is bounded, and all of it travels."""

from __future__ import annotations

import copy
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any, get_args

import pytest
from conftest import encode

from tokenmold import Compiler, Constraint, TokenmoldError, Vocabulary
from tokenmold._compiler import Dialect, GrammarLimits


def test_schemas_in_each_form(compiler: Compiler) -> None:
    schema = {"type": "object", "properties": {"a": {"const": "ä"}}, "required": ["a"], "additionalProperties": False}
    for form in (schema, json.dumps(schema), json.dumps(schema, ensure_ascii=False).encode()):
        constraint = compiler.json_schema(form)
        assert constraint.is_match('{"a": "ä"}') and not constraint.is_match("{}")
        assert constraint.kind == "json_schema" and constraint.vocabulary is compiler.vocabulary
    pydantic = pytest.importorskip("pydantic")
    model = pydantic.create_model("Point", x=(int, ...), y=(int, ...))
    for form in (model, pydantic.TypeAdapter(model)):
        assert compiler.json_schema(form).is_match('{"x": 1, "y": 2}')
        assert not compiler.json_schema(form).is_match('{"x": 1}')


def test_digits_are_kept(compiler: Compiler) -> None:
    text = '{"type": "integer", "minimum": 100000000000000000000000001}'
    assert not compiler.json_schema(text).is_match("100000000000000000000000000")
    assert compiler.json_schema(json.loads(text)).is_match("100000000000000000000000001")


def test_whitespace_and_order(compiler: Compiler) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "null"}}, "required": ["a", "b"]}
    spread, single, compact = '{\n  "a": null,\n  "b": null\n}', '{"a": null, "b": null}', '{"a":null,"b":null}'
    swapped = '{"b":null,"a":null}'
    for whitespace, admitted in (("flexible", 3), ("single", 2), ("compact", 1)):
        constraint = compiler.json_schema(schema, whitespace=whitespace)  # type: ignore[arg-type]
        assert [constraint.is_match(text) for text in (compact, single, spread)] == [n < admitted for n in range(3)]
        assert not constraint.is_match(swapped)
    spaced = compiler.json_schema(schema, whitespace="spaced")
    assert [spaced.is_match(text) for text in (compact, single, spread)] == [False, True, False]
    assert compiler.json_schema(schema, order="any").is_match(swapped)
    deep: Any = 1
    for _ in range(9):
        deep = {"a": [deep]}
    anything = compiler.json_schema({})
    assert anything.is_match(json.dumps(deep, indent=2)) and anything.is_match(json.dumps(deep, indent="\t"))
    assert not anything.is_match("[" + "\n" * 2 + "1]")
    with pytest.raises(TokenmoldError, match="whitespace is one of") as error:
        compiler.json_schema(schema, whitespace="none")  # type: ignore[arg-type]
    assert error.value.kind == "bad_option"
    with pytest.raises(TokenmoldError, match="order is one of"):
        compiler.json_schema(schema, order="random")  # type: ignore[arg-type]


def test_further_members(compiler: Compiler) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "null"}}, "allOf": [{"properties": {"b": {"type": "null"}}}]}
    closed = compiler.json_schema(schema)
    assert closed.is_match('{"a": null, "b": null}') and not closed.is_match('{"c": 1}')
    assert any("no further members" in entry["why"] for entry in closed.ledger)
    opened = compiler.json_schema(schema, additional_members="open")
    assert opened.is_match('{"c": 1}')
    for constraint in (closed, opened):
        again = Constraint.from_bytes(constraint.to_bytes(), compiler.vocabulary)
        assert again.is_match('{"c": 1}') is (constraint is opened)
    assert compiler.submit_json_schema(schema, additional_members="open").result().is_match('{"c": 1}')
    requested = {"type": "json_schema", "json_schema": {"schema": schema}}
    assert not compiler.response_format(requested).is_match('{"c": 1}')
    assert compiler.response_format(requested, additional_members="open").is_match('{"c": 1}')
    answer = compiler.response_format("hermes", answer=schema)
    assert answer.is_match('{"a": null}') and not answer.is_match('{"c": 1}')
    assert compiler.response_format("hermes", answer=schema, additional_members="open").is_match('{"c": 1}')
    mapped = {**schema, "additionalProperties": {"type": "integer"}}
    assert compiler.json_schema(mapped).is_match('{"c": 1}')
    with pytest.raises(TokenmoldError, match="additional_members is one of") as error:
        compiler.json_schema(schema, additional_members="none")  # type: ignore[arg-type]
    assert error.value.kind == "bad_option"


def test_caps(compiler: Compiler) -> None:
    for name, schema, admitted, refused in [
        ("cap_length", {"type": "string"}, '"abc"', '"abcd"'),
        ("cap_items", {"type": "array"}, "[1, 2, 3]", "[1, 2, 3, 4]"),
        ("cap_depth", {"type": "array"}, "[[[]]]", "[[[[]]]]"),
        ("cap_digits", {"type": "number"}, "-1.25", "12345"),
        ("cap_members", {"type": "object"}, '{"a": 1, "b": 2, "c": 3}', '{"a": 1, "b": 2, "c": 3, "d": 4}'),
        ("cap_name_length", {"type": "object"}, '{"abc": 1}', '{"abcd": 1}'),
    ]:
        capped = compiler.json_schema(schema, **{name: 3})  # type: ignore[arg-type]
        assert capped.is_match(admitted) and not capped.is_match(refused), name
        assert any(entry["status"] == "narrowed" for entry in capped.ledger), name
        assert compiler.json_schema(schema).is_match(refused)
        again = Constraint.from_bytes(capped.to_bytes(), compiler.vocabulary)
        assert not again.is_match(refused), name
        for bad in (-1, 1.5, 1 << 40):
            with pytest.raises(TokenmoldError, match=f"{name} is a whole number") as error:
                compiler.json_schema(schema, **{name: bad})  # type: ignore[arg-type]
            assert error.value.kind == "bad_option"
    with pytest.raises(TypeError, match="cap_width"):
        compiler.json_schema({}, cap_width=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="cap_items"):
        compiler.json_schema({}, cap_items=True)


def test_spellings_and_formats(compiler: Compiler) -> None:
    dated = {"type": "string", "format": "date"}
    assert not compiler.json_schema(dated).is_match('"tomorrow"')
    assert compiler.json_schema(dated, formats="annotate").is_match('"tomorrow"')
    with pytest.raises(TokenmoldError, match="colour"):
        compiler.json_schema({"type": "string", "format": "colour"}, formats="strict")
    spelt = {"const": "a/b"}
    assert not compiler.json_schema(spelt).is_match('"a\\/b"')
    assert compiler.json_schema(spelt, escapes="all").is_match('"a\\/b"')
    assert not compiler.json_schema({"type": "integer"}).is_match("1.0")
    loose = compiler.json_schema({"type": "integer"}, integers="zero-fraction")
    assert loose.is_match("1.0")
    assert Constraint.from_bytes(loose.to_bytes(), compiler.vocabulary).is_match("1.0")
    with pytest.raises(TokenmoldError, match="formats is one of"):
        compiler.json_schema({}, formats="none")  # type: ignore[arg-type]
    several = {"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 5}]}
    assert not compiler.json_schema(several).is_match("7")
    loose = compiler.json_schema(several, one_of="any")
    assert loose.is_match("7") and [line["status"] for line in loose.ledger if line["keyword"] == "oneOf"] == ["loosened"]
    slip = {"type": "string", "maxLenght": 3, "x-note": 1}
    assert compiler.json_schema(slip).is_match('"abcd"')
    with pytest.raises(TokenmoldError, match="did you mean `maxLength`.*`unknown_keywords=`") as error:
        compiler.json_schema(slip, unknown_keywords="refuse")
    assert error.value.pointer == "/maxLenght"


def test_documents(compiler: Compiler) -> None:
    documents = {
        "https://a.example/unit.json": {"$ref": "base#/definitions/unit"},
        "https://a.example/base.json": '{"definitions": {"unit": {"const": 123456789012345678901.5}}}',
    }
    schema = {"properties": {"size": {"$ref": "https://a.example/unit"}}}
    constraint = compiler.json_schema(schema, documents=documents)
    exact, other = '{"size": 123456789012345678901.5}', '{"size": 123456789012345678901.6}'
    assert constraint.is_match(exact) and not constraint.is_match(other)
    saved = Constraint.from_bytes(constraint.to_bytes(), compiler.vocabulary)
    assert saved.is_match(exact) and not saved.is_match(other)
    assert compiler.submit_json_schema(schema, documents=documents).result().is_match(exact)
    with pytest.raises(TokenmoldError, match="not in this document.*`documents=`") as error:
        compiler.json_schema(schema)
    assert error.value.pointer == "/properties/size/$ref"
    with pytest.raises(TokenmoldError, match="https://a.example/bad"):
        compiler.json_schema(schema, documents={"https://a.example/bad": "{"})


@pytest.mark.parametrize(
    ("schema", "limits"),
    [
        ({"anyOf": [{"const": "a"}, {"const": "b"}]}, {"max_alternatives": 1}),
        (
            {"type": "string", "pattern": r"^(?:[a-z0-9]{1,63}\.){1,20}[a-z]{2,63}$"},
            {"max_automaton_states": 1_500},
        ),
        ({"type": "array", "minItems": 1, "items": {"type": "array"}}, {"max_nesting": 1}),
        ({"properties": {"a": {"type": "null"}, "b": {"type": "null"}}}, {"max_nodes": 1}),
    ],
)
def test_limits_are_named_as_arguments(compiler: Compiler, schema: Any, limits: Any) -> None:
    assert compiler.json_schema(schema)
    with pytest.raises(TokenmoldError) as error:
        compiler.json_schema(schema, **limits)
    assert f"`{next(iter(limits))}=`" in str(error.value), error.value
    assert "Options::" not in str(error.value)


def test_settings_of_the_schema(compiler: Compiler) -> None:
    schema = {"x-tokenmold": {"additionalMembers": "open", "caps": {"digits": 2}}, "type": "object", "properties": {"a": {}}}
    assert not compiler.json_schema(schema).is_match('{"b": 1}')
    followed = compiler.json_schema(schema, settings="follow")
    assert followed.is_match('{"b": 12}') and not followed.is_match('{"b": 123}')
    with pytest.raises(TokenmoldError, match="x-tokenmold"):
        compiler.json_schema({"x-tokenmold": {"caps": {"width": 1}}}, settings="follow")


@pytest.mark.parametrize(
    ("schema", "kind", "pointer"),
    [
        ("{", "invalid", None),
        ('{"type": 5}', "invalid", "#/type"),
        ('{"type": "no"}', "invalid", "#/type"),
        ('{"properties": {"a": {"pattern": "("}}}', None, "#/properties/a/pattern"),
        ('{"type": "string", "minLength": 3, "maxLength": 2}', "unsatisfiable", None),
        ('{"$ref": "#/nowhere"}', "invalid", "#/$ref"),
        ('{"allOf": [{"$ref": "#"}]}', "cyclic", None),
    ],
)
def test_refusals_say_where(compiler: Compiler, schema: str, kind: str | None, pointer: str | None) -> None:
    with pytest.raises(TokenmoldError) as error:
        compiler.json_schema(schema)
    assert isinstance(error.value, ValueError) and str(error.value)
    assert kind is None or error.value.kind == kind
    assert pointer is None or "#" + (error.value.pointer or "") in (pointer, "#" + pointer)


def test_wrong_types(compiler: Compiler) -> None:
    for schema in (object(), {1, 2}, {"a": b"bytes"}):
        with pytest.raises(TypeError):
            compiler.json_schema(schema)
    for text in ("\ud800", b"\xff{}"):
        with pytest.raises((UnicodeError, TokenmoldError)):
            compiler.json_schema(text)
    with pytest.raises(TypeError):
        compiler.regex(b"a")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        compiler.choice([1])  # type: ignore[list-item]
    nested: dict[str, object] = {}
    for _ in range(100_000):
        nested = {"not": nested}
    with pytest.raises((RecursionError, TokenmoldError)):
        compiler.json_schema(nested)
    with pytest.raises(TokenmoldError):
        compiler.json_schema('{"not":' * 100_000 + "{}" + "}" * 100_000)


def test_regexes_and_choices(compiler: Compiler) -> None:
    assert compiler.regex("^a+$").is_match("aa")
    assert not compiler.regex("a+").is_match("ba")
    with pytest.raises(TokenmoldError) as error:
        compiler.regex("a(b")
    assert error.value.kind == "syntax" and error.value.offset is not None
    choice = compiler.choice(["a.b", "a|c", "é"])
    assert choice.is_match("a.b") and choice.is_match("é") and not choice.is_match("axb") and not choice.is_match("a")
    with pytest.raises(TokenmoldError, match="none to choose"):
        compiler.choice([])


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("gbnf", 'root ::= [0-9]+ ("+" root)?'),
        ("ebnf", 'root ::= one_number ("+" root)?\none_number ::= Regex("[0-9]+")'),
        ("lark", 'start: NUMBER ("+" NUMBER)*\nNUMBER: /[0-9]+/'),
        ("lark-splits", 'start: start "+" start | /[0-9]+/'),
        ("lark-ascii", "start: /\\d+/ (\"+\" /\\d+/)*"),
        ("w3c", "[1] sum ::= digit+ (#x2B digit+)* /* of digits */\n[2] digit ::= [0-9]"),
        ("abnf", 'sum = number *("+" number)\nnumber = 1*DIGIT ; in decimal'),
        ("regex", "[0-9]+(?:[+][0-9]+)*"),
    ],
)
def test_grammars(compiler: Compiler, dialect: Any, text: str) -> None:
    constraint = compiler.grammar(text, dialect=dialect)
    assert constraint.kind == "grammar"
    assert constraint.is_match("1+22") and not constraint.is_match("1+")
    if dialect in ("gbnf", "ebnf", "lark"):
        assert compiler.grammar(text).is_match("1+22")
    assert compiler.submit_grammar(text, dialect=dialect).result().is_match("3")


def test_dialects_are_those_of_the_crate(compiler: Compiler) -> None:
    with pytest.raises(TokenmoldError) as error:
        compiler.grammar("a", dialect="yacc")  # type: ignore[arg-type]
    known = str(error.value).partition("there are ")[2].split(", ")
    assert [*known, "regex"] == list(get_args(Dialect))


def test_captures(compiler: Compiler) -> None:
    constraint = compiler.grammar(
        'start: pair ("," pair)*\npair: key "=" value\n'
        'key[capture]: /[a-zé]+/\nvalue[capture="v", suffix=";"]: /[0-9]*/',
        dialect="lark",
    )
    text = "é=12;,b=;"
    found = constraint.captures(text)
    assert found == [("key", "é", 0, 1), ("v", "12", 2, 4), ("key", "b", 6, 7), ("v", "", 8, 8)]
    assert all(text[first:last] == part for _, part, first, last in found)
    assert constraint.captures("é=12") is None
    assert compiler.regex("a+").captures("aa") == [] and compiler.regex("a+").captures("b") is None


def test_grammars_are_refused_by_line(compiler: Compiler) -> None:
    with pytest.raises(TokenmoldError, match="line 2, column 7: in `a`") as error:
        compiler.grammar("root ::= a\na ::= b", dialect="gbnf")
    assert error.value.kind == "name"
    with pytest.raises(TokenmoldError, match="no dialect `yacc`"):
        compiler.grammar("a", dialect="yacc")  # type: ignore[arg-type]


def test_grammars_have_limits(compiler: Compiler) -> None:
    doubled = 'root ::= s\ns ::= s "ab" s | [a-z]'
    assert compiler.grammar(doubled, max_walk_work=None, max_work=1_000_000).is_match("aabb")
    for max_proof_work in (0, None):
        assert compiler.grammar(doubled, max_proof_work=max_proof_work).is_match("aabb")
    others = {"max_cache_bytes", "max_count", "max_depth", "max_proof_work", "max_terminal_states"}
    for limit in GrammarLimits.__optional_keys__ - others:
        with pytest.raises(TokenmoldError, match=f"`{limit}`") as error:
            compiler.grammar(doubled, **{limit: 1})  # type: ignore[misc]
        assert error.value.kind == "limit_exceeded"
    with pytest.raises(TokenmoldError, match="`max_terminal_states`"):
        compiler.grammar("start: /([a-z]{3}){20}/", dialect="lark", max_terminal_states=10)
    with pytest.raises(TypeError, match="no option 'max_walk'"):
        compiler.submit_grammar(doubled, max_walk=1).result()  # type: ignore[call-arg]


def test_structural_tags(compiler: Compiler) -> None:
    tag = {
        "type": "structural_tag",
        "format": {
            "type": "triggered_tags",
            "triggers": ["<f="],
            "tags": [
                {
                    "type": "tag",
                    "begin": "<f=add>",
                    "content": {"type": "json_schema", "json_schema": {"type": "integer"}},
                    "end": "</f>",
                }
            ],
        },
    }
    for form in (tag, json.dumps(tag)):
        constraint = compiler.structural_tag(form)
        assert constraint.is_match("Well: <f=add>12</f>") and not constraint.is_match("<f=add>x</f>")
    with pytest.raises(TokenmoldError, match="/format/type|format"):
        compiler.structural_tag({"type": "structural_tag", "format": {"type": "nonsense"}})


def test_structural_tags_have_limits(compiler: Compiler) -> None:
    sums = {"type": "grammar", "grammar": 'root ::= [0-9]+ ("+" root)?'}
    tag = {"format": {"type": "repeat", "min": 1, "max": 9, "content": sums}}
    assert compiler.structural_tag(tag, max_repeat=9, max_work=None).is_match("1+22+3")
    for limit, most, said in [
        ("max_repeat", 8, "max_repeat"),
        ("max_parts", 1, "more than 1 parts"),
        ("max_text_bytes", 5, "max_text_bytes"),
    ]:
        with pytest.raises(TokenmoldError, match=said):
            compiler.structural_tag(tag, **{limit: most})  # type: ignore[misc]
    with pytest.raises(TypeError, match="no option 'max_patience'"):
        compiler.submit_structural_tag(tag, max_patience=1).result()  # type: ignore[call-arg]


def test_response_formats(compiler: Compiler) -> None:
    tools = [
        {
            "type": "function",
            "function": {
                "name": "weather",
                "parameters": {"type": "object", "properties": {"city": {"enum": ["Ulm"]}}, "required": ["city"]},
            },
        }
    ]
    called = '<tool_call>\n{"name": "weather", "arguments": {"city": "Ulm"}}\n</tool_call>'
    constraint = compiler.response_format("hermes", tools, calls="required")
    assert constraint.is_match(called) and not constraint.is_match("Hello")
    assert not constraint.is_match(called.replace("Ulm", "Rome"))
    assert compiler.response_format("hermes", tools).is_match("Hello")
    only = compiler.response_format("hermes", tools, calls="required", beside="nothing")
    assert constraint.is_match("Look:" + called) and only.is_match(called) and only.is_match("\n\n" + called)
    assert not only.is_match("Look:" + called) and not only.is_match(called + "Done.")
    twice = called + "\n" + called
    assert constraint.is_match(twice)
    once = compiler.response_format("hermes", tools, calls="at_most_one")
    assert once.is_match("Hello") and once.is_match(called) and not once.is_match(twice)
    compact = compiler.response_format("hermes", tools, calls="one", whitespace="compact")
    assert not compact.is_match(called) and compact.is_match(called.replace('{"city": "Ulm"}', '{"city":"Ulm"}').replace('", "a', '","a').replace('": ', '":'))
    answer = compiler.response_format("hermes", calls="none", answer={"type": "integer"})
    assert answer.is_match("12") and not answer.is_match("Hello")
    requested = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "integer"}}}
    assert compiler.response_format(requested).is_match("12")
    assert compiler.response_format({"type": "json_object"}).is_match("{}")
    for wrong in (
        lambda: compiler.response_format("nobody", tools),
        lambda: compiler.response_format("hermes", tools, calls="twice"),  # type: ignore[arg-type]
        lambda: compiler.response_format("hermes", tools, beside="all"),  # type: ignore[arg-type]
        lambda: compiler.response_format(requested, tools),
        lambda: compiler.response_format({"type": "json_schema"}),
        lambda: compiler.response_format("hermes", [{"function": {"name": "no name"}}]),
    ):
        with pytest.raises(TokenmoldError):
            wrong()


def test_what_is_remembered_is_bounded(vocabulary: Vocabulary) -> None:
    compiler = Compiler(vocabulary, cache_bytes=2 << 20)
    first = compiler.json_schema({"const": 0})
    compiler.json_schema({"const": 0})
    assert compiler.cache_info["hits"] == 1 and compiler.cache_info["entries"] == 1
    for n in range(400):
        constraint = compiler.json_schema({"enum": [f"{n} {i}" for i in range(50)]})
        matcher = constraint.matcher()
        for byte in b'"%d 1' % n:
            matcher.allowed_tokens()
            matcher.accept(byte)
        info = compiler.cache_info
        assert info["bytes"] <= 2 << 20
    assert 0 < info["entries"] < 400 and info["misses"] == 401
    assert first.is_match("0")
    compiler.cache_clear()
    assert compiler.cache_info["entries"] == 0


def test_other_threads_compile(vocabulary: Vocabulary) -> None:
    compiler = Compiler(vocabulary, threads=2)
    futures = [compiler.submit_json_schema({"const": n}) for n in range(20)]
    futures += [compiler.submit_regex("a"), compiler.submit_choice(["a"])]
    assert futures[3].result().is_match("3") and futures[-1].result().is_match("a")
    assert not compiler.submit_json_schema("{").cancelled()
    with pytest.raises(TokenmoldError):
        compiler.submit_json_schema("{").result()
    assert compiler.submit_response_format("hermes").result().kind == "response_format"
    with ThreadPoolExecutor(8) as pool:
        kinds = pool.map(lambda n: compiler.json_schema({"const": n % 5}).is_match(str(n % 5)), range(200))
        assert all(kinds)
    with pytest.raises(TokenmoldError):
        Compiler(vocabulary, threads=0)


def test_constraints_travel(vocabulary: Vocabulary, compiler: Compiler) -> None:
    for constraint in (
        compiler.json_schema({"type": "integer"}, order="any"),
        compiler.regex("[0-9]+"),
        compiler.choice(["12"]),
        compiler.grammar("root ::= [0-9] root?"),
        compiler.response_format("hermes"),
    ):
        for other in (
            Constraint.from_bytes(constraint.to_bytes(), vocabulary),
            pickle.loads(pickle.dumps(constraint)),
            copy.deepcopy(constraint),
        ):
            assert other.kind == constraint.kind and other.vocabulary == vocabulary
            matcher = other.matcher()
            assert matcher.accept_all(encode(vocabulary, "12")) == len(encode(vocabulary, "12"))
            assert matcher.is_complete
    data = compiler.choice(["12"]).to_bytes()
    with pytest.raises(TokenmoldError, match="compiled for the vocabulary"):
        Constraint.from_bytes(data, Vocabulary.from_tokens([b"a"], [1]))
    for damaged in (b"", b"\xff", data[:-1], data[:30], data.replace(b"choice", b"choose")):
        with pytest.raises(TokenmoldError):
            Constraint.from_bytes(damaged, vocabulary)


def test_ledgers(compiler: Compiler) -> None:
    ledger = compiler.json_schema({"type": "string", "title": "t", "maxLength": 3}).ledger
    statuses = {line["keyword"]: line["status"] for line in ledger}
    assert statuses["maxLength"] == "enforced" and statuses["title"] == "annotation"
    assert all(set(line) == {"pointer", "keyword", "status", "why"} for line in ledger)


def test_notices(compiler: Compiler, caplog: pytest.LogCaptureFixture) -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {
            "a": {"type": "string", "max_length": 3},
            "b": {"type": "string", "format": "colour"},
            "c": {"type": "string", "pattern": "^[0-9]{4}$", "maxLength": 3},
        },
        "dependentRequired": {"a": ["b"]},
    }
    constraint = compiler.json_schema(schema)
    assert constraint.notices == [
        "#/dependentRequired: no keyword of draft 7, but of later drafts",
        "#/properties/a/max_length: unknown, did you mean `maxLength`?",
        "#/properties/b/format: the format `colour` is unknown",
        "#/properties/c: no value satisfies this place, so that none comes",
    ]
    assert [record.getMessage() for record in caplog.records] == [f"schema: {line}" for line in constraint.notices]
    why = {line["pointer"]: line["why"] for line in constraint.ledger}
    assert why["/properties/a/max_length"] == "unknown, did you mean `maxLength`?"
    # What is remembered was told.
    caplog.clear()
    assert compiler.json_schema(schema).notices and not caplog.records
    assert compiler.regex("a").notices == []


def test_ledgers_of_other_constraints(compiler: Compiler) -> None:
    assert compiler.choice(["a"]).ledger == []
