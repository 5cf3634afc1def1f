# SPDX-License-Identifier: MIT
"""Whether an estimate is right, and whether a model is."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping

import numpy as np

from . import _header, _lib
from ._lib import Owner, Result, lib
from .data import Data, frame

if TYPE_CHECKING:
    import pandas

    from .model import Likelihood, Model

#: Below this a p value says that the model is wrong.
WRONG = 1e-3

# Names of a column's tests as the command's JSON has them.
_RENAMED = {"correlation": "autocorrelation", "ljung_p": "ljung_box_p",
            "square": "square_autocorrelation",
            "square_p": "square_ljung_box_p"}


class Residuals(Result):
    """Where each row stands in its forecast from the rows before it.

    Under the true model ``pit`` is uniform on (0, 1) and independent from row
    to row, and ``z``, its normal score, standard normal. ``tests`` has by
    column the fields of ``diagnose --json``: rows, distance and uniform_p
    (Kolmogorov and Smirnov), mean and sd of z, autocorrelation of z and
    ljung_box_p, square_autocorrelation of z^2 and square_ljung_box_p.
    """

    names: list[str]
    labels: list[str]
    track: np.ndarray  # (rows)
    time: np.ndarray   # (rows)
    pit: np.ndarray    # (rows, columns), NaN where a cell is empty
    z: np.ndarray      # (rows, columns)
    draws: int         # 0 where all is in closed form
    tests: dict[str, dict[str, Any]]

    @property
    def wrong(self) -> list[str]:
        """The columns that contradict the model: a p value below 0.001."""
        kinds = "uniform_p", "ljung_box_p", "square_ljung_box_p"
        return [name for name, test in self.tests.items()
                if any(test[p] < WRONG for p in kinds)]

    def frame(self) -> pandas.DataFrame:
        """series, time, x_pit, x_z, ... as ``diagnose --residuals``."""
        columns = {}
        for c, name in enumerate(self.names):
            columns[f"{name}_pit"] = self.pit[:, c]
            columns[f"{name}_z"] = self.z[:, c]
        return frame(self.labels, self.track, self.time, columns)


class Diagnosis(Result):
    """What speaks against an estimate and its model; ``diagnose --json``.

    ``likelihood`` is the estimate, ``residuals`` are None where the model
    cannot be forecast. ``print()`` of it says it in words.
    """

    likelihood: Likelihood
    residuals: Residuals | None
    labels: list[str]
    time: np.ndarray  # (rows) of the data
    learned: bool     # by a fit

    @property
    def reliable(self) -> bool:
        """Whether nothing speaks against the estimate."""
        found = self.likelihood
        far = max(3 * found.stderr, 0.1, 0.02 * found.gaps)
        return not found.flagged and not abs(found.discretisation) > far

    @property
    def model(self) -> str | None:
        """What the residuals say of it: "not contradicted", "contradicted", or
        "undecided" where the estimate that they rest on may be at fault."""
        if self.residuals is None:
            return None
        if not self.residuals.wrong:
            return "not contradicted"
        rests = self.learned or self.likelihood.observe is not None
        return "contradicted" if self.reliable or not rests else "undecided"

    @property
    def flagged(self) -> int:
        """How many gaps are not to be trusted."""
        return self.likelihood.flagged

    def frame(self) -> pandas.DataFrame:
        """A row for every gap: series, from, to, loglik, stderr, ess, khat,
        log_bias, discretisation, reference, form, flags."""
        import pandas
        gap = self.likelihood.by_gap
        track = gap["track"].astype(int)
        return pandas.DataFrame({
            "series": [self.labels[t] for t in track],
            "from": self.time[gap["from"].astype(int)],
            "to": self.time[gap["to"].astype(int)],
            "loglik": gap["loglik"], "stderr": gap["error"],
            **{n: gap[n] for n in ("ess", "khat", "log_bias",
                                   "discretisation")},
            "reference": [_lib.word("gsv_reference", r)
                          for r in gap["reference"]],
            "form": [_lib.word("gsv_form", f) for f in gap["form"]],
            "flags": [" ".join(_flags(f)) for f in gap["flags"]]})

    def __str__(self) -> str:
        found = self.likelihood
        unit = "rows" if found.observe else "gaps"
        lines = [f"log-likelihood  {found.loglik:.6g} +- {found.stderr:.2g}, "
                 f"{len(found.by_gap)} {unit}",
                 f"effective paths {found.ess_min:.1f} at worst of "
                 f"{found.paths}"]
        if found.flagged:
            lines.append(f"{found.flagged} {unit} are not to be trusted:")
            lines += [f"  {self._gap(g)}" for g in _worst(found.by_gap)[:10]]
        else:
            lines.append("The estimate can be trusted.")
        if self.residuals is not None:
            wrong = ", ".join(self.residuals.wrong)
            lines.append({
                "not contradicted": "Residuals do not contradict the model.",
                "contradicted": f"Residuals contradict the model: {wrong}",
                "undecided": "Residuals are not what the model says, but the "
                "estimate that they rest on is not good enough to tell whether "
                f"it is wrong: {wrong}"}[self.model or "undecided"])
        return "\n".join(lines)

    def _gap(self, gap: Any) -> str:
        return (f"series {self.labels[int(gap['track'])]}, time "
                f"{self.time[int(gap['from'])]:g} to "
                f"{self.time[int(gap['to'])]:g}: {', '.join(_flags(gap['flags']))}")


def _flags(bits: int) -> list[str]:
    return [w for w, bit in _header.ENUMS["gsv_flag"].items() if bits & bit]


def _worst(gaps: np.ndarray) -> np.ndarray:
    """Those with flags, by their effective number of paths."""
    flagged = gaps[gaps["flags"] > 0]
    return flagged[np.argsort(flagged["ess"], kind="stable")]


def _test(column: Any) -> dict[str, Any]:
    """The tests of one column, by the command's names."""
    names = [n for n, _ in column._fields_ if n not in ("name", "u", "z")]
    test = {_RENAMED.get(n, n): getattr(column, n) for n in names}
    return {n: np.array(v) if n.endswith("autocorrelation") else v
            for n, v in test.items()}


