"""Matchers: what is allowed is what completes, and every operation says what it did."""

from __future__ import annotations

import copy
import json
import random
import threading
from typing import Literal

import numpy as np
import pytest
from conftest import END, encode
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenmold import Compiler, Matcher, TokenmoldError, Vocabulary, allocate_mask, fill_batch

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 10},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": True},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
VALID = '{"name": "Ada", "age": 36, "tags": ["a", "b"]}'


def bits(mask: np.ndarray, row: int = 0) -> list[int]:
    words = mask[row].view(np.uint32)
    return [32 * int(at) + bit for at in np.flatnonzero(words) for bit in range(32) if words[at] >> bit & 1]


def test_a_text_is_taken_token_by_token(vocabulary: Vocabulary, compiler: Compiler) -> None:
    matcher = compiler.json_schema(PERSON).matcher()
    mask = allocate_mask(1, vocabulary)
    for token in encode(vocabulary, VALID):
        assert not matcher.is_complete
        assert matcher.fill(mask)
        assert token in bits(mask)
        assert matcher.accept(token)
    assert matcher.is_complete and not matcher.is_terminated
    matcher.fill(mask)
    assert bits(mask) == [END] == matcher.allowed_tokens()
    assert matcher.accept(END) and matcher.is_terminated
    assert len(matcher) == len(encode(vocabulary, VALID)) + 1


