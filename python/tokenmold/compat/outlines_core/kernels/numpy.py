"""Masks and logits as arrays of NumPy's. Needs no numba."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .... import numpy as kernels
from .._guide import Guide
from ._checks import require_logits, require_mask, require_one_row


def allocate_token_bitmask(vocab_size: int) -> npt.NDArray[np.int32]:
    """A mask of one row that allows everything."""
    return kernels.allocate_mask(1, vocab_size)


def apply_token_bitmask_inplace(logits: npt.NDArray[Any], mask: npt.NDArray[np.int32]) -> None:
    """Sets the logits of forbidden tokens to minus infinity, in place."""
    logits = np.expand_dims(logits, 0) if logits.ndim == 1 else logits
    mask = np.expand_dims(mask, 0) if mask.ndim == 1 else mask
    require_mask(mask, np.int32, "np.int32")
    require_logits(logits, mask)
    kernels.apply_mask(logits, mask)


def fill_next_token_bitmask(guide: Guide, mask: npt.NDArray[np.int32]) -> None:
    """Writes which tokens may come next into a mask of one row."""
    require_mask(mask, np.int32, "np.int32")
    require_one_row(mask)
    if not mask.flags["C_CONTIGUOUS"]:
        raise ValueError("Mask array must be contiguous in memory. Use `np.ascontiguousarray(mask)`.")
    guide._index._index.fill(guide.get_state(), mask)
