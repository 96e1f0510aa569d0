"""Automata to look at, and the schemas of ``outlines_core`` 0.1."""

from __future__ import annotations

import json

import pytest
from tokenmold import Automaton, TokenmoldError
from tokenmold.compat.outlines_core.fsm.json_schema import build_regex_from_schema


def test_states_and_the_way_of_a_text() -> None:
    automaton = Automaton("A[0-9]+")
    assert len(automaton) == 3 and len(automaton.finals) == 1
    first = automaton.transitions[automaton.start]
    assert list(first) == ["A"]
    trace = automaton.trace("A42")
    assert trace.accepted and trace.state in automaton.finals and trace.stopped_at is None
    assert [(at, symbol) for at, symbol, _, _ in trace.steps] == [(0, "A"), (1, "4"), (2, "2")]
    stopped = automaton.trace("A4x")
    assert not stopped.accepted and stopped.stopped_at == 2 and stopped.steps[-1][3] is None
    assert "digraph" in automaton.dot() and str(automaton) and "4" in str(trace)


def test_symbols_are_characters_or_bytes() -> None:
    assert len(Automaton("é")) == 2 and len(Automaton("é", symbols="bytes")) == 3
    assert Automaton("é", symbols="bytes").accepts("é")
    with pytest.raises(TokenmoldError, match="chars"):
        Automaton("a", symbols="letters")  # type: ignore[arg-type]
    with pytest.raises(TokenmoldError):
        Automaton("(")


def test_a_schema_as_an_automaton() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"enum": ["x", "y"]}},
        "required": ["a"],
        "additionalProperties": False,
    }
    automaton = Automaton(build_regex_from_schema(json.dumps(schema)))
    assert automaton.accepts('{"a":"x"}') and not automaton.accepts('{"a":"z"}')
