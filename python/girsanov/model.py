# SPDX-License-Identifier: MIT
"""Models: text in, likelihoods, simulations, fields, paths and forecasts
out."""
from __future__ import annotations

import ctypes
import os
import tempfile
import warnings
import weakref
from collections import Counter
from typing import TYPE_CHECKING, Any, Callable, Mapping, Sequence, Union

import numpy as np

from . import _header, _lib, cautions
from ._lib import Caution, InputError, Owner, Result, lib
from .data import Data, Series, as_series, frame
from .external import External, give
from .plots import Plots

if TYPE_CHECKING:
    import pandas
    from typing_extensions import Unpack

    from .diagnose import Diagnosis, Residuals
    from .fit import Fit, Progress
    from .physics import Physics
    from .select import Selection

Params = dict[str, Union[float, np.ndarray]]

#: Algorithm 1 as published: ``model.loglik(data, **girsanov.PAPER)``
PAPER: Any = dict(joint=True, reference="brownian", form="ito", random="iid",
                  observe="conjugate")


class Likelihood(Result):
    """An estimate of a log-likelihood; the fields of ``loglik --json``.

    ``float()`` of it is the log-likelihood. ``by_gap`` is a structured array
    with a row for every gap; ``theta_gradient`` is the gradient by
    ``model.theta``.
    """

    loglik: float
    stderr: float
    discretisation: float
    ess_min: float
    khat_max: float
    log_bias: float
    flagged: int
    gaps: int
    paths: int
    steps: int
    drift_evaluations: int
    seconds: float
    joint: bool
    reference: str
    form: str
    random: str
    observe: str | None
    settled: bool | None
    seed: int
    params: Params
    gradient: Params | None
    theta_gradient: np.ndarray | None
    by_gap: np.ndarray

    def __float__(self) -> float:
        return self.loglik


class Field(Result):
    """Drift (n, dim) and diffusion (n, dim, noises) at n points; the drift's
    standard deviation (n, dim) where a fit knows it, or None."""

    drift: np.ndarray
    diffusion: np.ndarray
    drift_sd: np.ndarray | None


class Smoothed(Result):
    """The law of the states given all data, at rows of tracks."""

    names: list[str]
    labels: list[str]
    track: np.ndarray        # (rows)
    time: np.ndarray         # (rows)
    mean: np.ndarray         # (rows, dim)
    sd: np.ndarray           # (rows, dim)
    probability: np.ndarray  # (quantiles)
    quantile: np.ndarray     # (rows, dim, quantiles)
    draw: np.ndarray | None  # (rows, dim, draws)
    ess_min: float
    paths: int

    def frame(self) -> pandas.DataFrame:
        """series, time, x_mean, x_sd, x_q05, ... as ``girsanov paths``."""
        return _bands(self, self.probability)


class Prediction(Result):
    """The laws of what comes after the known rows."""

    names: list[str]         # states, then what is observed of them
    labels: list[str]
    track: np.ndarray        # (rows)
    time: np.ndarray         # (rows)
    mean: np.ndarray         # (rows, columns)
    sd: np.ndarray           # (rows, columns)
    level: np.ndarray        # (quantiles)
    quantile: np.ndarray     # (rows, columns, quantiles)
    actual: np.ndarray       # (rows, columns), NaN where it is unknown
    score: np.ndarray        # structured: column, lead, rows, crps, ...
    held: bool               # inputs end before the forecasts, and are held

    def frame(self) -> pandas.DataFrame:
        """series, time, x_mean, x_sd, x_q05, ... as ``girsanov predict``."""
        return _bands(self, self.level)


def _bands(result: Any, levels: np.ndarray) -> pandas.DataFrame:
    columns: dict[str, np.ndarray] = {}
    for c, name in enumerate(result.names):
        columns[f"{name}_mean"] = result.mean[:, c]
        columns[f"{name}_sd"] = result.sd[:, c]
        for level, values in zip(levels, result.quantile[:, c].T):
            percent = f"{100 * level:.12g}"
            columns[f"{name}_q{percent.zfill(2)}"] = values
    return frame(result.labels, result.track, result.time, columns)


def _used(enum: str, values: np.ndarray) -> str:
    """'lna', or with counts where there are several."""
    counts = sorted(Counter(values.tolist()).items())
    words = [_lib.word(enum, value) for value, _ in counts]
    if len(counts) == 1:
        return words[0]
    return ", ".join(f"{w} {n}" for w, (_, n) in zip(words, counts))


