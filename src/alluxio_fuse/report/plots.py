"""Plots as SVG that takes its colours from the page, so that light and dark are one file.

Every mark carries its number as text or title, and every plot a title that a screen reader speaks.
"""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import accumulate
from math import ceil, floor, isfinite, log10

from alluxio_fuse.check.evidence import LEVELS
from alluxio_fuse.check.profiles import WAYS
from alluxio_fuse.check.rows import Row
from alluxio_fuse.check.statistics import Spread

WIDTH, LABEL, VALUE = 880, 230, 170  # pixels: whole plot, names on the left, numbers on the right
LINE, TOP, BOTTOM = 30, 8, 28  # pixels: a row, above the rows, the axis below them
HEIGHT = 260  # of a plot without rows
LEAST_FILES = 20  # fewer have no distribution worth a line


def label(row: Row) -> str:
    """What a row is called in plots."""
    if row.heading != row.kind:
        return f"{row.path}, {row.heading}"
    name = f"{row.path}, {row.state}" if row.path != row.state else "disk, cold"
    return f"{name}, {row.kind}" if row.kind in WAYS else name


def ranges(title: str, rows: Sequence[Row], gate: float | None, gate_name: str) -> str:
    """MB/s of each row: median as a dot, all passes as a line, on a logarithmic axis, the gate across."""
    found = [(label(row), row.path, row.mb_per_s) for row in rows if row.mb_per_s]
    return spreads(title, found, "MB/s", gate, gate_name)


def spreads(
    title: str, found: Sequence[tuple[str, str, Spread]], unit: str, gate: float | None = None, gate_name: str = ""
) -> str:
    """Figures of (name, class of its colour, spread): median as a dot, the range as a line, on a logarithmic axis."""
    if not found:
        return ""
    edges = [value for *_, spread in found for value in (spread.least, spread.most)] + ([gate] if gate else [])
    low, high = _decades(edges)

    def x(value: float) -> float:
        return LABEL + (log10(max(value, 10**low)) - low) / (high - low) * (WIDTH - LABEL - VALUE)

    bottom = TOP + LINE * len(found)
    parts = [_tick(x(10**power), bottom, f"{10**power:,}") for power in range(low, high + 1)]
    for index, (name, colour, spread) in enumerate(found):
        y = TOP + LINE * (index + 0.5)
        said = f"{spread.median:,.0f} {unit} ({spread.least:,.0f} to {spread.most:,.0f} in {spread.passes} passes)"
        parts += [
            _text(LABEL - 10, y, name, "end"),
            f'<g class="{colour}"><title>{escape(name)}: {said}</title>',
            f'<line class="range" x1="{x(spread.least):.1f}" x2="{x(spread.most):.1f}" y1="{y}" y2="{y}"/>',
            f'<circle cx="{x(spread.median):.1f}" cy="{y}" r="6"/></g>',
            _text(WIDTH - VALUE + 14, y, f"{spread.median:,.0f} {unit}{' (noisy)' if spread.noisy else ''}"),
        ]
    if gate:
        parts.append(f'<line class="gate" x1="{x(gate):.1f}" x2="{x(gate):.1f}" y1="0" y2="{bottom}"/>')
        parts.append(_text(x(gate), bottom + 30, f"{gate_name} {gate:,.0f} {unit}", "middle", "gate"))
    return _svg(title, bottom + BOTTOM + (14 if gate else 0), parts)


def losses(title: str, found: Sequence[tuple[str, str, Sequence[float]]]) -> str:
    """Losses by step of (name, class of its colour, losses), a line each."""
    found = [one for one in found if len(one[2]) > 1 and all(map(isfinite, one[2]))]
    if not found:
        return ""
    longest = max(len(curve) for *_, curve in found)
    low, high = min(min(curve) for *_, curve in found), max(max(curve) for *_, curve in found)
    left, right, top, bottom = 60, WIDTH - 190, TOP, HEIGHT - BOTTOM

    def x(step: int) -> float:
        return left + step / (longest - 1) * (right - left)

    def y(loss: float) -> float:
        return bottom - (loss - low) / ((high - low) or 1) * (bottom - top)

    parts = [_text(left - 8, y(value), f"{value:.2f}", "end") for value in dict.fromkeys((low, high))]
    parts += [_text(x(0), bottom + 14, "step 1"), _text(x(longest - 1), bottom + 14, f"{longest}", "end")]
    for index, (name, colour, curve) in enumerate(found):
        points = " ".join(f"{x(step):.1f},{y(loss):.1f}" for step, loss in enumerate(curve))
        legend = top + 14 + 22 * index
        parts += [
            f'<g class="line {colour}"><title>{escape(name)}: {curve[0]:.4f} to {curve[-1]:.4f}</title>',
            f'<polyline points="{points}"/><line x1="{right + 16}" x2="{right + 36}" y1="{legend}" y2="{legend}"/></g>',
            _text(right + 42, legend, name),
        ]
    return _svg(title, HEIGHT, parts)


