"""Loads a server on this machine and says how it bears it: 1, 8 and 64 clients with mixed schemas,
malformed requests among them. It needs nothing but Python, and stops by itself.

    python load.py http://127.0.0.1:8080 [--requests 64] [--pid PID] [--key KEY]

Each answer is checked: constrained ones must be JSON of their schema (as far as types and names
go), malformed ones must be refused, and none may be lost. The server may be any with OpenAI's API.
"""

import argparse
import json
import threading
import time
import urllib.error
import urllib.request
from urllib.parse import urlparse

SCHEMAS = [
    ("Note about Vera Hale, is 41 years old.", {"name": "string", "age": "integer"}),
    ("Plan the Winter Review in Lisbon, online.", {"title": "string", "location": "string", "online": "boolean"}),
    ("Ship 7 pieces to Hana Novak.", {"customer": "string", "quantity": "integer"}),
]
TYPES = {"string": str, "integer": int, "boolean": bool}
MALFORMED = [
    {"messages": [{"role": "user", "content": "Hi"}], "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "strin"}}}},
    {"messages": [{"role": "user", "content": "Hi"}], "structured_outputs": {"regex": "("}},
    {"messages": "Hi"},
    {"messages": [{"role": "user", "content": "Hi"}], "structured_outputs": {"grammar": "root ::= a a ::= ("}},
]


def body_of(number, model):
    if number % 8 == 7:
        return {"model": model, **MALFORMED[number // 8 % len(MALFORMED)]}, None
    prompt, fields = SCHEMAS[number % len(SCHEMAS)]
    schema = {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in fields.items()},
        "required": list(fields),
        "additionalProperties": False,
    }
    return {
        "model": model,
        "messages": [{"role": "user", "content": prompt}],
        "max_completion_tokens": 64,
        "temperature": 1,
        "seed": number,
        "stream": True,
        "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}},
    }, fields


def ask(url, key, body, fields):
    """Returns the kind of the answer, the seconds to its first piece and to its end, and its pieces."""
    request = urllib.request.Request(
        f"{url}/v1/chat/completions", json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {key}"},
    )
    began = time.perf_counter()
    first, text, pieces, finish = None, "", 0, None
    try:
        with urllib.request.urlopen(request, timeout=600) as answer:
            for line in answer:
                if not line.startswith(b"data: ") or line.strip() == b"data: [DONE]":
                    continue
                piece = json.loads(line[6:])
                if "error" in piece:
                    return "error", 0, 0, 0
                choice = piece["choices"][0]
                finish = choice.get("finish_reason") or finish
                if choice["delta"].get("content"):
                    first = first or time.perf_counter() - began
                    text += choice["delta"]["content"]
                    pieces += 1
    except urllib.error.HTTPError as error:
        kind = {400: "refused", 422: "refused", 429: "full"}.get(error.code, f"status {error.code}")
        return kind, 0, time.perf_counter() - began, 0
    took = time.perf_counter() - began
    if fields is None:
        return "accepted though malformed", first or took, took, pieces
    try:
        value = json.loads(text)
        valid = list(value) == list(fields) and all(
            type(value[name]) is TYPES[kind] for name, kind in fields.items()
        )
    except ValueError:
        valid = False
    return ("valid" if valid else f"not valid ({finish})"), first or took, took, pieces


def memory(pid):
    if pid is None:
        return ""
    with open(f"/proc/{pid}/status") as status:
        lines = [line for line in status if line.startswith("VmRSS")]
    return f", {int(lines[0].split()[1]) // 1024} MiB resident"


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("url")
    arguments.add_argument("--requests", type=int, default=64)
    arguments.add_argument("--clients", type=int, nargs="*", default=[1, 8, 64])
    arguments.add_argument("--pid", type=int)
    arguments.add_argument("--key", default="-")
    given = arguments.parse_args()
    if urlparse(given.url).hostname not in ("127.0.0.1", "localhost", "::1"):
        raise SystemExit("this loads servers on this machine alone")
    models = urllib.request.Request(f"{given.url}/v1/models", headers={"Authorization": f"Bearer {given.key}"})
    model = json.load(urllib.request.urlopen(models))["data"][0]["id"]
    failed = False
    for clients in given.clients:
        seen, lock, numbers = [], threading.Lock(), iter(range(given.requests))

        def client():
            while True:
                with lock:
                    number = next(numbers, None)
                if number is None:
                    return
                body, fields = body_of(number, model)
                told = ask(given.url, given.key, body, fields)
                with lock:
                    seen.append(told)

        began = time.perf_counter()
        threads = [threading.Thread(target=client) for _ in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = time.perf_counter() - began
        kinds = {}
        for kind, *_ in seen:
            kinds[kind] = kinds.get(kind, 0) + 1
        firsts = sorted(first for kind, first, *_ in seen if kind == "valid")
        ends = sorted(end for kind, _, end, _ in seen if kind == "valid")
        pieces = sum(pieces for *_, pieces in seen)
        at = lambda all, share: 1000 * all[min(len(all) - 1, int(share * len(all)))] if all else float("nan")
        print(
            f"{clients:3} clients: {len(seen)} of {given.requests} answered in {took:.2f} s, {pieces / took:.0f} pieces/s; "
            f"{', '.join(f'{count} {kind}' for kind, count in sorted(kinds.items()))}; first piece p50 {at(firsts, .5):.0f}, "
            f"p99 {at(firsts, .99):.0f} ms; whole p50 {at(ends, .5):.0f}, p99 {at(ends, .99):.0f}, max {at(ends, 1):.0f} ms"
            f"{memory(given.pid)}",
            flush=True,
        )
        failed |= len(seen) != given.requests or any(kind not in ("valid", "refused") for kind in kinds)
    raise SystemExit(1 if failed else 0)


main()
