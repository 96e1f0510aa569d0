"""One text under an index."""

from __future__ import annotations

import collections
import ctypes
import pickle
from collections.abc import Sequence
from typing import Any

from ._index import Index


class Guide:
    """Leads one text through an index, and remembers up to ``max_rollback`` states to go back to."""

    __slots__ = ("_before", "_index", "_state")

    def __init__(self, index: Index, max_rollback: int = 32) -> None:
        self._index = index
        self._state = index.get_initial_state()
        self._before: collections.deque[int] = collections.deque(maxlen=max_rollback)

    def get_state(self) -> int:
        """The state in which the text stands."""
        return self._state

    def get_tokens(self) -> list[int]:
        """The tokens that may come next."""
        tokens = self._index.get_allowed_tokens(self._state)
        if tokens is None:
            raise ValueError(f"No allowed tokens available for the state {self._state}")
        return tokens

    def get_allowed_rollback(self) -> int:
        """How many states are remembered."""
        return len(self._before)

    def advance(self, token_id: int, return_tokens: bool | None = None) -> list[int] | None:
        """Takes a token; the tokens that may come behind it, unless they are not wanted."""
        state = self._index.get_next_state(self._state, token_id)
        if state is None:
            raise ValueError(
                f"No next state found for the current state: {self._state} with token ID: {token_id}"
            )
        self._before.append(self._state)
        self._state = state
        return self.get_tokens() if return_tokens is not False else None

    def rollback_state(self, n: int) -> None:
        """Goes back ``n`` states."""
        if n > len(self._before):
            raise ValueError(
                f"Cannot roll back {n} step(s): only {len(self._before)} states stored "
                f"(max_rollback = {self._before.maxlen})."
            )
        for _ in range(n):
            self._state = self._before.pop()

    def accepts_tokens(self, sequence: Sequence[int]) -> bool:
        """Whether tokens may come one after another."""
        state: int | None = self._state
        for token in sequence:
            assert state is not None
            state = self._index.get_next_state(state, token)
            if state is None:
                return False
        return True

    def is_finished(self) -> bool:
        """Whether the text may end here."""
        return self._index.is_final_state(self._state)

    def write_mask_into(self, data_ptr: int, numel: int, element_size: int) -> None:
        """Writes which tokens may come into ``numel`` words of 32 bits from an address on.

        The memory must be there: nothing can check that. ``Matcher.fill`` takes arrays instead.
        """
        needed = self._index._index.vocabulary.mask_words
        if element_size != 4:
            raise ValueError(f"Invalid element size: got {element_size} bytes per element, expected 4 bytes.")
        if data_ptr == 0:
            raise ValueError("Invalid data pointer: received a null pointer.")
        if data_ptr % 4 != 0:
            raise ValueError(f"Invalid data pointer alignment: {data_ptr} is not a multiple of 4.")
        if numel < needed:
            raise ValueError(f"Invalid buffer size: got {numel} elements, expected {needed} elements.")
        words = (ctypes.c_uint32 * numel).from_address(data_ptr)
        self._index._index.fill(self._state, memoryview(words).cast("B").cast("I"))

    def reset(self) -> None:
        """Goes back to the start."""
        self._state = self._index.get_initial_state()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Guide):
            return NotImplemented
        return (self._state, self._before, self._index) == (other._state, other._before, other._index)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Guide(state={self._state}, index={self._index!r})"

    def __str__(self) -> str:
        return f"Guide object with the state={self._state} and {self._index}"

    def __getstate__(self) -> dict[str, Any]:
        return {
            "index": self._index,
            "state": self._state,
            "before": list(self._before),
            "max_rollback": self._before.maxlen,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._index = state["index"]
        self._state = state["state"]
        self._before = collections.deque(state["before"], state["max_rollback"])

    @staticmethod
    def from_binary(binary_data: bytes) -> Guide:
        """What ``pickle.dumps`` of a guide made. Only for data that you trust."""
        read = pickle.loads(bytes(binary_data))
        if not isinstance(read, Guide):
            raise ValueError("Deserialization of Guide failed: it is something else")
        return read
