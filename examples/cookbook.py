"""Eight tasks in Python. Seven ask a server that was started by `tokenmold serve`; the eighth is a loop over
logits of one's own, with the package `tokenmold` and no server.

    python cookbook.py http://127.0.0.1:8080
"""

import importlib.util
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import openai
from pydantic import BaseModel, Field

URL = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080"
HERE = Path(__file__).parent
client = openai.OpenAI(base_url=f"{URL}/v1", api_key="-")
MODEL = client.models.list().data[0].id


def user(text):
    return [{"role": "user", "content": text}]


class Invoice(BaseModel):
    customer: str
    items: list[str] = Field(min_length=1, max_length=5)
    quantity: int = Field(ge=1, le=99)
    paid: bool


class Event(BaseModel):
    title: str
    date: str = Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")


class Person(BaseModel):
    name: str
    age: int = Field(ge=0, le=150)


# 1: an invoice from a sentence.
said = client.chat.completions.parse(
    model=MODEL, messages=user("Please ship 7 pieces to Hana Novak, paid."), response_format=Invoice, temperature=0
)
print("invoice:", said.choices[0].message.parsed)

# 2: an event.
said = client.chat.completions.parse(
    model=MODEL, messages=user("Plan the Winter Review on 3 May 2027."), response_format=Event, temperature=0
)
print("event:", said.choices[0].message.parsed)

# 3: a tree, whose schema refers to itself.
tree = json.loads((HERE / "tree.json").read_text())
said = client.chat.completions.create(
    model=MODEL, messages=user("A tree."), max_completion_tokens=120,
    response_format={"type": "json_schema", "json_schema": {"name": "tree", "schema": tree}},
)
print("tree:", json.loads(said.choices[0].message.content))

# 4: a call of a tool.
tools = json.loads((HERE / "tools.json").read_text())
said = client.chat.completions.create(
    model=MODEL, messages=user("Weather in Oslo?"), tools=tools, tool_choice="required", temperature=0
)
call = said.choices[0].message.tool_calls[0].function
print("call:", call.name, json.loads(call.arguments))

# 5: an answer as it arrives.
print("stream:", end=" ")
with client.chat.completions.stream(
    model=MODEL, messages=user("Note about Vera Hale, is 41 years old."), response_format=Person, temperature=0
) as stream:
    for event in stream:
        if event.type == "content.delta":
            print(event.delta, end="", flush=True)
print()

# 6: many at once; the server generates them side by side.
def note(text):
    said = client.chat.completions.parse(model=MODEL, messages=user(text), response_format=Person, temperature=0)
    return said.choices[0].message.parsed


with ThreadPoolExecutor(4) as pool:
    print("batch:", list(pool.map(note, ["Note about Vera Hale, is 41 years old.", "Note about Paul Silva, is 29 years old."])))

# 7: a text of a grammar.
said = client.chat.completions.create(
    model=MODEL, messages=user("12+7"), max_completion_tokens=12,
    extra_body={"structured_outputs": {"grammar": (HERE / "sums.gbnf").read_text()}},
)
print("grammar:", said.choices[0].message.content)

# 8: a loop over logits of one's own; here they are random, in place of a model's.
if importlib.util.find_spec("tokenmold") is None:
    print("skipped: the package tokenmold is not installed: pip install .")
else:
    import numpy
    from tokenmold import Compiler, Vocabulary, allocate_mask, apply_mask

    tokenizer = HERE / "../crates/runtime/model/tokenizer.json"
    vocabulary = Vocabulary.from_tokenizer_json(tokenizer.read_bytes())
    constraint = Compiler(vocabulary).json_schema((HERE / "person.json").read_text())
    matcher = constraint.matcher(max_tokens=40)
    mask = allocate_mask(1, vocabulary)
    drawn, tokens = numpy.random.default_rng(1), []
    while not matcher.is_terminated:
        logits = drawn.normal(size=(1, vocabulary.width)).astype(numpy.float32)
        matcher.fill(mask)
        apply_mask(logits, mask)
        tokens.append(int(logits.argmax()))
        matcher.accept(tokens[-1])
    text = b"".join(vocabulary.token_bytes(token) or b"" for token in tokens)
    assert constraint.is_match(text)
    print("own loop:", text.decode())
