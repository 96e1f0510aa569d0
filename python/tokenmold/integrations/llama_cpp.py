"""Tokenmold in ``llama-cpp-python``: a processor of logits, and the vocabulary of a model file.

::

    llm = llama_cpp.Llama("model.gguf")
    compiler = Compiler(vocabulary(llm))
    processor = ConstraintLogitsProcessor(compiler.json_schema(schema), max_tokens=200)
    llm.create_chat_completion(
        messages, logits_processor=llama_cpp.LogitsProcessorList([processor]), max_tokens=200
    )

The library hands over all tokens of a text at each step, and no limit: ``max_tokens`` is said to both.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any

import llama_cpp
import numpy as np
import numpy.typing as npt

from tokenmold import Constraint, Vocabulary
from tokenmold.numpy import allocate_mask, apply_mask

from ._budget import Landing
from ._rows import Rows

__all__ = ["ConstraintLogitsProcessor", "vocabulary"]

# The first size of the buffer for a token's text, because the texts of nearly all tokens are shorter; of a longer
# one the library says its length.
_PIECE_BYTES = 64


def vocabulary(model: llama_cpp.Llama) -> Vocabulary:
    """Returns the tokens of a loaded model as bytes.

    Control tokens are special ones with the names that the file gives them; those at which llama.cpp stops end a
    text. O(tokens of the model).
    """
    known = llama_cpp.llama_model_get_vocab(model.model)
    width = llama_cpp.llama_vocab_n_tokens(known)
    tokens: dict[int, bytes] = {}
    specials: dict[str, int] = {}
    ends: list[int] = []
    for token in range(width):
        attributes = llama_cpp.llama_vocab_get_attr(known, token)
        if llama_cpp.llama_vocab_is_eog(known, token):
            ends.append(token)
        elif attributes & (llama_cpp.LLAMA_TOKEN_ATTR_CONTROL | llama_cpp.LLAMA_TOKEN_ATTR_UNKNOWN):
            name = _piece(known, token, special=True).decode(errors="replace")
            if name:
                specials.setdefault(name, token)
        elif text := _piece(known, token, special=False):
            tokens[token] = text
    return Vocabulary.from_tokens(tokens, ends, specials=specials, width=width)


def _piece(known: Any, token: int, *, special: bool) -> bytes:
    size = _PIECE_BYTES
    while True:
        buffer = ctypes.create_string_buffer(size)
        length: int = llama_cpp.llama_token_to_piece(known, token, buffer, size, 0, special)
        if length >= 0:
            return buffer.raw[:length]
        size = -length


class ConstraintLogitsProcessor:
    """Leaves the tokens that a constraint admits: an item of llama-cpp-python's ``LogitsProcessorList``.

    ``ends`` are the tokens that end a text, where they are not the vocabulary's. ``max_tokens`` is what the call
    that generates is given: the text is complete by then, and a number under the shortest text's is a
    ``ValueError`` that names it. ``landing`` is that of :meth:`tokenmold.Constraint.matcher`.

    A processor is for one text, or for one after another: tokens that do not go on from those before begin
    anew. :meth:`reset` says so where a prompt is what was generated just before and one token more.
    """

    def __init__(
        self,
        constraint: Constraint,
        *,
        ends: Iterable[int] | None = None,
        max_tokens: int | None = None,
        landing: Landing = "soft",
    ) -> None:
        self._rows = Rows(constraint, ends, max_tokens, landing)

    def reset(self) -> None:
        self._rows.reset()

    def __call__(
        self, input_ids: npt.NDArray[np.intc], scores: npt.NDArray[np.single]
    ) -> npt.NDArray[np.single]:
        mask = allocate_mask(1, self._rows.constraint.vocabulary)
        # Both are memory of llama.cpp's: the tokens are written over by the next prompt, and the
        # scores are a column of a wider table.
        self._rows.fill(self._rows.generated(np.array(input_ids)[None]), mask)
        masked = np.array(scores, dtype=np.single)
        apply_mask(masked, mask)
        return masked
