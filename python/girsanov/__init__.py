# SPDX-License-Identifier: MIT
"""Girsanov learns stochastic differential equations from time series.

>>> import girsanov, numpy as np
>>> model = girsanov.Model('''
... state x
... param a = 1 > 0, s = 1 > 0
... dx = -a*x*dt + s*dW''')
>>> data = model.simulate(np.linspace(0, 50, 501), seed=3)
>>> fit = model.fit(data)
>>> sorted(fit.params)
['a', 's']

docs/PYTHON.md is the tutorial. Calls into the library let other threads of
Python run; different threads may use one model as long as none sets it.
"""
from __future__ import annotations

from typing import Any

from . import _header
from ._header import VERSION as __version__
from ._lib import (Caution, Error, InputError, NumericalError, OutOfMemory,
                   Result)
from .data import Data, Series
from .diagnose import Diagnosis, Residuals
from .fit import Fit, Progress, Record, load
from .model import (PAPER, Field, Likelihood, Model, Params, Prediction,
                    Smoothed)

__all__ = ["PAPER", "Caution", "Data", "Diagnosis", "Error", "Field", "Fit",
           "InputError", "Likelihood", "Model", "NumericalError", "OutOfMemory",
           "Params", "Prediction", "Progress", "Record",
           "Residuals", "Result", "Series", "Smoothed", "load", "options"]

_STRUCTS: dict[str, Any] = {
    "simulate": _header.gsv_simulate_options, "loglik": _header.gsv_options,
    "fit": _header.gsv_fit_options, "predict": _header.gsv_predict_options,
    "paths": _header.gsv_paths_options}


def options(verb: str) -> dict[str, str]:
    """The options of simulate, loglik, fit, predict or paths, with a word
    about each, from the library's header.

    >>> options("loglik")["random"]
    'sobol or iid'
    """
    struct = _STRUCTS[verb]
    table: dict[str, str] = {}
    for name, _ in struct._fields_:
        if name == "estimator":
            table.update(options("loglik"))
        elif name in struct.enums:
            *words, last = _header.ENUMS[struct.enums[name]]
            table[name] = f"{', '.join(words)} or {last}"
        elif name != "user":
            table[name] = struct.notes[name]
    return table
