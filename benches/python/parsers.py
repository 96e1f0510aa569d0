"""Recorded outputs with tools, read by other engines' parsers as `conformance -- tool-calls` reads them with ours.

    python benches/python/parsers.py tool-calls-dev.jsonl tokenizers --engine vllm --differences wrong.jsonl

The parsers are called as the engine's server calls them: the reasoning parser, then the tool parser, over the
whole text and over streams of it (token by token, at once, in random groups). A case is right if the message is
the expected one and every stream adds up to it; `blanks` are cases that differ by blanks of content and reasoning
alone. For example, a call that was cut off and is returned is wrong.

Token ids are the recorded ones where a tokenizer of the folder decodes them to the text. Elsewhere they are those
of Qwen3's tokenizer with the family's marks added, so that a mark in letters is a mark there (one case of Kimi K3).
Needs vLLM or SGLang, and transformers. Harmony's parser reads its own encoding, which is made of gpt-oss' tokenizer.
"""

from __future__ import annotations

import argparse
import base64
import json
import logging
import os
import random
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

# Random groups of each text: enough to meet most marks in their middle.
RANDOM_STREAMS = 4
SEED = 7

DEEPSEEK = "<｜Assistant｜><think>"
QWEN = "<|im_start|>assistant\n<think>\n"
KIMI = "<|im_assistant|>assistant<|im_middle|><think>"
K3 = '<|open|>message role="assistant"<|sep|><|open|>think<|sep|>'


@dataclass
class Model:
    """The parsers that engines' documents name for a model, and what opens its reasoning where no prompt is told."""

    part: str
    vllm: tuple[str, str | None]
    sglang: tuple[str, str | None]
    opening: str = ""


MODELS = [
    Model("DeepSeek-V3-0324", ("deepseek_v3", None), ("deepseekv3", None)),
    Model("DeepSeek-V3.1", ("deepseek_v31", "deepseek_v3"), ("deepseekv31", "deepseek-v3"), DEEPSEEK),
    Model("DeepSeek-V3.2", ("deepseek_v32", "deepseek_v3"), ("deepseekv32", "deepseek-v3"), DEEPSEEK),
    Model("DeepSeek-V4.1", ("deepseek_v41", "deepseek_v41"), ("deepseekv41", "deepseek-v41"), DEEPSEEK),
    Model("DeepSeek-V4", ("deepseek_v4", "deepseek_v4"), ("deepseekv4", "deepseek-v4"), DEEPSEEK),
    Model("gemma-4", ("gemma4", "gemma4"), ("gemma4", "gemma4")),
    Model("GLM-4.7", ("glm47", "glm47"), ("glm47", "glm45"), "<|assistant|><think>"),
    Model("GLM-", ("glm45", "glm45"), ("glm45", "glm45")),
    Model("gpt-oss", ("openai", "openai_gptoss"), ("gpt-oss", "gpt-oss")),
    Model("Kimi-K2-Instruct", ("kimi_k2", None), ("kimi_k2", None)),
    Model("Kimi-K2", ("kimi_k2", "kimi_k2"), ("kimi_k2", "kimi_k2"), KIMI),
    Model("Kimi-K3", ("kimi_k3", "kimi_k3"), ("kimi_k3", "kimi_k3"), K3),
    Model("Llama-4", ("llama4_pythonic", None), ("pythonic", None)),
    Model("Llama-", ("llama3_json", None), ("llama3", None)),
    Model("Mistral-7B", ("mistral", None), ("mistral", None)),
    Model("Mistral-Small-3.2", ("mistral", None), ("mistral", None)),
    Model("istral", ("mistral", "mistral"), ("mistral", "mistral")),
    Model("Qwen3-Coder", ("qwen3_coder", None), ("qwen3_coder", None)),
    Model("Qwen3.", ("qwen3_coder", "qwen3"), ("qwen3_coder", "qwen3"), QWEN),
    Model("Instruct-2507", ("hermes", None), ("qwen25", None)),
    Model("Qwen", ("hermes", "qwen3"), ("qwen25", "qwen3"), QWEN),
]

