# SPDX-License-Identifier: MIT
"""The gallery of StochasticForceInference: force and diffusion that ours find, with as many
seeds as are affordable, where the published figures have one track."""
import csv
import functools
import importlib.util
import os
import subprocess
from importlib.machinery import SourceFileLoader

import numpy as np

from metrics import Bench, Distance
from peers import Row, sized
from problems import euler, mueller
from sindy import children
from study import GIRSANOV, ROOT
from systems import CYCLE, LORENZ, TORCH, read, select, simulate, thin

SOURCE = "published, one track: gallery of StochasticForceInference 2.0.2"
ONE_TRACK = ("One published track is compared with many of ours; `select` asks for more "
             "evidence and leaves out weak terms.")


def constant(found, truth):
    """Squared error of a constant diffusion s^2 / 2, relative to the truth."""
    return (found ** 2 / truth ** 2 - 1) ** 2


# --- Terms of a drift that `select` finds ------------------------------------


# Name: system, gap, rows.
SYSTEMS = {"lorenz": (LORENZ, 0.005, 2000), "cycle": (CYCLE, 0.05, 4000)}


@functools.lru_cache(None)
def selected(study, name, seed):
    """Errors of force and diffusion, and CPU seconds."""
    system, gap, rows = SYSTEMS[name]
    data = thin(study, simulate(study, system, seed, gap, sized(200, rows, rows)))
    _, x = read(data)
    begin = sum(children())
    c, _ = select(study, system, data, "--errors", "none", "--resamples", 1)
    cpu = sum(children()) - begin
    s = study.json("summary", study.folder / "a.fit")["params"]["s"]["estimate"]
    return {"force": system.error(c, x), "diffusion": constant(s, system.s), "cpu": cpu,
            "mistakes": sum(system.mistakes(c))}


# --- Noise that depends on the state ------------------------------------------


@functools.lru_cache(None)
def blowtorch(study, name, seed):
    """All terms of drift and noise, none selected, as published. Noise has the map to unit
    noise by quadrature, which is dear: few paths and steps, and every tenth row."""
    data = thin(study, simulate(study, TORCH, seed, 0.01, sized(2000, 50000, 50000)), 10)
    found = study.json("fit", study.file("torch.sde", TORCH.model), data, "-o",
                       study.folder / "torch.fit", "--threads", 1, "--errors", "none",
                       "--steps", 2, "--paths", 4)
    text, _ = study.run("field", study.folder / "torch.fit", "--at", data, "--threads", 1)
    rows = list(csv.DictReader(text.splitlines()))
    x, drift, noise = (np.array([float(row[c]) for row in rows])
                       for c in ("x", "drift_x", "diffusion_x_1"))
    force, D = x - x ** 3, 1 + 0.3 * x
    return {"force": np.sum((drift - force) ** 2) / np.sum(force ** 2),
            "diffusion": np.sum((noise ** 2 - D) ** 2) / np.sum(D ** 2), "cpu": found["cpu"]}


# --- Positions alone ----------------------------------------------------------


