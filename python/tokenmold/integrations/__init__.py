"""Tokenmold inside the engines that run models.

A module an engine: :mod:`~tokenmold.integrations.vllm`, :mod:`~tokenmold.integrations.sglang`,
:mod:`~tokenmold.integrations.transformers`, :mod:`~tokenmold.integrations.outlines`,
:mod:`~tokenmold.integrations.llama_cpp`; beside vLLM's its parsers,
:mod:`~tokenmold.integrations.vllm_parsers`. Each imports its engine; this package imports none. vLLM and
SGLang also find Tokenmold by themselves, through the entry points ``vllm.general_plugins`` and
``sglang.srt.plugins``, which name the two functions here.
"""

from __future__ import annotations

import logging

__all__ = ["UnsupportedEngine", "sglang_plugin", "vllm_plugin"]

_log = logging.getLogger(__name__)


class UnsupportedEngine(RuntimeError):
    """The engine is of a version whose insides are not known here, so nothing was changed."""


def require_series(engine: str, version: str, known: tuple[str, ...]) -> None:
    """Refuses a version that is in none of the series, such as ``0.32``."""
    series = ".".join(version.split("+")[0].split(".")[: known[0].count(".") + 1])
    if series not in known:
        raise UnsupportedEngine(
            f"tokenmold knows {engine} {' and '.join(known)}, not {version}: its backend was not added and "
            "nothing was changed"
        )


def vllm_plugin() -> None:
    """What vLLM calls in each of its processes. Says so where it cannot add the backend."""
    try:
        from .vllm import register

        register()
    except (UnsupportedEngine, ImportError) as error:
        _log.warning("the structured output backend 'tokenmold' is not available in vLLM: %s", error)


def sglang_plugin() -> None:
    """What SGLang calls in each of its processes. Says so where it cannot add the backend."""
    try:
        from .sglang import register

        register()
    except (UnsupportedEngine, ImportError) as error:
        _log.warning("the grammar backend 'tokenmold' is not available in SGLang: %s", error)
