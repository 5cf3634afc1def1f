# SPDX-License-Identifier: MIT
"""Small figures as SVG, by the standard library and NumPy: notebooks show
them where Matplotlib is not installed, too."""
from __future__ import annotations

import html
from typing import Any

import numpy as np

WIDTH, HEIGHT = 420, 230
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 10, 40
# On a white page and on a dark one.
COLOURS = "#3b7dd8", "#d9603b", "#3f9a57", "#9a68c0", "#b8860b"
GREY = "#8a8a8a"
MOST = 600  # points of a line

Pixels = list[tuple[str, str]]


def _ticks(low: float, high: float) -> np.ndarray:
    """Round numbers, three to seven of them."""
    raw = (high - low) / 5
    unit = 10.0 ** np.floor(np.log10(raw))
    step = unit * next(m for m in (1, 2, 5, 10) if m * unit >= 0.999 * raw)
    first = np.ceil(low / step - 1e-9)
    return step * np.arange(first, np.floor(high / step + 1e-9) + 1)


def _span(parts: list[np.ndarray]) -> tuple[float, float]:
    """From the lowest to the highest value, with some room."""
    values = np.concatenate([*parts, []])
    values = values[np.isfinite(values)]
    low, high = (values.min(), values.max()) if len(values) else (0.0, 1.0)
    room = 0.04 * (high - low)
    if not room > 1e-9 * abs(high):
        room = 0.5 * abs(high) or 0.5
    return float(low - room), float(high + room)


def _pieces(points: Pixels) -> list[Pixels]:
    """What lies between missing values."""
    pieces: list[Pixels] = [[]]
    for point in points:
        if "nan" in point:
            pieces.append([])
        else:
            pieces[-1].append(point)
    return [p for p in pieces if p]


def _path(points: Pixels) -> str:
    return "M" + "L".join(f"{x} {y}" for x, y in points)


class Figure:
    """Lines, bands, dots and arrows on two axes; ``svg()`` is the text."""

    def __init__(self, x: str, y: str):
        self.labels = x, y
        self.parts: list[tuple[str, str, np.ndarray, list[np.ndarray]]] = []
        self.spans = (0.0, 1.0), (0.0, 1.0)

    def line(self, x: Any, y: Any, colour: int | None = 0) -> None:
        """colour None: a grey line to compare with."""
        self._add("line", colour, x, y)

    def band(self, x: Any, low: Any, high: Any, colour: int = 0) -> None:
        self._add("band", colour, x, low, high)

    def dots(self, x: Any, y: Any, colour: int = 0) -> None:
        self._add("dots", colour, x, y)

    def arrows(self, x: Any, y: Any, to_x: Any, to_y: Any) -> None:
        self._add("arrows", 0, np.append(x, to_x), np.append(y, to_y))

    def _add(self, kind: str, colour: int | None, x: Any, *ys: Any) -> None:
        stride = 1 if kind == "arrows" else 1 + len(x) // MOST
        arrays = [np.asarray(a, float)[::stride] for a in (x, *ys)]
        paint = GREY if colour is None else COLOURS[colour % len(COLOURS)]
        self.parts.append((kind, paint, arrays[0], arrays[1:]))

    def _pixels(self, x: Any, y: Any) -> Pixels:
        (x0, x1), (y0, y1) = self.spans
        h = LEFT + (x - x0) / (x1 - x0) * (WIDTH - LEFT - RIGHT)
        v = HEIGHT - BOTTOM - (y - y0) / (y1 - y0) * (HEIGHT - TOP - BOTTOM)
        return [(f"{a:.1f}", f"{b:.1f}") for a, b in zip(h, v)]

    def _drawn(self, kind: str, colour: str, x: np.ndarray,
               ys: list[np.ndarray]) -> str:
        """One part."""
        points = self._pixels(x, ys[0])
        if kind == "dots":
            return "".join(f'<circle cx="{a}" cy="{b}" r="1.6" '
                           f'fill="{colour}"/>' for a, b in points
                           if "nan" not in (a, b))
        if kind == "band":
            both = np.isfinite(ys[0]) & np.isfinite(ys[1])
            around = (self._pixels(x[both], ys[0][both])
                      + self._pixels(x[both], ys[1][both])[::-1])
            return (f'<path d="{_path(around)}Z" fill="{colour}" '
                    'fill-opacity="0.25"/>') if around else ""
        if kind == "arrows":
            half = len(points) // 2
            pieces = [[a, b] for a, b in zip(points[:half], points[half:])
                      if "nan" not in a + b]
            marked = "".join(f'<circle cx="{b[0]}" cy="{b[1]}" r="1.5" '
                             f'fill="{colour}"/>' for _, b in pieces)
        else:
            pieces, marked = _pieces(points), ""
        path = "".join(map(_path, pieces))
        return (f'<path d="{path}" fill="none" stroke="{colour}" '
                f'stroke-width="1.4"/>{marked}')

    def _axis(self, which: int) -> str:
        """Ticks, their numbers, and the label."""
        low, high = self.spans[which]
        ticks = _ticks(low, high)
        ends = np.full(len(ticks), self.spans[1 - which][0])
        at = self._pixels(*((ticks, ends), (ends, ticks))[which])
        # -0 and 0.30000000000000004 are for nobody
        words = [f"{t + 0.0:.6g}" for t in
                 np.where(abs(ticks) < 1e-9 * (high - low), 0.0, ticks)]
        marks = []
        for (x, y), word in zip(at, words):
            place, line = (
                (f'x="{x}" y="{HEIGHT - BOTTOM + 15}" text-anchor="middle"',
                 f"M{x} {y}v4"),
                (f'x="{LEFT - 7}" y="{float(y) + 4:.1f}" text-anchor="end"',
                 f"M{x} {y}h-4"))[which]
            marks.append(f'<path d="{line}" stroke="currentColor"/>'
                         f"<text {place}>{word}</text>")
        middle = ((LEFT + WIDTH - RIGHT) // 2, (TOP + HEIGHT - BOTTOM) // 2)
        place = (f'x="{middle[0]}" y="{HEIGHT - 6}"',
                 f'transform="translate(12 {middle[1]}) rotate(-90)"')[which]
        return "".join(marks) + (f'<text {place} text-anchor="middle">'
                                 f"{html.escape(self.labels[which])}</text>")

    def svg(self) -> str:
        self.spans = (_span([x for _, _, x, _ in self.parts]),
                      _span([y for *_, ys in self.parts for y in ys]))
        drawn = "".join(self._drawn(*part) for part in self.parts)
        frame = (f'<path d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}" '
                 'fill="none" stroke="currentColor"/>')
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
                f'height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
                'font-family="sans-serif" font-size="11" fill="currentColor">'
                f"{frame}{self._axis(0)}{self._axis(1)}{drawn}</svg>")
