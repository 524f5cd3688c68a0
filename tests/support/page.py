"""What a report's plots show, measured in the browser, against the numbers of check.json."""

from __future__ import annotations

from math import log10
from typing import Any

from browser import Page

# of each plot: name, ticks (text, middle), dots (said, middle), how wide each level's bar is; of plots by epoch: speeds
# beside the axis and dots (said, height)
DRAWN = """[...document.querySelectorAll('svg')].map(svg => {
  const middle = e => { const box = e.getBoundingClientRect(); return box.x + box.width / 2 };
  const height = e => { const box = e.getBoundingClientRect(); return box.y + box.height / 2 };
  return {
    name: svg.getAttribute('aria-label'),
    ticks: [...svg.querySelectorAll('text[text-anchor=middle]:not(.gate)')].map(e => [e.textContent, middle(e)]),
    dots: [...svg.querySelectorAll('circle')].map(e => [e.parentNode.querySelector('title').textContent, middle(e)]),
    speeds: [...svg.querySelectorAll('text[text-anchor=end]')].map(e => [e.textContent, height(e)]),
    heights: [...svg.querySelectorAll('g.epoch')].map(
      e => [e.querySelector('title').textContent, height(e.querySelector('circle'))]),
    gate: [...svg.querySelectorAll('line.gate')].map(middle),
    bars: [...svg.querySelectorAll('g.level')].map(
      e => [e.querySelector('title').textContent, e.querySelector('rect').getBoundingClientRect().width]),
  }})"""


def plots(page: Page) -> dict[str, dict[str, Any]]:
    """Every plot by its name."""
    return {plot["name"]: plot for plot in page.evaluate(DRAWN)}


def value_at(plot: dict[str, Any], place: float) -> float:
    """What the logarithmic axis says at a place, from its outermost ticks alone."""
    (low, left), (high, right) = (
        (float(text.replace(",", "").removesuffix(" ms")), at) for text, at in (plot["ticks"][0], plot["ticks"][-1])
    )
    return float(10 ** (log10(low) + (place - left) / (right - left) * (log10(high) - log10(low))))


def speed_at(plot: dict[str, Any], height: float) -> float:
    """MB/s that the logarithmic axis of a plot by epoch says at a height."""
    named = [(float(text.removesuffix(" MB/s").replace(",", "")), at) for text, at in plot["speeds"]]
    (low, bottom), (high, top) = named[0], named[-1]
    return float(10 ** (log10(low) + (height - bottom) / (top - bottom) * (log10(high) - log10(low))))
