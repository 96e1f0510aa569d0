"""Logits under masks, in place, in each type and on each path."""

from __future__ import annotations

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


def test_tensors_on_a_gpu() -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    mask = torch.from_numpy(random_mask(3))
    logits = torch.randn(3, WIDTH)
    on_gpu = logits.cuda()
    apply_mask(logits, mask)
    apply_mask(on_gpu, mask)
    assert torch.equal(logits, on_gpu.cpu())


def test_allocation() -> None:
    vocabulary = tokenmold.Vocabulary.from_tokens([b"a"] * 33, [])
    mask = allocate_mask(4, vocabulary)
    assert mask.shape == (4, 2) and mask.dtype == np.int32 and (mask == -1).all()