class Model(Plots):
    """An SDE with its parameters and their values.

    >>> m = Model('''state x
    ... param a = 2, s = 0.5 > 0
    ... dx = -a*x*dt + s*dW''')
    >>> m.params
    {'a': 2.0, 's': 0.5}
    >>> m.set(a=1).params["a"]
    1.0

    A text is in the language of docs/LANGUAGE.md; ``Model.read`` takes a file.
    The weights of networks are drawn by the seed. A keyword gives a function of
    the text, `external f(x) -> 1`, as ``external()`` does: ``Model(text, f=cube)``.
    """

    def __init__(self, text: str, seed: int = 1, name: str = "model",
                 **functions: Any):
        handle = lib.gsv_model_parse(_lib.coded(text), _lib.coded(name))
        if not handle and "\n" not in text and os.path.exists(text):
            raise InputError(f"{text} is a file; Model.read() reads it")
        self._own(handle)
        self._kept: list[str] = []
        self._externals: dict[str, External] = {}
        for function, thing in functions.items():
            self.external(function, thing)
        if seed != 1:
            self.draw(seed)

    def _own(self, handle: Any) -> None:
        self._as_parameter_ = ctypes.c_void_p(_lib.made(handle))
        self._free = weakref.finalize(self, lib.gsv_model_free, handle)

    @classmethod
    def _from_c(cls, handle: Any) -> Any:
        model = cls.__new__(cls)
        model._own(handle)
        model._kept, model._externals = [], {}
        return model

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Model:
        """From a .sde file; from a fit, a Fit."""
        from .fit import Fit
        model = Model._from_c(lib.gsv_model_read(_lib.path_bytes(path)))
        if lib.gsv_model_record(model):
            model.__class__ = Fit
        return model

    def copy(self) -> Any:
        """A model of its own with the same values."""
        copy = type(self)._from_c(lib.gsv_model_copy(self))
        return copy._like(self)

    def _like(self, other: Model) -> Any:
        """What a copy of the other model in C lacks."""
        self._kept = list(other._kept)
        self._externals = dict(other._externals)
        return self

    def __reduce__(self) -> Any:
        """For pickle and copy: by the bytes of its file."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.fit")
            self.save(path)
            with open(path, "rb") as file:
                return _revive, (file.read(), self._kept, self._externals)

    def external(self, name: str, function: Any) -> Any:
        """Gives a function of the text, `external f(x) -> 1`: an `External`, a
        function of (x, p) alone, or a module of PyTorch. Copies and fits have
        it, too; a file has not. Returns the model."""
        self._externals[name] = give(self, name, function)
        return self

    def to_torch(self, name: str) -> Any:
        """A network of the model as a ``torch.nn.Module`` with its scales: from
        its arguments (n, inputs) to its values (n, outputs)."""
        from .torch import network
        return network(self, name)

    # --- What it is ---

    @property
    def text(self) -> str:
        """What it was made from."""
        return lib.gsv_model_text(self).decode(errors="replace")

    def describe(self) -> str:
        """In words, as ``girsanov check`` prints it."""
        return _lib.taken_text(lib.gsv_model_describe(self))

    @property
    def states(self) -> list[str]:
        """The names of the states' columns."""
        return self.columns[:lib.gsv_model_dim(self)]

    @property
    def columns(self) -> list[str]:
        """What drift and noise are functions of: states, then inputs."""
        return _lib.texts_at(lib.gsv_model_column(self),
                             lib.gsv_model_columns(self))

    @property
    def data_columns(self) -> list[str]:
        """The columns that data must have."""
        return _lib.texts_at(lib.gsv_model_data_column(self),
                             lib.gsv_model_data_columns(self))

    def _specs(self) -> list[_header.gsv_param]:
        return [lib.gsv_model_param(self, i)
                for i in range(lib.gsv_model_params(self))]

    def _by_name(self, values: np.ndarray, scales: bool = True) -> Params:
        """A vector over all values as numbers and arrays by name."""
        named: Params = {}
        for p in self._specs():
            if p.scale and not scales:
                continue
            part = values[p.offset:p.offset + p.rows * p.columns]
            shape = ((), (p.rows,), (p.rows, p.columns))[p.rank]
            named[p.name.decode()] = (part.copy().reshape(shape) if p.rank
                                      else float(part[0]))
        return named

    def _values(self) -> np.ndarray:
        return _lib.view(self, lib.gsv_model_value(self),
                         (lib.gsv_model_values(self),))

    @property
    def params(self) -> Params:
        """The values of all parameters by name: numbers, vectors, matrices."""
        return self._by_name(self._values())

    def set(self, values: Mapping[str, Any] | None = None,
            **more: Any) -> Any:
        """Gives parameters other values, all elements or one: ``set(a=2)``,
        ``set({"A[1,2]": 0})``. A fit starts there. Returns the model."""
        for name, value in {**(values or {}), **more}.items():
            array = np.ascontiguousarray(value, float).reshape(-1)
            _lib.check(lib.gsv_model_set(self, _lib.coded(name), len(array),
                                         array.ctypes.data))
            self._kept.append(name)
        return self

    def draw(self, seed: int) -> Any:
        """Draws the weights of networks anew. Returns the model."""
        lib.gsv_model_draw(self, seed)
        return self

    @property
    def theta(self) -> np.ndarray:
        """The learned numbers as one vector without bounds, for optimisers:
        read it, or assign any other."""
        theta = np.empty(lib.gsv_theta_size(self))
        lib.gsv_theta_get(self, theta.ctypes.data)
        return theta

    @theta.setter
    def theta(self, theta: Any) -> None:
        array = np.ascontiguousarray(theta, float)
        if array.shape != (lib.gsv_theta_size(self),):
            raise InputError(f"theta has the shape {array.shape}, but the "
                             f"model has {lib.gsv_theta_size(self)} numbers")
        lib.gsv_theta_set(self, array.ctypes.data)

    def __repr__(self) -> str:
        return (f"<{type(self).__name__} of {', '.join(self.states)}: "
                f"{lib.gsv_theta_size(self)} numbers>")

    def _repr_html_(self) -> str:
        from .html import model_html
        return model_html(self)

    def data(self, data: Data, time: str | None = None,
             series: str | None = None) -> Series:
        """The data as a Series with the model's columns: convert once where
        they are used often."""
        made = self._read(data, self.data_columns, time, series)
        _lib.check(lib.gsv_model_bind(self, made))
        return made

    def _read(self, data: Data, names: list[str], time: str | None = None,
              series: str | None = None) -> Series:
        """Labels of categories are read as text."""
        labels = [n for n in names
                  if lib.gsv_model_is_category(self, _lib.coded(n))]
        if isinstance(data, (str, os.PathLike)) and labels:
            path = _lib.path_bytes(data)
            if names != self.data_columns:
                return Series._from_c(lib.gsv_series_read_inputs(self, path))
            return Series._from_c(lib.gsv_series_read_for(
                self, None, path, time and _lib.coded(time),
                series and _lib.coded(series)))
        return as_series(data, names, time, series, labels)

    # --- What it does ---

    def simulate(self, times: Any, tracks: int = 1, x0: Any = None,
                 inputs: Data | None = None,
                 **options: Unpack[_header.SimulateOptions]) -> Series:
        """Sample paths at these times.

        x0: a number, one for each state, an array (tracks, states), "normal"
        or ("normal", mean, sd). inputs: covariates over time, and the columns
        of events.

        >>> m = Model("state x\\nparam s = 1 > 0\\ndx = -x*dt + s*dW")
        >>> m.simulate(np.linspace(0, 1, 11), tracks=3, x0="normal").array.shape
        (3, 11, 1)
        """
        o, keep = lib.gsv_simulate_options_default(), _lib.Keep()
        start = _start(self, o, x0, tracks)
        if inputs is not None:
            series = self._read(inputs, self._given())
            o.input = series._pointer
            keep.append(series)
        _lib.fill(o, {**options, "times": times, "tracks": tracks},
                  "simulate", keep)
        if start is not None:
            o.start = start.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
        return Series._from_c(lib.gsv_simulate(self, o))

    def _given(self) -> list[str]:
        """The columns that simulations take from inputs."""
        names = (ctypes.c_char_p * 256)()
        count = lib.gsv_model_given(self, 256, names)
        return ([n for n in self.columns[len(self.states):] if n != "series"]
                + _lib.texts_at(names, count))

    def loglik(self, data: Data, gradient: bool = False,
               **options: Unpack[_header.Options]) -> Likelihood:
        """The log-likelihood of data, with its error and diagnostics.

        The options are those of the command: paths, steps, step, reference,
        form, random, observe, richardson, tolerance, joint, seed, threads ...
        (``girsanov.options("loglik")`` lists them). Of a Fit those that it was
        learned with hold where no others are given.

        >>> m = Model("state x\\nparam s = 1 > 0\\ndx = -x*dt + s*dW")
        >>> round(float(m.loglik(([0, 1], [0, 0]))), 6)  # normal law at 0
        -0.499658
        """
        o = lib.gsv_options_default()
        _lib.fill(o, {**_lib.recalled(self, options), "gradient": gradient},
                  "loglik", _lib.Keep())
        r = _header.gsv_result()
        _lib.check(lib.gsv_loglik(self, self.data(data), o, r))
        found = self._likelihood(o, r)
        cautions.likelihood(found, o)
        return found

    def _likelihood(self, o: _header.gsv_options,
                    r: _header.gsv_result) -> Likelihood:
        all_of_it = _lib.fields(r, Owner(r, lib.gsv_result_free))
        gap, gradient = all_of_it.pop("gap"), all_of_it.pop("gradient")
        for name in "memory", "values", "groups":
            del all_of_it[name]
        theta = None
        if gradient is not None:
            theta = np.zeros(lib.gsv_theta_size(self))
            lib.gsv_theta_vjp(self, gradient.ctypes.data, theta.ctypes.data)
            gradient = self._by_name(gradient, scales=False)
        if all_of_it["observe"] == "auto":
            all_of_it["observe"] = None
        if not o.tolerance > 0:
            all_of_it["settled"] = None
        return Likelihood(
            **{"stderr" if k == "error" else k: v
               for k, v in all_of_it.items()},
            joint=o.joint, reference=_used("gsv_reference", gap["reference"]),
            form=_used("gsv_form", gap["form"]),
            random=_lib.word("gsv_random", o.random), seed=o.seed,
            params=self.params, gradient=gradient, theta_gradient=theta,
            by_gap=gap)

    def field(self, points: Any, time: Any = 0.0) -> Field:
        """Drift and diffusion of the data at points (n, columns), or columns
        by name; (n) where there is one column. time: one, or (n).

        >>> m = Model("state x\\nparam s = 2 > 0\\ndx = -3*x*dt + s*dW")
        >>> m.field([1, 2]).drift
        array([[-3.],
               [-6.]])
        """
        x = _points(self, points)
        dim, noises, n = (lib.gsv_model_dim(self), lib.gsv_model_noises(self),
                          x.shape[1])
        t = np.ascontiguousarray(np.broadcast_to(np.asarray(time, float), n))
        f, g = np.empty((dim, n)), np.empty((dim, noises, n))
        inputs = x[dim:].ctypes.data if len(x) > dim else None
        where = (n, t.ctypes.data, x.ctypes.data, inputs)
        _lib.check(lib.gsv_model_drift(self, *where, f.ctypes.data))
        _lib.check(lib.gsv_model_diffusion(self, *where, g.ctypes.data))
        cautions.field(self, where)
        sd = None
        if lib.gsv_model_has_posterior(self):
            known = Owner(_lib.made(lib.gsv_functions_new(self)),
                          lib.gsv_functions_free)
            sd = np.empty((dim, n))
            _lib.check(lib.gsv_functions_drift(known.struct, *where,
                                               sd.ctypes.data))
        return Field(drift=f.T, diffusion=g.transpose(2, 0, 1),
                     drift_sd=None if sd is None else sd.T)

    def paths(self, data: Data, times: Any = None, between: int | None = None,
              quantiles: Any = None, draws: int = 0,
              **options: Unpack[_header.Options]) -> Smoothed:
        """What the states were, at and between the observations. times: where
        to look; else at all rows and at so many times between them. draws:
        paths to keep. The options are those of ``loglik``."""
        o, keep = lib.gsv_paths_options_default(), _lib.Keep()
        _lib.fill(o, {"times": times, "between": between, "draws": draws,
                      "quantiles": quantiles,
                      **_lib.recalled_scan(self, options)}, "paths", keep)
        series, r = self.data(data), _header.gsv_smoothed()
        _lib.check(lib.gsv_paths(self, series, o, r))
        found = _lib.fields(r, Owner(r, lib.gsv_smoothed_free))
        states = Smoothed(**found, names=self.states, labels=series.labels)
        cautions.smoothed(self, series, states)
        return states

    def predict(self, data: Data, times: Any = None, quantiles: Any = None,
                until: Any = None, against: Data | None = None,
                inputs: Data | None = None,
                **options: Unpack[_header.PredictOptions]) -> Prediction:
        """Forecasts from the end of each track, with quantiles.

        times, or ahead=T: when. until: a time, or one for each track; later
        rows are held out, forecast and scored; against: other data whose rows
        come after these, likewise. inputs: covariates that go on."""
        o, keep = lib.gsv_predict_options_default(), _lib.Keep()
        series = self.data(data)
        if against is not None:
            until = series.time[series.start[1:].astype(int) - 1]
            series = series.join(self.data(against))
        if inputs is not None:
            series = series.join(self._read(inputs, self._given()))
        if until is not None:
            until = np.broadcast_to(np.asarray(until, float),
                                    len(series.labels))
        _lib.fill(o, {"times": times, "quantiles": quantiles, "until": until,
                      **_lib.recalled_points(self, options)}, "predict", keep)
        r = _header.gsv_prediction()
        _lib.check(lib.gsv_predict(self, series, o, r))
        found = _lib.fields(r, Owner(r, lib.gsv_prediction_free, self))
        if found["quantile"] is not None:
            found["quantile"] = found["quantile"].swapaxes(1, 2)
        return Prediction(names=found.pop("name"), labels=series.labels,
                          **found)

    def residuals(self, data: Data,
                  **options: Unpack[_header.PredictOptions]) -> Residuals:
        """Where each row stands in its forecast from the rows before it, and
        whether that contradicts the model. The options are draws, step,
        points, seed and threads.

        >>> m = Model("state x\\nparam s = 1 > 0\\ndx = -x*dt + s*dW")
        >>> m.residuals(([0, 1, 2], [0, 0, 0])).pit[:, 0]
        array([0.5, 0.5])
        """
        from .diagnose import residuals
        return residuals(self, data, options)

    def diagnose(self, data: Data, draws: int | None = None,
                 **options: Unpack[_header.Options]) -> Diagnosis:
        """Is the estimate right, gap by gap? Is the model, by its residuals
        (from so many draws where they are not in closed form)? The options
        are those of ``loglik``. ``print()`` says it in words.

        >>> m = Model("state x\\nparam s = 1 > 0\\ndx = -x*dt + s*dW")
        >>> m.diagnose(m.simulate(range(30))).flagged
        0
        """
        from .diagnose import diagnose
        series = self.data(data)
        with warnings.catch_warnings():  # it says the same, and more
            warnings.simplefilter("ignore", Caution)
            found = self.loglik(series, **options)
        same = {name: options.get(name) for name in ("points", "seed",
                                                     "threads")}
        return diagnose(self, series, found, {"draws": draws, **same})

    def fit(self, data: Data, *, fix: Any = (), priors: Any = None,
            progress: Callable[[Progress], Any] | bool | None = None,
            checkpoint: str | os.PathLike[str] | None = None,
            resume: Any = None,
            **options: Unpack[_header.FitOptions]) -> Fit:
        """Learns the parameters from data. The model stays as it is: a Fit is
        a model of its own.

        fix: names of parameters or elements that stay, or their values by
        name. progress: called after every iteration; returning False ends the
        fit. True: a bar is shown, as it is at a prompt and in a notebook;
        False: none. checkpoint: a file to keep the state in; resume: a checkpoint, or
        a Fit that was ended, to go on from. priors, with method="gibbs":
        ``{"a": ("normal", 0, 1)}``. All other options are those of the
        command: optimizer, iterations, batch, rate, paths, steps, time_limit,
        errors, seed, threads ... (``girsanov.options("fit")`` lists them).

        Ctrl-C ends a fit. At a prompt and in a notebook what was learned so
        far is returned with a warning (``Interrupted``); in a script it is the
        ``fit`` of the KeyboardInterrupt. It can be saved, and resumed.
        """
        from .fit import learn
        return learn(self, data, fix, priors, progress, checkpoint, resume,
                     options)

    def select(self, data: Data, *, fix: Any = (),
               **options: Unpack[_header.FitOptions]) -> Selection:
        """Finds out which coefficients of ``terms`` are not zero, and fits the
        model with these alone. fix: names of parameters that stay, or their
        values by name. The options are criterion, together, significance,
        resamples, errors and those of the likelihood
        (``girsanov.options("select")`` lists them).

        >>> m = Model("state x\\nparam s = 1 > 0\\n"
        ...           "terms f(x) -> 1 : poly 2\\ndx = f*dt + s*dW")
        >>> truth = Model("state x\\ndx = -2*x*dt + dW")
        >>> data = truth.simulate(np.linspace(0, 40, 201))
        >>> m.select(data, errors="none").chosen
        ['f.x']
        """
        from .select import select
        return select(self, data, fix, options)

    def physics(self, data: Data | None = None, *,
                regions: Sequence[str] | None = None,
                limits: Mapping[str, Sequence[float]] = {},
                inputs: Mapping[str, float] = {}, time: float | None = None,
                **options: Unpack[_header.PhysicsOptions]) -> Physics:
        """Fixed points, stationary law, relaxation times, entropy production,
        and the times of passages between two regions, such as ("x < -1",
        "x > 1"), or between the stable points. limits: reflecting ends by
        state; inputs: constant inputs by name; time: where it stands still.
        The options are draws, grid, period, length, step, seed and threads.

        >>> m = Model("state x\\ndx = (x - x^3)*dt + 0.7*dW")
        >>> found = m.physics(limits={"x": (-3, 3)})
        >>> [p["stability"] for p in found.points]
        ['stable', 'unstable', 'stable']
        >>> round(found.passages[0]["time"][0], 2)
        14.64
        """
        from .physics import physics
        return physics(self, data, regions, limits, inputs, time, options)

    def profile(self, data: Data, name: str, values: Any,
                fix: Sequence[str] = (),
                **options: Unpack[_header.FitOptions]) -> np.ndarray:
        """The log-likelihood maximised over all other parameters, with one
        number held at each of the values in turn."""
        o, keep = lib.gsv_fit_options_default(), _lib.Keep()
        _lib.fill(o, {**_lib.recalled(self, options), "fix": fix}, "profile",
                  keep)
        held = np.ascontiguousarray(values, float).reshape(-1)
        best, copy = np.empty(len(held)), self.copy()
        _lib.check(lib.gsv_profile(copy, self.data(data), o, _lib.coded(name),
                                   len(held), held.ctypes.data,
                                   best.ctypes.data))
        return best

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model as a fit (docs/FORMAT.md). The file is replaced only
        when it is complete."""
        _lib.check(lib.gsv_model_write(self, _lib.path_bytes(path)))


def _revive(content: bytes, kept: list[str],
            externals: Mapping[str, External]) -> Model:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.fit")
        with open(path, "wb") as file:
            file.write(content)
        model = Model.read(path)
    for name, function in externals.items():
        model.external(name, function)
    model._kept = list(kept)
    return model


def _start(model: Model, o: _header.gsv_simulate_options, x0: Any,
           tracks: int) -> np.ndarray | None:
    """First rows (dim, tracks), or a normal law into the options."""
    if x0 is None:
        return None
    if isinstance(x0, str):
        x0 = (x0,)
    if isinstance(x0, tuple) and x0 and x0[0] == "normal":
        o.start_mean, o.start_sd = x0[1:] if len(x0) == 3 else (0.0, 1.0)
        return None
    dim = lib.gsv_model_dim(model)
    try:
        return np.ascontiguousarray(
            np.broadcast_to(np.asarray(x0, float), (tracks, dim)).T)
    except ValueError:
        raise InputError(
            f"x0 {x0!r}: expected a number, {dim} numbers, an array ({tracks}, "
            f"{dim}), 'normal' or ('normal', mean, sd)") from None


def _points(model: Model, points: Any) -> np.ndarray:
    """(columns, n)"""
    columns = model.columns
    if hasattr(points, "keys"):
        missing = [c for c in columns if c not in points.keys()]
        if missing:
            raise InputError(f"points: there is no column '{missing[0]}'")
        points = np.stack([np.asarray(points[c], float) for c in columns], 1)
    x = np.asarray(points, float)
    if x.ndim < 2:
        x = x.reshape((-1, 1) if len(columns) == 1 else (1, -1))
    if x.ndim != 2 or x.shape[1] != len(columns):
        raise InputError(f"points have the shape {np.shape(points)}, but "
                         f"expected is (n, {len(columns)}): "
                         f"{', '.join(columns)}")
    return np.ascontiguousarray(x.T)
