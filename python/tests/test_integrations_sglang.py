"""Tokenmold as a grammar backend of SGLang, against SGLang's own classes. No model is run."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest

FOLDER = os.environ.get("TOKENMOLD_HF_MODEL")
if not FOLDER:
    pytest.skip("TOKENMOLD_HF_MODEL names no model folder: SGLang is not tried", allow_module_level=True)
os.environ["HF_HUB_OFFLINE"] = "1"
torch = pytest.importorskip("torch", reason="torch is not installed")
base = pytest.importorskip("sglang.srt.constrained.base_grammar_backend", reason="SGLang is not installed")

from sglang.srt.arg_groups.choices import GRAMMAR_BACKEND_CHOICES
from sglang.srt.runtime_context import get_context, get_parallel
from tokenmold.integrations.sglang import TokenmoldBackend, TokenmoldGrammar, register
from transformers import AutoTokenizer

register()
register()

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": True},
    },
    "required": ["name", "tags"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return AutoTokenizer.from_pretrained(FOLDER)


def create(tokenizer: Any, **settings: Any) -> Any:
    with get_context().override_server_args(grammar_backend="tokenmold", **settings):
        return base.create_grammar_backend(
            None, tokenizer, len(tokenizer), {tokenizer.eos_token_id}, think_end_ids=[1]
        )


@pytest.fixture(scope="module")
def backend(tokenizer: Any) -> Iterator[TokenmoldBackend]:
    made = create(tokenizer)
    assert isinstance(made, TokenmoldBackend)
    yield made
    made.executor.shutdown()


def ask(backend: Any, kind: str, text: str, reasoning: bool = False) -> Any:
    """As the scheduler asks: compiled on a thread, then remembered and copied."""
    key = (kind, text)
    value, hit = backend.get_cached_or_future_value(key, reasoning)
    if hit:
        return value
    backend.set_cache(key, value.result())
    value, hit = backend.get_cached_or_future_value(key, reasoning)
    assert hit
    return value


def tokens(tokenizer: Any, text: str) -> list[int]:
    return tokenizer.encode(text, add_special_tokens=False)


def allowed(mask: Any, row: int) -> list[int]:
    words = mask[row].tolist()
    return [at * 32 + bit for at, word in enumerate(words) if word for bit in range(32) if word >> bit & 1]


FORMAT = {
    "type": "triggered_tags",
    "triggers": ["<f"],
    "tags": [
        {
            "type": "tag",
            "begin": "<f>",
            "content": {"type": "json_schema", "json_schema": {"type": "integer"}},
            "end": "</f>",
        }
    ],
}
TAG = json.dumps({"type": "structural_tag", "format": FORMAT})
LEGACY = json.dumps(
    {
        "structures": [{"begin": "<f>", "schema": None, "end": "</f>"}],
        "triggers": ["<f"],
        "at_least_one": True,
    }
)


@pytest.mark.parametrize(
    ("kind", "text", "right", "wrong"),
    [
        (
            "json",
            json.dumps(PERSON),
            '{"name": "A", "tags": ["a", "b"]}',
            '{"name": "A", "tags": ["a", "a"]}',
        ),
        ("json", "$$ANY$$", '[1, {"a": null}]', "[1,,"),
        ("regex", "[0-9]{2}", "17", "1x"),
        ("structural_tag", TAG, "So <f>12</f>.", "So <f>a</f>"),
        ("structural_tag", LEGACY, '<f>["any"]</f>.', "So <f>[</f>"),
    ],
)
def test_what_is_asked(backend: Any, tokenizer: Any, kind: str, text: str, right: str, wrong: str) -> None:
    grammar = ask(backend, kind, text)
    assert isinstance(grammar, TokenmoldGrammar)
    said = [*tokens(tokenizer, right), tokenizer.eos_token_id]
    mask = grammar.allocate_vocab_mask(len(tokenizer), 2, "cpu")
    for token in said:
        grammar.fill_vocab_mask(mask, 1)
        assert allowed(mask, 1) == grammar.matcher.allowed_tokens()
        logits = torch.zeros(2, len(tokenizer))
        grammar.apply_vocab_mask(logits, mask)
        assert (logits[0] == 0).all() and torch.isfinite(logits[1]).nonzero().flatten().tolist() == allowed(
            mask, 1
        )
        grammar.accept_token(token)
        assert grammar.current_token == token
    assert grammar.is_terminated()
    grammar.accept_token(said[0])
    grammar.rollback(1)
    assert not grammar.is_terminated()
    fresh = ask(backend, kind, text)
    assert fresh is not grammar and fresh.grammar_stats.is_cache_hit and len(fresh.matcher) == 0
    with pytest.raises(ValueError, match="refused"):
        for token in [*tokens(tokenizer, wrong), tokenizer.eos_token_id]:
            fresh.accept_token(token)


@pytest.mark.parametrize(
    ("kind", "text", "names"),
    [
        ("json", '{"type": "objekt"}', "objekt"),
        ("json", "{", "JSON"),
        ("regex", "(a", ""),
        ("ebnf", 'root ::= "a', "line 1"),
        ("structural_tag", "{}", ""),
        ("structural_tag", "[]", ""),
        ("structural_tag", '{"structures": [{}], "triggers": []}', "begin"),
        ("structural_tag", '{"format": {"type": "gadget"}}', "gadget"),
    ],
)
def test_what_is_refused_says_why(backend: Any, kind: str, text: str, names: str) -> None:
    refused = ask(backend, kind, text)
    assert isinstance(refused, base.InvalidGrammarObject)
    assert names in refused.error_message


def test_a_batch_is_filled_in_one_call(backend: Any, tokenizer: Any) -> None:
    grammars = [ask(backend, "regex", text) for text in ("[0-9]+", "a|b", "ab*c")]
    mask = grammars[0].allocate_vocab_mask(len(tokenizer), 5, "cpu")
    entries = [
        base.GrammarRow(row=row, grammar=grammar) for row, grammar in zip((4, 0, 2), grammars, strict=True)
    ]
    grammars[0].fill_vocab_mask_batched(entries, mask)
    for entry in entries:
        assert allowed(mask, entry.row) == entry.grammar.matcher.allowed_tokens()
    assert (mask[1] == -1).all() and (mask[3] == -1).all()
    grammars[0].fill_vocab_mask_batched([], mask)
    grammars[0].reset_vocab_mask(mask)
    assert (mask == -1).all()


def test_jumps(backend: Any, tokenizer: Any) -> None:
    grammar = ask(backend, "regex", "the same é[0-9]")
    helper = grammar.try_jump_forward(tokenizer)
    text, state = grammar.jump_forward_str_state(helper)
    assert text == "the same é"
    old = tokens(tokenizer, "t")
    for token in old:
        grammar.accept_token(token)
    grammar.jump_and_retokenize(old, tokens(tokenizer, text), state)
    for token in [*tokens(tokenizer, "7"), tokenizer.eos_token_id]:
        grammar.accept_token(token)
    assert grammar.is_terminated()
    assert ask(backend, "regex", "a|b").try_jump_forward(tokenizer) is None


def test_white_space(tokenizer: Any) -> None:
    compact = ask(
        create(tokenizer, constrained_json_disable_any_whitespace=True), "json", '{"type": "array"}'
    )
    for token in tokens(tokenizer, "[1"):
        compact.accept_token(token)
    with pytest.raises(ValueError, match="refused"):
        compact.accept_token(tokens(tokenizer, " ")[0])
    with pytest.raises(ValueError, match="constrained-json-whitespace-pattern"):
        create(tokenizer, constrained_json_whitespace_pattern=" ")


def test_options_of_schemas(tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    dated = '{"type": "string", "format": "date"}'
    assert not ask(create(tokenizer), "json", dated).constraint.is_match('"tomorrow"')
    monkeypatch.setenv("TOKENMOLD_SCHEMA_OPTIONS", "")
    register(formats="annotate", max_steps=1_000_000)
    assert ask(create(tokenizer), "json", dated).constraint.is_match('"tomorrow"')
    monkeypatch.setenv("TOKENMOLD_SCHEMA_OPTIONS", '{"formats": "none"}')
    with pytest.raises(ValueError, match="assert, annotate, strict"):
        create(tokenizer)
    with pytest.raises(ValueError, match="has no `colour`"):
        register(colour="red")  # type: ignore[call-arg]
    refused = ask(create_with(tokenizer, monkeypatch, '{"max_steps": 1}'), "json", dated)
    assert isinstance(refused, base.InvalidGrammarObject) and "`max_steps=`" in refused.error_message
    bounded = create_with(tokenizer, monkeypatch, '{"max_text_bytes": 12, "formats": "annotate"}')
    assert ask(bounded, "json", dated).constraint.is_match('"tomorrow"')
    assert ask(bounded, "ebnf", 'root ::= "a"').constraint.is_match("a")
    refused = ask(bounded, "ebnf", 'root ::= "aa"')
    assert isinstance(refused, base.InvalidGrammarObject) and "max_text_bytes" in refused.error_message


def create_with(tokenizer: Any, monkeypatch: pytest.MonkeyPatch, options: str) -> Any:
    monkeypatch.setenv("TOKENMOLD_SCHEMA_OPTIONS", options)
    return create(tokenizer)


def test_behind_reasoning(tokenizer: Any) -> None:
    backend = create(tokenizer, reasoning_parser="qwen3")
    grammar = ask(backend, "regex", "[0-9]", reasoning=True)
    mask = grammar.allocate_vocab_mask(len(tokenizer), 1, "cpu")
    for token in tokens(tokenizer, "let me think</think>"):
        grammar.accept_token(token)
    batch = [base.GrammarRow(row=0, grammar=grammar)]
    grammar.fill_vocab_mask_batched(batch, mask)
    assert allowed(mask, 0) == ask(backend, "regex", "[0-9]").grammar.matcher.allowed_tokens()
    grammar.rollback(1)
    mask.fill_(-1)
    grammar.fill_vocab_mask_batched(batch, mask)
    assert (mask == -1).all()


def test_frames_around_what_is_asked(backend: Any, tokenizer: Any) -> None:
    for kind, text, said in [
        ("json", '{"type": "integer"}', "12"),
        ("regex", "[a-c]", "b"),
        ("structural_tag", TAG, "<f>1</f>"),
    ]:
        framed = backend.compile_framed_grammar(
            ask(backend, kind, text),
            lambda content: {
                "type": "structural_tag",
                "format": {"type": "tag", "begin": "<a>", "content": content, "end": "</a>"},
            },
        )
        for token in [*tokens(tokenizer, f"<a>{said}</a>"), tokenizer.eos_token_id]:
            framed.accept_token(token)
        assert framed.is_terminated()


def test_a_tree_of_drafts(backend: Any, tokenizer: Any) -> None:
    spec = pytest.importorskip(
        "sglang.srt.speculative.spec_utils", reason="SGLang's speculation needs what is not installed"
    )
    grammar = ask(backend, "regex", "ab?c")
    a, b, c, end = (
        *tokens(tokenizer, "a"),
        *tokens(tokenizer, "b"),
        *tokens(tokenizer, "c"),
        tokenizer.eos_token_id,
    )
    grammar.accept_token(a)
    # a -> (b -> c -> end), (c -> end): the first is what the model said, and the others hang from it.
    draft = torch.tensor([a, b, c, c, end])
    child = torch.tensor([1, 2, -1, 4, -1])
    sibling = torch.tensor([-1, 3, -1, -1, -1])
    mask = grammar.allocate_vocab_mask(len(tokenizer), 5, "cpu")
    spec.traverse_tree(child, sibling, draft, grammar, mask)
    for row, said in [(0, [a]), (1, [a, b]), (2, [a, b, c]), (3, [a, c])]:
        matcher = ask(backend, "regex", "ab?c").matcher
        assert matcher.accept_all(said) == len(said)
        assert allowed(mask, row) == matcher.allowed_tokens(), row
    assert len(grammar.matcher) == 1


def test_the_name_can_be_chosen() -> None:
    assert GRAMMAR_BACKEND_CHOICES.count("tokenmold") == 1


def manage(backend: Any) -> Any:
    """SGLang's manager of grammars, without the process groups of a scheduler."""
    from types import SimpleNamespace

    from sglang.srt.constrained.grammar_manager import GrammarManager

    manager = object.__new__(GrammarManager)
    manager.grammar_backend = backend
    manager.grammar_queue = []
    manager._enable_strict_thinking = False
    manager.scheduler = SimpleNamespace(model_config=SimpleNamespace())
    return manager