def residuals(model: Model, data: Data,
              options: Mapping[str, Any]) -> Residuals:
    """Model.residuals()"""
    o, keep = lib.gsv_predict_options_default(), _lib.Keep()
    _lib.fill(o, _lib.recalled_points(model, options), "residuals", keep)
    series, r = model.data(data), _header.gsv_residuals_result()
    _lib.check(lib.gsv_residuals(model, series, o, r))
    owner = Owner(r, lib.gsv_residuals_free, model)
    columns = [r.column[i] for i in range(r.columns)]
    track, row = (_lib.view(owner, v, (r.rows,)) for v in (r.track, r.row))
    pit, z = (np.stack([_lib.view(owner, getattr(c, name), (r.rows,))
                        for c in columns], 1) for name in ("u", "z"))
    names = [c.name.decode() for c in columns]
    return Residuals(
        names=names, labels=series.labels, track=track,
        time=series.time[row.astype(int)], pit=pit, z=z,
        draws=r.draws, tests=dict(zip(names, map(_test, columns))))


def diagnose(model: Model, data: Data, found: Likelihood,
             options: Mapping[str, Any]) -> Diagnosis:
    """Model.diagnose(), with the likelihood already there."""
    series = model.data(data)
    try:
        left: Residuals | None = residuals(model, series, options)
    except _lib.OutOfMemory:
        raise
    except _lib.Error:  # what cannot be forecast has none
        left = None
    return Diagnosis(likelihood=found, residuals=left, labels=series.labels,
                     time=series.time,
                     learned=bool(lib.gsv_model_record(model)))
