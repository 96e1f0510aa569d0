"""Masks through Python: Tokenmold beside XGrammar and llguidance, in one process and one run.

usage: python benches/python/masks.py TOKENIZER_FOLDER CASES.jsonl [--sample N] [--seed S]

Walks the valid texts of sampled schemas under each engine: a call that fills one mask, then a call
that takes the token. Compiles are timed with no cache; masks are those of a first request. Then many
texts at once, with the call that each engine has for that, on schemas that all of them accept.
"""

from __future__ import annotations

import argparse
import gc
import json
import pathlib
import random
import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
import transformers

clock = time.perf_counter_ns


class Engine(Protocol):
    name: str

    def compile(self, schema: str) -> Any: ...
    def matcher(self, compiled: Any) -> Any: ...
    def fill(self, matcher: Any) -> None: ...
    def accept(self, matcher: Any, token: int) -> bool: ...
    def fill_batch(self, matchers: list[Any]) -> None: ...


class Tokenmold:
    name = "tokenmold"

    def __init__(self, tokenizer: Any, width: int) -> None:
        import tokenmold

        self.package = tokenmold
        self.vocabulary = tokenmold.Vocabulary.from_huggingface(tokenizer, width=width)
        self.mask = tokenmold.allocate_mask(256, self.vocabulary)

    def compile(self, schema: str) -> Any:
        # A compiler of its own: what one remembers would make a compile a look-up.
        return self.package.Compiler(self.vocabulary).json_schema(schema)

    def matcher(self, compiled: Any) -> Any:
        return compiled.matcher()

    def fill(self, matcher: Any) -> None:
        matcher.fill(self.mask, 0)

    def accept(self, matcher: Any, token: int) -> bool:
        return matcher.accept(token)

    def fill_batch(self, matchers: list[Any]) -> None:
        self.package.fill_batch(matchers, self.mask)


class XGrammar:
    name = "xgrammar"

    def __init__(self, tokenizer: Any, width: int) -> None:
        import xgrammar

        self.package = xgrammar
        info = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=width)
        self.compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
        self.mask = xgrammar.allocate_token_bitmask(256, width)
        self.batch = xgrammar.BatchGrammarMatcher()

    def compile(self, schema: str) -> Any:
        return self.compiler.compile_json_schema(schema)

    def matcher(self, compiled: Any) -> Any:
        return self.package.GrammarMatcher(compiled)

    def fill(self, matcher: Any) -> None:
        matcher.fill_next_token_bitmask(self.mask, 0)

    def accept(self, matcher: Any, token: int) -> bool:
        return bool(matcher.accept_token(token))

    def fill_batch(self, matchers: list[Any]) -> None:
        self.batch.batch_fill_next_token_bitmask(matchers, self.mask)


class LLGuidance:
    name = "llguidance"

    def __init__(self, tokenizer: Any, width: int) -> None:
        import llguidance
        import llguidance.hf
        import llguidance.numpy

        self.package = llguidance
        self.masks = llguidance.numpy
        self.tokenizer = llguidance.hf.from_tokenizer(tokenizer, n_vocab=width)
        self.mask = llguidance.numpy.allocate_token_bitmask(256, width)
        self.executor = llguidance.LLExecutor()

    def compile(self, schema: str) -> Any:
        grammar = self.package.LLMatcher.grammar_from_json_schema(schema)
        matcher = self.package.LLMatcher(self.tokenizer, grammar)
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return matcher

    def matcher(self, compiled: Any) -> Any:
        return compiled.deep_copy()

    def fill(self, matcher: Any) -> None:
        self.masks.fill_next_token_bitmask(matcher, self.mask, 0)

    def accept(self, matcher: Any, token: int) -> bool:
        return bool(matcher.consume_token(token))

    def fill_batch(self, matchers: list[Any]) -> None:
        pairs = [(matcher, row) for row, matcher in enumerate(matchers)]
        self.masks.fill_next_token_bitmask_par(self.executor, pairs, self.mask)


def quantiles(times: list[int]) -> str:
    if not times:
        return " | ".join("-" * 5)
    micros = np.array(times) / 1000
    named = [micros.mean(), *np.quantile(micros, [0.5, 0.99, 0.999]), micros.max()]
    return " | ".join(f"{value:,.1f}" for value in named)


def walk(engine: Engine, compiled: Any, tokens: list[int], fills: list[int], accepts: list[int]) -> bool:
    """Follows one text; whether all of it was taken."""
    matcher = engine.matcher(compiled)
    for token in tokens:
        began = clock()
        engine.fill(matcher)
        filled = clock()
        taken = engine.accept(matcher, token)
        accepts.append(clock() - filled)
        fills.append(filled - began)
        if not taken:
            return False
    return True


