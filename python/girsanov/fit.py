# SPDX-License-Identifier: MIT
"""Learning, and what was learned."""
from __future__ import annotations

import os
import signal
import tempfile
import threading
import warnings
from typing import Any, Callable, Mapping

import numpy as np

from . import _header, _lib, cautions
from ._lib import InputError, Interrupted, Result, lib
from .data import Data
from .model import Model, Params
from .plots import FitPlots
from .progress import Bar, interactive


class Progress(Result):
    """Where a fit stands: iteration, iterations (at most), expected (of
    these, probably; NaN where that is not known yet), restart, restarts, loglik
    (a gap's mean), error, heldout, rate, seconds."""

    iteration: int
    iterations: int
    expected: float
    restart: int
    restarts: int
    gaps: float
    objective: str
    loglik: float
    error: float
    heldout: float
    rate: float
    seconds: float
    _model: Model

    @property
    def params(self) -> Params:
        """The values as they are now."""
        return self._model.params


class Record(Result):
    """What was fitted to which data, and how well: the fields of ``fit
    --json``, and columns' ranges, intervals and correlations of all values."""

    data: str
    gaps: int
    heldout_gaps: int
    loglik: float
    stderr: float
    discretisation: float
    heldout: float
    evidence: float
    aic: float
    bic: float
    learned: int
    penalty: float
    noise_penalty: float
    paths: int
    steps: int
    sampled: int
    flagged: int
    optimizer: str
    method: str
    objective: str
    ended: str
    iterations: int
    seconds: float
    seed: int
    estimator: dict[str, Any]  # what was asked of the likelihood
    errors_from: str
    warnings: list[str]
    params: Params
    errors: Params
    posterior: dict[str, Params] | None
    bootstraps: int
    refits: int
    bootstrap: dict[str, Params] | None


class Fit(Model, FitPlots):
    """A model with what was learned. It can do all that a model can."""

    def _of_values(self, values: np.ndarray) -> Params:
        return self._by_name(values, scales=False)

    @property
    def record(self) -> Record:
        """What the fit says of itself."""
        r = _lib.fields(lib.gsv_model_record(self).contents, self)
        posterior = r.pop("posterior")
        if posterior is not None:
            words = _header.ENUMS["gsv_posterior"]
            posterior = {w.replace("-", "_"): self._of_values(column)
                         for w, column in zip(words, posterior.T)}
        bootstrap = r.pop("bootstrap")
        if bootstrap is not None:
            bootstrap = {w: self._of_values(column) for w, column in
                         zip(_header.ENUMS["gsv_bootstrap"], bootstrap.T)}
        gibbs = r["chains"] > 0
        gaps, heldout = r["gaps"], r["heldout_gaps"]
        return Record(
            **{_RENAMED.get(k, k): v for k, v in r.items()},
            loglik_per_gap=r["loglik"] / gaps,
            heldout_per_gap=r["heldout"] / heldout if heldout else np.nan,
            method="gibbs" if gibbs else "likelihood",
            warnings=r["warning"].splitlines(),
            estimator=_lib.asked(self),
            params=self.params, errors=self._of_values(r["error_of"]),
            posterior=posterior, bootstrap=bootstrap)

    @property
    def stderr(self) -> Params:
        """Standard errors by name, NaN where there are none."""
        return self.record.errors

    @property
    def intervals(self) -> dict[str, np.ndarray]:
        """95 % intervals by name: (..., 2)."""
        r = self.record
        low, high = self._of_values(r.low), self._of_values(r.high)
        return {n: np.stack([low[n], high[n]], -1) for n in low}

    @property
    def bootstrap(self) -> dict[str, Params] | None:
        """"corrected" estimates, their "error" and the ends "low" and "high" of
        their 95 % intervals, by name; None without a bootstrap."""
        return self.record.bootstrap

    @property
    def draws(self) -> dict[str, np.ndarray] | None:
        """(chains, draws) of every number of a fit by gibbs, and of "lp", the
        log of the posterior density up to a constant. A file has none."""
        pointer = lib.gsv_model_draws(self)
        if not pointer:
            return None
        d = _lib.fields(pointer.contents, self)
        names = _number_names(self)
        named = {names[at]: d["value"].T[i]
                 for i, at in enumerate(d["place"].tolist())}
        if d["effect"] is not None:
            for name, of in zip(_effect_names(self, self.record.subject),
                                d["effect"].T.reshape(-1, *d["lp"].T.shape)):
                named[name] = of
        return {**named, "lp": d["lp"].T}

    def summary(self) -> str:
        """The record as a table."""
        r, values = self.record, self._values()
        lines = [
            f"data            {r.data}: {r.tracks} series, {r.rows} rows",
            f"log-likelihood  {r.loglik:.6g} +- {r.stderr:.2g}  "
            f"({r.paths} paths, {r.steps} steps)",
            f"ended           {r.method if r.chains else r.optimizer}: "
            f"{r.ended}, {r.iterations} iterations, {r.seconds:.3g} s", "",
            f"{'parameter':16} {'estimate':>14} {'standard error':>14} "
            f"{'95 % interval':>29}"]
        for i, name in shown_numbers(self):
            lines.append(f"{name:16} {values[i]:14.6g} {r.error_of[i]:14.3g}"
                         f" {r.low[i]:14.6g} {r.high[i]:14.6g}")
        weights = sum(p.rows * p.columns for p in self._specs() if p.weight)
        if weights:
            lines.append(f"and {weights} weights of networks")
        return "\n".join(lines + [f"warning: {w}" for w in r.warnings])


