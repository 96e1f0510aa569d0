"""Masks on the logits of a GPU: Tokenmold's way beside those of its peers, as shares of the card's own copy.

usage: python benches/python/gpu_masks.py [--rows 1,64,256] [--width 128256]

Each way gets the same logits and the same mask, with the mask on the GPU already, then with its copy from
pinned memory. Times are medians of calls between events of the device. A peer that is not installed is named
and left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

import torch
from triton.testing import do_bench

Apply = Callable[[torch.Tensor, torch.Tensor], None]


def ways() -> Iterator[tuple[str, Apply]]:
    import tokenmold.torch

    yield "tokenmold", tokenmold.torch.apply_mask
    yield "tokenmold, operations", lambda logits, mask: tokenmold.torch._apply_by_operations(logits, mask, None)
    try:
        import xgrammar

        yield "xgrammar", xgrammar.apply_token_bitmask_inplace
    except ImportError as error:
        print(f"xgrammar is left out: {error}")
    try:
        import llguidance.torch

        yield "llguidance", llguidance.torch.apply_token_bitmask_inplace
    except ImportError as error:
        print(f"llguidance is left out: {error}")


def masks(kind: str, rows: int, width: int) -> torch.Tensor:
    words = -(-width // 32)
    if kind == "mixed":
        return torch.randint(-(2**31), 2**31 - 1, (rows, words), dtype=torch.int32)
    few = torch.zeros((rows, words), dtype=torch.int32)
    few[:, ::500] = -1
    return few


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="1,64,256")
    parser.add_argument("--width", type=int, default=128_256)
    options = parser.parse_args()
    torch.manual_seed(1)
    print(torch.cuda.get_device_name(), f"torch {torch.__version__}")
    every = list(ways())
    header = f"{'rows, logits, mask':28} {'copy':>10}"
    print(header + "".join(f"{name + at:>34}" for name, _ in every for at in (", there", ", copied")))
    for rows in map(int, options.rows.split(",")):
        for dtype in (torch.float32, torch.bfloat16):
            for kind in ("mixed", "few allowed"):
                logits = torch.randn(rows, options.width, device="cuda").to(dtype)
                target, mask = torch.empty_like(logits), masks(kind, rows, options.width)
                there, pinned = mask.cuda(), mask.pin_memory()
                expected = logits.cpu()
                copied = do_bench(lambda: target.copy_(logits), return_mode="median") * 1000
                line = f"{rows:4}, {str(dtype)[6:]:8}, {kind:12} {copied:10.1f}"
                tokens = torch.arange(options.width)
                forbidden = (mask[:, tokens // 32] >> (tokens % 32) & 1) == 0
                expected.masked_fill_(forbidden, float("-inf"))
                for name, apply in every:
                    found = logits.clone()
                    apply(found, there)
                    if not torch.equal(found.cpu(), expected):
                        raise SystemExit(f"{name}: the logits are not as the mask says")
                    on_device = do_bench(lambda: apply(target, there), return_mode="median") * 1000
                    with_copy = do_bench(
                        lambda: apply(target, pinned.to("cuda", non_blocking=True)), return_mode="median"
                    )
                    line += f"{on_device:34.1f}{with_copy * 1000:34.1f}"
                print(line, flush=True)


if __name__ == "__main__":
    main()
