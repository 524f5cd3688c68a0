"""What a module that changes nothing does in check mode."""

from __future__ import annotations


class ModuleDocFragment:
    """Attributes of modules that only look."""

    DOCUMENTATION = r"""
attributes:
  check_mode:
    support: full
    description: Only looks, in check mode as else.
"""