# Names of the record as the command's JSON has them.
_RENAMED = {"error": "stderr", "free": "learned", "errors": "errors_from"}


def load(path: str | os.PathLike[str]) -> Fit:
    """Reads a fit."""
    model = Model.read(path)
    if not isinstance(model, Fit):
        raise InputError(f"{os.fspath(path)} is a model's text, not a fit; "
                         "Model.read() reads it")
    return model


def _number_names(model: Model) -> list[str]:
    """Of all values: a, v[1], A[1,2]."""
    names = []
    for p in model._specs():
        name = p.name.decode()
        for j in range(p.rows * p.columns):
            row, column = divmod(j, p.columns)
            names.append((name, f"{name}[{j + 1}]",
                          f"{name}[{row + 1},{column + 1}]")[p.rank])
    return names


def shown_numbers(model: Model) -> list[tuple[int, str]]:
    """Place and name of those that tables have: no weights, scales, grids."""
    names = _number_names(model)
    return [(i, names[i]) for p in model._specs()
            if not (p.weight or p.scale or (p.gp and p.rank == 2))
            for i in range(p.offset, p.offset + p.rows * p.columns)]


def _effect_names(model: Model, labels: list[str]) -> list[str]:
    """Of all random effects: b[A], u[1,A], series by series."""
    each = [f"{p.name.decode()}[" + (f"{j + 1}," if p.rank else "")
            for p in model._specs() if p.effect for j in range(p.rows)]
    return [f"{name}{label}]" for label in labels for name in each]


# --- Learning ----------------------------------------------------------------


class _Watch:
    """Observes a fit. Ctrl-C only sets a flag, so that it cannot interrupt
    between two lines of Python; any other exception ends the fit and is raised
    again after it."""

    def __init__(self, fit: Fit, progress: Any):
        """progress: a function, True for a bar, or None."""
        self.fit, self.progress = fit, progress
        self.bar = Bar() if progress is True else None
        self.interrupted = False
        self.error: BaseException | None = None
        self.before: Any = None

    def note(self, *_: Any) -> None:
        self.interrupted = True

    def __enter__(self) -> _Watch:
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(
                signal.SIGINT) is signal.default_int_handler:
            self.before = signal.signal(signal.SIGINT, self.note)
        return self

    def __exit__(self, *_: Any) -> None:
        if self.before is not None:
            signal.signal(signal.SIGINT, self.before)
        if self.bar:
            self.bar.close(not self.interrupted)

    def step(self, _: Any, now: Any) -> bool:
        """After an iteration; true ends the fit."""
        try:
            if self.progress:
                told = Progress(**_lib.fields(now.contents, None),
                                _model=self.fit)
                if self.bar:
                    self.bar.step(told)
                elif self.progress(told) is False:
                    return True
        except BaseException as error:  # C cannot pass it on
            self.error = error
            return True
        return self.interrupted

    def phase(self, _: Any, phase: int) -> None:
        if self.bar:
            self.bar.phase(_lib.word("gsv_phase", phase))

    def refit(self, _: Any, done: int, total: int) -> None:
        if self.bar:
            self.bar.refit(done, total)

    def hand_to(self, o: Any) -> None:
        """As the callbacks of a fit's options."""
        o.progress = type(o.progress)(self.step)
        o.stop = type(o.stop)(lambda _: self.interrupted)
        o.phase = type(o.phase)(self.phase)
        o.refit = type(o.refit)(self.refit)


