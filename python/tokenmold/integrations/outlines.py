"""Tokenmold in ``outlines`` 1.x: a processor of logits for the models that it steers.

::

    compiler = Compiler(Vocabulary.from_huggingface(model.hf_tokenizer, width=model.model.config.vocab_size))
    generator = outlines.Generator(model, processor=ConstraintProcessor(compiler.json_schema(schema)))
    generator(prompt)

The names of outlines' own backends are fixed, so a constraint is compiled here and handed over as a
processor. It works on torch and NumPy; MLX has no memory that could be written in place and is refused.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from typing import Any

from outlines.processors import OutlinesLogitsProcessor

from tokenmold import Constraint

from ._budget import Landing
from ._rows import Rows

__all__ = ["ConstraintProcessor"]


class ConstraintProcessor(OutlinesLogitsProcessor):
    """Leaves the tokens that a constraint admits.

    ``constraints`` is one for all sequences, or one for each of a batch. ``ends`` are the tokens that end
    a text, where they are not the vocabulary's. ``max_tokens`` is how many tokens the model is asked for, or
    that of each sequence: each text is complete by then. ``tensor_library`` is that of the model: ``torch`` for
    transformers, ``numpy`` for llama.cpp.
    """

    def __init__(
        self,
        constraints: Constraint | Sequence[Constraint],
        *,
        ends: Iterable[int] | None = None,
        max_tokens: int | Sequence[int | None] | None = None,
        landing: Landing = "soft",
        tensor_library: str = "torch",
    ) -> None:
        if tensor_library not in ("torch", "numpy"):
            raise ValueError(f"masks are applied to tensors of torch and NumPy, not of {tensor_library!r}")
        super().__init__(tensor_library)
        self._rows = Rows(constraints, ends, max_tokens, landing)
        # Each is imported where the model has it.
        self._library = importlib.import_module(f"tokenmold.{tensor_library}")

    def reset(self) -> None:
        """What outlines calls before each generation."""
        self._rows.reset()

    def process_logits(self, input_ids: Any, logits: Any) -> Any:
        mask = self._library.allocate_mask(logits.shape[0], self._rows.constraint.vocabulary)
        self._rows.fill(self._rows.generated(input_ids), mask)
        self._library.apply_mask(logits, mask)
        return logits
