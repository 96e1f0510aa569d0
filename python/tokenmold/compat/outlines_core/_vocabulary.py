"""Tokens by their bytes, which may be changed until an index is made of them."""

from __future__ import annotations

import copy
import pathlib
import pickle
from collections.abc import Mapping
from typing import Any

import tokenmold

_EXPECTED = "Expected a dict with keys of type str or bytes and values of type list[int]"


def _bytes_of(token: Any) -> bytes:
    if isinstance(token, str):
        return token.encode()
    if isinstance(token, bytes | bytearray):
        return bytes(token)
    raise TypeError(f"Expected a token of type str or bytes, got {type(token).__name__!r}")


class Vocabulary:
    """The tokens of a model: for the bytes of each its numbers, and the token that ends a text."""

    __slots__ = ("_eos_token_id", "_tokens")

    def __init__(self, eos_token_id: int, map: Mapping[str | bytes, list[int]]) -> None:
        if not isinstance(map, Mapping):
            raise TypeError(f"{_EXPECTED}, got {type(map).__name__}")
        tokens: dict[bytes, list[int]] = {}
        for token, ids in map.items():
            if not isinstance(token, str | bytes) or not _are_ids(ids):
                raise TypeError(f"Dict keys or/and values of the wrong types. {_EXPECTED}")
            tokens.setdefault(_bytes_of(token), []).extend(ids)
        self._eos_token_id = eos_token_id
        self._tokens = tokens
        for ids in tokens.values():
            self._refuse_end(ids)

    @staticmethod
    def from_pretrained(model: str, revision: str | None = None, token: str | None = None) -> Vocabulary:
        """The vocabulary of a model's folder; of a name on a hub by way of ``transformers``."""
        file = pathlib.Path(model) / "tokenizer.json"
        if file.is_file():
            return Vocabulary._of(tokenmold.Vocabulary.from_tokenizer_json(file.read_bytes()))
        from transformers import AutoTokenizer

        arguments = {"revision": revision, "token": token}
        arguments = {name: given for name, given in arguments.items() if given is not None}
        tokenizer = AutoTokenizer.from_pretrained(model, **arguments)
        return Vocabulary._of(tokenmold.Vocabulary.from_huggingface(tokenizer), tokenizer.eos_token_id)

    @staticmethod
    def _of(vocabulary: tokenmold.Vocabulary, end: int | None = None) -> Vocabulary:
        if end is None:
            if not vocabulary.ends:
                raise ValueError("no token of this tokenizer is known to end a text")
            end = vocabulary.ends[0]
        read = Vocabulary(end, {})
        for token in range(vocabulary.width):
            data = vocabulary.token_bytes(token)
            if data is not None:
                read._tokens.setdefault(data, []).append(token)
        return read

    def get_eos_token_id(self) -> int:
        """The token that ends a text."""
        return self._eos_token_id

    def get(self, token: str | bytes) -> list[int] | None:
        """The numbers of a token; None if there is none with these bytes."""
        ids = self._tokens.get(_bytes_of(token))
        return None if ids is None else list(ids)

    def insert(self, token: str | bytes, token_id: int) -> None:
        """Adds a number to a token, which may be new."""
        data = _bytes_of(token)
        self._refuse_end([token_id])
        self._tokens.setdefault(data, []).append(token_id)

    def remove(self, token: str | bytes) -> None:
        """Removes a token with all its numbers, if it is there."""
        self._tokens.pop(_bytes_of(token), None)

    def _refuse_end(self, ids: list[int]) -> None:
        if self._eos_token_id in ids:
            raise ValueError("EOS token should not be inserted into Vocabulary")

    def _compile(self) -> tokenmold.Vocabulary:
        tokens = {token: data for data, ids in self._tokens.items() for token in ids}
        return tokenmold.Vocabulary.from_tokens(tokens, [self._eos_token_id])

    def __len__(self) -> int:
        return 1 + sum(map(len, self._tokens.values()))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self._eos_token_id == other._eos_token_id and self._tokens == other._tokens

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Vocabulary(eos_token_id={self._eos_token_id}, tokens={self._tokens!r})"

    def __str__(self) -> str:
        return f"Vocabulary object with eos_token_id={self._eos_token_id} and {len(self)} tokens"

    def __deepcopy__(self, memo: dict[int, Any]) -> Vocabulary:
        other = Vocabulary(self._eos_token_id, {})
        other._tokens = copy.deepcopy(self._tokens)
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        return Vocabulary, (self._eos_token_id, self._tokens)

    @staticmethod
    def from_binary(binary_data: bytes) -> Vocabulary:
        """What ``pickle.dumps`` of a vocabulary made. Only for data that you trust."""
        read = pickle.loads(bytes(binary_data))
        if not isinstance(read, Vocabulary):
            raise ValueError("Deserialization of Vocabulary failed: it is something else")
        return read


def _are_ids(ids: Any) -> bool:
    return isinstance(ids, list) and all(isinstance(token, int) and token >= 0 for token in ids)
