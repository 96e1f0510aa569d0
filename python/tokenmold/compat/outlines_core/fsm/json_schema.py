"""``outlines_core.fsm.json_schema``, where version 0.1 had what 0.2 has in ``outlines_core.json_schema``."""

from ..json_schema import *  # noqa: F403
from ..json_schema import build_regex_from_schema

__all__ = ["build_regex_from_schema"]