def epochs(title: str, rows: Sequence[Row]) -> str:
    """MB/s of each pass in the order of passes, a line per row, on a logarithmic axis."""
    shown = [row for row in rows if row.established and row.kind not in WAYS]
    longest = max((len(row.epochs) for row in shown), default=0)
    if longest < 2:
        return ""
    speeds = [speed for row in shown for speed in row.epochs]
    low, high = _decades(speeds)
    left, right, top, bottom = 110, WIDTH - 190, TOP, HEIGHT - BOTTOM

    def x(number: int) -> float:
        return left + 20 + (number - 1) / (longest - 1) * (right - left - 40)

    def y(speed: float) -> float:
        return bottom - (log10(max(speed, 10**low)) - low) / (high - low) * (bottom - top)

    parts = [_text(x(number), bottom + 14, f"{number}", "middle") for number in range(1, longest + 1)]
    for power in range(low, high + 1):
        at = y(10**power)
        parts.append(f'<line class="grid" x1="{left}" x2="{right}" y1="{at:.1f}" y2="{at:.1f}"/>')
        parts.append(_text(left - 8, at, f"{10**power:,} MB/s", "end"))
    for index, row in enumerate(shown):
        points = [(x(number), y(speed), speed) for number, speed in enumerate(row.epochs, 1)]
        legend = top + 14 + 22 * index
        parts.append(f'<g class="line {row.path} {row.state}">')
        parts.append(f'<polyline points="{" ".join(f"{at:.1f},{height:.1f}" for at, height, _ in points)}"/>')
        parts.append(f'<line x1="{right + 16}" x2="{right + 36}" y1="{legend}" y2="{legend}"/></g>')
        for number, (at, height, speed) in enumerate(points, 1):
            said = escape(f"{label(row)}, {number}: {speed:,.1f} MB/s")
            parts.append(f'<g class="epoch"><title>{said}</title><circle cx="{at:.1f}" cy="{height:.1f}" r="4"/></g>')
        parts.append(_text(right + 42, legend, label(row)))
    return _svg(title, HEIGHT, parts)


def origins(title: str, rows: Sequence[Row]) -> str:
    """Share of the bytes that each level has served, a bar per state of the mount."""
    shown = [row for row in rows if row.path not in ("disk", "memory") and row.established and row.bytes]
    return bars(title, [(f"{row.heading}, {row.path}, {row.state}", row.state, row.origins) for row in shown])


def bars(title: str, found: Sequence[tuple[str, str, Mapping[str, float]]]) -> str:
    """Share of the bytes by level of (name, state, shares), a bar each."""
    if not found:
        return ""
    width = WIDTH - LABEL - 20
    parts = []
    for index, (heading, state, shares) in enumerate(found):
        y = TOP + LINE * index
        parts.append(_text(LABEL - 10, y + LINE / 2, heading, "end"))
        begins = accumulate((shares[level] for level in LEVELS), initial=0.0)
        for level, begin in zip(LEVELS, begins, strict=False):
            share = shares[level]
            if share < 0.001:
                continue
            name = f"{level.replace('_', ' ')}: {share:.0%}"
            x, length = LABEL + begin * width, max(1.0, share * width - 2)
            parts.append(
                f'<g class="level {level}"><title>{escape(state)}, {name}</title>'
                f'<rect x="{x:.1f}" y="{y + 4}" width="{length:.1f}" height="{LINE - 8}" rx="3"/></g>'
            )
            if share > 0.2:
                parts.append(_text(x + 8, y + LINE / 2, name, "start", "on"))
    return _svg(title, TOP + LINE * len(found) + 4, parts)


def latencies(title: str, rows: Sequence[Row]) -> str:
    """Cumulative distribution of the time from open to close of a file, a line per row, on a logarithmic axis."""
    shown = [row for row in rows if row.files >= LEAST_FILES and row.latency_ms and row.kind not in WAYS]
    if not shown:
        return ""
    bounds = [bound for row in shown for bound, _ in row.latency_ms]
    low, high = _decades(bounds, least=min(bounds))
    left, right, top, bottom = 60, WIDTH - 190, TOP, HEIGHT - BOTTOM

    def x(milliseconds: float) -> float:
        return left + (log10(milliseconds) - low) / (high - low) * (right - left)

    parts = [_tick(x(10.0**power), bottom, f"{10.0**power:g} ms") for power in range(low, high + 1)]
    for share in (0.0, 0.5, 0.99):
        y = bottom - share * (bottom - top)
        parts.append(f'<line class="grid" x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(_text(left - 8, y, f"{share:.0%}", "end"))
    for index, row in enumerate(shown):
        points = " ".join(f"{x(bound):.1f},{bottom - share * (bottom - top):.1f}" for bound, share in _cumulative(row))
        y = top + 14 + 22 * index
        said = f"{label(row)}: half within {row.p50_ms:.2f} ms, 99% within {row.p99_ms:.2f} ms"
        parts += [
            f'<g class="line {row.path} {row.state}"><title>{escape(said)}</title><polyline points="{points}"/>',
            f'<line x1="{right + 16}" x2="{right + 36}" y1="{y}" y2="{y}"/></g>',
            _text(right + 42, y, label(row)),
        ]
    return _svg(title, HEIGHT, parts)


def _decades(values: Sequence[float], least: float = 0.1) -> tuple[int, int]:
    """Powers of ten around the values, one decade at least; a value below `least`, nothing too, counts as that."""
    low, high = floor(log10(max(least, min(values)))), ceil(log10(max(least, *values)))
    return low, max(high, low + 1)


def _cumulative(row: Row) -> Iterator[tuple[float, float]]:
    whole = sum(count for _, count in row.latency_ms)
    for (bound, _), reached in zip(row.latency_ms, accumulate(count for _, count in row.latency_ms), strict=True):
        yield bound, reached / whole


def _tick(x: float, bottom: float, text: str) -> str:
    return f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{bottom}"/>' + _text(
        x, bottom + 12, text, "middle"
    )


def _text(x: float, y: float, text: str, anchor: str = "start", kind: str = "") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" dy="0.35em" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(title: str, height: float, parts: list[str]) -> str:
    name = escape(title)
    return (
        f'<svg role="img" aria-label="{name}" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" '
        f'height="{height:.0f}"><title>{name}</title>{"".join(parts)}</svg>'
    )
