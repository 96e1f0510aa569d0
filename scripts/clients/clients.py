"""Clients that others wrote against a running server: the `openai` package, `langchain-openai`,
`instructor` and `pydantic-ai`. Each test says what it has seen; a package that is not installed is
skipped by name.

    python clients.py http://127.0.0.1:8080
"""

import importlib.util
import json
import sys

import openai
from pydantic import BaseModel, Field

URL = sys.argv[1]
MODEL = openai.OpenAI(base_url=f"{URL}/v1", api_key="-").models.list().data[0].id
CLIENT = openai.OpenAI(base_url=f"{URL}/v1", api_key="-", max_retries=0)


class Person(BaseModel):
    name: str
    age: int = Field(ge=0, le=150)


class Weather(BaseModel):
    """Tells the weather of a city."""

    city: str


NOTE = [{"role": "user", "content": "Note about Vera Hale, is 41 years old."}]
TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Tells the weather of a city.",
        "strict": True,
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "enum": ["Oslo", "Ulm"]}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}


def parse():
    said = CLIENT.chat.completions.parse(
        model=MODEL, messages=NOTE, temperature=0, response_format=Person
    )
    person = said.choices[0].message.parsed
    assert person.name and said.choices[0].finish_reason == "stop"
    return person


def stream_helper():
    with CLIENT.chat.completions.stream(
        model=MODEL, messages=NOTE, temperature=0, response_format=Person
    ) as stream:
        kinds = [event.type for event in stream]
        person = stream.get_final_completion().choices[0].message.parsed
    assert "content.delta" in kinds and kinds[-1] == "content.done"
    return person


def tool_loop():
    messages = [{"role": "user", "content": "Weather in Oslo?"}]
    asked = CLIENT.chat.completions.create(
        model=MODEL, messages=messages, temperature=0, tools=[TOOL], tool_choice="required"
    )
    message = asked.choices[0].message
    call = message.tool_calls[0]
    assert asked.choices[0].finish_reason == "tool_calls"
    assert json.loads(call.function.arguments)["city"] in ("Oslo", "Ulm")
    messages += [message, {"role": "tool", "tool_call_id": call.id, "content": "rain"}]
    answer = CLIENT.chat.completions.create(
        model=MODEL, messages=messages, temperature=0, tools=[TOOL], tool_choice="none",
        max_completion_tokens=16,
    )
    assert answer.choices[0].message.tool_calls is None
    return call.function.arguments


def stream_of_calls():
    with CLIENT.chat.completions.stream(
        model=MODEL, messages=[{"role": "user", "content": "Weather in Ulm?"}], temperature=0,
        tools=[openai.pydantic_function_tool(Weather)], tool_choice="required",
    ) as stream:
        kinds = {event.type for event in stream}
        final = stream.get_final_completion()
    call = final.choices[0].message.tool_calls[0]
    assert isinstance(call.function.parsed_arguments, Weather)
    assert "tool_calls.function.arguments.delta" in kinds
    return call.function.arguments


def refusals():
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": r"(a)\1"}}}
    wanted = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
    try:
        CLIENT.chat.completions.create(model=MODEL, messages=NOTE, response_format=wanted)
    except openai.BadRequestError as error:
        assert error.param == "response_format.json_schema.schema", error.param
        assert "/properties/a/pattern" in str(error)
        return error.body["message"]
    raise AssertionError("a schema that cannot be enforced was answered")


def responses_parse():
    said = CLIENT.responses.parse(
        model=MODEL, input=NOTE[0]["content"], temperature=0, text_format=Person
    )
    assert said.output_parsed.name and said.status == "completed"
    return said.output_parsed


def responses_stream():
    with CLIENT.responses.stream(
        model=MODEL, input=NOTE[0]["content"], temperature=0, text_format=Person
    ) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_response()
    assert "response.output_text.delta" in kinds and kinds[-1] == "response.completed"
    return final.output_parsed


