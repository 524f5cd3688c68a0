"""Differences that the callback `drift` has seen, for the task that ends as they are.

Callbacks live in Ansible's own process, and each task in a fork of it, made after the callbacks saw the results before.
"""

from __future__ import annotations

from typing import Any

rows: list[Any] = []
#: Whether the callback runs: without it, nothing would ever differ.
collecting = False
