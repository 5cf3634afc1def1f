# SPDX-License-Identifier: MIT
"""Figures of models and fits, by Matplotlib. What they show is computed
here; html.py draws the same as small SVG."""
from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Mapping, NamedTuple, Sequence

import numpy as np

from ._lib import InputError, suggestion

if TYPE_CHECKING:
    from .data import Data, Series
    from .model import Model, Smoothed

MOST_TRACKS = 5
POINTS, ARROWS = 200, 18

# --- What is shown -----------------------------------------------------------


def data_of(model: Any, data: Data | None) -> Series | None:
    """Those given, or those that a fit was learned from."""
    return model._series if data is None else model.data(data)


def needed(model: Any, data: Data | None, what: str) -> Series:
    series = data_of(model, data)
    if series is None:
        raise InputError(
            f"{what}: there are no data here (a file of a fit holds none): "
            f"give them, {what}(data)")
    return series


def _named(names: Sequence[str], name: str | None, what: str) -> int:
    if name is None:
        return 0
    if name not in names:
        raise InputError(f"there is no {what} '{name}'"
                         + (suggestion(name, names)
                            or f"; there are {', '.join(names)}"))
    return list(names).index(name)


def column_ranges(model: Any, series: Series | None,
                  limits: Mapping[str, Sequence[float]]
                  ) -> dict[str, tuple[float, float]]:
    """By column of the model: the limits, or the range of the data, or of a
    hidden state's mean; without data, what the record of a fit has."""
    record = getattr(model, "record", None)
    known = {} if record is None else {
        n: (a, b) for n, a, b in zip(model.columns, record.lowest,
                                     record.highest)}
    if series is not None:
        seen = {n: series[n] for n in series.names}
        if not set(model.states) <= set(seen):
            seen.update(zip(model.states, model.paths(series).mean.T))
        known.update((n, (np.nanmin(v), np.nanmax(v)))
                     for n, v in seen.items() if np.isfinite(v).any())
    known.update((n, (float(a), float(b))) for n, (a, b) in limits.items())
    return known


class Drift(NamedTuple):
    """A line of one state, or a plane of two with the others at their
    middle."""
    names: list[str]     # of the axes
    at: np.ndarray       # (n, columns)
    drift: np.ndarray    # (n, names)
    sd: np.ndarray | None


def drift_of(model: Any, series: Series | None = None,
             states: Sequence[str] | None = None,
             limits: Mapping[str, Sequence[float]] = {},
             time: float = 0.0) -> Drift:
    """What plot_field() shows."""
    names = list([states] if isinstance(states, str) else
                 states or model.states[:2])
    places = [_named(model.states, n, "state") for n in names]
    if len(names) > 2:
        raise InputError(f"plot_field: {len(names)} states; a figure has one "
                         "or two, and the others are at their middle")
    for name in limits:
        _named(model.columns, name, "column")
    ranges = column_ranges(model, series, limits)
    for name in model.columns:
        if not np.isfinite(ranges.get(name, (np.nan,))).all():
            raise InputError(
                f"plot_field: the range of '{name}' is not known; give data, "
                f"or limits={{'{name}': (low, high)}}")
    n = POINTS if len(names) == 1 else ARROWS
    axes = np.meshgrid(*(np.linspace(*ranges[c], n) for c in names))
    at = np.tile([np.mean(ranges[c]) for c in model.columns],
                 (axes[0].size, 1))
    at[:, places] = np.stack([a.ravel() for a in axes], 1)
    field = model.field(at, time)
    return Drift(names, at[:, places], field.drift[:, places],
                 None if field.drift_sd is None
                 else field.drift_sd[:, places])


def arrows_of(d: Drift) -> np.ndarray:
    """(n, 2): the drift of a plane as arrows, the longest as long as a cell."""
    cell = np.ptp(d.at, axis=0) / (ARROWS - 1)
    longest = np.nanmax(np.hypot(*(d.drift / cell).T))
    return 0.9 * d.drift / (longest if longest > 0 else 1.0)


def seen_of(paths: Smoothed, series: Series, state: int) -> np.ndarray | None:
    """(rows) what was observed of a state, or None."""
    place = int(paths.seen[state])  # type: ignore[attr-defined]
    return series.values[:, place] if place < len(series.names) else None


