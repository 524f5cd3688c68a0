"""A finished training run as a line of progress."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def line(result: Mapping[str, Any]) -> str:
    """Speeds of its epochs, or why it failed."""
    name = f"{result['name']:<34}"
    if result["kind"] == "copy":
        return f"{name} {result['bytes'] / 1e6:>8.0f} MB in {result['seconds']:.1f} s"
    if result.get("failed"):
        return f"{name} FAILED: {result['failed']}"
    speeds = ", ".join(f"{epoch['images'] / epoch['seconds']:.0f}" for epoch in result["epochs"])
    wrong = sum(epoch.get("wrong", 0) for epoch in result["epochs"])
    return f"{name} images/s by epoch: {speeds}" + (f"  {wrong} WRONG" if wrong else "")