def test_masks_are_what_may_be_taken(vocabulary: Vocabulary, compiler: Compiler) -> None:
    for constraint in (
        compiler.json_schema(PERSON),
        compiler.regex(r"[a-c]{2,3}(x|true)"),
        compiler.choice(["red", "green", "gr{ey"]),
    ):
        matcher = constraint.matcher()
        mask = allocate_mask(1, vocabulary)
        for _ in range(12):
            matcher.fill(mask)
            taken = [t for t in range(vocabulary.width) if matcher.copy().accept(t)]
            assert bits(mask) == taken == matcher.allowed_tokens()
            if not taken or taken == [END]:
                break
            assert matcher.accept(taken[len(taken) // 2])


def test_refused_tokens_change_nothing(vocabulary: Vocabulary, compiler: Compiler) -> None:
    matcher = compiler.json_schema(PERSON).matcher()
    (brace,) = encode(vocabulary, "{")
    assert not matcher.accept(END)
    assert not matcher.accept(vocabulary.width + 7)
    assert not matcher.accept(ord("x"))
    assert len(matcher) == 0 and matcher.accept(brace)


def test_runs_of_tokens(vocabulary: Vocabulary, compiler: Compiler) -> None:
    matcher = compiler.json_schema(PERSON).matcher()
    tokens = encode(vocabulary, VALID)
    assert matcher.validate([*tokens, ord("x")]) == len(tokens)
    assert len(matcher) == 0
    assert matcher.accept_all([*tokens[:3], ord("}"), ord("}")]) == 3
    assert matcher.accept_all(tokens[3:]) == len(tokens) - 3
    assert matcher.is_complete


def test_going_back_past_the_end(vocabulary: Vocabulary, compiler: Compiler) -> None:
    matcher = compiler.choice(["ab"]).matcher(after_end="ignore")
    assert matcher.accept_all([ord("a"), ord("b"), END, END, ord("z")]) == 5
    assert matcher.is_terminated
    matcher.rollback(2)
    assert matcher.is_terminated
    matcher.rollback()
    assert not matcher.is_terminated and matcher.is_complete
    matcher.rollback(2)
    assert matcher.allowed_tokens() == [ord("a")]
    with pytest.raises(TokenmoldError, match="0 were taken") as error:
        matcher.rollback()
    assert error.value.kind == "guide_state"
    refusing = compiler.choice(["ab"]).matcher()
    assert refusing.accept_all([ord("a"), ord("b"), END, END]) == 3
    refusing.reset()
    assert len(refusing) == 0 and not refusing.is_terminated


def test_ends_of_a_request(vocabulary: Vocabulary, compiler: Compiler) -> None:
    constraint = compiler.choice(["a"])
    matcher = constraint.matcher(ends=[END + 1])
    assert matcher.accept(ord("a")) and matcher.allowed_tokens() == [END + 1]
    assert not matcher.accept(END)
    with pytest.raises(TokenmoldError, match="is text") as error:
        constraint.matcher(ends=[ord("a")])
    assert error.value.kind == "vocabulary"
    nothing = Vocabulary.from_tokens([b"a"], [])
    with pytest.raises(TokenmoldError, match="no token ends a text"):
        Compiler(nothing).choice(["a"]).matcher()
    assert Compiler(nothing).choice(["a"]).matcher(ends=()).allowed_tokens() == [0]


def test_copies_go_on_by_themselves(compiler: Compiler) -> None:
    matcher = compiler.regex("ab*").matcher()
    matcher.accept(ord("a"))
    other = copy.copy(matcher)
    other.accept(ord("b"))
    assert (len(matcher), len(other)) == (1, 2)


def test_forced(vocabulary: Vocabulary, compiler: Compiler) -> None:
    matcher = compiler.choice(["true", "trie"]).matcher()
    assert matcher.forced_bytes() == b"tr"
    # "true" is a token, so "t" and "true" may both come.
    assert matcher.forced_tokens() == []
    assert matcher.forced_tokens(lambda data: encode(vocabulary, data)) == []
    lonely = compiler.choice(["xyz"]).matcher()
    assert lonely.forced_tokens() == [*b"xyz", END]
    assert lonely.forced_tokens(lambda data: list(data)) == [*b"xyz"]
    assert len(lonely) == 0

    def fails(data: bytes) -> list[int]:
        raise KeyError(data)

    with pytest.raises(KeyError):
        lonely.forced_tokens(fails)


def test_drafts(vocabulary: Vocabulary, compiler: Compiler) -> None:
    matcher = compiler.json_schema(PERSON).matcher()
    tokens = encode(vocabulary, VALID)
    matcher.accept_all(tokens[:3])
    mask = allocate_mask(8, vocabulary)
    assert matcher.fill_drafts(tokens[3:6], mask, 2) == 3
    assert len(matcher) == 3
    stepped = allocate_mask(1, vocabulary)
    follower = matcher.copy()
    for row, token in enumerate([*tokens[3:6], None], start=2):
        follower.fill(stepped)
        assert (stepped[0] == mask[row]).all()
        if token is not None:
            follower.accept(token)
    assert (mask[[0, 1, 6, 7]] == -1).all()
    # Behind a draft that is refused, rows repeat the last one that is known.
    assert matcher.fill_drafts([tokens[3], END, tokens[4]], mask, 0) == 1
    assert (mask[1] == mask[2]).all() and (mask[2] == mask[3]).all()


def test_explanations(vocabulary: Vocabulary, compiler: Compiler) -> None:
    matcher = compiler.json_schema(PERSON).matcher()
    matcher.accept_all(encode(vocabulary, '{"name": "A", "age": '))
    said = matcher.explain(ord('"'))
    assert said.pointer == "/properties/age" and "before a value" in said.place
    assert said.refused is not None and said.offset == 0
    assert said.completion is not None and json.loads('{"name": "A", "age": ' + said.completion.decode())
    assert matcher.explain(ord("7")).refused is None
    assert len(matcher) == len(encode(vocabulary, '{"name": "A", "age": '))


def test_batches(vocabulary: Vocabulary, compiler: Compiler) -> None:
    constraint = compiler.json_schema(PERSON)
    tokens = encode(vocabulary, VALID)
    matchers = []
    for at in range(40):
        matchers.append(constraint.matcher())
        matchers[-1].accept_all(tokens[: at % len(tokens)])
    alone = allocate_mask(40, vocabulary)
    for row, matcher in enumerate(matchers):
        matcher.fill(alone, row)
    for threads in (None, 1, 2, 3):
        together = allocate_mask(40, vocabulary)
        fill_batch([m.copy() for m in matchers], together, threads=threads)
        assert (together == alone).all()
    rows = list(reversed(range(40)))
    together = allocate_mask(41, vocabulary)
    fill_batch(matchers, together, rows)
    assert (together[:40] == alone[::-1]).all() and (together[40] == -1).all()
    fill_batch([], together)


def test_a_matcher_is_used_by_one_thread_at_a_time(vocabulary: Vocabulary, compiler: Compiler) -> None:
    matcher = compiler.json_schema(PERSON).matcher()
    forced = compiler.choice(["xyz"]).matcher()
    with pytest.raises(TokenmoldError) as error:
        # Through a callback, while the call that asked for it goes on.
        forced.forced_tokens(lambda data: [int(forced.accept(ord("x")))])
    assert error.value.kind == "busy"
    outcomes: list[str] = []

    def use() -> None:
        mask = allocate_mask(1, vocabulary)
        for _ in range(300):
            try:
                matcher.fill(mask)
                outcomes.append("filled")
            except TokenmoldError as refused:
                outcomes.append(refused.kind)

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 1200 and set(outcomes) <= {"filled", "busy"}


@pytest.mark.parametrize(
    ("mask", "error"),
    [
        (lambda words: np.zeros((1, words), np.int64), TypeError),
        (lambda words: np.zeros((1, words), np.float32), TypeError),
        (lambda words: np.zeros((1, words - 1), np.int32), TokenmoldError),
        (lambda words: np.zeros((0, words), np.int32), TokenmoldError),
        (lambda words: np.zeros((1, 1, words), np.int32), TokenmoldError),
        (lambda words: np.zeros((1, 2 * words), np.int32)[:, ::2], TokenmoldError),
        (lambda words: np.frombuffer(bytes(4 * words), np.int32), TypeError),
        (lambda words: np.frombuffer(bytearray(4 * words + 1), np.uint8)[1:].view(np.int32), TokenmoldError),
        (lambda words: [0] * words, TypeError),
        (lambda words: None, TypeError),
    ],
)
def test_masks_that_do_not_fit(vocabulary: Vocabulary, compiler: Compiler, mask, error) -> None:  # type: ignore[no-untyped-def]
    matcher = compiler.choice(["a"]).matcher()
    made = mask(vocabulary.mask_words)
    with pytest.raises(error):
        matcher.fill(made)
    with pytest.raises(error):
        fill_batch([matcher], made)
    assert matcher.accept(ord("a"))


def test_rows_that_do_not_fit(vocabulary: Vocabulary, compiler: Compiler) -> None:
    matchers = [compiler.choice(["a"]).matcher() for _ in range(2)]
    mask = allocate_mask(2, vocabulary)
    for rows in ([0, 0], [0, 2], [0], [0, 1, 1]):
        with pytest.raises(TokenmoldError) as error:
            fill_batch(matchers, mask, rows)
        assert error.value.kind == "buffer_size"
    with pytest.raises((TokenmoldError, OverflowError)):
        fill_batch(matchers, mask, [0, -1])
    with pytest.raises(TokenmoldError):
        matchers[0].fill(mask, 2)
    with pytest.raises(TokenmoldError):
        matchers[0].fill_drafts([ord("a")], mask, 1)
    with pytest.raises(TypeError):
        fill_batch([matchers[0], "matcher"], mask)  # type: ignore[list-item]
    with pytest.raises(TokenmoldError) as error:
        fill_batch([matchers[0], matchers[0]], mask)
    assert error.value.kind == "buffer_size"


def test_memory_of_other_kinds(vocabulary: Vocabulary, compiler: Compiler) -> None:
    import array

    matcher = compiler.choice(["a"]).matcher()
    expected = allocate_mask(1, vocabulary)
    assert matcher.fill(expected)
    for made in (array.array("i", [-1] * vocabulary.mask_words), array.array("I", [0] * vocabulary.mask_words)):
        matcher.fill(made)
        assert np.array(made).astype(np.int32).tolist() == expected[0].tolist()
    wide = np.full((1, vocabulary.mask_words + 3), -1, np.int32)
    matcher.fill(wide)
    assert (wide[0, -3:] == 0).all()
    torch = pytest.importorskip("torch")
    tensor = torch.full((2, vocabulary.mask_words), -1, dtype=torch.int32)
    matcher.fill(tensor, 1)
    assert (tensor[1].numpy() == expected[0]).all() and (tensor[0] == -1).all()


def test_full_masks_are_told(vocabulary: Vocabulary) -> None:
    tokens = Vocabulary.from_tokens([b"a", b"b"], [])
    matcher: Matcher = Compiler(tokens).regex("[ab]*").matcher(ends=())
    mask = allocate_mask(1, tokens)
    assert not matcher.fill(mask) and mask[0, 0] == 0b11
    ended = Compiler(Vocabulary.from_tokens([b"a", b"b"], [2])).regex("[ab]+").matcher()
    assert ended.fill(mask)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_walk_under_masks_completes(data: st.DataObject) -> None:
    from conftest import small_vocabulary

    vocabulary = small_vocabulary()
    kinds = st.sampled_from(["integer", "boolean", "null", "string", "number"])
    properties = data.draw(st.dictionaries(st.sampled_from("abcde"), st.fixed_dictionaries({"type": kinds}), max_size=4))
    required = data.draw(st.lists(st.sampled_from("abcdef"), unique=True, max_size=3))
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": {"type": "null"}}
    matcher = Compiler(vocabulary).json_schema(schema).matcher()
    text = b""
    for _ in range(40):
        allowed = matcher.allowed_tokens()
        assert allowed, text
        token = data.draw(st.sampled_from(allowed))
        assert matcher.accept(token)
        if token == END:
            break
        text += vocabulary.token_bytes(token) or b""
    else:
        rest = matcher.explain().completion
        assert rest is not None
        text += rest
    value = json.loads(text)
    assert set(required) <= set(value)


OPEN = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}},
    "required": ["name", "tags"],
}