MARKS = {
    "deepseek": "<｜Assistant｜> <think> </think> ｜DSML｜ <｜tool▁calls▁begin｜> <｜tool▁calls▁end｜> "
    "<｜tool▁call▁begin｜> <｜tool▁call▁end｜> <｜tool▁sep｜>",
    "gemma4": "<|turn> <turn|> <|channel> <channel|> <|tool_call> <tool_call|> <|tool_response> "
    '<tool_response|> <|"|>',
    "glm": "<|assistant|> <think> </think> <tool_call> </tool_call> <arg_key> </arg_key> <arg_value> "
    "</arg_value>",
    "gpt-oss": "",
    "kimi": "<|im_assistant|> <|im_middle|> <think> </think> <|open|> <|close|> <|sep|> "
    "<|tool_calls_section_begin|> <|tool_calls_section_end|> <|tool_call_begin|> <|tool_call_argument_begin|> <|tool_call_end|>",
    "llama": "<|python_tag|> <|eot|>",
    "mistral": "[INST] [/INST] [TOOL_CALLS]",
    "qwen3-hermes": "",
    "qwen3-xml": "",
}
# Mistral's later tokenizers have more marks; its parser asks the vocabulary which generation it reads.
MISTRAL_V11 = " [ARGS] [CALL_ID]"
MISTRAL_V13 = " [THINK] [/THINK]"


@dataclass
class Answer:
    """A message as clients see it."""

    content: str = ""
    reasoning: str = ""
    calls: list[dict[str, Any]] = field(default_factory=list)

    def trimmed(self) -> Answer:
        return Answer("".join(self.content.split()), "".join(self.reasoning.split()), self.calls)

    def shown(self) -> dict[str, Any]:
        return {"content": self.content, "reasoning_content": self.reasoning, "tool_calls": self.calls}


def same(a: Any, b: Any) -> bool:
    """Equality by which 3 is 3.0, but neither a text nor true."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


def call(name: str | None, arguments: str | None) -> dict[str, Any]:
    try:
        return {"name": name, "arguments": json.loads(arguments or "null")}
    except ValueError:
        return {"name": name, "arguments": f"not JSON: {arguments}"}


def verdict(record: dict[str, Any], got: Answer) -> str:
    accept = record.get("expected_error", {}).get("accept")
    if accept is not None:
        passed = "content_passthrough" in accept or len(got.content) < len(record["raw_output"]) // 2
        return "right" if passed and not got.calls else "wrong"
    expected = record["expected"]
    content, reasoning = expected["content"] or "", expected["reasoning_content"] or ""
    wanted = Answer(content, reasoning, expected["tool_calls"] or [])
    offered = {tool["function"]["name"] for tool in record["tools"] or []}
    for made in got.calls:
        if not isinstance(made["arguments"], dict) or (offered and made["name"] not in offered):
            return "wrong"
    if same(got.shown(), wanted.shown()):
        return "right"
    return "blanks" if same(got.trimmed().shown(), wanted.trimmed().shown()) else "wrong"


@cache
def load(file: str, marks: str, supports_grammar: bool) -> Any:
    from transformers import PreTrainedTokenizerFast

    tokenizer = PreTrainedTokenizerFast(tokenizer_file=file, clean_up_tokenization_spaces=False)
    # As in the families' own tokenizers, what looks like XML or stands within a tag is no special token.
    known = [mark for mark in marks.split(" ") if mark]
    special = [mark for mark in known if mark.startswith(("<|", "[")) or mark.endswith("|>")]
    tokenizer.add_special_tokens({"additional_special_tokens": special})
    tokenizer.add_tokens([mark for mark in known if mark not in special])
    # Parsers ask for the vocabulary each time they are made, and engines keep it for them.
    vocabulary = tokenizer.get_vocab()
    tokenizer.get_vocab = lambda: vocabulary
    if supports_grammar:
        tokenizer.supports_grammar = True
    return tokenizer


def decode(tokenizer: Any, ids: list[int]) -> str:
    return str(tokenizer.decode(ids, skip_special_tokens=False, spaces_between_special_tokens=False))


def tokens_of(record: dict[str, Any], reasoning: str | None, tokenizers: Path) -> tuple[Any, list[int], str]:
    """The tokenizer of a case, the ids of its text, and a word on where they are from."""
    repository = record["tokenizer"]["repo"]
    for part, folder in {"DeepSeek-V3": "deepseek_v3", "gpt-oss": "gptoss", "Qwen3": "qwen3"}.items():
        if part in repository:
            tokenizer = load(str(tokenizers / folder / "tokenizer.json"), "", False)
            thinks = record["family"] == "gpt-oss" or not reasoning or "</think>" in tokenizer.get_vocab()
            if thinks and decode(tokenizer, record["output_token_ids"]) == record["raw_output"]:
                return tokenizer, record["output_token_ids"], folder
    marks = MARKS[record["family"]]
    tekken = record["tokenizer"]["mode"] == "mistral"
    if tekken:
        marks += MISTRAL_V11 if "-2506" in repository else MISTRAL_V11 + MISTRAL_V13
    tokenizer = load(str(tokenizers / "qwen3" / "tokenizer.json"), marks, tekken)
    return tokenizer, tokenizer.encode(record["raw_output"], add_special_tokens=False), "stub"


def pieces(tokenizer: Any, ids: list[int]) -> list[tuple[str, list[int]]]:
    """The texts of tokens, as a server's detokenizer gives them: of characters that are whole."""
    out: list[tuple[str, list[int]]] = []
    given = 0
    for i, token in enumerate(ids):
        text = decode(tokenizer, ids[: i + 1])
        whole = "" if text.endswith("\ufffd") and i + 1 < len(ids) else text[given:]
        given += len(whole)
        out.append((whole, [token]))
    return out


