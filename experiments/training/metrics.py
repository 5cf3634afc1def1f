# SPDX-License-Identifier: MIT
"""Runs the command on problems, and compares what was learned with the truth.
Data and fits are kept in a folder, so that a second run continues the first."""
import csv
import hashlib
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np

NONE = float("nan")
# Exit codes of a fit that was stopped by a user, which is to be tried again.
INTERRUPTED = (130, -signal.SIGINT, -signal.SIGTERM)


def run(program, *words, limit=None):
    """Exit code, output, messages and CPU seconds; code None after `limit` CPU seconds,
    which other programs on the machine do not change."""
    shell = ["sh", "-c", 'ulimit -t %d; exec "$@"' % limit, "sh"] if limit else []
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as said:
        child = subprocess.Popen([*shell, str(program), *map(str, words)], stdout=out, stderr=said)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        said.seek(0)
        late = limit and child.returncode in (-signal.SIGXCPU, -signal.SIGKILL)
        return (None if late else child.returncode, out.read().decode(), said.read().decode(),
                usage.ru_utime + usage.ru_stime)


def must(program, *words):
    code, out, said, _ = run(program, *words)
    if code:
        sys.exit("%sgirsanov %s ended with code %s" % (said, " ".join(map(str, words)), code))
    return out


def digest(*parts):
    h = hashlib.sha1()
    for part in parts:
        h.update(part if isinstance(part, bytes) else str(part).encode())
        h.update(b"\0")
    return h.hexdigest()[:16]


class Fit:
    """What a fit said of itself: `code` is not 0 where it failed, None where it took
    too long; `search` are the seconds of its iterations, `file` is the fit."""

    def __init__(self, record, file):
        self.code, self.cpu, self.said = record["code"], record["cpu"], record["said"]
        self.search, self.iterations, self.warnings = record["search"], record["iterations"], record["warnings"]
        self.file = file

    @property
    def failed(self):
        return self.code != 0

    @property
    def reason(self):
        if self.code is None:
            return "took too long"
        return self.said.strip().splitlines()[-1] if self.failed and self.said.strip() else ""


def last_row(trace):
    """Iterations and seconds of a search."""
    rows = trace.read_text().split("\n")[1:-1] if trace.exists() else []
    cells = rows[-1].split(",") if rows else ["0", "0", "0"]
    return int(cells[0]), float(cells[2])


class Bench:
    """Runs fits of several programs; the first one also simulates and evaluates."""

    def __init__(self, folder, programs, options, limit):
        self.folder, self.programs, self.options, self.limit = Path(folder), programs, options, limit
        self.marks = [digest(Path(p).read_bytes()) for p in programs]
        for name in ("data", "fits"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)

    def keep(self, path, text):
        """Writes a file as a whole, so that an interrupted run leaves no half of it."""
        part = path.with_suffix(".part%d" % threading.get_ident())
        part.write_text(text)
        part.replace(path)
        return path

    def data(self, problem):
        """The folder of a problem, with truth.sde, model.sde and data.csv. Its name has
        the problem's texts, so that other data have another folder."""
        mark = digest(problem.truth, problem.simulate or problem.name)
        folder = self.folder / "data" / ("%s-%s" % (problem.name, mark[:8]))
        folder.mkdir(exist_ok=True)
        self.keep(folder / "truth.sde", problem.truth)
        if not (folder / "data.csv").exists():
            if problem.draw:
                self.keep(folder / "data.csv", table_of(*problem.draw()))
            else:
                self.keep(folder / "data.csv", must(self.programs[0], "simulate", folder / "truth.sde", "-q",
                                                    "--threads", 1, *problem.simulate))
        return folder

    def fit(self, problem, side, model=None, options=()):
        """Fits with the program of a side; side None is a yardstick, which is kept
        whatever the program is."""
        folder = self.data(problem)
        text = model or problem.model
        words = [*options, *(self.options if side is not None else [])]
        mark = digest("yardstick" if side is None else self.marks[side], folder.name, text, words)
        file, note = self.folder / "fits" / (mark + ".fit"), self.folder / "fits" / (mark + ".json")
        record = json.loads(note.read_text()) if note.exists() else None
        if record and (record["code"] is not None or record["cpu"] >= self.limit):
            return Fit(record, file)
        source = self.keep(self.folder / "fits" / (mark + ".sde"), text)
        trace = self.folder / "fits" / (mark + ".csv")
        code, out, said, cpu = run(self.programs[side or 0], "fit", source, folder / "data.csv", "-o", file, "--json",
                                   "-q", "--threads", 1, "--trace", trace, *words, limit=self.limit)
        iterations, search = last_row(trace)
        record = {"problem": problem.name, "code": code, "cpu": cpu, "said": said, "iterations": iterations,
                  "search": search, "warnings": json.loads(out)["warnings"] if code == 0 else []}
        if code not in INTERRUPTED:
            self.keep(note, json.dumps(record))
        return Fit(record, file)

    def field(self, problem, model):
        """Drift (points, d) and covariance (points, d, d) of a model or a fit."""
        where = ["--grid", problem.grid] if problem.grid else ["--at", self.data(problem) / "data.csv"]
        out = must(self.programs[0], "field", model, "-q", "--threads", 1, *where)
        names, *rows = csv.reader(out.splitlines())
        values = np.array([[float(v) if v else NONE for v in row] for row in rows])
        drifts = [i for i, n in enumerate(names) if n.startswith("drift_") and not n.startswith("drift_sd_")]
        noises = [i for i, n in enumerate(names) if n.startswith("diffusion_")]
        g = values[:, noises].reshape(len(values), len(drifts), -1)
        return values[:, drifts], g @ np.swapaxes(g, 1, 2)

    def truth(self, problem):
        return self.field(problem, self.data(problem) / "truth.sde")

    def series(self, problem):
        """Times and states of every series."""
        with open(self.data(problem) / "data.csv") as f:
            head = f.readline().strip().split(",")
            rows = np.loadtxt(f, delimiter=",", ndmin=2)
        labels = rows[:, 0] if head[0] == "series" else np.zeros(len(rows))
        first = head.index("time")
        cuts = np.flatnonzero(np.diff(labels)) + 1
        return [(part[:, first], part[:, first + 1:]) for part in np.split(rows, cuts)]


