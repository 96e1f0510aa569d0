"""A regular expression over a vocabulary."""

from __future__ import annotations

import pickle
from typing import Any

from ..._tokenmold import _RegexIndex
from ._vocabulary import Vocabulary


class Index:
    """Which tokens a regular expression allows in each state, and where they lead."""

    __slots__ = ("_index", "_regex", "_vocabulary")

    def __init__(self, regex: str, vocabulary: Vocabulary) -> None:
        self._regex = regex
        # What is changed later belongs to other indexes.
        self._vocabulary = vocabulary.__deepcopy__({})
        self._index = _RegexIndex(regex, vocabulary._compile())

    def get_initial_state(self) -> int:
        """The state at the start of a text."""
        return self._index.initial

    def get_next_state(self, state: int, token_id: int) -> int | None:
        """The state behind a token; None where it may not come, and behind the end of the text."""
        if token_id == self._vocabulary.get_eos_token_id():
            return None
        return self._index.next(state, token_id)

    def get_allowed_tokens(self, state: int) -> list[int] | None:
        """The tokens that may come in a state; None if there is no such state."""
        return self._index.allowed(state)

    def is_final_state(self, state: int) -> bool:
        """Whether the text may end in a state."""
        return self._index.is_final(state)

    def get_final_states(self) -> set[int]:
        """The states in which the text may end."""
        return self._index.finals()

    def get_transitions(self) -> dict[int, dict[int, int]]:
        """Where each token leads, by state. O(states x tokens allowed there)."""
        return self._index.transitions()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Index):
            return NotImplemented
        return self._regex == other._regex and self._vocabulary == other._vocabulary

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Index(regex={self._regex!r}, initial_state={self.get_initial_state()})"

    def __str__(self) -> str:
        transitions = "".join(f"{state} -> {to}\n" for state, to in self.get_transitions().items())
        return f"Index object with transitions:\n{transitions}"

    def __deepcopy__(self, memo: dict[int, Any]) -> Index:
        return Index(self._regex, self._vocabulary)

    def __reduce__(self) -> tuple[Any, ...]:
        return Index, (self._regex, self._vocabulary)

    @staticmethod
    def from_binary(binary_data: bytes) -> Index:
        """What ``pickle.dumps`` of an index made. Only for data that you trust."""
        read = pickle.loads(bytes(binary_data))
        if not isinstance(read, Index):
            raise ValueError("Deserialization of Index failed: it is something else")
        return read