def streams(tokens: list[tuple[str, list[int]]]) -> Iterator[tuple[str, list[tuple[str, list[int]]]]]:
    """A text's tokens one by one, at once, and in random groups."""
    yield "tokens", tokens
    yield "at once", [("".join(text for text, _ in tokens), [token for _, ids in tokens for token in ids])]
    draw = random.Random(SEED)
    for i in range(RANDOM_STREAMS):
        groups, at = [], 0
        while at < len(tokens):
            group = tokens[at : at + draw.randint(1, 2 << (i % 4))]
            groups.append(("".join(text for text, _ in group), [token for _, ids in group for token in ids]))
            at += len(group)
        yield "groups", groups


class Case:
    """A recorded output, set up for an engine."""

    def __init__(self, record: dict[str, Any], tokenizers: Path) -> None:
        self.record = record
        self.text = record["raw_output"]
        self.model = next(model for model in MODELS if any(model.part in name for name in record["models"]))
        self.tokenizer, self.ids, self.source = tokens_of(record, self.model.vllm[1], tokenizers)
        thinking = record.get("thinking")
        prompt = record.get("generation_prompt")
        self.prompt = (self.model.opening if thinking else "") if prompt is None else prompt
        self.opened = self.prompt.rstrip().endswith(("<think>", "think<|sep|>"))
        # What the request says of reasoning: nothing where the case does not.
        self.thinking = True if thinking is None and self.opened else thinking


class Vllm:
    """vLLM's parsers, as its chat server composes them."""

    def __init__(self, case: Case) -> None:
        from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
        from vllm.parser.parser_manager import ParserManager

        tool, reasoning = case.model.vllm
        self.case = case
        said = {"thinking": case.thinking, "enable_thinking": case.thinking}
        self.kwargs = said if case.thinking is not None else {}
        made = ParserManager.get_parser(
            tool_parser_name=tool,
            reasoning_parser_name=reasoning,
            enable_auto_tools=True,
            is_harmony=tool == "openai",
        )
        assert made is not None
        self.parser_class = made
        tools = case.record["tools"] or None
        self.request = ChatCompletionRequest(
            messages=[{"role": "user", "content": "x"}],
            model="m",
            tools=tools,
            tool_choice="auto" if tools else None,
            chat_template_kwargs=self.kwargs,
        )
        self.prompt = case.tokenizer.encode(case.prompt, add_special_tokens=False) if case.prompt else []

    def parser(self) -> Any:
        parser = self.parser_class(self.case.tokenizer, self.request.tools, chat_template_kwargs=self.kwargs)
        self.request = parser.adjust_request(self.request)
        return parser

    def whole(self) -> Answer:
        parser = self.parser()
        parser.set_prompt_token_ids(self.prompt)
        reasoning, content, calls = parser.parse(
            self.case.text, self.request, enable_auto_tools=True, model_output_token_ids=self.case.ids
        )
        made = [call(found.name, found.arguments) for found in calls or []]
        return Answer(content or "", reasoning or "", made)

    def stream(self, groups: list[tuple[str, list[int]]]) -> Answer:
        parser = self.parser()
        answer = Answer()
        made: dict[int, list[str]] = {}
        for i, (text, ids) in enumerate(groups):
            delta = parser.parse_delta(text, ids, self.request, self.prompt, finished=i + 1 == len(groups))
            if delta is None:
                continue
            answer.content += delta.content or ""
            answer.reasoning += delta.reasoning or ""
            for part in delta.tool_calls or []:
                known = made.setdefault(part.index, ["", ""])
                known[0] += (part.function.name if part.function else None) or ""
                known[1] += (part.function.arguments if part.function else None) or ""
        answer.calls = [call(name, arguments) for _, (name, arguments) in sorted(made.items())]
        return answer


