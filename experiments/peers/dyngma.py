# SPDX-License-Identifier: MIT
"""DynGMA's problems. Two states: a network learns the drift, and a constant full matrix
the noise; the problem and the fits are those of experiments/training. Ten states: a
network of genes, of which it has single gaps."""
import os

import numpy as np

from metrics import Bench, Distance
from peers import Row, sized
from problems import euler, two_states
from study import GIRSANOV, ROOT

SOURCE = "published: Zhu et al., J. Comput. Phys. 2024, repository Aiqing-Zhu/DynGMA"
# Gap: errors of drift and sigma of DynGMA, and of Euler's likelihood.
PUBLISHED = {0.2: (0.0745, 0.0377, 0.496, 0.158), 0.1: (0.0438, 0.0052, 0.293, 0.0922),
             0.05: (0.0459, 0.0099, 0.155, 0.0405)}
EULER = "DynGMA's Euler rows, beside `--objective gradient-matching`"
WHY = ("These are means over few seeds, with default options and CPU seconds instead of the "
       "published training of 100,000 iterations or so; data and first weights are not theirs.")


def measure(gap, part, *options):
    def one_seed(study, seed):
        bench = Bench(os.environ.get("FITS", ROOT / "build" / "experiments" / "training"),
                      [GIRSANOV], [], 1800)
        problem = two_states(gap, seed, round(sized(0.02, 1, 1) * 2000 * gap / 0.05))
        fit = bench.fit(problem, 0, options=["--seed", problem.seed, *options])
        if fit.failed:
            return {"ours": None, "cpu": fit.cpu, "said": fit.reason}
        truth, found = bench.truth(problem), bench.field(problem, fit.file)
        drift = np.sqrt(Distance(found, truth).drift)
        s, s0 = (np.linalg.cholesky(S[0]) for _, S in (found, truth))
        sigma = np.linalg.norm(s - s0) / np.linalg.norm(s0)
        return {"ours": float(drift if part == "drift" else sigma), "cpu": fit.cpu}
    return one_seed


def row(gap, part, euler):
    published = PUBLISHED[gap][2 * euler + (part == "sigma")]
    peer, options = (EULER, ["--objective", "gradient-matching"]) if euler else ("DynGMA", [])
    return Row("dyngma-%g-%s%s" % (gap, part, "-euler" * euler), "dyngma", peer,
               "2-D, h = %g, %d series" % (gap, round(2000 * gap / 0.05)),
               "relative RMS error of %s over the box" % part, measure(gap, part, *options),
               (1, 3, 5), published=published, source=SOURCE, why=WHY)


# --- A network of ten genes ---------------------------------------------------


def up(x, n):
    """Hill's function with threshold 1/2, rising."""
    return 1 - down(x, n)


def down(x, n):
    """The same, falling."""
    return 0.5 ** n / (0.5 ** n + x ** n)


def genes(v):
    """The drift, between epithelial and mesenchymal cells: (points, 10)."""
    x = v.T
    made = [
        0.8 * (down(x[0], 1) + down(x[4], 2) + down(x[6], 4)),
        0.2 * (up(x[0], 1) + up(x[1], 2)) + 0.8 * (down(x[3], 6) + down(x[5], 4)),
        0.2 * (up(x[2], 2) + up(x[8], 4)) + 0.8 * down(x[5], 4),
        0.2 * up(x[2], 4) + 0.8 * (down(x[0], 1) + down(x[1], 3)),
        0.8 * (down(x[0], 1) + down(x[1], 2)),
        0.8 * (down(x[1], 4) + down(x[2], 4)),
        0.8 * up(x[6], 2) + 7 * up(x[7], 5) + 0.8 * down(x[8], 4) - 4 * x[6] * x[9],
        0.8 * (down(x[0], 4) + down(x[9], 1)),
        0.2 * up(x[8], 2) + 0.8 * down(x[6], 4),
        0.1 + 4 / (1 + x[9] ** 3) - 4 * x[6] * x[9],
    ]
    return (np.stack(made) - x).T


GENES = """state x[10]
param L[10,10] = 0.5 lower
net f(x) -> 10 : 128 128 tanh
dx = f*dt + L @ dW
"""
GAP, GAPS = 0.08, 20000


def gaps_of_genes(seed, n):
    """States at random times from 2 to 19.5, and one gap later: (n, 2, 10)."""
    random = np.random.default_rng([seed, 10])
    start = random.uniform(0, [2, 2, 2, 2, 2, 2, 6, 2, 2, 2], (n // 20, 10))
    _, x = euler(genes, lambda x: 0.2, start, 0.92, 21, 92, random)
    _, pair = euler(genes, lambda x: 0.2, x[:, 1:].reshape(-1, 10), GAP, 2, 16, random)
    return pair


def write_pairs(path, pairs):
    with open(path, "w") as f:
        f.write("series,time," + ",".join("x%d" % (i + 1) for i in range(10)) + "\n")
        for k, pair in enumerate(pairs):
            for t, row in zip((0, GAP), pair):
                f.write("%d,%g," % (k + 1, t) + ",".join("%.8g" % v for v in row) + "\n")
    return path


def covariance(*options):
    """The relative RMS error of the covariance of the noise."""
    def measure_one(study, seed):
        pairs = gaps_of_genes(seed, sized(200, GAPS, 10 * GAPS))
        found = study.json("fit", study.file("genes.sde", GENES), write_pairs(
            study.folder / "genes.csv", pairs), "-o", study.folder / "genes.fit", "--threads", 1,
                           "--errors", "none", "--seed", seed, *options)
        L = np.reshape(found["params"]["L"], (10, 10))
        truth = 0.04 * np.eye(10)
        return {"ours": float(np.linalg.norm(L @ L.T - truth) / np.linalg.norm(truth)),
                "cpu": found["cpu"]}
    return measure_one


def genes_row(euler):
    peer, options = (EULER, ["--objective", "gradient-matching"]) if euler else ("DynGMA", [])
    return Row("dyngma-emt" + "-euler" * euler, "dyngma", peer,
               "10 states (EMT), h = %g, %d gaps (theirs 3,500,000)" % (GAP, GAPS),
               "relative RMS error of the covariance", covariance(*options), (1, 3, 5),
               published=0.235 if euler else 0.0998, source=SOURCE, why=WHY)


ROWS = [row(gap, part, euler) for euler in (False, True) for gap in PUBLISHED
        for part in ("drift", "sigma")]
ROWS += [genes_row(False), genes_row(True)]
