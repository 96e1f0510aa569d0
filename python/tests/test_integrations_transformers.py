"""Tokenmold in transformers and outlines: their real generation, of a small model whose weights are drawn."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tokenmold import Compiler, Vocabulary

torch = pytest.importorskip("torch", reason="torch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

from tokenmold.integrations.transformers import (
    ConstraintLogitsProcessor,
    generate,
    get_response_parser,
    parse_response,
)

FOLDER = os.environ.get("TOKENMOLD_HF_MODEL")
needs_model = pytest.mark.skipif(
    not FOLDER, reason="TOKENMOLD_HF_MODEL names no model folder: nothing is generated"
)

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "tags": {"type": "array", "items": {"enum": ["friend", "family"]}, "uniqueItems": True},
    },
    "required": ["name", "tags"],
    "additionalProperties": False,
}
PROMPTS = [
    "A person as JSON: ",
    "Here is Ada Lovelace, who is a friend of mine, as a JSON object without more ado: ",
]


class Parts:
    def __init__(self, device: str) -> None:
        self.device = device
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(FOLDER, padding_side="left")
        if self.tokenizer.pad_token is None:
            self.tokenizer.pad_token = self.tokenizer.eos_token
        # It says anything, so the masks are all that holds it.
        torch.manual_seed(2)
        config = transformers.LlamaConfig(
            vocab_size=len(self.tokenizer) + 64,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            bos_token_id=self.tokenizer.bos_token_id,
            eos_token_id=self.tokenizer.eos_token_id,
        )
        self.model = transformers.LlamaForCausalLM(config).eval().to(device)
        self.compiler = Compiler(Vocabulary.from_huggingface(self.tokenizer, width=config.vocab_size))

    def generate(self, prompts: list[str], processor: Any, **options: Any) -> list[tuple[str, bool]]:
        """The texts, and whether each has ended."""
        inputs = self.tokenizer(prompts, return_tensors="pt", padding=True).to(self.device)
        options = {"max_new_tokens": 100, "do_sample": False, **options}
        rows = self.model.generate(
            **inputs, logits_processor=[processor], pad_token_id=self.tokenizer.pad_token_id, **options
        )
        said = [row[inputs["input_ids"].shape[1] :].tolist() for row in rows]
        ends = self.compiler.vocabulary.ends
        return [
            (self.tokenizer.decode(row, skip_special_tokens=True), any(end in row for end in ends))
            for row in said
        ]


@pytest.fixture(scope="module", params=["cpu", "cuda"])
def parts(request: pytest.FixtureRequest) -> Parts:
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("no GPU")
    return Parts(request.param)


def check(texts: list[tuple[str, bool]], schema: Any) -> int:
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    for text, ended in texts:
        if ended:
            jsonschema.validate(json.loads(text), schema)
    return sum(ended for _, ended in texts)


@needs_model
def test_sequences_of_different_lengths(parts: Parts) -> None:
    processor = ConstraintLogitsProcessor(parts.compiler.json_schema(PERSON, whitespace="compact"))
    alone = [parts.generate([prompt], processor)[0] for prompt in PROMPTS]
    together = parts.generate(PROMPTS, processor)
    assert check(alone, PERSON) == check(together, PERSON) == 2
    assert [text for text, _ in alone] == [text for text, _ in together]


@needs_model
def test_a_constraint_for_each_sequence(parts: Parts) -> None:
    constraints = [parts.compiler.regex("[0-9]{4}"), parts.compiler.choice(["red", "green"])]
    (year, year_ended), (colour, colour_ended) = parts.generate(
        PROMPTS, ConstraintLogitsProcessor(constraints)
    )
    assert year.isdigit() and len(year) == 4 and year_ended
    assert colour in ("red", "green") and colour_ended


@needs_model
def test_beams(parts: Parts) -> None:
    processor = ConstraintLogitsProcessor(parts.compiler.json_schema(PERSON, whitespace="compact"))
    texts = parts.generate(PROMPTS, processor, num_beams=4, num_return_sequences=3)
    assert len(texts) == 6
    assert check(texts, PERSON) == 6


@needs_model
def test_texts_end_within_the_tokens_of_the_call(parts: Parts) -> None:
    torch.manual_seed(1)
    endless = {"type": "object", "properties": {"story": {"type": "string"}}, "required": ["story"]}
    processor = ConstraintLogitsProcessor(parts.compiler.json_schema(endless), max_new_tokens=30)
    ways: list[dict[str, Any]] = [{}, {"num_beams": 3}, {"do_sample": True, "top_k": 50}]
    for options in ways:
        texts = parts.generate(PROMPTS, processor, max_new_tokens=30, **options)
        assert check(texts, endless) == len(texts) == 2


@needs_model
def test_the_limit_of_the_call_is_read(parts: Parts) -> None:
    endless = {"type": "object", "properties": {"story": {"type": "string"}}, "required": ["story"]}
    constraint = parts.compiler.json_schema(endless)
    inputs = parts.tokenizer([PROMPTS[0]], return_tensors="pt").to(parts.device)
    prompt = inputs["input_ids"].shape[1]

    def text(**call: Any) -> tuple[str, int]:
        out = generate(parts.model, constraint, **inputs, do_sample=False, **call)
        said = out[0][prompt:].tolist()
        return parts.tokenizer.decode(said, skip_special_tokens=True), len(said)

    config = transformers.GenerationConfig(max_new_tokens=24)
    ways: list[tuple[int, dict[str, Any]]] = [
        (30, {"max_new_tokens": 30}),
        (25, {"max_length": prompt + 25}),
        (24, {"generation_config": config}),
        (20, {}),
    ]
    for limit, call in ways:
        story, length = text(**call)
        assert length <= limit, call
        assert check([(story, True)], endless) == 1
    with pytest.raises(ValueError, match="allow"):
        text(max_new_tokens=2)


@needs_model
def test_drawn_sequences(parts: Parts) -> None:
    torch.manual_seed(1)
    processor = ConstraintLogitsProcessor(parts.compiler.json_schema(PERSON, whitespace="compact"))
    texts = parts.generate(
        PROMPTS, processor, do_sample=True, temperature=1.5, top_k=50, num_return_sequences=4
    )
    assert len({text for text, _ in texts}) > 1
    assert check(texts, PERSON) == 8


@needs_model
def test_drafts_from_the_prompt(parts: Parts) -> None:
    processor = ConstraintLogitsProcessor(parts.compiler.json_schema(PERSON, whitespace="compact"))
    (alone,) = parts.generate([PROMPTS[1]], processor)
    (drafted,) = parts.generate([PROMPTS[1]], processor, prompt_lookup_num_tokens=3)
    assert check([alone], PERSON) == 1
    assert drafted == alone


@needs_model
def test_scores_that_are_kept_are_not_changed(parts: Parts) -> None:
    processor = ConstraintLogitsProcessor(parts.compiler.choice(["red", "green"]))
    inputs = parts.tokenizer([PROMPTS[0]], return_tensors="pt").to(parts.device)
    out = parts.model.generate(
        **inputs,
        logits_processor=[processor],
        max_new_tokens=3,
        do_sample=False,
        output_logits=True,
        return_dict_in_generate=True,
    )
    assert all(torch.isfinite(logits).all() for logits in out.logits)


@needs_model
def test_outlines(parts: Parts) -> None:
    outlines = pytest.importorskip("outlines", reason="outlines is not installed")
    from tokenmold.integrations.outlines import ConstraintProcessor

    model = outlines.from_transformers(parts.model, parts.tokenizer)
    generator = outlines.Generator(
        model, processor=ConstraintProcessor(parts.compiler.json_schema(PERSON, whitespace="compact"))
    )
    for prompt in PROMPTS:
        check([(generator(prompt, max_new_tokens=100), True)], PERSON)
    texts = generator.batch(PROMPTS, max_new_tokens=100)
    assert check([(text, True) for text in texts], PERSON) == 2


def test_outlines_says_which_tensors_it_takes() -> None:
    pytest.importorskip("outlines", reason="outlines is not installed")
    from tokenmold.integrations.outlines import ConstraintProcessor

    compiler = Compiler(Vocabulary.from_tokens({byte: bytes([byte]) for byte in range(256)}, [256]))
    with pytest.raises(ValueError, match="mlx"):
        ConstraintProcessor(compiler.regex("a"), tensor_library="mlx")


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
            "transform": {"type": "function", "function": "{content}"},
        },
    },
}
ANSWER = (
    'So be it.<tool_call>{"name": "weather", "arguments": {"city": "Ulm", "days": "3"}}</tool_call><|im_end|>'
)


def weather(city: str, days: int) -> None:
    """The weather.

    Args:
        city: Where
        days: How many days
    """


class Reader:
    """A tokenizer, as far as answers are read."""

    response_template = TEMPLATE

    def decode(self, tokens: Any) -> Any:
        rows = [tokens] if isinstance(tokens[0], int) else tokens
        texts = ["".join(map(chr, row)) for row in rows]
        return texts[0] if isinstance(tokens[0], int) else texts


def twins() -> Any:
    return pytest.importorskip(
        "transformers.utils.chat_parsing.response_parser", reason="this transformers reads no templates"
    )


@pytest.mark.parametrize(
    "prefix", ["", "<|im_start|>user\nhi<|im_start|>assistant\n", "<|im_start|>assistant\n<think>why"]
)
@pytest.mark.parametrize("response", [ANSWER, "</think>" + ANSWER, "plain"])
def test_answers_as_transformers_reads_them(response: str, prefix: str) -> None:
    theirs = twins().parse_response(response, TEMPLATE, prefix=prefix, tools=[weather])
    assert parse_response(Reader(), response, prefix=prefix, tools=[weather]) == theirs
    ids = [ord(c) for c in response]
    assert parse_response(Reader(), ids, prefix=prefix, tools=[weather]) == theirs
    assert parse_response(Reader(), [ids, ids], prefix=[prefix, prefix], tools=[weather]) == [theirs, theirs]
    assert parse_response(Reader(), [response], TEMPLATE, prefix=prefix, tools=[weather]) == [theirs]


@pytest.mark.parametrize("prefix", ["", "<|im_start|>assistant\n<think>why"])
def test_streams_as_transformers_reads_them(prefix: str) -> None:
    def plain(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
        # Places are of the buffer of each parser.
        return [
            {key: value for key, value in event.items() if key not in ("start", "end")} for event in events
        ]

    theirs = twins().ResponseParser(TEMPLATE, prefix=prefix, tools=[weather])
    ours = get_response_parser(Reader(), prefix=prefix, tools=[weather])
    assert plain(ours.initial_events) == plain(theirs.initial_events)
    for at in range(0, len(ANSWER), 3):
        assert plain(ours.feed(ANSWER[at : at + 3])) == plain(theirs.feed(ANSWER[at : at + 3]))
    message, events = ours.finalize()
    their_message, their_events = theirs.finalize()
    assert message == their_message and plain(events) == plain(their_events)


def test_what_is_missing_is_said() -> None:
    with pytest.raises(ValueError, match="prefix"):
        parse_response(Reader(), "a")
    with pytest.raises(ValueError, match="2 prefixes"):
        parse_response(Reader(), ["a", "b", "c"], prefix=["", ""])
    with pytest.raises(AttributeError, match="response_template"):
        parse_response(object(), "a", prefix="")
    with pytest.raises(ValueError, match="one prompt"):
        get_response_parser(Reader(), prefix=["", ""])


def test_nothing_imports_an_engine() -> None:
    import subprocess
    import sys

    code = (
        "import sys, tokenmold, tokenmold.integrations;"
        "print([m for m in ('torch', 'transformers', 'vllm', 'numpy') if m in sys.modules])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, cwd=Path.home()
        ).stdout.strip()
        == "[]"
    )