def together(engine: Engine, compiled: list[tuple[Any, list[int]]], count: int, steps: int) -> list[int]:
    """Times of calls that fill the masks of ``count`` texts, each at a place of its own."""
    texts: Iterator[tuple[Any, list[int]]] = iter(
        [compiled[at % len(compiled)] for at in range(count * (2 + steps // 4))]
    )
    lanes: list[tuple[Any, Iterator[int]]] = []
    times = []
    for _ in range(steps):
        while len(lanes) < count:
            constraint, tokens = next(texts)
            lanes.append((engine.matcher(constraint), iter(tokens)))
        matchers = [matcher for matcher, _ in lanes]
        began = clock()
        engine.fill_batch(matchers)
        times.append(clock() - began)
        going = []
        for matcher, tokens in lanes:
            token = next(tokens, None)
            if token is not None and engine.accept(matcher, token):
                going.append((matcher, tokens))
        lanes = going
    return times


def shortest(work: Callable[[], None], times: int) -> float:
    """The shortest of some calls in microseconds."""
    found = []
    for _ in range(times):
        began = clock()
        work()
        found.append(clock() - began)
    return min(found) / 1000


def lock_shares(engine: Tokenmold, compiled: list[Any], first_fill: float) -> None:
    """How much of a call keeps Python's lock, at most.

    Of one mask, what a known mask takes in all: its search is what a first request adds, without the
    lock. Of a batch, what a call takes whose last row is out of range: it is refused where the lock
    would have been given up, with all matchers and rows looked at.
    """
    fill_batch, mask = engine.package.fill_batch, engine.mask
    matchers = [engine.matcher(compiled[at % len(compiled)]) for at in range(256)]
    rows = list(range(256))
    outside = [*rows[:-1], len(mask)]

    def refused() -> None:
        try:
            fill_batch(matchers, mask, outside, threads=1)
        except ValueError:
            return
        raise AssertionError("a row out of range was taken")

    one = shortest(lambda: matchers[0].fill(mask, 0), 2000)
    held = shortest(refused, 300)
    known = shortest(lambda: fill_batch(matchers, mask, rows, threads=1), 300)
    print("\nWhat keeps Python's lock, in microseconds, at most\n")
    print("| call | with the lock | in all | share |\n|---|---|---|---|")
    for what, with_lock, whole in (
        ("one mask of a first request, on average", one, first_fill),
        ("256 known masks on one thread", held, known),
        ("256 masks of first requests on one thread", held, held + 256 * (first_fill - one)),
    ):
        print(f"| {what} | {with_lock:.2f} | {whole:.2f} | {with_lock / whole:.1%} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tokenizer", help="a folder with tokenizer.json and tokenizer_config.json")
    parser.add_argument("cases", type=pathlib.Path, help="MaskBench cases")
    parser.add_argument("--sample", type=int, default=250)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=60, help="batch calls of each size")
    parser.add_argument("--only", nargs="*", help="engines")
    given = parser.parse_args()

    tokenizer = transformers.AutoTokenizer.from_pretrained(given.tokenizer)
    width = len(tokenizer)
    cases = [json.loads(line) for line in given.cases.open(encoding="utf-8")]
    cases = random.Random(given.seed).sample(cases, given.sample)
    known: list[Callable[[Any, int], Engine]] = [Tokenmold, XGrammar, LLGuidance]
    engines = [make(tokenizer, width) for make in known if not given.only or make.name in given.only]  # type: ignore[attr-defined]

    print(f"{len(cases)} schemas, seed {given.seed}; a vocabulary of {width:,} tokens; microseconds\n")
    print("| engine | what | calls | average | p50 | p99 | p99.9 | longest |")
    print("|---|---|---|---|---|---|---|---|")
    accepted: dict[str, dict[int, Any]] = {}
    texts: dict[int, list[list[int]]] = {}
    for at, case in enumerate(cases):
        valid = [test["text"] for test in case["tests"] if test["valid"]]
        texts[at] = [tokenizer.encode(text, add_special_tokens=False) for text in valid]
    for engine in engines:
        compiles: list[int] = []
        fills: list[int] = []
        accepts: list[int] = []
        followed = refused = 0
        accepted[engine.name] = {}
        for at, case in enumerate(cases):
            schema = json.dumps(case["schema"])
            gc.collect(0)
            began = clock()
            try:
                compiled = engine.compile(schema)
            except Exception:
                refused += 1
                continue
            compiles.append(clock() - began)
            accepted[engine.name][at] = compiled
            followed += sum(walk(engine, compiled, tokens, fills, accepts) for tokens in texts[at])
        if isinstance(engine, Tokenmold):
            first_fill = float(np.mean(fills)) / 1000
        for what, times in (("compile", compiles), ("fill", fills), ("accept", accepts)):
            print(f"| {engine.name} | {what} | {len(times):,} | {quantiles(times)} |")
        print(f"| {engine.name} | {refused} schemas refused, {followed} valid texts followed | | | | | | |")

    common = set.intersection(*(set(of) for of in accepted.values()))
    common = {at for at in common if texts[at] and len(texts[at][0]) >= 20}
    print(f"\nMany texts at once, {len(common)} schemas that all accept; microseconds a call\n")
    print("| engine | texts | calls | average | p50 | p99 | p99.9 | longest |")
    print("|---|---|---|---|---|---|---|---|")
    for count in (1, 16, 64, 256):
        for engine in engines:
            compiled = [(accepted[engine.name][at], texts[at][0]) for at in sorted(common)]
            together(engine, compiled, count, 3)
            print(f"| {engine.name} | {count} | {given.steps} | {quantiles(together(engine, compiled, count, given.steps))} |")

    for engine in engines:
        if isinstance(engine, Tokenmold):
            lock_shares(engine, [accepted[engine.name][at] for at in sorted(common)], first_fill)


if __name__ == "__main__":
    main()
