# SPDX-License-Identifier: MIT
"""What follows from a model's drift and noise."""
from __future__ import annotations

import ctypes
import warnings
from typing import TYPE_CHECKING, Any, Mapping, Sequence

import numpy as np

from . import _header, _lib
from ._lib import Caution, Result, lib
from .data import Data

if TYPE_CHECKING:
    from .model import Model


class Physics(Result):
    """Physics of a model. A number with its 95 % interval is an array (value,
    low, high), NaN where there is no interval; ``mean``, ``sd`` (by state),
    ``relaxation``, ``turn``, ``marginal``, ``density`` and ``potential`` have
    one in each row. ``points`` and ``passages`` are lists of dicts."""

    names: list[str]
    stationary: bool
    draws: int
    points: list[dict[str, Any]]
    passages: list[dict[str, Any]]
    mean: np.ndarray        # (dim, 3)
    sd: np.ndarray          # (dim, 3)
    relaxation: np.ndarray  # (3, 3) the slowest first
    turn: np.ndarray        # (3, 3)
    entropy: np.ndarray     # (3)
    gradient: np.ndarray    # (3)
    beyond: float
    current: float
    bins: np.ndarray        # (dim, bins)
    marginal: np.ndarray    # (dim, bins, 3)
    histogram: np.ndarray | None  # (dim, bins)
    distance: np.ndarray | None   # (dim)
    x: np.ndarray           # (dim, cells)
    density: np.ndarray     # (cells, 3)
    potential: np.ndarray   # (cells, 3)
    committor: np.ndarray | None  # (cells)
    reached: np.ndarray     # (cells)
    notes: list[str]
    warnings: list[str]


def _numbers(pointer: Any, *shape: int) -> np.ndarray:
    if not pointer or 0 in shape:
        return np.empty(shape)
    start = ctypes.cast(pointer, ctypes.POINTER(ctypes.c_double))
    return np.array(np.ctypeslib.as_array(start, shape))


def _one(q: Any) -> np.ndarray:
    return np.array([q.value, q.low, q.high])


def _points(r: Any) -> list[dict[str, Any]]:
    stability = ["stable", "saddle", "unstable"]
    return [{"x": _numbers(p.x, r.dim, 3), "rate": _numbers(p.rate, r.dim, 3),
             "turn": _numbers(p.turn, r.dim, 3), "reached": p.reached,
             "stability": stability[int(p.stability)], "share": p.share}
            for p in r.point[:r.points]]


def _passages(r: Any) -> list[dict[str, Any]]:
    # 'from' is a word of Python
    return [{"from": getattr(p, "from").decode(), "to": p.to.decode(),
             "time": _one(p.time), "barrier": _one(p.barrier),
             "kramers": _one(p.kramers)} for p in r.passage[:r.passages]]


def _read(r: Any) -> Physics:
    optional = {
        "histogram": (r.dim, r.bins), "distance": (r.dim,),
        "committor": (r.cells,)}
    return Physics(
        names=_lib.texts_at(r.name, r.dim), stationary=r.stationary,
        draws=r.draws, points=_points(r), passages=_passages(r),
        mean=_numbers(r.mean, r.dim, 3), sd=_numbers(r.sd, r.dim, 3),
        relaxation=np.array([_one(q) for q in r.relaxation]),
        turn=np.array([_one(q) for q in r.turn]),
        entropy=_one(r.entropy), gradient=_one(r.gradient), beyond=r.beyond,
        current=r.current, bins=_numbers(r.bin, r.dim, r.bins),
        marginal=_numbers(r.marginal, r.dim, r.bins, 3),
        x=_numbers(r.x, r.dim, r.cells),
        density=_numbers(r.density, r.cells, 3),
        potential=_numbers(r.potential, r.cells, 3),
        reached=np.array(r.reached[:r.cells], bool),
        notes=r.note.decode().splitlines(),
        warnings=r.warning.decode().splitlines(),
        **{name: _numbers(getattr(r, name), *shape)
           if getattr(r, name) else None for name, shape in optional.items()})


def _by_name(names: Sequence[str], given: Mapping[str, Any], empty: float,
             what: str) -> list[Any]:
    for name in given:
        if name not in names:
            raise TypeError(f"the model has no {what} '{name}'"
                            + _lib.suggestion(name, list(names)))
    return [given.get(name, empty) for name in names]


def physics(model: Model, data: Data | None, regions: Sequence[str] | None,
            limits: Mapping[str, Sequence[float]], inputs: Mapping[str, float],
            time: float | None, options: Mapping[str, Any]) -> Physics:
    """Model.physics()"""
    columns = _lib.texts_at(lib.gsv_model_column(model),
                            lib.gsv_model_columns(model))
    dim = lib.gsv_model_dim(model)
    o, keep = lib.gsv_physics_options_default(), _lib.Keep()
    given = dict(options)
    if limits:
        ends = _by_name(columns[:dim], limits, np.inf, "state")
        pairs = [(-np.inf, np.inf) if np.isscalar(e) else e for e in ends]
        given["end"] = [p[k] for k in (0, 1) for p in pairs]
    if inputs:
        given["input"] = _by_name(columns[dim:], inputs, np.nan, "input")
    if time is not None:
        given.update(frozen=True, at=time)
    _lib.fill(o, given, "physics", keep)
    if regions is not None:
        start, goal = (_lib.coded(text) for text in regions)
        setattr(o, "from", start)
        o.to = goal
    series = None if data is None else model.data(data)
    r = _header.gsv_physics_result()
    _lib.check(lib.gsv_physics(model, series, o, r))
    try:
        found = _read(r)
    finally:
        lib.gsv_physics_free(r)
    for sentence in found.warnings:
        warnings.warn(sentence, Caution, stacklevel=3)
    return found
