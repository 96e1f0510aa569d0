"""Masks and logits as arrays of NumPy's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _tokenmold
from ._tokenmold import Vocabulary

__all__ = ["allocate_mask", "apply_mask"]


def allocate_mask(batch: int, vocabulary: Vocabulary | int) -> npt.NDArray[np.int32]:
    """A mask of ``batch`` rows that allows everything, for a vocabulary or a width of the logits."""
    words = -(-vocabulary // 32) if isinstance(vocabulary, int) else vocabulary.mask_words
    return np.full((batch, words), -1, dtype=np.int32)


def apply_mask(logits: npt.NDArray[Any], mask: Any, *, rows: Sequence[int] | None = None) -> None:
    """Sets the logits of forbidden tokens to minus infinity, in place.

    ``logits`` has elements of float16, float32 or float64 and one dimension or two, its rows one
    behind another. Columns behind the mask are forbidden. Row ``i`` is masked by row ``rows[i]``
    of the mask, or row ``i``.
    """
    if logits.dtype not in (np.float16, np.float32, np.float64):
        raise TypeError(f"logits are float16, float32 or float64, not {logits.dtype}")
    _tokenmold._apply_mask(logits, mask, None if rows is None else list(rows), False)
