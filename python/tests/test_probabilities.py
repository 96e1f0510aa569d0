"""Probabilities of values: sums over all rows of tokens that spell them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from tokenmold import Compiler, TokenmoldError, Vocabulary

TOKENS = ["a", "b", "ab", "ba", "c"]
END = len(TOKENS)


def logits(row: list[int]) -> np.ndarray:
    """A model that is sure of nothing, and says something else behind each row."""
    return np.random.default_rng([7, *row]).normal(size=END + 1).astype(np.float32)


def by_all_rows(texts: list[str]) -> dict[str, float]:
    sums: dict[str, float] = {}
    for text in texts:
        total = 0.0
        for length in range(1, len(text) + 1):
            for row in itertools.product(range(len(TOKENS)), repeat=length):
                if "".join(TOKENS[token] for token in row) == text:
                    log = 0.0
                    for at, token in enumerate(row):
                        said = logits(list(row[:at])).astype(float)
                        log += said[token] - math.log(np.exp(said).sum())
                    total += math.exp(log)
        sums[text] = total
    whole = sum(sums.values())
    return {text: total / whole for text, total in sums.items()}


def test_they_are_sums_over_all_rows() -> None:
    vocabulary = Vocabulary.from_tokens([token.encode() for token in TOKENS], [END], width=END + 1)
    constraint = Compiler(vocabulary).choice(["abab", "baab", "cab"])
    wanted = by_all_rows(["abab", "baab", "cab"])
    for callback in (logits, lambda row: logits(row).tolist()):
        found = constraint.probabilities(callback)
        assert [text for text, _ in found] == sorted(wanted, key=lambda text: -wanted[text])
        for text, probability in found:
            assert abs(probability - wanted[text]) < 1e-5


def test_what_goes_wrong_is_told() -> None:
    vocabulary = Vocabulary.from_tokens([token.encode() for token in TOKENS], [END], width=END + 1)
    compiler = Compiler(vocabulary)
    with pytest.raises(TokenmoldError) as error:
        compiler.regex("[abc]*").probabilities(logits, max_values=20)
    assert error.value.kind == "limit_exceeded"
    with pytest.raises(TokenmoldError) as error:
        compiler.choice(["a", "b"]).probabilities(lambda row: [0.0])
    assert error.value.kind == "buffer_size"
    with pytest.raises(ZeroDivisionError):
        compiler.choice(["a", "b"]).probabilities(lambda row: [1 / 0])
