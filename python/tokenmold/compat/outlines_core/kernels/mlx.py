"""Masks and logits as arrays of MLX's. Written by its documentation; run by nobody here, for want of a Mac."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np
import numpy.typing as npt

from .... import numpy as kernels
from .._guide import Guide
from . import numpy as of_numpy
from ._checks import require_logits, require_mask


def allocate_token_bitmask(vocab_size: int) -> npt.NDArray[np.int32]:
    """A mask of one row that allows everything: an array of NumPy's, which MLX copies."""
    return kernels.allocate_mask(1, vocab_size)


def apply_token_bitmask(logits: Any, mask: npt.NDArray[np.int32]) -> Any:
    """Logits with minus infinity for forbidden tokens: a new array."""
    require_mask(mask, np.int32, "np.int32")
    require_logits(logits, mask)
    bits = np.unpackbits(mask.view(np.uint8), axis=1, bitorder="little").astype(bool)
    allowed = np.zeros((mask.shape[0], logits.shape[1]), dtype=bool)
    covered = min(bits.shape[1], logits.shape[1])
    allowed[:, :covered] = bits[:, :covered]
    return mx.where(mx.array(allowed), logits, mx.array(float("-inf"), dtype=logits.dtype))


def fill_next_token_bitmask(guide: Guide, mask: npt.NDArray[np.int32]) -> None:
    """Writes which tokens may come next into a mask of one row."""
    of_numpy.fill_next_token_bitmask(guide, mask)
