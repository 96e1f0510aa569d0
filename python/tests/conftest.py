"""What tests share: a small vocabulary, and real tokenizers where they are at hand."""

from __future__ import annotations

import os
import pathlib

import pytest

from tokenmold import Compiler, Vocabulary

#: Words that span JSON's own characters, as real vocabularies have them.
WORDS = ['{"', '":', '": ', '",', '", "', '"}', "true", "false", "null", "name", "age", "12", "}}", "]}", "[{"]

END = 256 + len(WORDS)


def small_vocabulary() -> Vocabulary:
    """All bytes, some words, a special token and one that ends a text."""
    tokens: list[bytes | None] = [bytes([byte]) for byte in range(256)]
    tokens += [word.encode() for word in WORDS]
    return Vocabulary.from_tokens(tokens, [END], specials={"<tool>": END + 1})


def encode(vocabulary: Vocabulary, text: str | bytes) -> list[int]:
    """Tokens of a text, the longest first."""
    data = text.encode() if isinstance(text, str) else text
    by_bytes = {vocabulary.token_bytes(token): token for token in reversed(range(vocabulary.width))}
    longest = max(len(known) for known in by_bytes if known)
    tokens = []
    while data:
        piece = next(data[:n] for n in range(min(longest, len(data)), 0, -1) if data[:n] in by_bytes)
        tokens.append(by_bytes[piece])
        data = data[len(piece) :]
    return tokens


@pytest.fixture(scope="session")
def vocabulary() -> Vocabulary:
    return small_vocabulary()


@pytest.fixture
def compiler(vocabulary: Vocabulary) -> Compiler:
    return Compiler(vocabulary)


@pytest.fixture(scope="session")
def data() -> pathlib.Path:
    """The folder of the checking data."""
    folder = os.environ.get("TOKENMOLD_DATA")
    if not folder:
        pytest.skip("TOKENMOLD_DATA names no folder with the checking data")
    return pathlib.Path(folder)


@pytest.fixture(scope="session")
def llama(data: pathlib.Path) -> Vocabulary:
    """Llama 3.1's vocabulary."""
    return Vocabulary.from_tokenizer_json((data / "tokenizers/llama3_1/tokenizer.json").read_bytes())
