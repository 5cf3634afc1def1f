# SPDX-License-Identifier: MIT
"""How far a fit is: a bar of tqdm where that is installed, else a line of
text on standard error, both with the time that is left at most."""
from __future__ import annotations

import math
import shutil
import sys
import time
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .fit import Progress

# Seconds: a fit is shown only after the first; then between two texts, where
# the line can be replaced and where it cannot.
LATE, REDRAW, LOG = 0.5, 0.2, 5.0

_PHASES = {"start": "start values", "search": "search",
           "effort": "choice of paths and steps",
           "estimate": "last estimate", "errors": "standard errors",
           "bootstrap": "bootstrap"}


def interactive() -> bool:
    """Whether somebody sits at a prompt or a notebook."""
    return hasattr(sys, "ps1")


def _tqdm() -> Any:
    """The class for this place, or None."""
    try:
        with warnings.catch_warnings():  # a notebook without widgets has text
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm
        return tqdm
    except ImportError:
        return None


def duration(seconds: float) -> str:
    """12 s, 3:05 min, 2:10 h"""
    s = math.ceil(seconds)
    if s < 100:
        return f"{s} s"
    unit, word = (60, "min") if s < 3600 else (3600, "h")
    return f"{s // unit}:{s % unit * 60 // unit:02} {word}"


class Text:
    """What is used of tqdm, as a line of text."""

    def __init__(self, total: int, initial: int = 0, desc: str = "",
                 **_: Any):
        self.total, self.n, self.desc, self.words = total, initial, desc, ""
        self.begun, self.first, self.shown = time.monotonic(), initial, -LOG
        self.replace = sys.stderr.isatty() or "ipykernel" in sys.modules

    def line(self) -> str:
        """fit 120/2000, 0.48 +- 0.01, ETA 12 s"""
        parts = [f"{self.desc} {self.n}/{self.total}", self.words]
        done, took = self.n - self.first, time.monotonic() - self.begun
        if done > 0 and self.n < self.total:
            left = took / done * (self.total - self.n)
            parts.append(f"ETA {duration(left)}")
        return ", ".join(p for p in parts if p)

    def refresh(self) -> None:
        now = time.monotonic()
        if now - self.shown < (REDRAW if self.replace else LOG):
            return
        self.shown = now
        self.draw()

    def draw(self) -> None:
        width = shutil.get_terminal_size().columns - 1
        if self.replace:
            sys.stderr.write(f"\r{self.line()[:width]:{width}}")
        else:
            sys.stderr.write(self.line() + "\n")
        sys.stderr.flush()

    def set_postfix_str(self, words: str, refresh: bool = True) -> None:
        self.words = words
        if refresh:
            self.refresh()

    def update(self, n: int) -> None:
        self.n += n
        self.refresh()

    def reset(self, total: int) -> None:
        self.total, self.n, self.first = total, 0, 0
        self.begun = time.monotonic()

    def set_description(self, desc: str) -> None:
        self.desc = desc
        self.refresh()

    def close(self) -> None:
        self.draw()
        if self.replace:
            sys.stderr.write("\n")


class Bar:
    """The bar of one fit. It appears when the fit takes longer than LATE."""

    def __init__(self, late: float = LATE, kind: Any = None):
        self.kind, self.late = kind or _tqdm() or Text, late
        self.bar: Any = None
        self.begun, self.total, self.done = time.monotonic(), 0, 0

    def _show(self, done: int, total: int, words: str) -> None:
        if self.bar is None:
            if time.monotonic() - self.begun < self.late:
                return
            self.bar = self.kind(total=total, initial=done, desc="fit")
        elif done < self.bar.n:  # another search
            self.bar.reset(total=total)
        self.bar.total = self.total = total
        self.bar.set_postfix_str(words, refresh=False)
        self.bar.update(done - self.bar.n)

    def step(self, now: Progress) -> None:
        """After an iteration."""
        words = f"{now.loglik:.4g}"
        if math.isfinite(now.error):
            words += f" +- {now.error:.1g}"
        if math.isfinite(now.heldout):
            words += f", held out {now.heldout:.4g}"
        each = now.iterations
        if math.isfinite(now.expected):
            each = max(now.iteration, round(now.expected))
        left = (now.restarts - now.restart + 1) * each - now.iteration
        if now.restart == 1:
            self.done = now.iteration
        else:  # earlier ones may have ended before their time
            self.done = max(self.done, now.restart - 1) + 1
        self._show(self.done, self.done + left, words)

    def phase(self, word: str) -> None:
        """When another part of the work begins."""
        if self.bar is not None:
            name = "fit" if word == "search" else _PHASES[word]
            self.bar.set_description(name)

    def refit(self, done: int, total: int) -> None:
        """After a refit of a bootstrap."""
        self._show(done, total, "refits")

    def close(self, whole: bool = True) -> None:
        """whole: the fit ended by itself, maybe before the last iteration."""
        if self.bar is None:
            return
        if whole:
            self.bar.total = self.bar.n
            self.bar.set_description("fit")
        self.bar.close()
