"""Masks of texts with a budget of tokens: what they cost near the end, and whether every text is complete in time.

    python benches/python/budgets.py tokenizer.json dev.jsonl --sample 60

Each schema of MaskBench is walked with random tokens from its masks under three budgets: what its shortest text takes, and
6 and 25 tokens more, so that each step is near the end. The walk is done twice. `first` are the masks of the first time,
where a place may not have been met, `again` those of the second. A text that is not complete when its budget is spent is
named, and the script exits with 1. Needs numpy.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from pathlib import Path

import numpy as np
from tokenmold import Compiler, Constraint, TokenmoldError, Vocabulary, allocate_mask

MORE = (0, 6, 25)
# Larger schemas take longer to compile than their walks.
LARGEST_SCHEMA = 20_000
# Longer walks say nothing more of a step.
LONGEST_TEXT = 400


def walk(constraint: Constraint, budget: int, seed: int, times: list[float]) -> bool:
    """Draws tokens until the budget is spent or the text has ended; whether it is complete then."""
    draw = random.Random(seed)
    matcher = constraint.matcher(max_tokens=budget)
    mask = allocate_mask(1, constraint.vocabulary)
    while True:
        began = time.perf_counter_ns()
        matcher.fill(mask)
        times.append((time.perf_counter_ns() - began) / 1_000)
        if not matcher.tokens_left:
            return matcher.is_complete
        allowed = np.unpackbits(mask[0].view(np.uint8), bitorder="little").nonzero()[0]
        if not len(allowed) or not matcher.accept(int(allowed[draw.randrange(len(allowed))])):
            return False
        if matcher.is_terminated:
            return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("cases", type=Path)
    parser.add_argument("--sample", type=int, default=60)
    parser.add_argument("--seed", type=int, default=3)
    given = parser.parse_args()
    compiler = Compiler(Vocabulary.from_tokenizer_json(given.tokenizer.read_bytes()))
    cases = [json.loads(line) for line in given.cases.open()]
    cases = [case for case in cases if len(json.dumps(case["schema"])) < LARGEST_SCHEMA]
    random.Random(given.seed).shuffle(cases)
    times: dict[str, list[float]] = {"first": [], "again": []}
    walked, late = 0, []
    for case in cases:
        if walked == given.sample:
            break
        try:
            constraint = compiler.json_schema(case["schema"])
        except TokenmoldError:
            continue
        needed = constraint.tokens_needed
        if needed is None or needed > LONGEST_TEXT:
            continue
        walked += 1
        for kind in times:
            for more in MORE:
                if not walk(constraint, needed + more, walked * 7 + more, times[kind]):
                    late.append(f"{case['id']} in {needed + more} tokens")
    print("| masks | | average us | p50 | p90 | p99 | max |\n|---|---|---|---|---|---|---|")
    for kind, all_times in times.items():
        values = [float(np.mean(all_times)), *np.percentile(all_times, [50, 90, 99]), max(all_times)]
        print(f"| {kind} | {len(all_times)} | " + " | ".join(f"{value:.1f}" for value in values) + " |")
    print(f"{walked} schemas, {len(late)} texts not complete in time")
    for one in late:
        print(f"not complete: {one}")
    return int(bool(late))


if __name__ == "__main__":
    sys.exit(main())
