"""Masks, wherever the logits are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from ._tokenmold import Vocabulary


def allocate_mask(batch: int, vocabulary: Vocabulary) -> npt.NDArray[np.int32]:
    """A mask of ``batch`` rows that allows everything: an array of int32, ``ceil(width / 32)`` a row.

    Needs numpy (``pip install tokenmold[numpy]``); :mod:`tokenmold.torch` makes tensors.
    """
    from .numpy import allocate_mask

    return allocate_mask(batch, vocabulary)


def apply_mask(logits: Any, mask: Any, *, rows: Sequence[int] | None = None) -> None:
    """Sets the logits of forbidden tokens to minus infinity, in place.

    ``logits`` is an array of NumPy's or a tensor, on the CPU or a GPU. Its row ``i`` is masked by
    row ``rows[i]`` of the mask, or row ``i``.
    """
    if type(logits).__module__.partition(".")[0] == "torch":
        from . import torch

        torch.apply_mask(logits, mask, rows=rows)
    else:
        from . import numpy

        numpy.apply_mask(logits, mask, rows=rows)
