"""What a user gets: answers under everyday schemas, by backend and budget of tokens, and why they were cut.

    python benches/python/answers.py --model DIR
    python benches/python/answers.py --model DIR --budgets 64 --limit 6
    python benches/python/answers.py --model DIR --backends tokenmold,tokenmold-closed --temperature 0 0.7
    python benches/python/answers.py --model DIR --maskbench dev.jsonl --sample 40 --out answers.jsonl
    python benches/python/answers.py --engine transformers --backends tokenmold --model DIR
    python benches/python/answers.py --engine program --backends tokenmold --model FILE.gguf

Needs jsonschema with its checkers of formats, the installed package tokenmold, the peers and vLLM (or, with
`--engine transformers`, transformers and torch) in one environment: see requirements.txt. On a CPU, vLLM wants
`VLLM_CPU_KVCACHE_SPACE`, which is 1 here unless the environment says something else.

The everyday schemas are the files in benches/answers, one a schema: `prompt` is what the user asks, `expected`
is a right answer, and `facts` are JSON Pointers of the values in it that the prompt tells. `--schemas` names
other files of that form, which need no `expected`. The prompt does not show the schema.

One vLLM is loaded, and asked with one backend after the other, so that all share the process and the model. All
answers of a row are one batch. A row is a backend, a temperature and a budget:

- refused: vLLM answers with an error, before the engine sees the request;
- valid, invalid: the text is a whole JSON text, and `jsonschema` (with formats) takes it or not. One that is
  whole with the last token of the budget counts, too;
- cut: it is not whole, by the cause that cut_answers.py finds;
- fields right: of the values that prompts tell, those that whole answers have. Strings are compared without
  regard to case.

The second table counts the schemas alone that no backend refuses.
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
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cut_answers import CAUSES, at_pointer, cause
from engines import PROMPTS, judged

EVERYDAY = Path(__file__).resolve().parents[1] / "answers"
# Larger schemas of MaskBench take longer to compile than their answers take.
LARGEST_SCHEMA = 20_000
# Room for the prompt beside the budget: the longest of the everyday prompts has about 120 tokens.
PROMPT_TOKENS = 512


@dataclass(frozen=True)
class Variant:
    """A backend of vLLM, and what is asked of it beside the schema."""

    backend: str
    # Arguments of `StructuredOutputsParams`.
    options: dict[str, Any] = field(default_factory=dict)
    # The member `tokenmold` of the request's `extra_args`.
    extra: dict[str, Any] = field(default_factory=dict)


CLOSED = {"disable_additional_properties": True}
COMPACT = {"disable_any_whitespace": True}
VARIANTS = {
    "tokenmold": Variant("tokenmold"),
    "tokenmold-closed": Variant("tokenmold", CLOSED),
    "tokenmold-compact": Variant("tokenmold", COMPACT),
    "tokenmold-closed-compact": Variant("tokenmold", CLOSED | COMPACT),
    "xgrammar": Variant("xgrammar"),
    "guidance": Variant("guidance"),
    "outlines": Variant("outlines"),
}


@dataclass
class Case:
    name: str
    prompt: str
    schema: Any
    # Pointer to value.
    facts: dict[str, Any]


@dataclass
class Answer:
    text: str
    tokens: int
    finish_reason: str


# Asks one batch: cases to answers, or to the message by which one is refused.
Ask = Callable[[list[Case], Variant, int, float], list[Answer | str]]


def read_case(path: Path) -> Case:
    told = json.loads(path.read_text(encoding="utf-8"))
    facts = {pointer: at_pointer(told["expected"], pointer) for pointer in told.get("facts", ())}
    return Case(path.stem, told["prompt"], told["schema"], facts)


def maskbench(path: Path, sample: int, seed: int) -> list[Case]:
    with path.open(encoding="utf-8") as lines:
        small = [line for line in lines if len(json.dumps(json.loads(line)["schema"])) <= LARGEST_SCHEMA]
    chosen = [json.loads(line) for line in random.Random(seed).sample(small, sample)]
    return [Case(case["id"], PROMPTS[0], case["schema"], {}) for case in chosen]


def in_vllm(arguments: argparse.Namespace) -> Ask:
    """One vLLM, whose backend is changed in place."""
    # One thread for the model, so that a machine with few cores has some left for the masks.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    # In this process, because the manager of structured outputs must be at hand.
    os.environ.update(HF_HUB_OFFLINE="1", VLLM_ENABLE_V1_MULTIPROCESSING="0")
    from tokenmold.integrations.vllm import register

    register()
    from vllm import LLM, SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

    length = PROMPT_TOKENS + max(arguments.budgets)
    llm = LLM(
        arguments.model,
        max_model_len=length,
        max_num_seqs=arguments.batch,
        # Prompts are read whole: with seeds, vLLM on a CPU fails over prompts in chunks.
        max_num_batched_tokens=max(8192, length),
        enforce_eager=True,
        dtype=arguments.dtype,
        seed=arguments.seed,
        structured_outputs_config={"backend": "tokenmold"},
    )
    engine = llm.llm_engine.vllm_config
    manager = llm.llm_engine.engine_core.engine_core.structured_output_manager

    def params(case: Case, number: int, variant: Variant, budget: int, temperature: float) -> Any:
        return SamplingParams(
            max_tokens=budget,
            temperature=temperature,
            seed=arguments.seed + number if temperature else None,
            structured_outputs=StructuredOutputsParams(json=case.schema, **variant.options),
            extra_args={"tokenmold": variant.extra} if variant.extra else None,
        )

    def ask(cases: list[Case], variant: Variant, budget: int, temperature: float) -> list[Answer | str]:
        if engine.structured_outputs_config.backend != variant.backend:
            engine.structured_outputs_config.backend = variant.backend
            if manager.backend is not None:
                manager.backend.destroy()
            # The next request makes a new one.
            manager.backend = None
        given: list[Answer | str] = []
        asked: list[tuple[int, Any]] = []
        for number, case in enumerate(cases):
            given.append("")
            try:
                params(case, number, variant, budget, temperature)._validate_structured_outputs(
                    engine.model_config, engine.structured_outputs_config, llm.get_tokenizer()
                )
            except Exception as error:  # Each backend has its own ways to refuse.
                given[number] = f"{type(error).__name__}: {error}"[:300]
                continue
            # Another one, because vLLM writes into what it validates.
            asked.append((number, params(case, number, variant, budget, temperature)))
        chats = [[{"role": "user", "content": cases[number].prompt}] for number, _ in asked]
        outputs = llm.chat(chats, [one for _, one in asked], use_tqdm=False) if chats else []
        for (number, _), output in zip(asked, outputs, strict=True):
            one = output.outputs[0]
            given[number] = (
                Answer(one.text, len(one.token_ids), one.finish_reason)
                if one.finish_reason in ("stop", "length")
                else f"finished by {one.finish_reason}"
            )
        return given

    return ask


def in_transformers(arguments: argparse.Namespace) -> Ask:
    """`generate` of transformers, one text after the other."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from tokenmold import Compiler, Vocabulary
    from tokenmold.integrations.transformers import generate

    tokenizer = AutoTokenizer.from_pretrained(arguments.model)
    model = AutoModelForCausalLM.from_pretrained(arguments.model, dtype=getattr(torch, arguments.dtype))
    width = model.config.vocab_size
    compiler = Compiler(Vocabulary.from_huggingface(tokenizer, width=width))
    ends = [tokenizer.eos_token_id]

    def generated(schema: Any, variant: Variant, call: dict[str, Any]) -> Any:
        text = json.dumps(schema)
        if variant.backend == "tokenmold":
            if variant.extra:
                raise ValueError("options of requests are those of vLLM")
            # Objects are closed by default, and in `tokenmold-closed` by name.
            compact = variant.options.get("disable_any_whitespace")
            constraint = compiler.json_schema(text, whitespace="compact" if compact else "flexible")
            return generate(model, constraint, ends=ends, **call)
        if variant.backend == "xgrammar":
            import xgrammar
            from xgrammar.contrib.hf import LogitsProcessor as XGrammarProcessor

            told = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=width, stop_token_ids=ends)
            processor = XGrammarProcessor(xgrammar.GrammarCompiler(told).compile_json_schema(text))
            return model.generate(logits_processor=[processor], **call)
        raise ValueError(f"`--engine transformers` has no {variant.backend}")

    def ask(cases: list[Case], variant: Variant, budget: int, temperature: float) -> list[Answer | str]:
        given: list[Answer | str] = []
        for number, case in enumerate(cases):
            torch.manual_seed(arguments.seed + number)
            prompt = tokenizer.apply_chat_template(
                [{"role": "user", "content": case.prompt}],
                add_generation_prompt=True,
                return_dict=True,
                return_tensors="pt",
            )
            drawn = {"do_sample": True, "temperature": temperature} if temperature else {"do_sample": False}
            try:
                out = generated(case.schema, variant, {**prompt, "max_new_tokens": budget, **drawn})
            except Exception as error:  # Each backend has its own ways to refuse.
                given.append(f"{type(error).__name__}: {error}"[:300])
                continue
            new = out[0, prompt["input_ids"].shape[1] :].tolist()
            text = tokenizer.decode(new, skip_special_tokens=True)
            given.append(Answer(text, len(new), "stop" if new[-1] in ends else "length"))
        return given

    return ask