def responses_tools():
    tool = {"type": "function", **TOOL["function"]}
    items = [{"role": "user", "content": "Weather in Oslo?"}]
    said = CLIENT.responses.create(model=MODEL, input=items, temperature=0, tools=[tool])
    call = next(item for item in said.output if item.type == "function_call")
    items += [call, {"type": "function_call_output", "call_id": call.call_id, "output": "rain"}]
    CLIENT.responses.create(
        model=MODEL, input=items, tools=[tool], tool_choice="none", max_output_tokens=16
    )
    return call.arguments


def decisions():
    if not hasattr(CLIENT, "decisions"):
        return "skipped: this release of openai has no decisions"
    said = CLIENT.decisions.create(
        model=MODEL,
        input="The soup is cold and late.",
        questions=[
            {"type": "predicate", "instructions": "The customer is happy."},
            {"type": "choice", "instructions": "Topic?", "choices": [{"value": "food"}, {"value": "music"}]},
            {"type": "score", "instructions": "Anger?", "levels": [{"label": "low"}, {"label": "high"}]},
        ],
    )
    predicate, choice, score = said.answers
    assert 0 <= predicate.probability <= 1 and 0 <= score.score <= 1
    assert abs(sum(one.probability for one in choice.probabilities) - 1) < 1e-9
    return f"{predicate.probability:.3f}, {choice.choice}, {score.score:.3f}"


def texts():
    said = CLIENT.completions.create(
        model=MODEL, prompt=["One", "Two"], max_tokens=4, logprobs=2, temperature=0
    )
    assert [choice.index for choice in said.choices] == [0, 1]
    extra = {"structured_outputs": {"choice": ["red", "green"]}}
    said = CLIENT.completions.create(model=MODEL, prompt="A colour: ", extra_body=extra)
    assert said.choices[0].text in ("red", "green")
    return said.choices[0].text


def langchain():
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(model=MODEL, base_url=f"{URL}/v1", api_key="-", temperature=0)
    seen = []
    for method in ("json_schema", "function_calling"):
        person = model.with_structured_output(Person, method=method).invoke(NOTE[0]["content"])
        assert isinstance(person, Person)
        seen.append(str(person))
    pieces = list(model.with_structured_output(Person, method="json_schema").stream(NOTE[0]["content"]))
    assert pieces
    said = model.bind_tools([Weather], tool_choice="any").invoke("Weather in Oslo?")
    assert said.tool_calls[0]["name"] == "Weather"
    return ", ".join(seen)


def with_instructor():
    import instructor

    seen = []
    for mode in (instructor.Mode.TOOLS, instructor.Mode.JSON_SCHEMA):
        client = instructor.from_openai(CLIENT, mode=mode)
        person = client.chat.completions.create(
            model=MODEL, messages=NOTE, temperature=0, response_model=Person, max_retries=0
        )
        seen.append(str(person))
    return ", ".join(seen)


def with_pydantic_ai():
    from pydantic_ai import Agent, NativeOutput
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=f"{URL}/v1", api_key="-"))
    seen = []
    for output in (Person, NativeOutput(Person)):
        agent = Agent(model, output_type=output, model_settings={"temperature": 0})
        person = agent.run_sync(NOTE[0]["content"]).output
        assert isinstance(person, Person)
        seen.append(str(person))
    return ", ".join(seen)


TESTS = [
    ("openai", parse), ("openai", stream_helper), ("openai", tool_loop), ("openai", stream_of_calls),
    ("openai", refusals), ("openai", responses_parse), ("openai", responses_stream),
    ("openai", responses_tools), ("openai", decisions), ("openai", texts),
    ("langchain_openai", langchain), ("instructor", with_instructor), ("pydantic_ai", with_pydantic_ai),
]

failed = passed = 0
for package, test in TESTS:
    if importlib.util.find_spec(package) is None:
        print(f"skipped: {test.__name__}: there is no {package}")
        continue
    try:
        said = str(test())
        if said.startswith("skipped"):
            print(f"{said}")
            continue
        print(f"ok: {package} {openai.__version__} {test.__name__}: {said}")
        passed += 1
    except Exception as error:  # Each test is told, whatever the one before did.
        failed += 1
        print(f"FAILED: {package} {test.__name__}: {type(error).__name__}: {error}")
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
