"""Vocabularies of tokenizers that live in Python: by what they have, without importing them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ._tokenmold import TokenmoldError, Vocabulary


def vocabulary(tokenizer: Any, *, width: int | None = None, ends: Iterable[int] | None = None) -> Vocabulary:
    """The vocabulary of a tokenizer of ``transformers``, ``tokenizers``, ``tiktoken`` or ``sentencepiece``.

    Unless ``ends`` are given, the tokenizer's end-of-text token and the tokens that are known by
    name end a text.
    """
    named = None if ends is None else list(ends)
    for candidate in _candidates(tokenizer):
        if callable(to_json := getattr(candidate, "to_str", None)):
            read = Vocabulary.from_tokenizer_json(to_json(), width=width)
            named = sorted({*read.ends, *_ends_of(tokenizer)}) if named is None else named
            if tuple(named) == read.ends:
                return read
            return Vocabulary.from_tokenizer_json(to_json(), width=width, ends=named)
        if hasattr(candidate, "_mergeable_ranks"):
            return _of_tiktoken(candidate, width, _ends_of(tokenizer, candidate) if named is None else named)
        if callable(getattr(candidate, "id_to_piece", None)):
            return _of_sentencepiece(candidate, width, _ends_of(tokenizer, candidate) if named is None else named)
    kind = type(tokenizer)
    raise TokenmoldError(
        f"{kind.__module__}.{kind.__qualname__} is no tokenizer whose bytes are known: pass a fast tokenizer "
        "of transformers, one of tokenizers, tiktoken or sentencepiece, or use Vocabulary.from_tokens"
    )


def _candidates(tokenizer: Any) -> Iterable[Any]:
    """The tokenizer, and what it may be written over."""
    yield tokenizer
    for name in ("backend_tokenizer", "_tokenizer", "tokenizer", "sp_model", "model"):
        inner = getattr(tokenizer, name, None)
        if inner is not None:
            yield inner


def _ends_of(*tokenizers: Any) -> list[int]:
    """The end-of-text tokens of the first tokenizer that has any."""
    for tokenizer in tokenizers:
        for name in ("eos_token_id", "eot_token", "eos_id"):
            found = getattr(tokenizer, name, None)
            if callable(found):
                found = found()
            if isinstance(found, int):
                return [found]
            if isinstance(found, list | tuple):
                return [int(token) for token in found]
    return []


def _of_tiktoken(encoding: Any, width: int | None, ends: list[int]) -> Vocabulary:
    return Vocabulary.from_tiktoken(
        encoding._mergeable_ranks, encoding._special_tokens, ends=ends, width=width
    )


def _of_sentencepiece(model: Any, width: int | None, ends: list[int]) -> Vocabulary:
    tokens: dict[int, bytes] = {}
    specials: dict[str, int] = {}
    for token in range(model.get_piece_size()):
        piece: str = model.id_to_piece(token)
        if model.is_byte(token):
            tokens[token] = bytes([int(piece[3:5], 16)])
        elif model.is_control(token) or model.is_unknown(token):
            specials[piece] = token
        elif not model.is_unused(token):
            tokens[token] = piece.replace("\u2581", " ").encode()
    return Vocabulary.from_tokens(tokens, ends, specials=specials, width=width)