def in_program(arguments: argparse.Namespace) -> Ask:
    """`tokenmold generate --batch`, a process a row."""

    def ask(cases: list[Case], variant: Variant, budget: int, temperature: float) -> list[Answer | str]:
        if variant != VARIANTS["tokenmold"]:
            raise SystemExit("`--engine program` has no other backends, and options of its own")
        asked = [
            {
                "id": str(number),
                "prompt": case.prompt,
                "schema": case.schema,
                "max_tokens": budget,
                "temperature": temperature,
                "seed": arguments.seed + number,
            }
            for number, case in enumerate(cases)
        ]
        lines = "\n".join(json.dumps(one) for one in asked)
        # Not told the schema: the other engines' models are not either.
        command = [arguments.program, "generate", "--model", arguments.model, "--batch", "-", "--system", ""]
        told = subprocess.run(command, input=lines, capture_output=True, text=True)
        given = [json.loads(line) for line in told.stdout.splitlines()]
        if len(given) != len(cases):
            raise SystemExit(told.stderr)
        return [
            Answer(one["text"], one["tokens"], "stop" if one["complete"] else "length")
            if "text" in one
            else str(one["error"])
            for one in given
        ]

    return ask


def verdict(schema: Any, text: str) -> str:
    """`cut`, or what `jsonschema` says of a whole text."""
    try:
        json.loads(text)
    except ValueError:
        return "cut"
    said = judged(schema, text)
    return "invalid" if said == "wrong format" else said