def scores_of(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Normal scores by rank, and z in order."""
    known = np.sort(z[np.isfinite(z)])
    law, n = NormalDist(), len(known)
    return np.array([law.inv_cdf((i + 0.5) / n) for i in range(n)]), known


def curve_of(fit: Any) -> np.ndarray:
    """(4, points): iteration, restart, log-likelihood per gap, held out, with
    NaN between two restarts."""
    if fit.record.curve is None:
        return np.empty((4, 0))
    curve = np.asarray(fit.record.curve).T
    return np.insert(curve, np.flatnonzero(np.diff(curve[1])) + 1, np.nan,
                     axis=1)


# --- Matplotlib --------------------------------------------------------------


def _pyplot(what: str) -> Any:
    try:
        import matplotlib.pyplot as pyplot
    except ImportError:
        raise ImportError(
            f"{what} needs Matplotlib, which is not installed: 'pip install "
            "matplotlib', or Debian's python3-matplotlib") from None
    return pyplot


def _axes(ax: Any, what: str, rows: int = 1, columns: int = 1) -> Any:
    if ax is not None:
        return ax
    pyplot = _pyplot(what)
    return pyplot.subplots(rows, columns, constrained_layout=True,
                           figsize=(5.5 * columns, 3.6 * rows))[1]


class Plots:
    """The figures of a model. Each returns its Axes; ``ax`` is where to draw
    instead of a new figure. Without data a fit takes those it was learned
    from."""

    _series: Series | None = None

    def plot_field(self: Any, data: Data | None = None, *,
                   states: Any = None,
                   limits: Mapping[str, Sequence[float]] = {},
                   time: float = 0.0, ax: Any = None) -> Any:
        """The drift: a curve of one state, with a band of two standard
        deviations where a fit knows it, or arrows in the plane of two, the
        others at their middle. Marks are data. states: which; limits: {"x":
        (low, high)}; else as far as the data go."""
        ax = _axes(ax, "plot_field()")
        series = data_of(self, data)
        d = drift_of(self, series, states, limits, time)
        rows = (series.values[:, [series.names.index(n) for n in d.names]]
                if series is not None and set(d.names) <= set(series.names)
                else np.empty((0, len(d.names))))
        if len(d.names) == 2:
            ax.plot(*rows.T, ".", ms=2, color="0.6", zorder=0)
            ax.quiver(*d.at.T, *arrows_of(d).T, angles="xy",
                      scale_units="xy", scale=1, color="C0", width=0.004)
            ax.set(xlabel=d.names[0], ylabel=d.names[1])
            return ax
        x, f = d.at[:, 0], d.drift[:, 0]
        if d.sd is not None:
            ax.fill_between(x, f - 2 * d.sd[:, 0], f + 2 * d.sd[:, 0],
                            alpha=0.25, lw=0)
        ax.axhline(0, color="0.6", lw=0.8)
        ax.plot(x, f)
        ax.plot(rows[:, 0], np.zeros(len(rows)), "|", color="0.4", ms=8,
                transform=ax.get_xaxis_transform())
        ax.set(xlabel=d.names[0], ylabel=f"drift of {d.names[0]}")
        return ax

    def plot_paths(self: Any, data: Data | None = None, *,
                   state: str | None = None,
                   series: Sequence[str] | None = None, between: int = 8,
                   ax: Any = None, **options: Any) -> Any:
        """A state given all data: its mean, a band from 5 to 95 %, and dots
        where it was observed. state: its name (the first); series: labels of
        tracks (the first five). The options are those of ``paths``."""
        ax = _axes(ax, "plot_paths()")
        known, i = (needed(self, data, "plot_paths"),
                    _named(self.states, state, "state"))
        p = self.paths(known, between=between, quantiles=[0.05, 0.95],
                       **options)
        seen = seen_of(p, known, i)
        places = [_named(known.labels, s, "series") for s in
                  series or known.labels[:MOST_TRACKS]]
        for k, track in enumerate(places):
            at, own = p.track == track, slice(*known.start[track:track + 2]
                                              .astype(int).tolist())
            ax.fill_between(p.time[at], *p.quantile[at, i].T, alpha=0.25,
                            lw=0, color=f"C{k}")
            ax.plot(p.time[at], p.mean[at, i], lw=1, color=f"C{k}",
                    label=known.labels[track])
            if seen is not None:
                ax.plot(known.time[own], seen[own], ".", ms=3, color=f"C{k}")
        if len(places) > 1:
            ax.legend()
        ax.set(xlabel="time", ylabel=self.states[i])
        return ax

    def plot_residuals(self: Any, data: Data | None = None, *,
                       ax: Any = None, **options: Any) -> Any:
        """The normal scores of the residuals against those of a normal law:
        under the true model the dots follow the line. The options are those
        of ``residuals``."""
        ax = _axes(ax, "plot_residuals()")
        r = self.residuals(needed(self, data, "plot_residuals"), **options)
        for k, name in enumerate(r.names):
            ax.plot(*scores_of(r.z[:, k]), ".", ms=4, color=f"C{k}",
                    label=name)
        ends = np.array(ax.get_xlim())
        ax.plot(ends, ends, color="0.5", lw=1, zorder=0)
        if len(r.names) > 1:
            ax.legend()
        ax.set(xlabel="normal score", ylabel="residual z")
        return ax


class FitPlots:
    """Those of a fit alone."""

    def plot_curve(self: Any, *, ax: Any = None) -> Any:
        """The learning curve: it should be constant at the right."""
        ax = _axes(ax, "plot_curve()")
        x, _, y, held = curve_of(self)
        ax.plot(x, y, label="learned from")
        if np.isfinite(held).any():
            ax.plot(x, held, label="held out")
            ax.legend()
        ax.set(xlabel="iteration", ylabel="log-likelihood per gap")
        ax.xaxis.get_major_locator().set_params(integer=True)
        return ax

    def plot(self: Any, data: Data | None = None, *, ax: Any = None) -> Any:
        """Four figures, as an array of Axes: the learning curve, the field,
        the states given the data, and the residuals. ax: four Axes."""
        axes = _axes(ax, "plot()", 2, 2)
        series = needed(self, data, "plot")
        one, two, three, four = np.ravel(axes)
        self.plot_curve(ax=one)
        self.plot_field(series, ax=two)
        self.plot_paths(series, ax=three)
        self.plot_residuals(series, ax=four)
        return axes
