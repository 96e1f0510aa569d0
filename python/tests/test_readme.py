"""The README's examples, run as they stand with what they leave out put in."""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any

import numpy as np
import pytest

import tokenmold
from tokenmold import ChatTemplate, ResponseTemplate

README = pathlib.Path(__file__).parents[1] / "README.md"
HERMES = pathlib.Path(__file__).parent / "hermes.json"


END = 256


class Encoding:
    """A tokenizer with a token for each byte, as tiktoken has them."""

    _mergeable_ranks = {bytes([byte]): byte for byte in range(256)}
    _special_tokens = {"<end>": END}
    eot_token = END


def test_examples(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = README.read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(examples) == 3
    (tmp_path / "chat_template.jinja").write_text("{% for m in messages %}{{ m.content }}{% endfor %}")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"response_template": json.loads(HERMES.read_text())}))
    generator = np.random.default_rng(1)

    def model(tokens: list[int]) -> Any:
        logits = generator.standard_normal((1, END + 1)).astype(np.float32)
        # A model that comes to an end.
        logits[0, END] += 5
        logits[0, ord('"')] += 4
        return logits

    tool = {"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {}}}}
    given: dict[str, Any] = {
        "tokenizer": Encoding(),
        "model": model,
        "tokens": [],
        "tools": [tool],
        "messages": [{"role": "user", "content": "Hi"}],
        "folder": tmp_path,
        "text": "Hello",
        "fill_batch": tokenmold.fill_batch,
        "ChatTemplate": ChatTemplate,
        "ResponseTemplate": ResponseTemplate,
    }
    for example in examples:
        exec(example, given)
    *taken, last = given["tokens"]
    assert last == END and set(json.loads(bytes(taken))) >= {"email", "tags"}
    assert given["message"]["content"].endswith("Hello") and given["prompt"] == "Hi"
    assert "before" in capsys.readouterr().out


def test_every_name_is_described() -> None:
    text = README.read_text(encoding="utf-8")
    for name in tokenmold.__all__:
        if name not in ("Explanation", "ResponseStream", "__version__", "available_threads"):
            assert f"`{name}`" in text, name
