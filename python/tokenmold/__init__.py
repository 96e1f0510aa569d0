"""Tokenmold: makes a language model's output take a required shape, and reads it back.

>>> vocabulary = Vocabulary.from_huggingface(tokenizer)            # doctest: +SKIP
>>> compiler = Compiler(vocabulary)                                # doctest: +SKIP
>>> matcher = compiler.json_schema({"type": "integer"}).matcher()  # doctest: +SKIP

Compile once, share the constraint, and give each text a matcher of its own. A step is one call:
:meth:`Matcher.fill`, or :func:`fill_batch` for many texts.
"""

from ._compiler import Compiler
from ._masks import allocate_mask, apply_mask
from ._tokenmold import (
    Automaton,
    ChatTemplate,
    Constraint,
    Explanation,
    Matcher,
    ResponseSchema,
    ResponseStream,
    ResponseTemplate,
    TokenmoldError,
    Trace,
    Vocabulary,
    __version__,
    available_threads,
    families,
    family_of,
    fill_batch,
)
from .tool_schema import tool_schema

__all__ = [
    "Automaton",
    "ChatTemplate",
    "Compiler",
    "Constraint",
    "Explanation",
    "Matcher",
    "ResponseSchema",
    "ResponseStream",
    "ResponseTemplate",
    "TokenmoldError",
    "Trace",
    "Vocabulary",
    "__version__",
    "allocate_mask",
    "apply_mask",
    "available_threads",
    "families",
    "family_of",
    "fill_batch",
    "tool_schema",
]