class Sglang:
    """SGLang's detectors, as its chat server calls them."""

    def __init__(self, case: Case) -> None:
        from sglang.srt.entrypoints.openai.protocol import Tool

        self.case = case
        self.tools = [Tool(**tool) for tool in case.record["tools"] or []]
        # SGLang leaves the stop token of a call of gpt-oss in the text; the cases have it cut.
        header = case.text.rpartition("<|start|>")[2].partition("<|message|>")[0]
        ended = case.text.endswith(("<|call|>", "<|end|>")) or "expected_error" in case.record
        self.stop = "<|call|>" if case.record["family"] == "gpt-oss" and "to=" in header and not ended else ""

    def parsers(self, stream: bool) -> tuple[Any, Any]:
        from sglang.srt.function_call.function_call_parser import FunctionCallParser
        from sglang.srt.parser.reasoning_parser import ReasoningParser

        tool, reasoning = self.case.model.sglang
        reader = reasoning and ReasoningParser(
            model_type=reasoning,
            stream_reasoning=stream,
            force_reasoning=self.case.opened,
            tokenizer=self.case.tokenizer,
            tool_call_parser_active=bool(self.tools),
        )
        return reader, FunctionCallParser(self.tools, tool, tokenizer=self.case.tokenizer)

    def whole(self) -> Answer:
        reader, parser = self.parsers(stream=False)
        text = self.case.text + self.stop
        reasoning, text = reader.parse_non_stream(text) if reader else (None, text)
        text = text or ""
        calls: list[Any] = []
        if parser.has_tool_call(text):
            text, calls = parser.parse_non_stream(text)
        return Answer(text or "", reasoning or "", [call(made.name, made.parameters) for made in calls])

    def stream(self, groups: list[tuple[str, list[int]]]) -> Answer:
        reader, parser = self.parsers(stream=True)
        answer = Answer()
        made: dict[int, list[str]] = {}
        for i, (text, _) in enumerate(groups):
            last = i + 1 == len(groups)
            text += self.stop if last else ""
            if reader:
                reasoning, normal = reader.parse_stream_chunk(text)
                if last:
                    more, rest = reader.parse_stream_end()
                    reasoning, normal = (reasoning or "") + (more or ""), (normal or "") + (rest or "")
                answer.reasoning += reasoning or ""
                text = normal or ""
            parts = [parser.parse_stream_chunk(text)] if text else []
            parts += [parser.parse_stream_end()] if last else []
            for content, calls in parts:
                answer.content += content or ""
                for part in calls:
                    known = made.setdefault(part.tool_index, ["", ""])
                    known[0] += part.name or ""
                    known[1] += part.parameters or ""
        # At the end its server sends what is left of the last call's arguments.
        made_calls, sent = parser.detector.prev_tool_call_arr, parser.detector.streamed_args_for_tool
        if 0 < len(made_calls) <= len(sent):
            last_index = len(made_calls) - 1
            arguments = made_calls[last_index].get("arguments", {})
            wanted = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
            if wanted.startswith(sent[last_index]):
                made.setdefault(last_index, ["", ""])[1] += wanted[len(sent[last_index]) :]
        answer.calls = [call(name, arguments) for _, (name, arguments) in sorted(made.items())]
        return answer


