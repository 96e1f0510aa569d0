"""Python functions as schemas of tools."""

from __future__ import annotations

import json
import os
import typing
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Any, Literal

import pytest
from tokenmold import TokenmoldError, tool_schema
from tokenmold.tool_schema import DocstringError, TypeHintError

ERRORS = {"DocstringParsingException": DocstringError, "TypeHintParsingException": TypeHintError}


def goldens() -> list[Any]:
    folder = os.environ.get("TOKENMOLD_DATA")
    if folder is None:
        skip = pytest.mark.skip(
            reason="TOKENMOLD_DATA names no folder: goldens/tool-schema-functions.jsonl is not compared"
        )
        return [pytest.param({}, id="goldens", marks=skip)]
    with (Path(folder) / "goldens/tool-schema-functions.jsonl").open(encoding="utf-8") as lines:
        return [pytest.param(golden, id=golden["id"]) for golden in map(json.loads, lines)]


@pytest.mark.parametrize("golden", goldens())
def test_golden(golden: dict[str, Any]) -> None:
    scope = {**vars(typing), "Enum": Enum, "datetime": datetime}
    exec(golden["source"], scope)
    function = scope[golden["function"]]
    if "error" in golden:
        with pytest.raises(ERRORS[golden["error"]["type"]]) as raised:
            tool_schema(function)
        assert isinstance(raised.value, TokenmoldError)
        if golden["function"] in golden["error"]["message"]:
            assert golden["function"] in str(raised.value)
    else:
        # Compared as text: True is not 1, and the order of keys is what a template prints.
        assert json.dumps(tool_schema(function)) == json.dumps(golden["schema"])


def test_as_transformers() -> None:
    utils = pytest.importorskip("transformers.utils", reason="transformers is not installed")

    def search(query: str, kinds: list[Literal["a", "b"]], limit: int | None = 3) -> dict[str, Any]:
        """Searches.

        In two paragraphs.

        Args:
            query:
                What to look for
                over lines
            kinds: Which
            limit: How many (choices: [3, 10])

        Returns:
            What was found
        """
        return {}

    assert tool_schema(search) == utils.get_json_schema(search)


def test_a_heading_ends_the_arguments_anywhere() -> None:
    def f(a: int, b: int) -> None:
        """F.

        Args:
            a: see Returns: below
            b: B
        """

    with pytest.raises(DocstringError, match="'b'"):
        tool_schema(f)


def test_an_empty_description_takes_the_next_line() -> None:
    def f(a: int) -> None:
        """F.

        Args:
            a:
            note: this is a's
        """

    assert tool_schema(f)["function"]["parameters"]["properties"]["a"]["description"] == "note: this is a's"


def test_a_return_type_without_schema_is_left_out() -> None:
    def f(a: int) -> datetime:
        """F.

        Args:
            a: A
        """
        return datetime.now()

    assert "return" not in tool_schema(f)["function"]


class Empty(Enum):
    pass


class Odd(Enum):
    LIST = (1,)


@pytest.mark.parametrize(
    ("hint", "names"),
    [
        (datetime, "datetime"),
        (Empty, "Empty"),
        (Odd, "Odd"),
        (tuple[int], "tuple"),
        (tuple[int, ...], "tuple"),
        (set[int], "set"),
        (list[datetime], "datetime"),
        ("Nowhere", "Nowhere"),
    ],
)
def test_types_are_refused_by_name(hint: Any, names: str) -> None:
    def f(a: Any) -> None:
        """F.

        Args:
            a: A
        """

    f.__annotations__["a"] = hint
    with pytest.raises(TypeHintError, match=names) as raised:
        tool_schema(f)
    assert raised.value.kind == "type_hint"


@pytest.mark.parametrize("choices", ["[1, ", "{}", "3"])
def test_bad_choices_are_refused(choices: str) -> None:
    def f(a: int | None) -> None:
        pass

    f.__doc__ = f"F.\n\nArgs:\n    a: A (choices: {choices})\n"
    with pytest.raises(DocstringError, match="choices"):
        tool_schema(f)
