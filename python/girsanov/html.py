# SPDX-License-Identifier: MIT
"""What notebooks show of models, fits, series and results: small tables, and
a figure where one line of Python would not say it."""
from __future__ import annotations

import html
from typing import Any, Callable, Iterable, Mapping, Sequence

import numpy as np

from ._lib import Error
from .figure import Figure
from .plots import (MOST_TRACKS, arrows_of, curve_of, drift_of, scores_of)

MOST_ROWS = 12
_CELL = "padding:.15em 1.2em .15em 0;text-align:"

# --- Parts -------------------------------------------------------------------


def _text(value: Any, digits: int = 6) -> str:
    """A cell: a dash for NaN, six digits, what is written safe for HTML."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return "&ndash;"
    if isinstance(value, (float, np.floating)):
        return f"{value:.{digits}g}"
    if isinstance(value, np.ndarray) and value.size > 6:
        return "array " + " &times; ".join(map(str, value.shape))
    return html.escape(str(value))


def table(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """The first column is text; the last rows are left out of a long one."""
    def line(tag: str, cells: Iterable[str]) -> str:
        return "<tr>" + "".join(
            f'<{tag} style="{_CELL}{"right" if i else "left"}">{c}</{tag}>'
            for i, c in enumerate(cells)) + "</tr>"
    body = [line("td", map(_text, row)) for row in rows[:MOST_ROWS]]
    more = len(rows) - MOST_ROWS
    head = f"<thead>{line('th', map(html.escape, names))}</thead>"
    return (f"<table>{head if names else ''}<tbody>{''.join(body)}</tbody>"
            "</table>" + (f"<p>... and {more} more</p>" if more > 0 else ""))


def facts(values: Mapping[str, Any]) -> str:
    """Names and values, one below the other."""
    lines = (f'<tr><th style="{_CELL}left">{html.escape(name)}</th>'
             f'<td style="{_CELL}left">{_text(value)}</td></tr>'
             for name, value in values.items())
    return f"<table><tbody>{''.join(lines)}</tbody></table>"


def _pre(text: str) -> str:
    return f"<pre>{html.escape(text.strip())}</pre>"


def _cautions(sentences: Iterable[str]) -> str:
    return "".join(f'<p style="color:#c0392b">warning: {html.escape(s)}</p>'
                   for s in sentences)


def _page(title: str, *parts: str) -> str:
    return (f'<div class="girsanov"><strong>{html.escape(title)}</strong>'
            f"{''.join(parts)}</div>")


# --- Figures -----------------------------------------------------------------


def _field_figure(model: Any) -> str:
    """The drift as far as the data went, if there are one or two states."""
    if len(model.states) > 2:
        return ""
    try:
        d = drift_of(model)
    except Error:  # the ranges of hidden states are not in the record
        return ""
    if len(d.names) == 2:
        figure, to = Figure(*d.names), d.at + arrows_of(d)
        figure.arrows(*d.at.T, *to.T)
        return figure.svg()
    x, f = d.at[:, 0], d.drift[:, 0]
    figure = Figure(d.names[0], f"drift of {d.names[0]}")
    if d.sd is not None:
        figure.band(x, f - 2 * d.sd[:, 0], f + 2 * d.sd[:, 0])
    figure.line(x, np.zeros(len(x)), None)
    figure.line(x, f)
    return figure.svg()


def _curve_figure(fit: Any) -> str:
    x, _, y, held = curve_of(fit)
    if len(x) < 2:
        return ""
    figure = Figure("iteration", "log-likelihood per gap")
    figure.line(x, y)
    figure.line(x, held, 1)
    return figure.svg()


def _bands_figure(r: Any) -> str:
    """The first column of forecasts or smoothed states."""
    figure = Figure("time", r.names[0])
    for k in range(min(len(r.labels), MOST_TRACKS)):
        at = r.track == k
        if r.quantile is not None and r.quantile.shape[2] > 1:
            figure.band(r.time[at], r.quantile[at, 0, 0],
                        r.quantile[at, 0, -1], k)
        figure.line(r.time[at], r.mean[at, 0], k)
    return figure.svg()


def _scores_figure(r: Any) -> str:
    figure = Figure("normal score", "residual z")
    for k in range(len(r.names)):
        x, z = scores_of(r.z[:, k])
        figure.line(x, x, None)
        figure.dots(x, z, k)
    return figure.svg()


# --- Models, fits, series ----------------------------------------------------


def _parameters(model: Any) -> str:
    """As the report has them."""
    from .fit import shown_numbers
    record, values = getattr(model, "record", None), model._values()
    if record is None:
        return table(["parameter", "value"],
                     [[n, float(values[i])] for i, n in shown_numbers(model)])
    return table(["parameter", "estimate", "standard error", "from", "to"],
                 [[n, *(float(v[i]) for v in (values, record.error_of,
                                              record.low, record.high))]
                  for i, n in shown_numbers(model)])


def model_html(model: Any) -> str:
    """Model._repr_html_()"""
    title = f"{type(model).__name__} of {', '.join(model.states)}"
    weights = sum(p.rows * p.columns for p in model._specs() if p.weight)
    more = f"<p>and {weights} weights of networks</p>" if weights else ""
    r = getattr(model, "record", None)
    if r is None:
        return _page(title, _pre(model.text), _parameters(model), more)
    return _page(
        title, facts({
            "data": f"{r.data}: {r.tracks} series, {r.rows} rows",
            "log-likelihood": f"{r.loglik:.6g} +- {r.stderr:.2g} "
                              f"({r.paths} paths, {r.steps} steps)",
            "ended": f"{r.method if r.chains else r.optimizer}: {r.ended}, "
                     f"{r.iterations} iterations, {r.seconds:.3g} s"}),
        _parameters(model), more, _cautions(r.warnings),
        _field_figure(model) or _curve_figure(model))


def series_html(series: Any) -> str:
    """Series._repr_html_()"""
    figures = []
    for name in series.names[:3]:
        figure = Figure("time", name)
        for k, (time, _) in enumerate(series.tracks()[:MOST_TRACKS]):
            a = int(series.start[k])
            figure.line(time, series[name][a:a + len(time)], k)
        figures.append(figure.svg())
    return _page(repr(series), "<br>", *figures)


# --- Results -----------------------------------------------------------------


def _plain(r: Any) -> str:
    """All fields."""
    return facts({k: v for k, v in vars(r).items() if not k.startswith("_")})


def _bands(r: Any) -> str:
    last = [np.flatnonzero(r.track == k)[-1:] for k in range(len(r.labels))]
    rows = [[r.labels[k], float(r.time[i]), float(r.mean[i, 0]),
             float(r.sd[i, 0])] for k, at in enumerate(last) for i in at]
    return table(["series", "last time", f"mean of {r.names[0]}", "sd"],
                 rows) + _bands_figure(r)


def _residuals(r: Any) -> str:
    rows = [[n, t["rows"], t["uniform_p"], t["mean"], t["sd"],
             t["ljung_box_p"], t["square_ljung_box_p"]]
            for n, t in r.tests.items()]
    return table(["column", "rows", "uniform, p", "mean of z", "sd of z",
                  "all lags, p", "squares, p"], rows) + _scores_figure(r)


def _diagnosis(r: Any) -> str:
    return _pre(str(r)) + (_residuals(r.residuals) if r.residuals else "")


def _likelihood(r: Any) -> str:
    names = ("gaps", "paths", "steps", "ess_min", "khat_max", "flagged",
             "reference", "form", "observe", "seconds")
    words = {"log-likelihood": f"{r.loglik:.6g} +- {r.stderr:.2g}"}
    known = {n: getattr(r, n) for n in names}
    return facts({**words, **{n: v for n, v in known.items()
                              if v is not None and v == v}})


def _selection(r: Any) -> str:
    names = ["estimate", "stderr", "evidence", "cost", "frequency"]
    order = sorted(r.coefficients.items(), key=lambda c: not c[1]["chosen"])
    return table(["coefficient", *names],
                 [[n if c["chosen"] else f"({n})", *(c[k] for k in names)]
                  for n, c in order])


def _physics(r: Any) -> str:
    points = [[p["stability"], ", ".join(f"{v:.4g}" for v in p["x"][:, 0])]
              for p in r.points]
    passages = [[f"{p['from']} to {p['to']}", *map(float, p["time"])]
                for p in r.passages]
    states = [[n, *map(float, (*r.mean[i], *r.sd[i][:1]))]
              for i, n in enumerate(r.names)]
    return "".join((
        table(["fixed point", ", ".join(r.names)], points) if points else "",
        table(["passage", "mean time", "from", "to"], passages)
        if passages else "",
        table(["state", "mean", "from", "to", "sd"], states),
        _cautions(r.warnings)))


def _look(r: Any) -> str:
    return _pre(r.report) + _pre(r.models[0] if r.models else "")


_KINDS: dict[str, Callable[[Any], str]] = {
    "Smoothed": _bands, "Prediction": _bands, "Residuals": _residuals,
    "Diagnosis": _diagnosis, "Likelihood": _likelihood,
    "Selection": _selection, "Physics": _physics, "Look": _look}


def result_html(result: Any) -> str:
    """Result._repr_html_()"""
    name = type(result).__name__
    return _page(name, _KINDS.get(name, _plain)(result))
