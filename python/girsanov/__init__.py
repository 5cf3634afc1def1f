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

import ctypes

from . import _header
from ._header import VERSION as __version__
from ._lib import (Caution, Error, InputError, Interrupted, NumericalError,
                   OutOfMemory, Result, Stopped, lib)
from .data import Data, Series
from .diagnose import Diagnosis, Residuals
from .external import External
from .fit import Fit, Progress, Record, load
from .look import Look, look, new
from .model import (PAPER, Field, Likelihood, Model, Params, Prediction,
                    Smoothed)
from .physics import Physics
from .select import Selection

__all__ = ["PAPER", "Caution", "Data", "Diagnosis", "Error", "External", "Field", "Fit",
           "InputError", "Interrupted", "Likelihood", "Look", "Model", "NumericalError", "OutOfMemory",
           "Params", "Physics", "Prediction", "Progress", "Record",
           "Residuals", "Result", "Selection", "Series", "Smoothed", "Stopped",
           "load", "look", "new", "options"]


def options(verb: str) -> dict[str, str]:
    """The options of simulate, loglik, fit, select, predict, residuals, paths
    or physics by name, each with what it means and its default in brackets, as
    the library describes them.

    >>> options("loglik")["paths"]
    'paths in each gap (64, more where few of them carry the weight)'
    """
    count, text = ctypes.c_size_t(), ctypes.create_string_buffer(400)
    rows = lib.gsv_option_table(ctypes.byref(count))
    use = _header.ENUMS["gsv_use"][verb]
    return {row.field.decode():
            lib.gsv_option_help(row, len(text), text).decode()
            for row in rows[:count.value] if row.uses & use and row.help}
