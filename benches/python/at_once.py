"""Tokens for a second of processor time in the real vLLM, with 1, 4, 16 and 64 requests at once, by backend.

    taskset -c 1 python benches/python/at_once.py MODEL_DIR
    taskset -c 1 python benches/python/at_once.py MODEL_DIR --at-once 16 --backends none tokenmold --tokens 64

Needs vLLM and the installed package tokenmold in one environment, and a model folder. All requests have one schema (twelve
persons with an e-mail address) and as many tokens as `--tokens` says, since none of them can be complete by then: Tokenmold is
told to cut, as the others do. `tokenmold-budget` is complete within twice as many tokens, and is counted by its own tokens.

Each backend has a process of its own, which is asked once before it is measured, so that nothing is compiled meanwhile. Run
on one core, the processor's time is that of the model, the masks and vLLM together.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time

from engines import prepare_environment

PERSON = {
    "type": "object",
    "properties": {
        "first_name": {"type": "string"},
        "last_name": {"type": "string"},
        "age": {"type": "integer"},
        "email": {"type": "string", "format": "email"},
    },
    "required": ["first_name", "last_name", "age", "email"],
    "additionalProperties": False,
}
PERSONS = {"type": "array", "items": PERSON, "minItems": 12, "maxItems": 12}
BACKENDS = ["none", "tokenmold", "tokenmold-budget", "xgrammar", "guidance"]


def measure(given: argparse.Namespace) -> list[tuple[int, int, float, float]]:
    """By requests at once: tokens, seconds of the processor, seconds."""
    prepare_environment()
    backend = given.backend.removesuffix("-budget")
    if backend == "tokenmold":
        from tokenmold.integrations.vllm import register

        register()
    from vllm import LLM, SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

    chosen = {} if backend == "none" else {"structured_outputs_config": {"backend": backend}}
    llm = LLM(
        given.model,
        dtype=given.dtype,
        max_model_len=1024,
        max_num_seqs=max(given.at_once),
        enforce_eager=True,
        enable_prefix_caching=False,
        **chosen,
    )
    completes = given.backend.endswith("-budget")
    most = given.tokens * 2 if completes else given.tokens

    def asked(number: int, tokens: int) -> SamplingParams:
        bound = {} if backend == "none" else {"structured_outputs": StructuredOutputsParams(json=PERSONS)}
        cuts = {"extra_args": {"tokenmold": {"budget": "cut"}}} if backend == "tokenmold" and not completes else {}
        return SamplingParams(
            max_tokens=tokens, temperature=1.0, seed=number, ignore_eos=backend == "none", **bound, **cuts
        )

    message = [{"role": "user", "content": "Make up twelve persons. Answer with JSON."}]
    llm.chat([message], [asked(0, most)], use_tqdm=False)
    rows = []
    for many in given.at_once:
        began, processor = time.perf_counter(), time.process_time()
        outputs = llm.chat([message] * many, [asked(1 + n, most) for n in range(many)], use_tqdm=False)
        seconds, processor = time.perf_counter() - began, time.process_time() - processor
        rows.append((many, sum(len(out.outputs[0].token_ids) for out in outputs), processor, seconds))
        if completes:
            for out in outputs:
                json.loads(out.outputs[0].text)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a model folder")
    parser.add_argument("--at-once", nargs="+", type=int, default=[1, 4, 16, 64])
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--backends", nargs="+", choices=BACKENDS, default=BACKENDS)
    parser.add_argument("--backend", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.backend:
        print("rows: " + json.dumps(measure(given)))
        return
    print("| requests at once | " + " | ".join(map(str, given.at_once)) + " |", flush=True)
    print("|---|" + "---|" * len(given.at_once), flush=True)
    for backend in given.backends:
        command = [sys.executable, __file__, given.model, "--backend", backend, "--tokens", str(given.tokens)]
        command += ["--dtype", given.dtype, "--at-once", *map(str, given.at_once)]
        done = subprocess.run(command, capture_output=True, text=True)
        lines = [line for line in done.stdout.splitlines() if line.startswith("rows: ")]
        if not lines:
            sys.exit(f"{backend}: {done.stderr[-2000:]}")
        rows = json.loads(lines[0].removeprefix("rows: "))
        rates = " | ".join(f"{tokens / processor:.0f}" for _, tokens, processor, _ in rows)
        print(f"| {backend} | {rates} |", flush=True)


if __name__ == "__main__":
    main()
