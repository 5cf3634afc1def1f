# SPDX-License-Identifier: MIT
"""A first look at data."""
from __future__ import annotations

from typing import Any

from . import _header, _lib
from ._lib import Result, lib
from .data import Data, Series, as_series


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


def look(data: Data, time: str | None = None, series: str | None = None,
         seed: int = 1, threads: int = 0) -> Look:
    """Facts of the columns, and two or three models to start from.

    >>> import girsanov, numpy as np
    >>> ou = girsanov.Model("state x\\ndx = (2 - x)*dt + 0.7*dW")
    >>> first = look(ou.simulate(np.linspace(0, 60, 301), x0=2))
    >>> first.columns[0].kind
    'returns to a mean (Ornstein-Uhlenbeck)'
    """
    names = ([str(n) for n in data.keys()  # type: ignore[union-attr]
              if str(n) not in (time or "time", series or "series", "t", "id")]
             if hasattr(data, "keys") else None)
    s = (Series.read(data, None, time, series)  # type: ignore[arg-type]
         if names is None and isinstance(data, (str, bytes))
         or hasattr(data, "__fspath__")
         else as_series(data, names, time, series))  # type: ignore[arg-type]
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
