# SPDX-License-Identifier: MIT
"""Doubts about results, as warnings of Python: what the command prints on
standard error."""
from __future__ import annotations

import ctypes
import warnings
from typing import TYPE_CHECKING, Any, Iterable

from . import _header, _lib
from ._lib import Caution, lib

if TYPE_CHECKING:
    from .data import Series
    from .model import Likelihood, Model, Smoothed


def warn(sentences: Iterable[str], level: int = 4) -> None:
    """level: as warnings counts them, so that the caller's line is shown."""
    for sentence in sentences:
        warnings.warn(sentence, Caution, stacklevel=level)


def likelihood(r: Likelihood, o: _header.gsv_options) -> None:
    """Those of ``girsanov loglik``."""
    if o.tolerance > 0 and not r.settled:
        warn([f"the tolerance was not reached with {r.paths} paths and "
              f"{r.steps} steps"])
    if r.flagged:
        what = "series" if r.joint else "rows" if r.observe else "gaps"
        warn([f"{r.flagged} of {len(r.by_gap)} {what} are not to be "
              "trusted; by_gap['flags'] says which"])
    if abs(r.discretisation) > max(3 * r.stderr, 0.1, 0.02 * r.gaps):
        warn(["the steps are too long: the log-likelihood moves by "
              f"{r.discretisation:+.3g} when they double; take more steps"])


def smoothed(model: Model, series: Series, r: Smoothed) -> None:
    """Those of ``girsanov paths``."""
    if r.paths >= 10 and r.ess_min < max(10.0, 0.1 * r.paths):
        warn([f"the bands are inaccurate: at worst {r.ess_min:.1f} of "
              f"{r.paths} paths or points carry the weight; use more: paths=, "
              "points="])
    warn(_lib.taken_text(lib.gsv_model_outside(model, series)).splitlines())


def field(model: Model, where: tuple[Any, ...]) -> None:
    """That of ``girsanov field``. where: n, times, points, inputs."""
    found = ctypes.c_size_t()
    _lib.check(lib.gsv_model_outside_at(model, *where, ctypes.byref(found)))
    if found.value:
        warn([f"{found.value} of {where[0]} points are outside the grid of a "
              "gp, where its function returns to its prior; give points "
              "inside the grid"])
