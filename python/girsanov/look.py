# SPDX-License-Identifier: MIT
"""A first look at data."""
from __future__ import annotations

from typing import Any

from . import _header, _lib
from ._lib import Result, lib
from .data import Data, Series, _numbers, as_series


class Look(Result):
    """What data show: `report` in words; `columns`, one Result each; `models`,
    texts for Model(), the best one first."""

    report: str
    columns: list[Result]
    models: list[str]

    def __str__(self) -> str:
        return self.report


def _column(c: Any) -> Result:
    values = {name: getattr(c, name) for name, _ in c._fields_}
    return Result(**{k: v.decode() if isinstance(v, bytes) else v
                     for k, v in values.items()})


def _columns(data: Any, time: str | None, series: str | None) -> list[str]:
    """Of a table, without time and series."""
    return [str(n) for n in data.keys()
            if str(n) not in (time or "time", series or "series", "t", "id")]


def _is_numeric(values: Any, name: str) -> bool:
    try:
        _numbers(values, name)
    except (TypeError, ValueError):
        return False
    return True


def _is_path(data: Any) -> bool:
    return isinstance(data, (str, bytes)) or hasattr(data, "__fspath__")


def look(data: Data, time: str | None = None, series: str | None = None,
         seed: int = 1, threads: int = 0) -> Look:
    """Facts of the columns, and two or three models to start from.

    >>> import girsanov, numpy as np
    >>> ou = girsanov.Model("state x\\ndx = (2 - x)*dt + 0.7*dW")
    >>> first = look(ou.simulate(np.linspace(0, 60, 301), x0=2))
    >>> first.columns[0].kind
    'returns to a mean (Ornstein-Uhlenbeck)'
    """
    s: Series
    if hasattr(data, "keys"):
        s = as_series(data, _columns(data, time, series), time, series)
    elif _is_path(data):
        s = Series.read(data, None, time, series)  # type: ignore[arg-type]
    else:
        s = as_series(data, None, time, series)  # type: ignore[arg-type]
    o, result = lib.gsv_options_default(), _header.gsv_look_result()
    o.seed, o.threads = seed, threads
    _lib.check(lib.gsv_look(s, o, result))
    try:
        return Look(report=result.report.decode(),
                    columns=[_column(result.column[i])
                             for i in range(result.columns)],
                    models=_lib.texts_at(result.model, result.models))
    finally:
        lib.gsv_look_free(result)


def new(data: Data, time: str | None = None, series: str | None = None) -> str:
    """The text of a first model for the columns of data, with comments:
    states, inputs, categories, a linear drift, and what may replace a line.

    >>> import numpy as np
    >>> print(new({"time": [0, 1, 2, 3], "x": [1, 3, 2, 2.5]}).splitlines()[4])
    # x: 1 to 3, mean 2.125, deviation 0.74
    """
    if _is_path(data):
        s = Series._from_c(lib.gsv_series_read_words(
            _lib.path_bytes(data),  # type: ignore[arg-type]
            time and _lib.coded(time), series and _lib.coded(series)))
    elif hasattr(data, "keys"):
        table: Any = data
        names = _columns(table, time, series)
        texts = [n for n in names if not _is_numeric(table[n], n)]
        s = as_series(table, names, time, series, texts)
    else:
        s = as_series(data, None, time, series)  # type: ignore[arg-type]
    return _lib.taken_text(lib.gsv_model_new(s))
