"""What a report's plots show, measured in the browser, against the numbers of check.json."""

from __future__ import annotations

from math import log10
from typing import Any

from browser import Page

# of each plot: name, ticks (text, middle), dots (said, middle), and how wide each level's bar is
DRAWN = """[...document.querySelectorAll('svg')].map(svg => {
  const middle = e => { const box = e.getBoundingClientRect(); return box.x + box.width / 2 };
  return {
    name: svg.getAttribute('aria-label'),
    ticks: [...svg.querySelectorAll('text[text-anchor=middle]:not(.gate)')].map(e => [e.textContent, middle(e)]),
    dots: [...svg.querySelectorAll('circle')].map(e => [e.parentNode.querySelector('title').textContent, middle(e)]),
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