def asked(manager: Any, most: int, **custom: Any) -> Any:
    """A request of SGLang's for a person, whose grammar is ready."""
    from sglang.srt.managers.schedule_batch import Req
    from sglang.srt.sampling.sampling_params import SamplingParams

    def request() -> Any:
        params = SamplingParams(
            max_new_tokens=most, json_schema=json.dumps(PERSON), custom_params=custom or None
        )
        return Req("1", "x", [1, 2, 3], params)

    first = request()
    if manager.process_req_with_grammar(first):
        manager.grammar_backend.set_cache(first.grammar_key, first.grammar.result())
        first = request()
        assert not manager.process_req_with_grammar(first)
    return first


def wordy(tokenizer: Any, request: Any, most: int) -> str:
    """The longest token that may come, as often as one may come."""
    mask = request.grammar.allocate_vocab_mask(len(tokenizer), 1, "cpu")
    lengths = [len(text) for text in tokenizer.batch_decode([[t] for t in range(len(tokenizer))])]
    for _ in range(most):
        if request.grammar.is_terminated():
            break
        request.grammar.fill_vocab_mask(mask, 0)
        may = allowed(mask, 0)
        token = max(may, key=lambda t: (t != tokenizer.eos_token_id, lengths[t], t))
        request.grammar.accept_token(token)
        request.output_ids.append(token)
    return tokenizer.decode(request.output_ids, skip_special_tokens=True)


def test_answers_end_within_the_tokens_of_their_request(backend: Any, tokenizer: Any) -> None:
    manager = manage(backend)
    for most in (24, 40, 64):
        text = wordy(tokenizer, asked(manager, most), most)
        assert json.loads(text).keys() == {"name", "tags"}, text
    with pytest.raises(ValueError):
        json.loads(wordy(tokenizer, asked(manager, 24, tokenmold={"budget": "cut"}), 24))
    with get_parallel().override(tp_rank=0):
        refused = asked(manager, 3)
    assert "allow" in refused.to_finish.message and "`max_new_tokens` is 3" in refused.to_finish.message
