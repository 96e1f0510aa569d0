"""One batch of structured requests in the real vLLM with each backend: what is refused, valid, how fast.

Needs vLLM, jsonschema and the installed package tokenmold in one environment, a model folder, and cases of
MaskBench ($TOKENMOLD_DATA/maskbench/dev.jsonl):

    python benches/python/engines.py MODEL_DIR
    python benches/python/engines.py MODEL_DIR --schemas 40 --requests 4 --seed 1 --backends tokenmold

Each backend has a process of its own. A schema is refused if vLLM answers its request with an error. Answers
that reach the limit of tokens are cut short, and are neither valid nor invalid. Formats count where the
schema names one that jsonschema knows.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from decimal import Decimal
from pathlib import Path

PROMPTS = [
    "Write a short example document as JSON.",
    "Answer with JSON only. Keep every value as short as you can.",
    "Fill in the form for Ada Lovelace, 36 years, London, ada@analytical.org. Answer with JSON.",
    "Give me one more example in JSON, different from the usual ones.",
]


def chosen(arguments: argparse.Namespace) -> list[dict]:
    with Path(arguments.cases).open(encoding="utf-8") as cases:
        lines = list(cases)
    return [json.loads(line) for line in random.Random(arguments.seed).sample(lines, arguments.schemas)]


def prepare_environment() -> None:
    """Lets vLLM run in this process, offline and quietly, before it is imported."""
    # One thread for the model, so that a machine with few cores has some left for the masks.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
    os.environ.update(
        HF_HUB_OFFLINE="1",
        VLLM_CPU_KVCACHE_SPACE="2",
        VLLM_LOGGING_LEVEL="ERROR",
        VLLM_ENABLE_V1_MULTIPROCESSING="0",
    )


def run_backend(arguments: argparse.Namespace) -> dict:
    """One backend in this process."""
    prepare_environment()
    if arguments.backend == "tokenmold":
        from tokenmold.integrations.vllm import register

        register()
    from vllm import LLM, SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

    llm = LLM(
        arguments.model,
        max_model_len=1024,
        max_num_seqs=256,
        enforce_eager=True,
        dtype="bfloat16",
        seed=arguments.seed,
        structured_outputs_config={"backend": arguments.backend},
    )
    engine = llm.llm_engine.vllm_config
    refused: dict[str, str] = {}
    work = []
    began = time.perf_counter()
    for case in chosen(arguments):
        params = SamplingParams(
            max_tokens=arguments.max_tokens, structured_outputs=StructuredOutputsParams(json=case["schema"])
        )
        try:
            params._validate_structured_outputs(
                engine.model_config, engine.structured_outputs_config, llm.get_tokenizer()
            )
        except Exception as error:  # Each backend has its own ways to refuse.
            refused[case["id"]] = f"{type(error).__name__}: {error}"[:200]
            continue
        for number in range(arguments.requests):
            # One answer is the likeliest, the others are drawn.
            one = SamplingParams(
                max_tokens=arguments.max_tokens,
                temperature=0.0 if number == 0 else 1.0,
                seed=arguments.seed + number,
                structured_outputs=StructuredOutputsParams(json=case["schema"]),
            )
            work.append((case, PROMPTS[number % len(PROMPTS)], one))
    validated = time.perf_counter() - began

    began = time.perf_counter()
    outputs = llm.chat(
        [[{"role": "user", "content": prompt}] for _, prompt, _ in work],
        [one for _, _, one in work],
        use_tqdm=False,
    )
    seconds = time.perf_counter() - began
    verdicts: dict[str, list[str]] = {}
    tokens = 0
    examples = []
    for (case, _, _), output in zip(work, outputs, strict=True):
        answer = output.outputs[0]
        tokens += len(answer.token_ids)
        if answer.finish_reason not in ("stop", "length"):
            refused[case["id"]] = f"finished by {answer.finish_reason}"
            continue
        verdict = "cut" if answer.finish_reason == "length" else judged(case["schema"], answer.text)
        verdicts.setdefault(case["id"], []).append(verdict)
        if verdict in ("invalid", "wrong format") and len(examples) < 5:
            examples.append(f"{case['id']}: {verdict}: {answer.text[:160]}")
    return {
        "backend": arguments.backend,
        "schemas": arguments.schemas,
        "refused": refused,
        "verdicts": verdicts,
        "tokens": tokens,
        "seconds": seconds,
        "validation": validated,
        "examples": examples,
    }


def exact(digits: str) -> int | Decimal:
    """A number as it stands: 129.58 is a multiple of 0.01, and of floats it is not."""
    number = Decimal(digits)
    return int(number) if number.adjusted() < 400 and number == number.to_integral_value() else number


def judged(schema: object, text: str) -> str:
    import jsonschema
    import referencing
    import referencing.exceptions

    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    # An empty registry: nothing is fetched.
    registry = referencing.Registry()
    try:
        value = json.loads(text, parse_float=exact)
    except ValueError:
        return "invalid"
    schema = json.loads(json.dumps(schema), parse_float=exact)
    try:
        if not kind(schema, registry=registry).is_valid(value):
            return "invalid"
        if not kind(schema, registry=registry, format_checker=kind.FORMAT_CHECKER).is_valid(value):
            return "wrong format"
    except Exception:  # Schemas in the wild name documents and expressions that jsonschema cannot read.
        return "not judged"
    return "valid"


VERDICTS = ("valid", "wrong format", "invalid", "cut", "not judged")


def table(results: list[dict]) -> str:
    lines = [
        "| backend | schemas refused | answers valid | wrong format | invalid | cut | not judged | tokens/s | all in s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for result in results:
        if "error" in result:
            lines.append(f"| {result['backend']} | {result['error']} | | | | | | | |")
            continue
        total = result["seconds"] + result["validation"]
        lines.append(
            f"| {result['backend']} | {len(result['refused'])} of {result['schemas']} | {counted(result)} "
            f"| {result['tokens'] / total:.0f} | {total:.1f} |"
        )
    return "\n".join(lines)


def counted(result: dict, cases: set[str] | None = None) -> str:
    given = Counter(
        verdict
        for case, verdicts in result["verdicts"].items()
        if cases is None or case in cases
        for verdict in verdicts
    )
    return " | ".join(str(given[verdict]) for verdict in VERDICTS)


def common_table(results: list[dict]) -> str:
    """The answers to those schemas alone that every backend takes."""
    results = [result for result in results if "error" not in result]
    common = set.intersection(*(set(result["verdicts"]) for result in results))
    common -= {case for result in results for case in result["refused"]}
    lines = [
        f"| backend, on the {len(common)} schemas that all take | {' | '.join(VERDICTS)} |",
        "|---|" + "---|" * len(VERDICTS),
    ]
    lines += [f"| {result['backend']} | {counted(result, common)} |" for result in results]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    data = os.environ.get("TOKENMOLD_DATA", ".")
    parser.add_argument("model", help="a model folder")
    parser.add_argument("--cases", default=f"{data}/maskbench/dev.jsonl")
    parser.add_argument("--schemas", type=int, default=40)
    parser.add_argument("--requests", type=int, default=4, help="for each schema")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--max-tokens", type=int, default=128)
    parser.add_argument("--limit", type=int, default=1200, help="seconds that a backend may take")
    parser.add_argument("--backends", nargs="+", default=["tokenmold", "guidance", "xgrammar", "outlines"])
    parser.add_argument("--backend", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.backend:
        print(json.dumps(run_backend(arguments)))
        return

    results = []
    for backend in arguments.backends:
        command = [sys.executable, __file__, *sys.argv[1:], "--backend", backend]
        try:
            child = subprocess.run(command, capture_output=True, text=True, timeout=arguments.limit)
        except subprocess.TimeoutExpired:
            results.append({"backend": backend, "error": f"not done in {arguments.limit} s"})
            continue
        if child.returncode:
            print(child.stderr[-3000:], file=sys.stderr)
            results.append({"backend": backend, "error": f"ended with status {child.returncode}"})
            continue
        result = json.loads(child.stdout.strip().splitlines()[-1])
        results.append(result)
        for line in result["examples"]:
            print(f"{backend}: {line}", file=sys.stderr)
        for case, why in result["refused"].items():
            print(f"{backend}: {case} refused: {why}", file=sys.stderr)
        print(table([result]), file=sys.stderr, flush=True)
    print(table(results))
    if len([result for result in results if "error" not in result]) > 1:
        print()
        print(common_table(results))


if __name__ == "__main__":
    main()
