"""Floods a server on this machine with schemas, expressions, grammars and tags that are made to cost, and says
whether it stays well: `/health` is asked all the time, and a client with plain requests goes on.
It needs nothing but Python, and stops by itself.

    python flood.py http://127.0.0.1:8080 [--requests 300] [--clients 24] [--pid PID] [--key KEY]

A costly constraint may be refused with 400, or answered; anything else is a failure, and so is a
health check that fails or takes a second.
"""

import argparse
import json
import random
import threading
import time
import urllib.error
import urllib.request
from urllib.parse import urlparse


def nested(kind, depth):
    schema = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "array", "items": schema} if kind == "items" else {"anyOf": [schema, {"not": schema}]}
    return schema


def schemas(chance):
    yield nested("items", 400)
    yield nested("anyOf", chance.randrange(8, 16))
    yield {"enum": [f"value {number}" * 3 for number in range(chance.randrange(1_000, 8_000))]}
    yield {"type": "string", "minLength": 10 ** chance.randrange(3, 9), "pattern": "^(a|b|ab)*$"}
    yield {"type": "array", "uniqueItems": True, "minItems": chance.randrange(50, 3_000), "items": {"enum": list(range(400))}}
    doubled = {f"d{number}": {"allOf": [{"$ref": f"#/$defs/d{number + 1}"}] * 2} for number in range(30)}
    yield {"$ref": "#/$defs/d0", "$defs": {**doubled, "d30": {"type": "integer", "multipleOf": 7919}}}
    yield {"type": "object", "patternProperties": {f"^{chance.choice('abc')}.*{number}$": {"minimum": number} for number in range(60)}}
    yield {"type": "integer", "multipleOf": chance.randrange(10 ** 6, 10 ** 9), "minimum": -(10 ** 18), "maximum": 10 ** 18}
    yield {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}
    yield {"oneOf": [{"type": "object", "properties": {f"p{number}": {"type": "string"}}} for number in range(chance.randrange(20, 80))]}
    yield {"type": chance.choice(["strin", 5, None, []]), "properties": [1]}


def expressions(chance):
    yield "(" * 3_000 + "a" + ")" * 3_000
    yield "(a?){%d}b" % chance.randrange(1_000, 50_000)
    yield "((a{1,100}){1,100}){1,%d}" % chance.randrange(10, 100)
    yield "(x+x+)+y|" + "|".join(f"k{number}.*{number}" for number in range(150))
    yield r"(?i)[\p{L}\p{N}]{1,%d}\b" % chance.randrange(100, 900)


def grammars(chance):
    rules = [f"r{number} ::= r{number + 1} r{number + 1}" for number in range(1, 40)]
    yield "root ::= r1\n" + "\n".join(rules) + '\nr40 ::= "a"?'
    names = ["root", "a", "b", "c"]
    part = lambda: chance.choice([*names, '"x"', '"y" a?', "b*", "(c | a)+", '""'])
    sides = lambda: " | ".join(" ".join(part() for _ in range(3)) for _ in range(3))
    yield "\n".join(f'{name} ::= {sides()} | "z"' for name in names)
    yield 'root ::= ((("a"{0,99}){0,99}){0,99}){0,%d}' % chance.randrange(2, 99)
    yield "root ::= " + " ".join('[^x]* "x"?' for _ in range(chance.randrange(50, 1_500)))
    yield "root ::= a a ::= ("
    yield 'start: %json {"type": "object"}\n' + "".join(f'r{number}: %json {{"type": "array"}}\n' for number in range(60))


def tags(chance):
    yield {"type": "sequence", "elements": [{"type": "any_text"}] * chance.randrange(100, 2_000)}
    yield {"type": "or", "elements": [{"type": "regex", "pattern": f"(a|{number})*"} for number in range(chance.randrange(50, 600))]}
    yield {"type": "star", "content": {"type": "star", "content": {"type": "star", "content": {"type": "any_text"}}}}


def floods(chance):
    """Endless bodies of costly requests."""
    while True:
        for schema in schemas(chance):
            yield {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}}
        for expression in expressions(chance):
            yield {"structured_outputs": {"regex": expression}}
        for grammar in grammars(chance):
            yield {"structured_outputs": {"grammar": grammar}}
        for tag in tags(chance):
            yield {"structured_outputs": {"structural_tag": json.dumps({"type": "structural_tag", "format": tag})}}


