"""Masks and logits as tensors, on the CPU or a GPU."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import torch

from . import _tokenmold
from ._tokenmold import Vocabulary

__all__ = ["allocate_mask", "apply_mask"]


def allocate_mask(batch: int, vocabulary: Vocabulary | int, *, pin_memory: bool = False) -> torch.Tensor:
    """A mask on the CPU of ``batch`` rows that allows everything, for a vocabulary or a width.

    Pinned memory is copied to a GPU while the CPU goes on.
    """
    words = -(-vocabulary // 32) if isinstance(vocabulary, int) else vocabulary.mask_words
    return torch.full((batch, words), -1, dtype=torch.int32, pin_memory=pin_memory)


def apply_mask(logits: torch.Tensor, mask: torch.Tensor, *, rows: Sequence[int] | None = None) -> None:
    """Sets the logits of forbidden tokens to minus infinity, in place.

    ``logits`` has one dimension or two; a mask on another device is copied to theirs. Columns
    behind the mask are forbidden. Row ``i`` is masked by row ``rows[i]`` of the mask, or row ``i``.
    """
    if not logits.is_floating_point():
        raise TypeError(f"logits are floating-point numbers, not {logits.dtype}")
    if logits.device.type == "cpu" and mask.device.type == "cpu" and logits.is_contiguous():
        shared = logits.detach()
        bfloat16 = shared.dtype == torch.bfloat16
        if bfloat16:
            shared = shared.view(torch.int16)
        chosen = None if rows is None else list(rows)
        _tokenmold._apply_mask(shared.numpy(), mask.numpy(), chosen, bfloat16)
    else:
        _apply_on_device(logits, mask, rows)


def _apply_on_device(logits: torch.Tensor, mask: torch.Tensor, rows: Sequence[int] | None) -> None:
    target = logits.detach()
    if target.dim() == 1:
        target = target.unsqueeze(0)
    if mask.dim() == 1:
        mask = mask.unsqueeze(0)
    if mask.dtype not in (torch.int32, torch.uint32):
        raise TypeError(f"a mask has elements of int32 or uint32, not {mask.dtype}")
    if rows is not None and not all(0 <= row < mask.shape[0] for row in rows):
        raise _tokenmold.TokenmoldError(f"rows of masks are 0 to {mask.shape[0] - 1}, not {list(rows)}")
    count = mask.shape[0] if rows is None else len(rows)
    if count != target.shape[0]:
        raise _tokenmold.TokenmoldError(f"{target.shape[0]} rows of logits, and {count} rows of masks")
    mask = mask.view(torch.int32).to(target.device, non_blocking=True)
    chosen = None if rows is None else torch.as_tensor(list(rows), device=target.device)
    if target.is_cuda and target.stride(1) == 1 and (kernel := _kernel()) is not None:
        kernel(target, mask.contiguous(), chosen)
    else:
        _apply_by_operations(target, mask, chosen)


def _apply_by_operations(logits: torch.Tensor, mask: torch.Tensor, rows: torch.Tensor | None) -> None:
    """The same in operations that each device has."""
    if rows is not None:
        mask = mask[rows]
    bits = torch.arange(32, dtype=torch.int32, device=logits.device)
    forbidden = ((mask.unsqueeze(-1) >> bits) & 1).flatten(1) == 0
    covered = min(logits.shape[1], forbidden.shape[1])
    logits[:, :covered].masked_fill_(forbidden[:, :covered], float("-inf"))
    logits[:, covered:].fill_(float("-inf"))


@functools.cache
def _kernel() -> Callable[[torch.Tensor, torch.Tensor, torch.Tensor | None], None] | None:
    """One launch for all, where this PyTorch has Triton."""
    try:
        from ._triton import forbid
    except ImportError:
        return None
    return forbid
