"""The stand-in for outlines_core: its names, arguments and answers."""

from __future__ import annotations

import copy
import json
import pickle
import re

import numpy as np
import pytest

from tokenmold import TokenmoldError
from tokenmold.compat.outlines_core import Guide, Index, Vocabulary, json_schema
from tokenmold.compat.outlines_core.kernels import numpy as kernels

END = 9


@pytest.fixture
def index() -> Index:
    return Index("a(b|bc)*", Vocabulary(END, {"a": [1], b"b": [2, 4], "bc": [3], "x": [5]}))


def test_states_and_steps(index: Index) -> None:
    start = index.get_initial_state()
    assert index.get_allowed_tokens(start) == [1] and not index.is_final_state(start)
    behind = index.get_next_state(start, 1)
    assert behind is not None and index.is_final_state(behind)
    assert sorted(index.get_allowed_tokens(behind) or []) == [2, 3, 4, END]
    assert index.get_next_state(start, 5) is None and index.get_next_state(behind, END) is None
    transitions = index.get_transitions()
    assert transitions[start] == {1: behind} and transitions[behind][END] == behind
    assert {state for state in transitions if index.is_final_state(state)} == index.get_final_states()
    assert all(to in transitions for steps in transitions.values() for to in steps.values())
    assert index.get_allowed_tokens(10**6) is None and index.get_next_state(10**6, 1) is None


def test_a_new_index_knows_the_states_of_an_old_one(index: Index) -> None:
    guide = Guide(index)
    guide.advance(1)
    guide.advance(3)
    again = pickle.loads(pickle.dumps(guide))
    assert again == guide and again.get_tokens() == guide.get_tokens()
    again.rollback_state(2)
    assert again.get_state() == index.get_initial_state() and again != guide
    assert copy.deepcopy(index) == index
    assert Guide.from_binary(pickle.dumps(guide)) == guide
    with pytest.raises(ValueError, match="Deserialization"):
        Guide.from_binary(pickle.dumps(5))


def test_guides(index: Index) -> None:
    guide = Guide(index, max_rollback=2)
    assert guide.advance(1, return_tokens=False) is None
    assert guide.advance(2) == index.get_allowed_tokens(guide.get_state())
    guide.advance(3)
    assert guide.is_finished() and guide.get_allowed_rollback() == 2
    with pytest.raises(ValueError, match="Cannot roll back"):
        guide.rollback_state(3)
    with pytest.raises(ValueError, match="No next state"):
        guide.advance(5)
    assert guide.accepts_tokens([2, 3, 4]) and not guide.accepts_tokens([2, 1])
    guide.reset()
    assert guide.get_state() == index.get_initial_state()


def test_masks(index: Index) -> None:
    guide = Guide(index)
    guide.advance(1)
    mask = kernels.allocate_token_bitmask(64)
    guide.write_mask_into(mask.ctypes.data, mask.size, mask.itemsize)
    assert mask.tolist() == [[1 << 2 | 1 << 3 | 1 << 4 | 1 << END, 0]]
    other = kernels.allocate_token_bitmask(64)
    kernels.fill_next_token_bitmask(guide, other)
    assert (mask == other).all()
    logits = np.zeros((1, 70), np.float32)
    kernels.apply_token_bitmask_inplace(logits, mask)
    assert np.flatnonzero(np.isfinite(logits[0])).tolist() == [2, 3, 4, END]
    for arguments in ((0, 2, 4), (5, 2, 4), (mask.ctypes.data, 0, 4), (mask.ctypes.data, 2, 8)):
        with pytest.raises(ValueError, match="Invalid"):
            guide.write_mask_into(*arguments)


def test_vocabularies() -> None:
    vocabulary = Vocabulary(3, {"1": [1], "a": [2]})
    assert len(vocabulary) == 3 and vocabulary.get("1") == vocabulary.get(b"1") == [1]
    vocabulary.insert("a", 7)
    assert vocabulary.get("a") == [2, 7]
    vocabulary.remove("a")
    assert vocabulary.get("a") is None and len(vocabulary) == 2
    for wrong in (1, {1: [1]}, {"a": 1}, {"a": [-1]}):
        with pytest.raises(TypeError):
            Vocabulary(3, wrong)  # type: ignore[arg-type]
    for arguments in ((3, {"a": [3]}),):
        with pytest.raises(ValueError, match="EOS"):
            Vocabulary(*arguments)


def test_schemas_as_expressions() -> None:
    schema = json.dumps({"type": "object", "properties": {"ä": {"type": "string"}}, "required": ["ä"], "additionalProperties": False})
    for whitespace, text in ((None, '{ "ä" : "x\U0001f600" }'), (r"[\n ]*", '{\n  "ä": "x"\n}')):
        regex = json_schema.build_regex_from_schema(schema, whitespace)
        assert re.fullmatch(regex, text) and not re.fullmatch(regex, "{}")
        bytes_ = {bytes([byte]): [byte] for byte in range(256)}
        guide = Guide(Index(regex, Vocabulary(256, bytes_)))
        assert guide.get_tokens() == [ord("{")] and guide.accepts_tokens(list(text.encode()))
    with pytest.raises(TypeError, match="Expected a valid JSON string"):
        json_schema.build_regex_from_schema("{")
    with pytest.raises(TokenmoldError):
        json_schema.build_regex_from_schema('{"uniqueItems": true, "type": "array"}')
    recursive = '{"type": "array", "items": {"$ref": "#"}}'
    regex = json_schema.build_regex_from_schema(recursive, None, 2)
    assert re.fullmatch(regex, "[[]]") and not re.fullmatch(regex, "[" * 9 + "]" * 9)
    for name, text in (("INTEGER", "-12"), ("NUMBER", "1.5e3"), ("STRING", '"a\\n"'), ("DATE", '"2024-02-29"'), ("UUID", f'"{"0" * 8}-0000-4000-8000-{"0" * 12}"')):
        assert re.fullmatch(getattr(json_schema, name), text), name
    assert re.fullmatch(json_schema.STRING_INNER, "ä")
