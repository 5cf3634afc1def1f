# SPDX-License-Identifier: MIT
"""Latent SDEs: the stochastic Lorenz system seen with noise. A network learns its drift;
series that the fit simulates from its first law are compared with fresh data. Published
are training times on a GPU; ours are CPU seconds of one thread."""
import numpy as np

from peers import Row, mean, sized
from problems import euler
from study import ROOT

CENTRE, SCALE = np.array([0, 0, 23.5]), np.array([8, 9, 8.5])
ROWS_EACH, ITERATIONS, ERROR = 41, sized(5, 400, 400), 0.01


def lorenz(v):
    x, y, z = v.T
    return np.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z], axis=1)


def states(random, series):
    """Times, and states in units of about their deviation: (series, rows, 3)."""
    t, x = euler(lorenz, lambda v: 0.15 * v, random.standard_normal((series, 3)),
                 1 / (ROWS_EACH - 1), ROWS_EACH, 20, random)
    return t, (x - CENTRE) / SCALE


def write(path, t, y):
    with open(path, "w") as f:
        f.write("series,time,u,v,w\n")
        for k, track in enumerate(y):
            for at, row in zip(t, track):
                f.write("%d,%.10g,%.10g,%.10g,%.10g\n" % (k + 1, at, *row))
    return path


def distance(a, b):
    """Wasserstein distance of two sets of as many series, the mean over columns and five
    times, in deviations of the second: (series, rows, 3)."""
    at = [round(share * (ROWS_EACH - 1)) for share in (0.125, 0.25, 0.5, 0.75, 1)]
    a, b = np.sort(a[:, at], axis=0), np.sort(b[:, at], axis=0)
    return float(np.mean(np.abs(a - b).mean(axis=0) / b.std(axis=0)))


def simulated(study, fit, series, seed):
    path = study.folder / "prior.csv"
    study.run("simulate", fit, "-o", path, "--times", "0:1:%d" % ROWS_EACH, "--tracks", series,
              "--step", 0.0025, "--seed", seed)
    with open(path) as f:
        names = f.readline().strip().split(",")
        table = np.loadtxt(f, delimiter=",")
    return table[:, [names.index(c) for c in "uvw"]].reshape(series, ROWS_EACH, 3)


def training(study, seed):
    random, series = np.random.default_rng([seed, 41]), sized(16, 1024, 1024)
    t, first = states(random, series)
    sets = [first, *(states(random, series)[1] for _ in range(2))]
    sets = [x + ERROR * random.standard_normal(x.shape) for x in sets]
    data, fit = write(study.folder / "latent.csv", t, sets[0]), study.folder / "latent.fit"
    found = study.json("fit", ROOT / "experiments" / "latent" / "lorenz.sde", data, "-o", fit,
                       "--threads", 1, "--errors", "none", "--iterations", ITERATIONS, "--seed", seed)
    ours = simulated(study, fit, series, 100 + seed)
    return {"ours": found["cpu"], "cpu": found["cpu"], "e": found["params"]["e"],
            "prior": mean([distance(ours, fresh) for fresh in sets[1:]]),
            "data": mean([distance(a, b) for a, b in ((sets[0], sets[1]), (sets[0], sets[2]),
                                                      (sets[1], sets[2]))])}


ROWS = [Row("latent-lorenz", "latent", "SDE Matching", "stochastic Lorenz, 1024 series of 41 rows, error 0.01",
            "s of training, theirs on a GPU", training, (1, 2, 5), published=641,
            source="published: Bartosh et al. 2025")]


def details():
    lines = ["| data | fits | prior samples to fresh data | a data set to fresh data | error that is learned, truth %g |"
             % ERROR, "|---" * 5 + "|"]
    for row in ROWS:
        if row.found:
            lines.append("| %s | %d | %.3f | %.3f | %.4f |" % (
                row.data, len(row.found), mean(row.values("prior")), mean(row.values("data")),
                mean(row.values("e"))))
    return lines