def _interrupted(fit: Fit) -> KeyboardInterrupt:
    """With the state. Not a class of its own: only of the plain one Python
    dies in the way that tells a shell to stop as well."""
    r = fit.record
    stop = KeyboardInterrupt(
        f"interrupted after {r.iterations} iterations; its fit can be resumed"
        if r.ended == "stopped" else
        "interrupted after the last iteration; its fit is done, but may have "
        "no standard errors")
    stop.fit = fit  # type: ignore[attr-defined]
    return stop


def _end(fit: Fit, watch: _Watch) -> Fit:
    """The fit with its warnings. Ctrl-C in a script must end the script."""
    if watch.interrupted and not interactive():
        raise _interrupted(fit)
    if watch.interrupted:
        warnings.warn(str(_interrupted(fit)), Interrupted, stacklevel=4)
    cautions.warn(fit.record.warnings, 5)
    return fit


def _priors(priors: Mapping[str, Any] | None) -> Any:
    """{"a": ("normal", 0, 1)} as an array of structs."""
    laws = _header.ENUMS["gsv_law"]
    array = (_header.gsv_prior * max(len(priors or ()), 1))()
    for prior, (name, (law, *numbers)) in zip(array, (priors or {}).items()):
        if law not in laws:
            raise InputError(f"priors: {name} ~ {law}: expected one of "
                             f"{', '.join(laws)}")
        prior.name, prior.law = _lib.coded(name), laws[law]
        prior.a, prior.b = (*map(float, numbers), 0.0, 0.0)[:2]
    return array


def _resumable(resume: Any, folder: str) -> Any:
    """The file to go on from."""
    if not isinstance(resume, Model):
        return resume
    path = os.path.join(folder, "state.fit")
    resume.save(path)
    return path


def learn(model: Model, data: Data, fix: Any, priors: Any, progress: Any,
          checkpoint: Any, resume: Any, options: Mapping[str, Any]) -> Fit:
    """Model.fit()"""
    fit = Fit._from_c(lib.gsv_model_copy(model))
    fix = [fix] if isinstance(fix, str) else fix
    fit._like(model)
    if isinstance(fix, Mapping):
        fit.set(fix)
    if progress is None or progress is False:
        progress = (progress is None and interactive()) or None
    series, watch = fit.data(data), _Watch(fit, progress)
    o, keep = lib.gsv_fit_options_default(), _lib.Keep()
    if (options.get("objective", "likelihood") == "likelihood"
            and options.get("method", "likelihood") == "likelihood"):
        options = _lib.recalled(model, options)
    o.prior, o.priors = _priors(priors), len(priors or ())
    watch.hand_to(o)
    with tempfile.TemporaryDirectory() as folder:
        _lib.fill(o, {**options, "fix": list(fix), "keep": [*fit._kept, *options.get("keep", ())],
                      "checkpoint": checkpoint,
                      "resume": _resumable(resume, folder)}, "fit", keep)
        with watch:
            status = lib.gsv_fit(fit, series, o)
    if watch.error is not None:
        raise watch.error
    _lib.check(status)
    fit._series = series
    return _end(fit, watch)