def positions():
    """experiments/noise_free/positions, which is a script."""
    path = str(ROOT / "experiments" / "noise_free" / "positions")
    spec = importlib.util.spec_from_loader("positions", SourceFileLoader("positions", path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@functools.lru_cache(None)
def oscillator(study, name, seed):
    script = positions()
    begin = sum(children())
    try:
        force, diffusion, _ = script.sfi_errors(script.Bench(study.folder, 1, 1e9), seed)
    except subprocess.CalledProcessError as e:
        raise SystemExit(str(e)) from e
    return {"force": force, "diffusion": diffusion, "cpu": sum(children()) - begin}


# --- A potential as a network -------------------------------------------------


@functools.lru_cache(None)
def potential(study, name, seed):
    bench = Bench(os.environ.get("FITS", ROOT / "build" / "experiments" / "training"),
                  [GIRSANOV], [], 1800)
    problem = mueller(sized(500, 15000, 15000), seed)
    fit = bench.fit(problem, 0, options=["--seed", seed])
    if fit.failed:
        return {"force": None, "cpu": fit.cpu, "said": fit.reason}
    return {"force": Distance(bench.field(problem, fit.file), bench.truth(problem)).drift,
            "cpu": fit.cpu}


# --- Six species --------------------------------------------------------------

GROWTH = np.array([0.50, 0.65, 0.55, 0.65, 0.58, 0.62])
BETWEEN = np.array([[-0.9, -0.6, 0, 0, 0, 0], [0, -0.7, -0.6, 0, 0, 0],
                    [0.6, 0, -0.9, 0, 0, -0.4], [0, 0, 0, -0.9, -0.5, 0],
                    [0, 0, 0, 0, -0.4, -0.6], [0, 0, -0.4, 0.4, 0, -1]])
S, ERROR = np.sqrt(2 * 0.002), 0.05
SPECIES = """state x[6]
param r[6] = 0.5, A[6,6] = %s, s = 0.1 > 0, e = 0.1 > 0
dx = (r + A @ exp(x))*dt + s*dW
init x ~ normal(-6, 0.2)
obs y[6] ~ normal(x, e)
"""


def six_species(seed, rows):
    """Logarithms of the populations, 0.5 apart: times and states."""
    draw = np.random.default_rng([seed, 6])
    t, x = euler(lambda x: GROWTH + np.exp(x) @ BETWEEN.T, lambda x: S, np.full((1, 6), -6.0),
                 0.5, rows, 1000, draw)
    return t, x[0]


def write_species(path, t, y):
    path.write_text("time," + ",".join("y%d" % (i + 1) for i in range(6)) + "\n" + "".join(
        "%.10g,%s\n" % (u, ",".join("%.17g" % v for v in row)) for u, row in zip(t, y)))
    return path


@functools.lru_cache(None)
def species(study, name, seed):
    t, x = six_species(seed, sized(20, 800, 800))
    y = x + ERROR * np.random.default_rng([seed, 7]).standard_normal(x.shape)
    start = str((-0.5 * np.eye(6)).ravel().tolist())
    fit = study.json("fit", study.file("species.sde", SPECIES % start),
                     write_species(study.folder / "species.csv", t, y), "-o",
                     study.folder / "species.fit", "--threads", 1, "--errors", "none", "--steps", 2,
                     "--support", 32, "--iterations", 40)
    p = fit["params"]
    off = x * 0 + (np.array(p["r"]) - GROWTH) + np.exp(x) @ (
        np.reshape(p["A"], (6, 6)) - BETWEEN).T
    truth = GROWTH + np.exp(x) @ BETWEEN.T
    return {"force": np.sum(off ** 2) / np.sum(truth ** 2), "diffusion": constant(p["s"], S),
            "cpu": fit["cpu"], "e": p["e"]}


# --- Rows ---------------------------------------------------------------------


def part(find, name, what):
    def measure(study, seed):
        found = find(study, name, seed)
        return {**found, "ours": found[what]}
    return measure


def rows_of(name, find, data, published, seeds, why=ONE_TRACK):
    """A row for the force, and one for the diffusion where that is published, too."""
    return [Row("sfi-%s%s" % (name, "-diffusion" * (what == "diffusion")), "sfi",
                "StochasticForceInference 2.0", data, "squared error of the " + what,
                part(find, name, what), seeds, published=value, source=SOURCE, why=why)
            for what, value in zip(("force", "diffusion"), published)]


ROWS = [
    *rows_of("lorenz", selected, "Lorenz, D = 5, 2000 rows, gap 0.005", (0.0250, 0.0022), (1, 10, 20)),
    *rows_of("cycle", selected, "limit cycle, D = 0.1, 4000 rows, gap 0.05", (0.0017, 0.0004), (1, 5, 20)),
    *rows_of("blowtorch", blowtorch, "blowtorch, D = (1 + 0.3 x) / 2, 5000 rows, gap 0.1 (theirs 50,000, 0.01)",
             (0.0256, 0.0014), (1, 1, 20)),
    *rows_of("positions", oscillator, "van der Pol, mu = 3, 2000 positions, gap 0.02", (0.0229, 0.0098),
             (1, 2, 20)),
    *rows_of("mueller", potential, "Müller–Brown, D = 0.5, 15,000 rows, gap 0.01", (0.141,), (1, 2, 20)),
    *rows_of("species", species, "six species, D = 0.002, 800 rows with error 0.05, gap 0.5", (0.0199, 0.188),
             (1, 0, 5)),
]