ENGINES: dict[str, Callable[[Case], Vllm | Sglang]] = {"vllm": Vllm, "sglang": Sglang}


def attempt(record: dict[str, Any], read: Callable[[], Answer]) -> tuple[str, Any]:
    """The verdict on an answer, and the answer; an exception is one where the case takes it."""
    try:
        got = read()
    except Exception as error:  # noqa: BLE001: whatever a parser raises reaches its server
        accept = record.get("expected_error", {}).get("accept", [])
        return ("right" if "exception" in accept else "wrong"), f"{type(error).__name__}: {error}"
    return verdict(record, got), got.shown()


def judge(record: dict[str, Any], engine: Vllm | Sglang, case: Case) -> tuple[str, str, Any]:
    """The worst verdict of a case, whole and streamed, the check that gave it, and the answer."""
    worst, shown = attempt(record, engine.whole)
    check = "whole"
    order = ["right", "blanks", "wrong"]
    for name, groups in streams(pieces(case.tokenizer, case.ids)):
        found, got = attempt(record, lambda groups=groups: engine.stream(groups))
        if order.index(found) > order.index(worst):
            worst, check, shown = found, f"stream, {name}", got
    return worst, check, shown


def harmony_encoding(tokenizers: Path, folder: Path) -> None:
    """Writes the ranks of gpt-oss' tokenizer where Harmony's library looks for its encoding."""
    text = (tokenizers / "gptoss" / "tokenizer.json").read_text(encoding="utf-8")
    vocabulary = json.loads(text)["model"]["vocab"]
    # GPT-2's spelling of bytes by printable characters.
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    spelt = {chr(byte): byte for byte in printable} | {chr(256 + i): byte for i, byte in enumerate(others)}
    ranks = sorted((rank, bytes(spelt[char] for char in token)) for token, rank in vocabulary.items())
    lines = [base64.b64encode(token).decode() + f" {rank}\n" for rank, token in ranks]
    (folder / "o200k_base.tiktoken").write_text("".join(lines), encoding="ascii")
    os.environ["TIKTOKEN_ENCODINGS_BASE"] = str(folder)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=Path)
    parser.add_argument("tokenizers", type=Path)
    parser.add_argument("--engine", choices=[*ENGINES], required=True)
    parser.add_argument("--differences", type=Path, help="a file for the cases that are not right")
    given = parser.parse_args()
    # Engines say much while they read broken calls.
    logging.disable(logging.CRITICAL)
    whole: dict[str, Counter[str]] = defaultdict(Counter)
    all_checks: dict[str, Counter[str]] = defaultdict(Counter)
    sources: Counter[str] = Counter()
    differences = []
    with tempfile.TemporaryDirectory() as folder:
        harmony_encoding(given.tokenizers, Path(folder))
        for line in given.cases.open(encoding="utf-8"):
            record = json.loads(line)
            case = Case(record, given.tokenizers)
            sources[case.source] += 1
            engine = ENGINES[given.engine](case)
            first, _ = attempt(record, engine.whole)
            found, check, got = judge(record, engine, case)
            for family in (record["family"], "all"):
                whole[family][first] += 1
                all_checks[family][found] += 1
            if found != "right":
                wanted = record.get("expected") or record["expected_error"]
                told = {"id": record["id"], "verdict": found, "whole": first, "check": check}
                differences.append(told | {"text": record["raw_output"], "expected": wanted, "got": got})
    if given.differences:
        lines = [json.dumps(difference, ensure_ascii=False) + "\n" for difference in differences]
        given.differences.write_text("".join(lines), encoding="utf-8")
    print(f"token ids: {dict(sources)}")
    print(f"{'':14} whole: right blanks wrong | whole and streamed: right blanks wrong")
    for family in [*sorted(whole.keys() - {"all"}), "all"]:
        names = ("right", "blanks", "wrong")
        counts = [counted[family][name] for counted in (whole, all_checks) for name in names]
        print(f"{family:14} " + " ".join(f"{count:4}" for count in counts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
