# SPDX-License-Identifier: MIT
"""Which terms are in the data."""
from __future__ import annotations

import warnings
from typing import Any, Mapping

from . import _header, _lib
from ._lib import Caution, Result, lib
from .data import Data
from .fit import Fit, _Watch
from .model import Model


class Selection(Result):
    """The ``fit`` with the selected terms alone; ``coefficients``, for each by
    name a dict of chosen, estimate, stderr, evidence (the log-likelihood that
    is lost without it, or would be gained with it), cost, with which it is
    compared, and frequency (the share of resampled data that select it);
    ``candidates``, the models that were fitted, the best first, each a dict of
    terms, loglik, stderr, value and the names of its coefficients."""

    fit: Fit
    coefficients: dict[str, dict[str, Any]]
    candidates: list[dict[str, Any]]
    gaps: int
    resamples: int
    blocks: int

    @property
    def chosen(self) -> list[str]:
        """The names of the coefficients that are not zero."""
        return [n for n, c in self.coefficients.items() if c["chosen"]]

    def frame(self) -> Any:
        """A DataFrame with a row for each coefficient."""
        import pandas
        return pandas.DataFrame.from_dict(self.coefficients, orient="index")


def _read(r: Any) -> dict[str, Any]:
    rows = r.coefficient[:r.coefficients]
    names = [c.name.decode() for c in rows]
    return {
        "coefficients": {n: {"chosen": c.chosen, "estimate": c.estimate,
                             "stderr": c.error, "evidence": c.evidence,
                             "cost": c.cost, "frequency": c.frequency}
                         for n, c in zip(names, rows)},
        "candidates": [
            {"terms": c.terms, "loglik": c.loglik, "stderr": c.error,
             "value": c.value,
             "coefficients": [n for k, n in enumerate(names) if c.has[k]]}
            for c in r.candidate[:r.candidates]],
        "gaps": r.gaps, "resamples": r.resamples, "blocks": r.blocks}


def select(model: Model, data: Data, fix: Any,
           options: Mapping[str, Any]) -> Selection:
    """Model.select()"""
    copy = Fit._from_c(lib.gsv_model_copy(model))
    fix = [fix] if isinstance(fix, str) else fix
    if isinstance(fix, Mapping):
        copy.set(fix)
    series, watch = copy.data(data), _Watch(copy, None)
    o, keep = lib.gsv_fit_options_default(), _lib.Keep()
    o.stop = type(o.stop)(lambda _: watch.interrupted)
    _lib.fill(o, {**options, "fix": list(fix)}, "select", keep)
    r = _header.gsv_selection()
    with watch:
        status = lib.gsv_select(copy, series, o, r)
    if watch.interrupted:
        lib.gsv_selection_free(r)
        raise KeyboardInterrupt("interrupted: no terms were selected")
    _lib.check(status)
    found = _read(r)
    fit = Fit._from_c(r.model)
    fit._series, r.model = series, None
    lib.gsv_selection_free(r)
    for sentence in fit.record.warnings:
        warnings.warn(sentence, Caution, stacklevel=3)
    return Selection(fit=fit, **found)
