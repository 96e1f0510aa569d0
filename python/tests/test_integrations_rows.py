"""Rows that change places, against matchers that are started anew for each row."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from tokenmold import Compiler, Constraint, Vocabulary

numpy = pytest.importorskip("numpy", reason="numpy is not installed")

from tokenmold.integrations._rows import Rows
from tokenmold.numpy import allocate_mask

END = 300
PAD = 301


@pytest.fixture(scope="module")
def compiler() -> Compiler:
    tokens = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab", 257: b"12"}
    return Compiler(Vocabulary.from_tokens(tokens, [END], width=330))


def expected(constraint: Constraint, said: list[int]) -> set[int]:
    """What may come behind these tokens."""
    matcher = constraint.matcher(after_end="ignore")
    if matcher.accept_all(said) < len(said) or matcher.is_terminated:
        return {END}
    return set(matcher.allowed_tokens())


def bits(mask: Any, row: int) -> Iterator[int]:
    for token in range(330):
        if int(mask[row, token // 32]) >> (token % 32) & 1:
            yield token


@pytest.mark.parametrize("seed", range(30))
def test_reordered_rows(compiler: Compiler, seed: int) -> None:
    draw = random.Random(seed)
    constraints = [
        compiler.regex("(ab|[0-9]{2,}x?)*"),
        compiler.json_schema({"type": "array", "items": {"type": "integer"}}),
    ]
    beams = draw.randint(1, 4)
    prompt = numpy.array([[draw.randint(0, 255) for _ in range(5)]] * (2 * beams))
    rows = Rows(constraints)
    said: list[list[int]] = [[] for _ in range(2 * beams)]
    for _ in range(25):
        ids = numpy.concatenate([prompt, numpy.array(said, dtype=int).reshape(2 * beams, -1)], axis=1)
        generated = rows.generated(ids)
        assert generated == said
        mask = allocate_mask(2 * beams, compiler.vocabulary)
        rows.fill(generated, mask)
        following = []
        for row in range(2 * beams):
            assert set(bits(mask, row)) == expected(constraints[row // beams], said[row])
        for row in range(2 * beams):
            # A beam goes on from any beam of its sequence, now and then with what is refused.
            parent = row // beams * beams + draw.randrange(beams)
            choice = sorted(bits(mask, parent))
            token = draw.randint(0, 257) if draw.random() < 0.05 else draw.choice(choice)
            following.append([*said[parent], token])
        said = following


def test_several_generations(compiler: Compiler) -> None:
    rows = Rows(compiler.regex("a*"))
    mask = allocate_mask(1, compiler.vocabulary)
    for prompt in ([1, 2, 3], [1, 2, 3], [4, 5, 6, 7], [4, 5]):
        ids = [prompt]
        for _ in range(3):
            rows.fill(rows.generated(numpy.array(ids)), mask)
            assert set(bits(mask, 0)) == {ord("a"), END}
            ids = [[*ids[0], ord("a")]]


def test_steps_that_are_taken_back(compiler: Compiler) -> None:
    """Assisted generation looks ahead, and goes on from where it was right."""
    constraint = compiler.regex("[ab]*c")
    rows = Rows(constraint)
    mask = allocate_mask(1, compiler.vocabulary)
    for said in (
        [],
        [97],
        [97, 98],
        [97, 98, 99],
        [97, 97],
        [97, 97, 99],
        [97, 97, 99, END],
        [97, 97, 99, END, PAD],
    ):
        generated = rows.generated(numpy.array([[1, 2, *said]]))
        assert generated == [said]
        rows.fill(generated, mask)
        assert set(bits(mask, 0)) == expected(constraint, said)


def test_each_row_is_complete_within_its_own_budget(compiler: Compiler) -> None:
    draw = random.Random(5)
    constraint = compiler.json_schema({"type": "array", "items": {"type": "integer"}, "minItems": 2})
    rows = Rows(constraint, max_tokens=[8, 20], landing="hard")
    beams = 3
    said: list[list[int]] = [[] for _ in range(2 * beams)]
    mask = allocate_mask(2 * beams, compiler.vocabulary)
    for _ in range(20):
        ids = numpy.concatenate([[[1]] * len(said), numpy.array(said, dtype=int).reshape(len(said), -1)], axis=1)
        rows.fill(rows.generated(ids), mask)
        following = []
        for row in range(len(said)):
            parent = row // beams * beams + draw.randrange(beams)
            # The end is drawn where nothing else may come.
            more = [token for token in bits(mask, parent) if token != END]
            following.append([*said[parent], draw.choice(more) if more else END])
        said = following
    for row, tokens in enumerate(said):
        most = (8, 20)[row // beams]
        assert END in tokens[:most], tokens
        matcher = constraint.matcher()
        assert matcher.accept_all(tokens[: tokens.index(END)]) == tokens.index(END) and matcher.is_complete
    with pytest.raises(ValueError, match="allow"):
        Rows(constraint, max_tokens=1)
    with pytest.raises(ValueError, match="one for each"):
        Rows([constraint, constraint], max_tokens=[5, 6, 7])


def test_no_constraint_is_an_error() -> None:
    with pytest.raises(ValueError, match="constraint"):
        Rows([])