def same(told: Any, given: Any) -> bool:
    if isinstance(told, str) and isinstance(given, str):
        return told.strip().casefold() == given.strip().casefold()
    return isinstance(told, bool) == isinstance(given, bool) and told == given


def fields_right(facts: dict[str, Any], text: str) -> int:
    try:
        value = json.loads(text)
    except ValueError:
        return 0
    return sum(same(told, at_pointer(value, pointer)) for pointer, told in facts.items())


def record(case: Case, given: Answer | str) -> dict[str, Any]:
    """What became of one request."""
    one: dict[str, Any] = {"schema": case.name, "facts": len(case.facts), "right": 0, "tokens": 0}
    if isinstance(given, str):
        return one | {"verdict": "refused", "why": given}
    found = verdict(case.schema, given.text)
    one |= {
        "verdict": found,
        "finish_reason": given.finish_reason,
        "tokens": given.tokens,
        "right": fields_right(case.facts, given.text),
        "text": given.text,
    }
    if found == "cut":
        # A text that the engine ended is no cut one, whatever it is.
        stopped = given.finish_reason == "stop"
        one |= {"verdict": "invalid"} if stopped else {"cause": cause(case.schema, given.text)}
    return one


COLUMNS = ("backend", "t", "budget", "answers", "valid", "invalid", "cut", *CAUSES, "not judged", "refused")


