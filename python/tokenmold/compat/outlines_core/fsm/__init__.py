"""The module of ``outlines_core`` 0.1 that had the schemas."""

from . import json_schema

__all__ = ["json_schema"]