def ask(url, key, body, timeout):
    request = urllib.request.Request(
        f"{url}/v1/chat/completions", json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {key}"},
    )
    began = time.perf_counter()
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            answer.read()
            status = answer.status
    except urllib.error.HTTPError as error:
        error.read()
        status = error.code
    except OSError as error:
        status = type(error).__name__
    return status, time.perf_counter() - began


def resident(pid):
    with open(f"/proc/{pid}/status") as file:
        line = next(line for line in file if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def quantiles(values):
    values = sorted(values)
    at = lambda part: values[min(len(values) - 1, int(part * len(values)))]
    return f"p50 {at(0.5) * 1e3:.0f} ms, p99 {at(0.99) * 1e3:.0f} ms, longest {values[-1] * 1e3:.0f} ms"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("--requests", type=int, default=300)
    parser.add_argument("--clients", type=int, default=24)
    parser.add_argument("--pid", type=int)
    parser.add_argument("--key", default="none")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if urlparse(arguments.url).hostname not in ("127.0.0.1", "localhost", "::1"):
        raise SystemExit("only a server on this machine is loaded")
    url, key = arguments.url.rstrip("/"), arguments.key
    with urllib.request.urlopen(f"{url}/v1/models", timeout=60) as answer:
        model = json.load(answer)["data"][0]["id"]

    prompt = {"model": model, "messages": [{"role": "user", "content": "Hi"}], "max_completion_tokens": 24}
    bodies, lock, over = floods(random.Random(arguments.seed)), threading.Lock(), threading.Event()
    left, answers, health, plain, memory = [arguments.requests], [], [], [], []

    def flood():
        while True:
            with lock:
                if not left[0]:
                    return
                left[0] -= 1
                body = next(bodies)
            answers.append((*ask(url, key, {**prompt, **body}, 120), json.dumps(body)[:160]))

    def watch():
        while not over.is_set():
            began = time.perf_counter()
            try:
                with urllib.request.urlopen(f"{url}/health", timeout=10) as answer:
                    well = answer.status == 200
            except OSError:
                well = False
            health.append((well, time.perf_counter() - began))
            if arguments.pid:
                memory.append(resident(arguments.pid))
            time.sleep(0.02)

    def go_on():
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
        form = {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}}
        while not over.is_set():
            plain.append(ask(url, key, {**prompt, **form}, 120))

    began = time.perf_counter()
    others = [threading.Thread(target=each) for each in (watch, go_on)]
    clients = [threading.Thread(target=flood) for _ in range(arguments.clients)]
    for thread in [*others, *clients]:
        thread.start()
    for thread in clients:
        thread.join()
    over.set()
    for thread in others:
        thread.join()

    counts = {}
    for status, _, _ in answers:
        counts[status] = counts.get(status, 0) + 1
    print(f"{len(answers)} costly requests of {arguments.clients} clients in {time.perf_counter() - began:.0f} s: "
          + ", ".join(f"{count} times {status}" for status, count in sorted(counts.items(), key=str)))
    print(f"  {quantiles([took for _, took, _ in answers])}")
    print(f"health: {len(health)} checks, {sum(not well for well, _ in health)} failed; {quantiles([took for _, took in health])}")
    print(f"plain requests: {len(plain)}, {sum(status != 200 for status, _ in plain)} failed; {quantiles([took for _, took in plain])}")
    if memory:
        print(f"resident: {memory[0]:.0f} MiB at first, {max(memory):.0f} at most, {memory[-1]:.0f} at last")
    for status, took, body in sorted(answers, key=lambda answer: -answer[1])[:5]:
        print(f"  {took:.1f} s, {status}: {body}")
    bad = [answer for answer in answers if answer[0] not in (200, 400, 429)]
    bad += [check for check in health if not check[0] or check[1] > 1]
    bad += [answer for answer in plain if answer[0] not in (200, 429)]
    raise SystemExit(1 if bad else 0)


if __name__ == "__main__":
    main()
