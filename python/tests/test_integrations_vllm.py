"""Tokenmold as a backend of the real vLLM, on the CPU."""

from __future__ import annotations

import json
import logging
import os
import random
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

FOLDER = os.environ.get("TOKENMOLD_HF_MODEL")
if not FOLDER:
    pytest.skip("TOKENMOLD_HF_MODEL names no model folder: vLLM is not tried", allow_module_level=True)
os.environ.update(HF_HUB_OFFLINE="1", VLLM_CPU_KVCACHE_SPACE="1", VLLM_ENABLE_V1_MULTIPROCESSING="0")
pytest.importorskip("vllm", reason="vLLM is not installed")
torch = pytest.importorskip("torch", reason="torch is not installed")

import tokenmold
from tokenmold.integrations.vllm import TokenmoldBackend, register
from vllm import SamplingParams
from vllm.config import StructuredOutputsConfig
from vllm.engine.arg_utils import EngineArgs
from vllm.exceptions import VLLMValidationError
from vllm.sampling_params import StructuredOutputsParams
from vllm.v1.structured_output import StructuredOutputManager
from vllm.v1.structured_output.backend_types import StructuredOutputOptions as Options
from vllm.v1.structured_output.request import StructuredOutputRequest

register()

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 30},
        "email": {"type": "string", "format": "email", "maxLength": 30},
        "tags": {"type": "array", "items": {"enum": ["friend", "family"]}, "uniqueItems": True},
    },
    "required": ["name", "email", "tags"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def config() -> Any:
    arguments = EngineArgs(
        FOLDER,
        max_model_len=256,
        enforce_eager=True,
        structured_outputs_config=StructuredOutputsConfig(backend="tokenmold"),
    )
    return arguments.create_engine_config()


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(FOLDER)


@pytest.fixture(scope="module")
def backend(config: Any, tokenizer: Any) -> TokenmoldBackend:
    return TokenmoldBackend(config, tokenizer=tokenizer, vocab_size=config.model_config.get_vocab_size())


def tokens(tokenizer: Any, text: str) -> list[int]:
    return tokenizer.encode(text, add_special_tokens=False)


SPECIFICATIONS = [
    (
        Options.JSON,
        json.dumps(PERSON),
        '{"name": "A", "email": "a@b.co", "tags": ["friend"]}',
        '{"name": "A", "tags": []}',
    ),
    (Options.JSON_OBJECT, "", '{"a": [1, null]}', "[1]"),
    (Options.REGEX, "[0-9]{2}-x", "17-x", "7-x"),
    (Options.CHOICE, json.dumps(["yes", "no (maybe)", "né"]), "no (maybe)", "maybe"),
    (Options.GRAMMAR, 'root ::= "1" ("+" root)?', "1+1", "1+"),
    (Options.GRAMMAR, 'start: NUMBER ("+" NUMBER)*\nNUMBER: /[0-9]+/', "12+3", "+3"),
    (
        Options.STRUCTURAL_TAG,
        json.dumps(
            {
                "structures": [{"begin": "<f>", "schema": {"type": "integer"}, "end": "</f>"}],
                "triggers": ["<f"],
            }
        ),
        "So: <f>12</f> it is",
        "So: <f>a</f>",
    ),
    (
        Options.STRUCTURAL_TAG,
        json.dumps(
            {
                "type": "structural_tag",
                "format": {
                    "type": "tag",
                    "begin": "<f>",
                    "content": {"type": "json_schema", "json_schema": {"type": "integer"}},
                    "end": "</f>",
                },
            }
        ),
        "<f>12</f>",
        "12",
    ),
]


@pytest.mark.parametrize(
    ("kind", "specification", "right", "wrong"), SPECIFICATIONS, ids=lambda value: getattr(value, "name", "")
)
def test_every_option(
    backend: Any, tokenizer: Any, kind: Any, specification: str, right: str, wrong: str
) -> None:
    grammar = backend.compile_grammar(kind, specification)
    end = tokenizer.eos_token_id
    good = [*tokens(tokenizer, right), end]
    assert grammar.validate_tokens(good) == good
    bad = [*tokens(tokenizer, wrong), end]
    assert len(grammar.validate_tokens(bad)) < len(bad)
    mask = backend.allocate_token_bitmask(3)
    for token in good:
        grammar.fill_bitmask(mask, 1)
        words = mask[1].tolist()
        allowed = {t for t in range(backend.vocab_size) if words[t // 32] >> (t % 32) & 1}
        assert token in allowed
        assert allowed == set(grammar.matcher.allowed_tokens())
        assert (mask[0] == -1).all() and (mask[2] == -1).all()
        assert not grammar.is_terminated()
        assert grammar.accept_tokens("r", [token])
    assert grammar.is_terminated()


def test_behind_the_end_and_back(backend: Any, tokenizer: Any) -> None:
    grammar = backend.compile_grammar(Options.REGEX, "ab?")
    end = tokenizer.eos_token_id
    first, second = tokens(tokenizer, "a"), tokens(tokenizer, "b")
    assert not grammar.accept_tokens("r", second)
    assert grammar.accept_tokens("r", first)
    assert grammar.accept_tokens("r", [end])
    assert grammar.is_terminated() and grammar.validate_tokens([end]) == []
    # Tokens behind the end are ignored, and do not count.
    assert grammar.accept_tokens("r", [end, *second])
    grammar.rollback(0)
    grammar.rollback(-3)
    assert grammar.is_terminated()
    grammar.rollback(1)
    assert not grammar.is_terminated()
    assert grammar.validate_tokens([*second, end, end]) == [*second, end]
    assert grammar.accept_tokens("r", second)
    grammar.reset()
    assert grammar.validate_tokens(second) == []
    # All in one call, with what comes behind the end.
    assert grammar.accept_tokens("r", [*first, end, *second])
    grammar.rollback(2)
    assert grammar.validate_tokens(first) == first


def test_stop_tokens_are_of_the_request(backend: Any, tokenizer: Any) -> None:
    end = tokenizer.eos_token_id
    special = next(t for t in tokenizer.all_special_ids if t != end)
    first, text = tokens(tokenizer, "a")[0], tokens(tokenizer, "b")[0]
    grammar = backend.compile_grammar(Options.REGEX, "ab*", stop_token_ids={special, text, 10**6})
    assert grammar.accept_tokens("r", [first])
    allowed = grammar.matcher.allowed_tokens()
    # A stop token that is text is text: vLLM itself stops there. Where it does not stop, nothing ends.
    assert special in allowed and text in allowed and end not in allowed
    assert grammar.accept_tokens("r", [text]) and not grammar.is_terminated()
    assert grammar.accept_tokens("r", [special]) and grammar.is_terminated()
    for none in (None, set(), {text}):
        grammar = backend.compile_grammar(Options.REGEX, "a", stop_token_ids=none)
        assert grammar.accept_tokens("r", [first, end]) and grammar.is_terminated()


def validate(
    config: Any, tokenizer: Any, options: dict[str, Any] | None = None, **outputs: Any
) -> StructuredOutputsParams:
    params = SamplingParams(structured_outputs=StructuredOutputsParams(**outputs))
    chosen = StructuredOutputsConfig(backend="tokenmold", **options or {})
    params._validate_structured_outputs(config.model_config, chosen, tokenizer)
    return params.structured_outputs


@pytest.mark.parametrize(
    ("outputs", "names"),
    [
        ({"json": {"type": "objekt"}}, "objekt"),
        ({"json": '{"type": "object"'}, "JSON"),
        ({"json": ""}, "JSON"),
        ({"json": {"type": "integer", "minimum": float("nan")}}, "JSON"),
        ({"json": {"type": "string", "pattern": "("}}, "pattern"),
        ({"json": {"$ref": "https://example.org/a.json"}}, "ref"),
        ({"json": {"type": "integer", "minimum": 3, "maximum": 2}}, ""),
        ({"json_object": False}, "json_object"),
        ({"regex": "(a"}, ""),
        ({"regex": r"(a)\1"}, ""),
        ({"choice": []}, "choice"),
        ({"grammar": 'root ::= "a'}, "line 1"),
        ({"grammar": "start: /(?<=a)b/"}, "look-behind"),
        ({"structural_tag": "{}"}, ""),
        ({"structural_tag": "not JSON"}, ""),
        ({"structural_tag": '{"type": "structural_tag", "format": {"type": "gadget"}}'}, "gadget"),
        ({"json": PERSON, "whitespace_pattern": " "}, "whitespace_pattern"),
    ],
    ids=str,
)
def test_bad_requests_are_refused_before_the_engine(
    config: Any, tokenizer: Any, outputs: dict[str, Any], names: str
) -> None:
    with pytest.raises(VLLMValidationError) as raised:
        validate(config, tokenizer, **outputs)
    assert names in str(raised.value)


def test_a_deep_schema_is_refused_and_not_a_crash(config: Any, tokenizer: Any) -> None:
    deep: Any = {}
    for _ in range(100_000):
        deep = {"not": deep}
    with pytest.raises(VLLMValidationError):
        validate(config, tokenizer, json=deep)
    # Python itself cannot free it otherwise.
    while deep:
        deep = deep.pop("not")


def test_another_backend_is_left_to_vllm(config: Any, tokenizer: Any) -> None:
    params = SamplingParams(structured_outputs=StructuredOutputsParams(regex="a"))
    params._validate_structured_outputs(
        config.model_config, StructuredOutputsConfig(backend="xgrammar"), tokenizer
    )
    assert params.structured_outputs._backend == "xgrammar"
    with pytest.raises(VLLMValidationError, match="Request-level"):
        params._validate_structured_outputs(
            config.model_config, StructuredOutputsConfig(backend="tokenmold"), tokenizer
        )
    with pytest.raises(VLLMValidationError, match="tokenizer"):
        other = SamplingParams(structured_outputs=StructuredOutputsParams(regex="a"))
        other._validate_structured_outputs(
            config.model_config, StructuredOutputsConfig(backend="tokenmold"), None
        )


def test_the_configuration_takes_the_name_and_its_options() -> None:
    taken = StructuredOutputsConfig(
        backend="tokenmold", disable_any_whitespace=True, disable_additional_properties=True
    )
    assert taken.backend == "tokenmold"
    with pytest.raises(ValueError, match="tokenmold"):
        StructuredOutputsConfig(backend="tokenmould")
    # What vLLM says of others it still says.
    with pytest.raises(ValueError, match="disable_any_whitespace"):
        StructuredOutputsConfig(backend="outlines", disable_any_whitespace=True)
    register()


OPEN = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


class Asked(SimpleNamespace):
    """A request as far as the manager asks it, which may be referred to weakly."""


@pytest.mark.parametrize("of_the_engine", [True, False])
def test_white_space_and_further_members(config: Any, tokenizer: Any, of_the_engine: bool) -> None:
    options = {"disable_any_whitespace": True, "disable_additional_properties": True}
    params = validate(
        config, tokenizer, options if of_the_engine else {}, json=OPEN, **({} if of_the_engine else options)
    )
    manager = StructuredOutputManager(config)
    manager.vllm_config = SimpleNamespace(
        model_config=config.model_config,
        structured_outputs_config=StructuredOutputsConfig(
            backend="tokenmold", **(options if of_the_engine else {})
        ),
    )
    request = Asked(
        request_id="r",
        sampling_params=SamplingParams(structured_outputs=params),
        structured_output_request=StructuredOutputRequest(params=params),
        max_tokens=64,
        num_output_tokens=0,
        num_tokens=0,
    )
    manager.grammar_init(request)
    grammar = request.structured_output_request._grammar.result()
    assert isinstance(manager.backend, TokenmoldBackend)
    for text, taken in [('{"a":1}', True), ('{"a": 1}', False), ('{"a":1,"b":2}', False)]:
        whole = [*tokens(tokenizer, text), tokenizer.eos_token_id]
        assert (grammar.validate_tokens(whole) == whole) is taken, text


SINGLE = {"tokenmold": {"whitespace": "single"}}


@pytest.mark.parametrize(
    ("engine", "extra", "options", "taken"),
    [
        # Which of `{"a":1}`, `{"a": 1}` and `{"a" : 1}` are taken.
        ({}, None, {}, [True, True, True]),
        ({}, SINGLE, {}, [True, True, False]),
        ({}, {"tokenmold": '{"whitespace": "single"}', "another": 1}, {}, [True, True, False]),
        ({}, {"tokenmold": {"whitespace": "compact"}}, {}, [True, False, False]),
        (SINGLE, None, {}, [True, True, False]),
        (SINGLE, {"tokenmold": {"whitespace": "flexible"}}, {}, [True, True, True]),
        (SINGLE, None, {"disable_any_whitespace": True}, [True, False, False]),
        ({}, SINGLE, {"disable_any_whitespace": True}, [True, True, False]),
    ],
    ids=str,
)
def test_white_space_can_be_chosen(
    config: Any, tokenizer: Any, engine: Any, extra: Any, options: Any, taken: list[bool]
) -> None:
    params = SamplingParams(
        structured_outputs=StructuredOutputsParams(json=OPEN, **options), extra_args=extra
    )
    params._validate_structured_outputs(config.model_config, config.structured_outputs_config, tokenizer)
    manager = StructuredOutputManager(config)
    manager.vllm_config = SimpleNamespace(
        model_config=config.model_config,
        structured_outputs_config=config.structured_outputs_config,
        additional_config=engine,
    )
    request = Asked(
        request_id="r",
        sampling_params=params,
        structured_output_request=StructuredOutputRequest(params=params.structured_outputs),
        max_tokens=64,
        num_output_tokens=0,
        num_tokens=0,
    )
    manager.grammar_init(request)
    grammar = request.structured_output_request._grammar.result()
    for text, is_taken in zip(['{"a":1}', '{"a": 1}', '{"a" : 1}'], taken, strict=True):
        whole = [*tokens(tokenizer, text), tokenizer.eos_token_id]
        assert (grammar.validate_tokens(whole) == whole) is is_taken, text


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ({"whitespace": "tight"}, "flexible, single, spaced, compact"),
        ({"cap_length": "long"}, "whole number"),
        ({"landing": "softly"}, "landing"),
        ({"white_space": "single"}, "white_space"),
        ([], "an object"),
        ("{", "no JSON"),
    ],
    ids=str,
)
def test_settings_that_are_wrong_are_refused(config: Any, tokenizer: Any, said: Any, names: str) -> None:
    params = SamplingParams(
        structured_outputs=StructuredOutputsParams(json=OPEN), extra_args={"tokenmold": said}
    )
    with pytest.raises(VLLMValidationError, match=names):
        params._validate_structured_outputs(config.model_config, config.structured_outputs_config, tokenizer)
    from vllm.v1.engine.input_processor import InputProcessor

    # An engine does not start with them.
    engine = SimpleNamespace(
        structured_outputs_config=StructuredOutputsConfig(backend="tokenmold"),
        additional_config={"tokenmold": said},
    )
    with pytest.raises(VLLMValidationError, match=names):
        InputProcessor(engine)


@pytest.mark.parametrize(
    ("engine", "request_", "text", "admitted"),
    [
        ({}, {}, '{"a": "tomorrow"}', False),
        ({"formats": "annotate"}, {}, '{"a": "tomorrow"}', True),
        ({"formats": "annotate"}, {"formats": "assert"}, '{"a": "tomorrow"}', False),
        ({}, {"additional_members": "open"}, '{"b": 1}', True),
        ({"cap_digits": 2, "additional_members": "open"}, {}, '{"b": 123}', False),
        ({"cap_digits": 2, "additional_members": "open"}, {"cap_digits": None}, '{"b": 123}', True),
    ],
    ids=str,
)
def test_options_of_schemas_are_those_of_the_compiler(
    config: Any, tokenizer: Any, engine: Any, request_: Any, text: str, admitted: bool
) -> None:
    from tokenmold.integrations.vllm import _compile, _compiler, _Options, _settings

    options = _Options.of(
        config.structured_outputs_config,
        StructuredOutputsParams(json={}),
        engine=_settings({"tokenmold": engine}, "`additional_config`"),
        request={"tokenmold": request_},
    )
    schema = {"type": "object", "properties": {"a": {"type": "string", "format": "date"}}}
    compiler = _compiler(tokenizer, config.model_config.get_vocab_size())
    constraint = _compile(compiler, Options.JSON, json.dumps(schema), options)
    assert constraint.is_match(text) is admitted


def test_limits_of_compilations_are_the_engines(config: Any, tokenizer: Any) -> None:
    from tokenmold.integrations.vllm import _Options, _settings

    engine = _settings({"tokenmold": {"max_steps": 1_000_000}}, "`additional_config`")
    options = _Options.of(config.structured_outputs_config, engine=engine)
    assert options.schema["max_steps"] == 1_000_000
    params = SamplingParams(
        structured_outputs=StructuredOutputsParams(json=OPEN), extra_args={"tokenmold": {"max_steps": 9}}
    )
    with pytest.raises(VLLMValidationError, match="the host's"):
        params._validate_structured_outputs(config.model_config, config.structured_outputs_config, tokenizer)


def test_limits_hold_for_grammars_and_tags(config: Any, tokenizer: Any) -> None:
    from tokenmold.integrations.vllm import _compile, _compiler, _Options, _settings

    engine = _settings({"tokenmold": {"max_text_bytes": 12, "max_repeat": 2}}, "`additional_config`")
    options = _Options.of(config.structured_outputs_config, engine=engine)
    compiler = _compiler(tokenizer, config.model_config.get_vocab_size())
    assert _compile(compiler, Options.JSON, '{"type": "integer"}', options).is_match("1")
    assert _compile(compiler, Options.GRAMMAR, 'root ::= "a"', options).is_match("a")
    with pytest.raises(ValueError, match="max_text_bytes"):
        _compile(compiler, Options.GRAMMAR, 'root ::= "aa"', options)
    tag = {"format": {"type": "repeat", "min": 3, "max": 3, "content": {"type": "const_string", "value": "a"}}}
    with pytest.raises(ValueError, match="max_repeat"):
        _compile(compiler, Options.STRUCTURAL_TAG, json.dumps(tag), options)


@pytest.mark.parametrize(("settings", "admitted"), [(None, False), ({"additionalMembers": "open"}, True)])
def test_further_members_are_closed_unless_the_schema_opens_them(
    config: Any, tokenizer: Any, settings: Any, admitted: bool
) -> None:
    schema = OPEN if settings is None else {**OPEN, "x-tokenmold": settings}
    validate(config, tokenizer, {}, json=schema)
    backend = TokenmoldBackend(config, tokenizer, config.model_config.get_vocab_size())
    grammar = backend.compile_grammar(Options.JSON, json.dumps(schema))
    whole = [*tokens(tokenizer, '{"a": 1, "b": 2}'), tokenizer.eos_token_id]
    assert (grammar.validate_tokens(whole) == whole) is admitted
    with pytest.raises(VLLMValidationError, match="x-tokenmold"):
        validate(config, tokenizer, {}, json={**OPEN, "x-tokenmold": {"additionalMembers": 1}})


def test_rows_of_drafts(config: Any, tokenizer: Any) -> None:
    """The manager's own walk over drafted tokens: a row for each, and then back."""
    manager = StructuredOutputManager(config)
    manager.vllm_config = SimpleNamespace(
        model_config=config.model_config,
        structured_outputs_config=config.structured_outputs_config,
        scheduler_config=config.scheduler_config,
        num_speculative_tokens=8,
    )
    whole = [*tokens(tokenizer, '{"name": "Al", "email": "a@b.co", "tags": []}'), tokenizer.eos_token_id]
    draw = random.Random(3)
    requests = {}
    for name in ("a", "b"):
        params = StructuredOutputsParams(json=PERSON)
        params._backend = "tokenmold"
        request = Asked(
            request_id=name,
            sampling_params=SamplingParams(structured_outputs=params),
            structured_output_request=StructuredOutputRequest(params=params),
            prompt_token_ids=[],
            use_structured_output=True,
            max_tokens=len(whole) + 20,
            num_output_tokens=0,
            num_tokens=0,
        )
        manager.grammar_init(request)
        request.structured_output_request._grammar = request.structured_output_request._grammar.result()
        requests[name] = request
    at = {"a": 0, "b": 0}
    for _ in range(20):
        drafts = {name: whole[at[name] :][: draw.randint(0, 8)] for name in requests}
        rows = manager.grammar_bitmask(requests, list(requests), drafts)
        row = 0
        for name, request in requests.items():
            matcher = request.structured_output_request.grammar.matcher.copy()
            before = len(request.structured_output_request.grammar.matcher)
            for token in [*drafts[name], None]:
                if not matcher.is_terminated:
                    allowed = [
                        t
                        for t in range(matcher.constraint.vocabulary.width)
                        if rows[row][t // 32] >> (t % 32) & 1
                    ]
                    assert allowed == matcher.allowed_tokens()
                else:
                    assert (rows[row] == -1).all()
                row += 1
                if token is not None:
                    assert matcher.accept(token)
            assert len(request.structured_output_request.grammar.matcher) == before
            taken = drafts[name][: draw.randint(0, len(drafts[name]))]
            assert manager.accept_tokens(request, taken) if taken else True
            at[name] += len(taken)
            # The engine counts what it has taken, and no drafts.
            request.num_output_tokens = request.num_tokens = at[name]
            left = request.structured_output_request.grammar.matcher.tokens_left
            assert left is not None and left <= request.max_tokens - 1
        assert row == len(rows)


def test_an_answer_that_cannot_fit_is_refused_with_the_number(config: Any, tokenizer: Any) -> None:
    def asked(max_tokens: int, **settings: Any) -> None:
        params = SamplingParams(
            max_tokens=max_tokens, structured_outputs=StructuredOutputsParams(json=PERSON), extra_args=settings
        )
        chosen = StructuredOutputsConfig(backend="tokenmold")
        params._validate_structured_outputs(config.model_config, chosen, tokenizer)

    with pytest.raises(VLLMValidationError, match="shortest answer takes") as refused:
        asked(3)
    (needed,) = [int(word) for word in str(refused.value).replace(":", " ").split() if word.isdigit()][:1]
    asked(needed)
    asked(3, tokenmold={"budget": "cut"})
    with pytest.raises(VLLMValidationError, match="landing"):
        asked(100, tokenmold={"landing": "steep"})


def test_the_log_names_the_backend_and_its_version(
    config: Any, tokenizer: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # vLLM's loggers hand nothing on.
    monkeypatch.setattr(logging.getLogger("vllm"), "propagate", True)
    with caplog.at_level("INFO", logger="vllm"):
        TokenmoldBackend(config, tokenizer=tokenizer, vocab_size=config.model_config.get_vocab_size())
    assert f"Tokenmold {tokenmold.__version__} constrains" in caplog.text


def test_an_unknown_version_is_left_alone_and_the_log_tells_of_a_known_one_once() -> None:
    # One process for both: the import of vLLM is most of the time.
    script = """
import logging, vllm
logging.basicConfig(level=logging.INFO)
version, vllm.__version__ = vllm.__version__, "0.99.1"
from tokenmold.integrations import vllm_plugin
vllm_plugin()
from vllm.config import StructuredOutputsConfig
try:
    StructuredOutputsConfig(backend="tokenmold")
except ValueError:
    print("left alone")
vllm.__version__ = version
from tokenmold.integrations.vllm import register
register()
register()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert "left alone" in done.stdout, done.stderr
    assert "0.99.1" in done.stderr
    said = f"Tokenmold {tokenmold.__version__}: the structured outputs backend 'tokenmold' was added."
    assert (done.stdout + done.stderr).count(said) == 1, done.stderr


def test_real_chats_and_beams() -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    from vllm import LLM
    from vllm.sampling_params import BeamSearchParams

    llm = LLM(
        FOLDER,
        max_model_len=256,
        max_num_seqs=16,
        enforce_eager=True,
        dtype="bfloat16",
        structured_outputs_config={"backend": "tokenmold"},
    )
    asked = [
        {"json": PERSON},
        {"regex": "[a-f]{3}[0-9]{2}"},
        {"choice": ["red", "green"]},
        {
            "structural_tag": json.dumps(
                {"type": "structural_tag", "format": {"type": "const_string", "value": "So it is."}}
            )
        },
    ]
    params = [
        SamplingParams(max_tokens=120, temperature=0, structured_outputs=StructuredOutputsParams(**one))
        for one in asked
    ]
    chats = [[{"role": "user", "content": "Ada Lovelace, ada@analytical.org, a friend."}]] * len(asked)
    person, pattern, colour, said = [out.outputs[0] for out in llm.chat(chats, params, use_tqdm=False)]
    if person.finish_reason == "stop":
        kind = jsonschema.Draft202012Validator
        kind(PERSON, format_checker=kind.FORMAT_CHECKER).validate(json.loads(person.text))
    assert len(pattern.text) == 5 and pattern.text[3:].isdigit() and pattern.finish_reason == "stop"
    assert colour.text in ("red", "green")
    assert said.text == "So it is."
    with pytest.raises(VLLMValidationError, match="objekt"):
        llm.chat(
            chats[:1],
            SamplingParams(structured_outputs=StructuredOutputsParams(json={"type": "objekt"})),
            use_tqdm=False,
        )
    prompt = {"prompt_token_ids": llm.get_tokenizer().encode("A colour: ")}
    found = llm.beam_search(
        [prompt],
        BeamSearchParams(
            beam_width=2, max_tokens=8, structured_outputs=StructuredOutputsParams(choice=["red", "green"])
        ),
    )
    texts = {
        llm.get_tokenizer().decode(one.tokens[len(prompt["prompt_token_ids"]) :], skip_special_tokens=True)
        for one in found[0].sequences
    }
    # Two beams may spell one word in two ways.
    assert texts and texts <= {"red", "green"}
    # A model of this size writes for ever; each answer is whole in time, and ends by itself.
    endless = {
        "type": "object",
        "properties": {"story": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}},
        "required": ["story", "tags"],
    }
    params = [
        SamplingParams(
            max_tokens=most,
            temperature=temperature,
            seed=3,
            structured_outputs=StructuredOutputsParams(json=endless),
            extra_args={"tokenmold": {"landing": landing}},
        )
        for most in (24, 60)
        for temperature in (0, 1)
        for landing in ("soft", "hard")
    ]
    chats = [[{"role": "user", "content": "Tell me a long story."}]] * len(params)
    for out, asked_for in zip(llm.chat(chats, params, use_tqdm=False), params, strict=True):
        (answer,) = out.outputs
        jsonschema.validate(json.loads(answer.text), endless)
        assert answer.finish_reason == "stop" and len(answer.token_ids) <= asked_for.max_tokens
    beams = BeamSearchParams(
        beam_width=2, max_tokens=24, structured_outputs=StructuredOutputsParams(json=endless)
    )
    for one in llm.beam_search([prompt], beams)[0].sequences:
        said = one.tokens[len(prompt["prompt_token_ids"]) :]
        jsonschema.validate(json.loads(llm.get_tokenizer().decode(said, skip_special_tokens=True)), endless)
