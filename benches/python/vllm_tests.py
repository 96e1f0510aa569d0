"""Runs vLLM's own test of its manager of structured outputs with the backend ``tokenmold``.

usage: python benches/python/vllm_tests.py VLLM_SOURCES MODEL_FOLDER [PYTEST_ARGUMENT ...]

The sources are a checkout, or the unpacked source package, of the version that is installed.

The file is tests/v1/structured_output/test_structured_output_manager.py. It names its backends and a
tokenizer of a hub; in a copy, these are ``tokenmold`` and the model's own.
"""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
import tempfile

FILE = "tests/v1/structured_output/test_structured_output_manager.py"


def main() -> int:
    checkout, model, *arguments = sys.argv[1:]
    text = pathlib.Path(checkout, FILE).read_text(encoding="utf-8")
    folder = pathlib.Path(model).resolve()
    text = re.sub(r"^TOKENIZER = .*$", f"TOKENIZER = {str(folder)!r}", text, flags=re.MULTILINE)
    text = text.replace(" ModelConfig(", " ModelConfig(model=TOKENIZER, ").replace("=ModelConfig(", "=ModelConfig(model=TOKENIZER, ")
    text = re.sub(r"^BACKENDS = .*$", 'BACKENDS = ("tokenmold",)', text, flags=re.MULTILINE)
    with tempfile.TemporaryDirectory() as copy:
        pathlib.Path(copy, "conftest.py").write_text("from tokenmold.integrations.vllm import register\nregister()\n")
        pathlib.Path(copy, "test_manager.py").write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", copy, *arguments]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