def table_of(times, x):
    """Data as CSV."""
    d = x.shape[2]
    names = "xyz"[:d] if d <= 3 else ["x%d" % (i + 1) for i in range(d)]
    lines = ["series,time," + ",".join(names)]
    for i, track in enumerate(x):
        for t, row in zip(times, track):
            lines.append("%d,%.10g," % (i + 1, t) + ",".join("%.17g" % v for v in row))
    return "\n".join(lines) + "\n"


# --- How far from the truth ---------------------------------------------------


class Distance:
    """drift    sum |f - f0|^2 / sum |f0|^2
    own      the same divided by sum |f|^2
    noise    sum |S - S0|^2 / sum |S0|^2 of the covariances S = g g'
    sigma    the ratio of the sizes of the noises, sqrt(sum tr S / sum tr S0)
    All are infinite for a fit that failed."""

    def __init__(self, found, truth):
        if found is None:
            self.drift = self.own = self.noise = self.sigma = float("inf")
            return
        (f, S), (f0, S0) = found, truth
        with np.errstate(all="ignore"):
            self.drift = bounded(np.sum((f - f0) ** 2) / np.sum(f0 ** 2))
            self.own = bounded(np.sum((f - f0) ** 2) / np.sum(f ** 2))
            self.noise = bounded(np.sum((S - S0) ** 2) / np.sum(S0 ** 2))
            self.sigma = bounded(np.sqrt(np.trace(S, axis1=1, axis2=2).sum() / np.trace(S0, axis1=1, axis2=2).sum()))


def bounded(x):
    return float(x) if np.isfinite(x) else float("inf")


def distance(bench, problem, fit):
    truth = bench.truth(problem)
    return Distance(None if fit.failed else bench.field(problem, fit.file), truth)


def monomials(x, degree):
    """All monomials of the columns up to a degree, of columns scaled by their spread."""
    x = (x - x.mean(0)) / x.std(0)
    columns = [np.ones(len(x))]
    for n in range(1, degree + 1):
        for which in itertools.combinations_with_replacement(range(x.shape[1]), n):
            columns.append(np.prod(x[:, which], axis=1))
    return np.stack(columns, axis=1)


def regression(bench, problem, degree):
    """Drift at all rows, and one covariance, by a regression of the increments on
    polynomials of the states before them, weighted by the gaps. At the observations."""
    tracks = bench.series(problem)
    x = np.concatenate([x for _, x in tracks])
    before = np.concatenate([np.arange(len(t)) < len(t) - 1 for t, _ in tracks])
    dx = np.concatenate([np.diff(x, axis=0) for _, x in tracks])
    dt = np.concatenate([np.diff(t) for t, _ in tracks])[:, None]
    basis = monomials(x, degree)
    weights = np.linalg.lstsq(basis[before] * np.sqrt(dt), dx / np.sqrt(dt), rcond=None)[0]
    f = basis @ weights
    off = (dx - f[before] * dt) / np.sqrt(dt)
    S = off.T @ off / max(1, len(off) - basis.shape[1])
    return f, np.broadcast_to(S, (len(f), *S.shape))


# --- Tables -------------------------------------------------------------------


def quantile(values, q):
    """Of values among which some are infinite: the one at or above the share q."""
    values = np.sort(np.asarray(values, float))
    return float(values[min(len(values) - 1, int(np.ceil(q * len(values))) - 1 if q else 0)]) if len(values) else NONE


def number(x, digits=3):
    if not np.isfinite(x):
        return "failed" if x > 0 else "-"
    return "%.0f" % x if 1000 <= abs(x) < 1e6 else "%.*g" % (digits, x)


def print_table(head, rows):
    rows = [[c if isinstance(c, str) else number(c) for c in row] for row in rows]
    width = [max(len(r[i]) for r in [head, *rows]) for i in range(len(head))]
    for row in [head, *rows]:
        print("  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, width))).rstrip(),
              flush=True)
