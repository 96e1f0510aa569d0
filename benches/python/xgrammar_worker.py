"""Measures XGrammar on grammars for `grammarbench --engine xgrammar`, a case a line.

The first line of the input has the vocabulary: `{"tokens": [[byte, ..], ..], "stops": [id, ..]}`.
Each further line is a case, `{"dialect": .., "grammar": .., "texts": [[id, ..], ..]}`. Answered
is, a line a case, what it took in nanoseconds, or why it was refused. A case is measured in a
process of its own, which is ended after so many seconds: a compile cannot be stopped otherwise.
"""

import json
import os
import select
import signal
import sys
import time

import numpy
import xgrammar

LIMIT = float(sys.argv[1])


def measure(compiler, width, case):
    readers = {"gbnf": xgrammar.Grammar.from_ebnf, "ebnf": xgrammar.Grammar.from_ebnf}
    read = readers.get(case["dialect"], xgrammar.Grammar.from_lark)
    times = {"masks": [], "advances": [], "failed": 0}
    now = time.perf_counter_ns
    begin = now()
    compiled = compiler.compile_grammar(read(case["grammar"]))
    times["compile"] = now() - begin
    mask = numpy.zeros((1, (width + 31) // 32), dtype=numpy.int32)
    for text in case["texts"]:
        matcher = xgrammar.GrammarMatcher(compiled)
        for token in [*text, None]:
            begin = now()
            matcher.fill_next_token_bitmask(mask)
            times["masks"].append(now() - begin)
            if token is None:
                break
            begin = now()
            taken = matcher.accept_token(token)
            if not taken:
                times["failed"] += 1
                break
            times["advances"].append(now() - begin)
    return times


def apart(compiler, width, case):
    """What a process of its own says of a case."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = measure(compiler, width, case)
        except Exception as error:
            said = {"refused": str(error)}
        with os.fdopen(writer, "w") as out:
            json.dump(said, out)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        try:
            if select.select([answer], [], [], LIMIT)[0]:
                text = answer.read()
                return json.loads(text) if text else {"refused": "it crashed"}
            os.kill(child, signal.SIGKILL)
            return {"refused": f"it took more than {LIMIT:g} s"}
        finally:
            os.waitpid(child, 0)


def main():
    told = json.loads(sys.stdin.readline())
    tokens = [bytes(token) for token in told["tokens"]]
    info = xgrammar.TokenizerInfo(tokens, vocab_size=len(tokens), stop_token_ids=told["stops"])
    compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
    for line in sys.stdin:
        print(json.dumps(apart(compiler, len(tokens), json.loads(line))), flush=True)


main()
