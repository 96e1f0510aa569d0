"""What masks and logits must be, said as ``outlines_core`` says it."""

from __future__ import annotations

from typing import Any


def require_mask(mask: Any, dtype: Any, name: str) -> None:
    if mask.dtype != dtype:
        raise ValueError(f"Invalid mask dtype: Expected `{name}`, but got `{mask.dtype}`.")
    if mask.ndim != 2:
        raise ValueError(f"Invalid mask dimensions: Expected a 2D array, but got {mask.ndim}D.")


def require_one_row(mask: Any) -> None:
    if mask.shape[0] != 1:
        raise ValueError(
            "Invalid batch size: Batch mask writes are not supported. "
            f"Expected shape[0] == 1, but got shape {tuple(mask.shape)}."
        )


def require_logits(logits: Any, mask: Any) -> None:
    if logits.ndim != 2:
        raise ValueError(f"Invalid logits dimensions: Expected a 2D array, but got {logits.ndim}D.")
    if mask.shape[0] != logits.shape[0]:
        raise ValueError(
            f"Invalid batch size: Expected `mask.shape[0]` ({mask.shape[0]}) to match "
            f"`logits.shape[0]` ({logits.shape[0]})."
        )
