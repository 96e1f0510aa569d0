"""Vocabularies: read from each kind of tokenizer, the same however they are read."""

from __future__ import annotations

import base64
import json
import pathlib
import pickle

import pytest

from tokenmold import Compiler, TokenmoldError, Vocabulary


def test_tokens(vocabulary: Vocabulary) -> None:
    tokens = Vocabulary.from_tokens({0: b"a", 2: b"bc"}, [3], specials={"<s>": 1}, width=40)
    assert (tokens.width, len(tokens), tokens.ends, tokens.mask_words) == (40, 40, (3,), 2)
    assert [tokens.kind(t) for t in (0, 1, 2, 3, 4, 99)] == ["text", "special", "text", "end", "absent", "absent"]
    assert tokens.token_bytes(2) == b"bc" and tokens.token_bytes(1) is None
    assert tokens.special("<s>") == 1 and tokens.special("?") is None
    again = Vocabulary.from_tokens([b"a", None, b"bc"], [3], specials={"<s>": 1}, width=40)
    assert tokens == again and hash(tokens) == hash(again) and tokens.fingerprint == again.fingerprint
    assert tokens != vocabulary and tokens != "tokens"


def test_what_cannot_be(vocabulary: Vocabulary) -> None:
    for wrong in (
        lambda: Vocabulary.from_tokens([b"a"], [1 << 30]),
        lambda: Vocabulary.from_tokens([b"a"], [], width=1 << 40),
        lambda: Vocabulary.from_tokens([b"a" * 100_000], []),
        lambda: Vocabulary.from_tokens([b"a", b"b"], [], width=1),
        lambda: Vocabulary.from_tokens([b"a"], [], specials={"<s>": 0}),
        lambda: Vocabulary.from_tokenizer_json("{}"),
        lambda: Vocabulary.from_tokenizer_json(b"\xff\xfe"),
        lambda: Vocabulary.from_tokenizer_json("[" * 100_000),
        lambda: Vocabulary.from_tiktoken(b"nonsense", {}, ends=[]),
        lambda: Vocabulary.from_huggingface(object()),
    ):
        with pytest.raises(TokenmoldError) as error:
            wrong()
        assert str(error.value)
    for mistyped in (
        lambda: Vocabulary.from_tokens(["a"], []),  # type: ignore[list-item]
        lambda: Vocabulary.from_tokens([b"a"], ["a"]),  # type: ignore[list-item]
        lambda: Vocabulary.from_tokens(5, []),  # type: ignore[arg-type]
        lambda: Vocabulary.from_tokenizer_json(5),  # type: ignore[arg-type]
        lambda: Vocabulary(),
    ):
        with pytest.raises(TypeError):
            mistyped()
    with pytest.raises(OverflowError):
        Vocabulary.from_tokens({-1: b"a"}, [])


def test_tiktoken() -> None:
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256}
    text = b"".join(base64.b64encode(bytes_) + b" %d\n" % rank for bytes_, rank in ranks.items())
    read = Vocabulary.from_tiktoken(text, {"<|end|>": 257, "<|x|>": 258}, ends=[257])
    assert read == Vocabulary.from_tiktoken(ranks, {"<|end|>": 257, "<|x|>": 258}, ends=[257])
    assert read.token_bytes(256) == b"ab" and read.kind(258) == "special" and read.ends == (257,)


def test_pickles(vocabulary: Vocabulary) -> None:
    again = pickle.loads(pickle.dumps(vocabulary))
    assert again == vocabulary and again.ends == vocabulary.ends and again.width == vocabulary.width
    assert again.special("<tool>") == vocabulary.special("<tool>")
    from tokenmold._tokenmold import _vocabulary_from_state

    (state,) = vocabulary.__reduce__()[1]
    for damaged in (b"", state[:-1], state[:40], state + b"\x09\0\0", b"x" + state):
        with pytest.raises(TokenmoldError):
            _vocabulary_from_state(damaged)


@pytest.mark.parametrize("name", ["llama3_1", "qwen3", "gptoss", "gemma3", "llama2", "deepseek_v3"])
def test_real_tokenizers(data: pathlib.Path, name: str) -> None:
    tokenizer_json = (data / f"tokenizers/{name}/tokenizer.json").read_bytes()
    vocabulary = Vocabulary.from_tokenizer_json(tokenizer_json)
    assert vocabulary.ends and vocabulary.width > 30_000
    assert pickle.loads(pickle.dumps(vocabulary)) == vocabulary
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer.from_str(tokenizer_json.decode())
    assert Vocabulary.from_huggingface(tokenizer) == vocabulary
    matcher = Compiler(vocabulary).json_schema({"type": "object", "properties": {"ä": {"type": "string"}}}).matcher()
    text = json.dumps({"ä": "日本, \U0001f600 text"}, ensure_ascii=False)
    tokens = tokenizer.encode(text, add_special_tokens=False).ids
    if name in ("llama2",):
        # Its tokenizer puts a blank before every text.
        tokens = [t for t in tokens if vocabulary.token_bytes(t) != b" "]
        first = vocabulary.token_bytes(tokens[0]) or b""
        tokens = tokens if not first.startswith(b" ") else [ord_of(vocabulary, b'{"'), *tokens[1:]]
    assert matcher.accept_all(tokens) == len(tokens) and matcher.is_complete
    assert matcher.accept(vocabulary.ends[0]) and matcher.is_terminated


def ord_of(vocabulary: Vocabulary, data: bytes) -> int:
    return next(t for t in range(vocabulary.width) if vocabulary.token_bytes(t) == data)


def test_tokenizers_of_transformers(data: pathlib.Path) -> None:
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(data / "tokenizers/qwen3")
    vocabulary = Vocabulary.from_huggingface(tokenizer, width=151_936)
    assert vocabulary.width == 151_936 and tokenizer.eos_token_id in vocabulary.ends
    assert Vocabulary.from_huggingface(tokenizer, ends=[5]).ends == (5,)


def test_sentencepiece(tmp_path: pathlib.Path) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    (tmp_path / "text").write_text("the cat sat on the mat\n" * 50)
    sentencepiece.SentencePieceTrainer.train(
        input=str(tmp_path / "text"),
        model_prefix=str(tmp_path / "model"),
        vocab_size=280,
        byte_fallback=True,
        hard_vocab_limit=False,
        model_type="bpe",
        minloglevel=2,
    )
    model = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "model.model"))
    vocabulary = Vocabulary.from_huggingface(model)
    assert vocabulary.ends == (model.eos_id(),) and vocabulary.width == model.get_piece_size()
    tokens = model.encode("the mat ü")
    assert b"".join(vocabulary.token_bytes(t) or b"" for t in tokens) == " the mat ü".encode()
    matcher = Compiler(vocabulary).regex(" the (cat|mat) ü").matcher()
    assert matcher.accept_all(tokens) == len(tokens) and matcher.is_complete
