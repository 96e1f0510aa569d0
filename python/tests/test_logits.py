"""Logits under masks, in place, in each type and on each path."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import tokenmold.numpy
from tokenmold import TokenmoldError, allocate_mask, apply_mask

WIDTH = 75


def random_mask(rows: int) -> np.ndarray:
    generator = np.random.default_rng(0)
    mask = tokenmold.numpy.allocate_mask(rows, WIDTH)
    mask[:] = generator.integers(-(2**31), 2**31, mask.shape)
    mask[0, 0], mask[0, 1] = -1, 0
    return mask


def allowed(mask: np.ndarray, row: int, token: int) -> bool:
    return token // 32 < mask.shape[1] and bool(int(mask.view(np.uint32)[row, token // 32]) >> token % 32 & 1)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("width", [WIDTH, 64, 33, 200])
def test_arrays(dtype: type, width: int) -> None:
    mask = random_mask(3)
    for rows in (None, [2, 0, 2]):
        logits = np.arange(3 * width, dtype=dtype).reshape(3, width)
        before = logits.copy()
        apply_mask(logits, mask, rows=rows)
        for row in range(3):
            for token in range(width):
                kept = allowed(mask, rows[row] if rows else row, token)
                assert logits[row, token] == (before[row, token] if kept else -np.inf)


def test_one_row() -> None:
    logits = np.zeros(WIDTH, np.float32)
    apply_mask(logits, random_mask(1)[0])
    assert np.isneginf(logits[32:64]).all() and (logits[:32] == 0).all()


def test_what_does_not_fit() -> None:
    mask = random_mask(2)
    for logits, error in (
        (np.zeros((2, WIDTH), np.int32), TypeError),
        (np.zeros((3, WIDTH), np.float32), TokenmoldError),
        (np.zeros((WIDTH, 2), np.float32).T, TokenmoldError),
    ):
        with pytest.raises(error):
            apply_mask(logits, mask)
    with pytest.raises(TokenmoldError):
        apply_mask(np.zeros((2, WIDTH), np.float32), mask, rows=[0, 2])
    with pytest.raises(TypeError):
        apply_mask(np.zeros((2, WIDTH), np.float32), mask.astype(np.int64))


def test_tensors() -> None:
    torch = pytest.importorskip("torch")
    import tokenmold.torch

    mask = torch.from_numpy(random_mask(3))
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        for width in (WIDTH, 33, 200):
            for rows in (None, [1, 1, 0]):
                logits = torch.randn(3, width).to(dtype)
                by_parts, strided = logits.clone(), torch.zeros(3, 2 * width, dtype=dtype)[:, ::2]
                strided.copy_(logits)
                before = logits.clone()
                apply_mask(logits, mask, rows=rows)
                tokenmold.torch._apply_on_device(by_parts, mask, rows)
                apply_mask(strided, mask, rows=rows)
                assert torch.equal(logits, by_parts) and torch.equal(logits, strided)
                for token in range(width):
                    kept = allowed(mask.numpy(), rows[2] if rows else 2, token)
                    assert logits[2, token] == (before[2, token] if kept else -torch.inf)
    with pytest.raises(TypeError):
        apply_mask(torch.zeros(3, WIDTH, dtype=torch.int32), mask)
    assert tokenmold.torch.allocate_mask(2, 33).shape == (2, 2)


# The kernel in Triton's interpreter, which runs it on the CPU; a process of its own, because Triton reads the
# variable when it is imported.
INTERPRETED = """
import contextlib, torch
from tokenmold.torch import _apply_by_operations
from tokenmold._triton import forbid
torch.cuda.device_of = lambda tensor: contextlib.nullcontext()
torch.manual_seed(1)
for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
    for width in (75, 33, 200, 5000):
        for rows in (None, [1, 1, 0]):
            mask = torch.randint(-(2**31), 2**31 - 1, (3, 3), dtype=torch.int32)
            logits = torch.randn(3, width).to(dtype)
            chosen = None if rows is None else torch.tensor(rows)
            wider = torch.zeros(3, width + 5, dtype=dtype)
            packed, cut = logits.clone(), wider[:, :width]
            cut.copy_(logits)
            _apply_by_operations(logits, mask, chosen)
            for found in (packed, cut):
                forbid(found, mask, chosen)
                assert torch.equal(found, logits), (dtype, width, rows)
            assert not wider[:, width:].any()
"""


def test_the_kernel_without_a_gpu() -> None:
    pytest.importorskip("triton")
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    subprocess.run([sys.executable, "-c", INTERPRETED], env=environment, check=True, timeout=300)


def test_tensors_on_a_gpu() -> None:
    """The kernel, and the operations that stand in for it, say what the CPU says in every type."""
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    import tokenmold.torch

    assert tokenmold.torch._kernel() is not None
    mask = torch.from_numpy(random_mask(3))
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        for width in (WIDTH, 33, 200, 5000):
            for rows in (None, [1, 1, 0], [2, 0, 2]):
                logits = torch.randn(3, width).to(dtype)
                strided = torch.zeros(3, 2 * width, dtype=dtype).cuda()[:, ::2]
                strided.copy_(logits)
                wider = torch.zeros(3, width + 5, dtype=dtype).cuda()[:, :width]
                wider.copy_(logits)
                packed, masks = logits.cuda(), mask.cuda()
                apply_mask(logits, mask, rows=rows)
                for on_gpu, its_mask in ((packed, mask), (strided, masks), (wider, masks)):
                    apply_mask(on_gpu, its_mask, rows=rows)
                    assert torch.equal(logits, on_gpu.cpu())
    one = torch.randn(WIDTH)
    there = one.cuda()
    apply_mask(one, mask[0])
    apply_mask(there, mask[0])
    assert torch.equal(one, there.cpu())
    with pytest.raises(TokenmoldError):
        apply_mask(torch.zeros(2, WIDTH).cuda(), mask, rows=[0, 3])
    with pytest.raises(TokenmoldError):
        apply_mask(torch.zeros(2, WIDTH).cuda(), mask)


def test_allocation() -> None:
    vocabulary = tokenmold.Vocabulary.from_tokens([b"a"] * 33, [])
    mask = allocate_mask(4, vocabulary)
    assert mask.shape == (4, 2) and mask.dtype == np.int32 and (mask == -1).all()
