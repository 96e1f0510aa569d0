"""Tokenmold in llama-cpp-python: its real generation, of a real model."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from tokenmold import Compiler, Vocabulary

llama_cpp = pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed")

from tokenmold.integrations.llama_cpp import ConstraintLogitsProcessor, vocabulary

FILE = os.environ.get("TOKENMOLD_MODEL")
if not FILE:
    pytest.skip("TOKENMOLD_MODEL names no model file", allow_module_level=True)

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "born": {"type": "string", "format": "date"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["name", "born", "tags"],
}
MESSAGES = [{"role": "user", "content": "Describe Ada Lovelace as JSON with name, born and tags."}]


@pytest.fixture(scope="module")
def llm() -> Any:
    return llama_cpp.Llama(FILE, n_ctx=512, seed=1, verbose=False)


@pytest.fixture(scope="module")
def compiler(llm: Any) -> Compiler:
    return Compiler(vocabulary(llm))


def test_the_vocabulary_is_that_of_the_tokenizer(compiler: Compiler) -> None:
    folder = os.environ.get("TOKENMOLD_HF_MODEL")
    if not folder:
        pytest.skip("TOKENMOLD_HF_MODEL names no model folder")
    with open(f"{folder}/tokenizer.json", "rb") as file:
        other = Vocabulary.from_tokenizer_json(file.read())
    ours = compiler.vocabulary
    assert ours.width == other.width
    for token in range(ours.width):
        if ours.kind(token) == other.kind(token) == "text":
            assert ours.token_bytes(token) == other.token_bytes(token)
    texts = sum(ours.kind(token) == "text" for token in range(ours.width))
    assert abs(texts - sum(other.kind(token) == "text" for token in range(ours.width))) <= 2


def test_chats_are_complete_within_their_tokens(llm: Any, compiler: Compiler) -> None:
    constraint = compiler.json_schema(PERSON)
    for tokens, options in [(32, {"temperature": 0.0}), (60, {"temperature": 1.0}), (48, {})]:
        processor = ConstraintLogitsProcessor(constraint, max_tokens=tokens)
        answer = llm.create_chat_completion(
            MESSAGES,
            logits_processor=llama_cpp.LogitsProcessorList([processor]),
            max_tokens=tokens,
            **options,
        )
        (choice,) = answer["choices"]
        assert choice["finish_reason"] == "stop"
        said = json.loads(choice["message"]["content"])
        assert set(said) == {"name", "born", "tags"}


def test_a_processor_takes_one_text_after_another(llm: Any, compiler: Compiler) -> None:
    processor = ConstraintLogitsProcessor(compiler.choice(["red", "green"]))
    processors = llama_cpp.LogitsProcessorList([processor])
    for prompt in ("The colour of grass is ", "The colour of blood is ", "The colour of blood is "):
        out = llm.create_completion(prompt, max_tokens=8, logits_processor=processors, temperature=0.0)
        assert out["choices"][0]["text"] in ("red", "green")


def test_too_few_tokens_are_told(compiler: Compiler) -> None:
    with pytest.raises(ValueError, match="allow"):
        ConstraintLogitsProcessor(compiler.json_schema(PERSON), max_tokens=3)