@pytest.mark.parametrize("seed", range(40))
def test_a_text_with_a_budget_is_complete_in_time(
    vocabulary: Vocabulary, compiler: Compiler, seed: int
) -> None:
    draw = random.Random(seed)
    constraint = compiler.json_schema([OPEN, PERSON, {}][seed % 3])
    needed = constraint.tokens_needed
    assert needed is not None
    budget = needed + draw.randrange(30)
    landing: Literal["soft", "hard"] | int = ("soft", "hard", 5)[seed % 3]
    matcher = constraint.matcher(max_tokens=budget, landing=landing)
    mask = allocate_mask(1, vocabulary)
    while matcher.tokens_left:
        fill_batch([matcher], mask)
        allowed = bits(mask)
        assert allowed == matcher.allowed_tokens() and allowed
        token = draw.choice(allowed)
        assert matcher.validate([token]) == 1 and matcher.accept(token)
        if token == END:
            break
    assert matcher.is_complete


def test_budgets_are_told_refused_and_taken_back(vocabulary: Vocabulary, compiler: Compiler) -> None:
    constraint = compiler.regex("(ab){1,20}")
    needed = constraint.tokens_needed
    assert needed
    with pytest.raises(TokenmoldError, match=f"takes {needed} tokens") as refused:
        constraint.matcher(max_tokens=needed - 1)
    assert refused.value.kind == "token_budget"
    with pytest.raises(TokenmoldError, match="landing"):
        constraint.matcher(max_tokens=9, landing="steep")  # type: ignore[arg-type]
    matcher = constraint.matcher()
    assert matcher.tokens_left is None and matcher.completion() == b"ab"
    matcher.tokens_left = 9
    (first, *_) = matcher.allowed_tokens()
    assert matcher.accept(first) and matcher.tokens_left == 8
    fork = matcher.copy()
    matcher.rollback()
    assert (matcher.tokens_left, fork.tokens_left) == (9, 8)
    mask = allocate_mask(2, vocabulary)
    fill_batch([matcher, fork], mask, tokens_left=[None, 40])
    assert (matcher.tokens_left, fork.tokens_left) == (9, 40)
    with pytest.raises(TokenmoldError, match="tokens_left"):
        fill_batch([matcher, fork], mask, tokens_left=[3])


def test_a_grammar_says_the_temperature(compiler: Compiler) -> None:
    matcher = compiler.grammar('start: "a" word\nword[temperature=0.9]: /[b-d]+/').matcher()
    assert matcher.temperature() is None
    matcher.accept(ord("a"))
    assert matcher.temperature() == 0.9
    assert compiler.regex("a+").matcher().temperature() is None


def test_a_grammar_counts_tokens(compiler: Compiler) -> None:
    matcher = compiler.grammar('start: word ";"\nword[max_tokens=2]: /[b-d]+/').matcher()
    for letter in b"bc":
        assert matcher.accept(letter)
    assert [token for token in (ord("b"), ord(";")) if token in matcher.allowed_tokens()] == [ord(";")]
    matcher.rollback()
    assert ord("b") in matcher.allowed_tokens()
