"""Runs the tests of ``outlines_core`` against Tokenmold's stand-in for it.

usage: python benches/python/outlines_core_tests.py [VERSION] [PYTEST_ARGUMENT ...]

The tests come from the source package of that version (0.2.14 unless told), by pip. Those that load a
tokenizer from a hub fail where there is none.
"""

from __future__ import annotations

import pathlib
import subprocess
import sys
import tarfile
import tempfile

SHIM = """\
import sys
from tokenmold.compat import outlines_core as stand_in
from tokenmold.compat.outlines_core import json_schema
from tokenmold.compat.outlines_core import kernels
from tokenmold.compat.outlines_core.kernels import numpy
from tokenmold.compat.outlines_core.kernels import torch
sys.modules.update({
    "outlines_core": stand_in,
    "outlines_core.outlines_core": stand_in,
    "outlines_core.json_schema": json_schema,
    "outlines_core.kernels": kernels,
    "outlines_core.kernels.numpy": numpy,
    "outlines_core.kernels.torch": torch,
})
stand_in.outlines_core = stand_in
"""


def main() -> int:
    version, *arguments = sys.argv[1:] or ["0.2.14"]
    with tempfile.TemporaryDirectory() as folder:
        download = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", "outlines_core"]
        subprocess.run([*download, f"outlines_core=={version}", "-d", folder], check=True)
        (package,) = pathlib.Path(folder).glob("outlines_core-*.tar.gz")
        with tarfile.open(package) as archive:
            archive.extractall(folder, filter="data")
        tests = package.with_name(package.name.removesuffix(".tar.gz")) / "tests"
        (tests / "conftest.py").write_text(SHIM)
        (tests / "pytest.ini").write_text("[pytest]\nmarkers =\n    no_cover\n    thread_unsafe\n")
        command = [sys.executable, "-m", "pytest", "-q", "--continue-on-collection-errors", "-p", "no:cacheprovider", "-c", str(tests / "pytest.ini")]
        return subprocess.run([*command, str(tests), *arguments], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
