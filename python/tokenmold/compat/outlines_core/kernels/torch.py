"""Masks and logits as tensors, on the CPU or a GPU."""

from __future__ import annotations

import torch

from .... import torch as kernels
from .._guide import Guide
from ._checks import require_logits, require_mask, require_one_row


def allocate_token_bitmask(vocab_size: int) -> torch.Tensor:
    """A mask on the CPU of one row that allows everything."""
    return kernels.allocate_mask(1, vocab_size, pin_memory=torch.cuda.is_available())


def apply_token_bitmask_inplace(logits: torch.Tensor, mask: torch.Tensor) -> None:
    """Sets the logits of forbidden tokens to minus infinity, in place."""
    require_mask(mask, torch.int32, "torch.int32")
    require_logits(logits, mask)
    kernels.apply_mask(logits, mask)


def fill_next_token_bitmask(guide: Guide, mask: torch.Tensor) -> None:
    """Writes which tokens may come next into a mask of one row."""
    require_mask(mask, torch.int32, "torch.int32")
    require_one_row(mask)
    if not mask.is_contiguous():
        raise ValueError("Mask tensor must be contiguous in memory. Use `mask.contiguous()`.")
    if mask.device.type != "cpu":
        raise ValueError(f"Invalid device: Expected `mask` on the CPU, but it is on {mask.device}.")
    guide._index._index.fill(guide.get_state(), mask)