def table(rows: list[dict[str, Any]], schemas: set[str] | None = None) -> str:
    """Each row has the records of its answers. With `schemas`, only theirs count, and times are left out."""
    columns = [*COLUMNS, "tokens", "fields right", *(() if schemas is not None else ("seconds", "processor"))]
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for row in rows:
        records = [one for one in row["records"] if schemas is None or one["schema"] in schemas]
        verdicts = Counter(one["verdict"] for one in records)
        causes = Counter(one.get("cause") for one in records)
        valid = verdicts["valid"]
        cells = {
            "backend": row["variant"],
            "t": f"{row['temperature']:g}",
            "budget": row["budget"],
            "answers": len(records),
            "valid": f"**{valid}** ({100 * valid / max(1, len(records)):.0f}%)",
            **{name: verdicts[name] for name in ("invalid", "cut", "not judged", "refused")},
            **{name: causes[name] for name in CAUSES},
            "tokens": sum(one["tokens"] for one in records),
            "fields right": f"{sum(one['right'] for one in records)} of {sum(one['facts'] for one in records)}",
            "seconds": f"{row['seconds']:.0f}",
            "processor": f"{row['processor']:.0f}",
        }
        lines.append(f"| {' | '.join(str(cells[name]) for name in columns)} |")
    return "\n".join(lines)


ENGINES = {"vllm": in_vllm, "transformers": in_transformers, "program": in_program}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", required=True, help="a model folder")
    parser.add_argument(
        "--schemas", nargs="*", type=Path, help="files as in benches/answers, not the everyday ones"
    )
    parser.add_argument("--maskbench", type=Path, help="cases of MaskBench, besides")
    parser.add_argument("--sample", type=int, default=40, help="how many of MaskBench's")
    parser.add_argument("--limit", type=int, help="the first so many schemas only")
    parser.add_argument(
        "--budgets", nargs="+", type=int, default=[128, 256], help="tokens an answer may have"
    )
    parser.add_argument(
        "--backends",
        type=lambda text: text.split(","),
        default=["tokenmold", "xgrammar", "guidance"],
        help=f"of {', '.join(VARIANTS)}",
    )
    parser.add_argument("--temperature", nargs="+", type=float, default=[0.0])
    parser.add_argument("--engine", choices=[*ENGINES], default="vllm")
    parser.add_argument("--program", default="target/release/tokenmold", help="for `--engine program`")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--batch", type=int, default=64, help="answers at a time in vLLM")
    # bfloat16 is slow on CPUs without it, which hides what masks cost.
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--out", type=Path, help="all answers, one JSON object a line")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.backends if name not in VARIANTS]
    if unknown:
        parser.error(f"unknown backends: {', '.join(unknown)}")

    cases = [read_case(path) for path in arguments.schemas or sorted(EVERYDAY.glob("*.json"))]
    if arguments.maskbench:
        cases += maskbench(arguments.maskbench, arguments.sample, arguments.seed)
    cases = cases[: arguments.limit]
    ask = ENGINES[arguments.engine](arguments)
    rows = []
    for name in arguments.backends:
        for temperature in arguments.temperature:
            for budget in arguments.budgets:
                began, worked = time.perf_counter(), time.process_time()
                given = ask(cases, VARIANTS[name], budget, temperature)
                row = {
                    "variant": name,
                    "temperature": temperature,
                    "budget": budget,
                    "seconds": time.perf_counter() - began,
                    "processor": time.process_time() - worked,
                    "records": [record(case, one) for case, one in zip(cases, given, strict=True)],
                }
                rows.append(row)
                print(table([row]).splitlines()[-1], file=sys.stderr, flush=True)
                if arguments.out:
                    with arguments.out.open("a", encoding="utf-8") as out:
                        told = {key: row[key] for key in ("variant", "temperature", "budget")}
                        for one in row["records"]:
                            out.write(json.dumps(told | one, ensure_ascii=False) + "\n")
    print(table(rows))
    refused = {one["schema"] for row in rows for one in row["records"] if one["verdict"] == "refused"}
    if refused:
        rest = {case.name for case in cases} - refused
        print(f"\nThe {len(rest)} schemas that none refuses:\n\n{table(rows, rest)}")


if __name__ == "__main__":
    main()
