"""``outlines_core`` 0.2, over Tokenmold: the same names, arguments and answers.

Replace ``import outlines_core`` by ``from tokenmold.compat import outlines_core``. Numbers of states
are those of another automaton, and :meth:`Vocabulary.from_pretrained` reads a folder, or asks
``transformers`` for a name. Word boundaries and look-around in a regular expression, which the original
refuses, are kept.
"""

from . import json_schema
from ._guide import Guide
from ._index import Index
from ._vocabulary import Vocabulary

__version__ = "0.2.14"

__all__ = ["Guide", "Index", "Vocabulary", "__version__", "json_schema"]
