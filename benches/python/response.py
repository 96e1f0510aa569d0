"""How fast the reference implementations read what benches/benches/response.rs reads.

    pip install transformers==5.23.0 regex    # response templates, whole and streamed
    pip install transformers==5.0.0 jmespath  # response schemas, whole
    python benches/python/response.py

One version of transformers is installed at a time; what it lacks is left out.
"""

import json
import pathlib
import timeit

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERMES = ROOT / "python/tests/hermes.json"

SCHEMA = {
    "type": "object",
    "properties": {
        "role": {"const": "assistant"},
        "thinking": {"type": "string", "x-regex": r"<think>\s*(.*?)\s*</think>"},
        "content": {"type": "string", "x-regex": r"</think>\s*([^<]+?)\s*(?:<tool_call>|$)"},
        "tool_calls": {
            "x-regex-iterator": r"<tool_call>\s*(.*?)\s*</tool_call>",
            "type": "array",
            "items": {"x-parser": "json"},
        },
    },
}


def call(i):
    arguments = {"query": f"number {i}", "limit": i, "exact": True, "tags": ["a", "b"], "weight": 0.5}
    return json.dumps({"name": "search", "arguments": arguments})


def reasoning(size):
    sentence = "First this, then that, and no angle in between is a tag. "
    return sentence * -(-size // len(sentence))


def mixed(size):
    calls = "".join(f"<tool_call>\n{call(i)}\n</tool_call>\n" for i in range(-(-size // 300)))
    return f"<think>\n{reasoning(size // 2)}\n</think>\n\nHere you are.\n{calls}"


def prose(size):
    return f"<think>\n{reasoning(size)}\n</think>\n\nDone."


TEXTS = {"mixed 4 kB": mixed(4_000), "prose 4 kB": prose(4_000)}


def best(run):
    timer = timeit.Timer(run)
    count, _ = timer.autorange()
    return min(timer.repeat(repeat=2, number=count)) / count * 1e6


def show(what, text, run):
    us = best(run)
    print(f"{what:32} {us:12.1f} us {len(text) / us:8.2f} MB/s")


def schemas():
    from transformers.utils.chat_parsing_utils import recursive_parse

    for name, text in TEXTS.items():
        show(f"schema, whole, {name}", text, lambda: recursive_parse(text, SCHEMA))


def templates():
    from transformers.utils.chat_parsing.response_parser import ResponseParser, parse_response
    from transformers.utils.chat_parsing.response_templates import load_response_template

    template = load_response_template(json.loads(HERMES.read_text(encoding="utf-8")))
    for name, text in TEXTS.items():
        show(f"template, whole, {name}", text, lambda: parse_response(text, template, prefix=""))
    for name, text in TEXTS.items():
        tokens = [text[i : i + 4] for i in range(0, len(text), 4)]

        def run():
            parser = ResponseParser(template, prefix="")
            for token in tokens:
                parser.feed(token)
            parser.finalize()

        us = best(run)
        print(f"template, streamed, {name:13} {us:12.1f} us {us / len(tokens):8.2f} us a token")


for part in (schemas, templates):
    try:
        part()
    except ImportError:
        pass
