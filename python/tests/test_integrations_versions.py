"""Engines of unknown versions: what needs no engine."""

from __future__ import annotations

import pkgutil
from pathlib import Path

import pytest
from tokenmold import integrations
from tokenmold.integrations import UnsupportedEngine, require_series

ENGINES = Path(__file__).parents[2] / "docs" / "ENGINES.md"


@pytest.mark.parametrize("version", ["0.32.0", "0.33.1", "0.33.0+cpu"])
def test_known_versions(version: str) -> None:
    require_series("vLLM", version, ("0.32", "0.33"))


@pytest.mark.parametrize("version", ["0.31.9", "0.34.0", "1.0", "dev", "0.3"])
def test_unknown_versions_are_named(version: str) -> None:
    with pytest.raises(UnsupportedEngine, match=version):
        require_series("vLLM", version, ("0.32", "0.33"))


def test_a_patch_series() -> None:
    require_series("SGLang", "0.5.23.post1", ("0.5.23",))
    with pytest.raises(UnsupportedEngine):
        require_series("SGLang", "0.5.24", ("0.5.23",))


def test_each_integration_is_named() -> None:
    names = [module.name for module in pkgutil.iter_modules(integrations.__path__) if module.name[0] != "_"]
    said = ENGINES.read_text(encoding="utf-8")
    for name in names:
        assert f":mod:`~tokenmold.integrations.{name}`" in (integrations.__doc__ or ""), name
        engine = name.removesuffix("_parsers")
        assert f"tokenmold.integrations.{engine}" in said, name
