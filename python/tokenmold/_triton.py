"""Masks on logits in one launch of a Triton kernel, for NVIDIA and AMD GPUs.

For example, 128,256 logits of each of 8 texts are 8 x 32 programs of 4,096 columns. A program reads its
128 words of the mask and writes minus infinity where a bit is zero: logits are never read, so the bytes moved
are those of the mask and of the forbidden columns. PyTorch's builds for GPUs bring Triton along.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

# The columns of a program, because 4,096 keep some 30 programs of a row in flight and let each thread of 4 warps
# write 16 bytes at a time in every type.
_BLOCK = 4096


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _forbid(
    logits: Any,
    mask: Any,
    rows: Any,
    width: Any,
    words: Any,
    logits_stride: Any,
    mask_stride: Any,
    HAS_ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
) -> None:
    row = tl.program_id(0).to(tl.int64)
    masked_by = row
    if HAS_ROWS:
        masked_by = tl.load(rows + row)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    word = columns // 32
    # Columns behind the mask have no word, and are forbidden.
    bits = tl.load(mask + masked_by * mask_stride + word, mask=word < words, other=0)
    forbidden = ((bits >> (columns % 32)) & 1) == 0
    tl.store(logits + row * logits_stride + columns, float("-inf"), mask=forbidden & (columns < width))


def forbid(logits: torch.Tensor, mask: torch.Tensor, rows: torch.Tensor | None) -> None:
    """Writes minus infinity over the forbidden columns of ``logits``, which has two dimensions and rows without gaps.

    ``mask`` has words of 32 bits on the same device; ``rows`` are the mask's rows as ``int64``, or each its own.
    """
    count, width = logits.shape
    if count == 0 or width == 0:
        return
    grid = (count, triton.cdiv(width, _BLOCK))
    with torch.cuda.device_of(logits):
        _forbid[grid](
            logits,
            mask,
            mask if rows is None else rows,
            width,
            mask.shape[1],
            logits.stride(0),
            mask.stride(0),
            HAS_ROWS=rows is not None,
            BLOCK=_BLOCK,
        )
