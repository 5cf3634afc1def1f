# SPDX-License-Identifier: MIT
"""Models of pomp's documentation that have an exact log-likelihood: Gompertz' growth
and ou2, a linear map of two states. Beside it the bootstrap filter, which is pomp's."""
import time

import numpy as np
from scipy.linalg import logm, expm

import epidemics
from kalman import filtered
from peers import Row, sized

PARTICLES = 1000
GROWTH = {"r": 0.1, "sigma": 0.1, "tau": 0.1}
ALPHA = np.array([[0.8, -0.5], [0.3, 0.9]])
SIGMA = np.array([[3.0, 0.0], [-0.5, 2.0]])


def continuous(F, Q):
    """A and the covariance S of dx = A x dt + noise that moves by F with noise Q in a
    unit of time: Q is the integral of exp(A s) S exp(A s)'."""
    A, d = logm(F).real, len(F)
    both = np.kron(A, np.eye(d)) + np.kron(np.eye(d), A)
    whole = np.linalg.solve(both, expm(both) - np.eye(d * d))
    return A, np.linalg.solve(whole, Q.ravel()).reshape(d, d)


def gompertz_model():
    r, sigma = GROWTH["r"], GROWTH["sigma"]
    s = sigma * np.sqrt(2 * r / (1 - np.exp(-2 * r)))
    return ("state l\nparam r = %.17g > 0, s = %.17g > 0, e = %.17g > 0\n"
            "dl = -r*l*dt + s*dW\ninit l ~ normal(0, 0.001)\nobs y ~ normal(l, e)\n" %
            (r, s, GROWTH["tau"]))


def ou2_model():
    A, S = continuous(ALPHA, SIGMA @ SIGMA.T)
    L = np.linalg.cholesky(S)
    return ("state x, y\n"
            "param a = %.17g, b = %.17g, c = %.17g, d = %.17g\n"
            "param p = %.17g > 0, q = %.17g, w = %.17g > 0, e = 1 > 0\n"
            "dx = (a*x + b*y)*dt + p*dW1\ndy = (c*x + d*y)*dt + q*dW1 + w*dW2\n"
            "init x ~ normal(-3, 0.001)\ninit y ~ normal(4, 0.001)\n"
            "obs u ~ normal(x, e)\nobs v ~ normal(y, e)\n" %
            (*A.ravel(), L[0, 0], L[1, 0], L[1, 1]))


# Text, F, factor of Q, error of the observations, first state, columns.
MODELS = {
    "gompertz": (gompertz_model(), np.array([[np.exp(-GROWTH["r"])]]),
                 np.array([[GROWTH["sigma"]]]), GROWTH["tau"], np.zeros(1), ["y"]),
    "ou2": (ou2_model(), ALPHA, SIGMA, 1.0, np.array([-3.0, 4.0]), ["u", "v"]),
}


def bootstrap(F, L, e, start, rows, draw, n=PARTICLES):
    """Log-likelihood by particles that move by the model and are drawn again by their
    weights at every row."""
    x, total = np.tile(start, (n, 1)) + 0.001 * draw.standard_normal((n, len(start))), 0.0
    for k, y in enumerate(rows):
        if k:
            x = x @ F.T + draw.standard_normal(x.shape) @ L.T
        w = -0.5 * (((y - x) / e) ** 2).sum(axis=1) - len(y) * np.log(e * np.sqrt(2 * np.pi))
        top = w.max()
        w = np.exp(w - top)
        total += top + np.log(w.mean())
        at = np.searchsorted(np.cumsum(w / w.sum()), (np.arange(n) + draw.uniform()) / n)
        x = x[np.minimum(at, n - 1)]
    return total


def data_of(study, name, seed, rows):
    """Observations of a simulated series, and the files."""
    text, *_, columns = MODELS[name]
    model, data = study.file("model.sde", text), study.folder / "data.csv"
    study.run("simulate", model, "--times", "0:%d:%d" % (rows - 1, rows), "--seed", seed,
              "-o", data)
    with open(data) as f:
        names = f.readline().strip().split(",")
        table = np.genfromtxt(f, delimiter=",")
    y = table[:, [names.index(c) for c in columns]]
    data.write_text("time," + ",".join(columns) + "\n" + "".join(
        "%d,%s\n" % (k, ",".join("%.17g" % v for v in row)) for k, row in enumerate(y)))
    return model, data, y


def likelihood(name):
    def measure(study, seed):
        _, F, L, e, start, _ = MODELS[name]
        model, data, y = data_of(study, name, seed, sized(20, 100, 100))
        found = study.json("loglik", model, data, "--threads", 1)
        d = len(start)
        exact = filtered(F, L @ L.T, np.eye(d), e * e * np.eye(d), start,
                         1e-6 * np.eye(d), y)
        begin = time.process_time()
        theirs = bootstrap(F, L, e, start, y, np.random.default_rng([seed, 7]))
        return {"ours": abs(found["loglik"] - exact), "cpu": found["cpu"],
                "theirs": abs(theirs - exact), "peer_cpu": time.process_time() - begin,
                "exact": exact}
    return measure


def recovery(name):
    """How far the maximum is from the truth, in standard errors that the fit says: the
    root of the mean square, which should be 1."""
    def measure(study, seed):
        model, data, _ = data_of(study, name, seed, sized(20, 100, 100))
        truth = study.json("loglik", model, data, "--threads", 1)["params"]
        fit = study.json("fit", model, data, "-o", study.folder / "a.fit", "--threads", 1)
        off = [(fit["params"][p] - v) / fit["errors"][p] for p, v in truth.items()
               if fit["errors"].get(p)]
        inside = [(fit["low"][p] is None or fit["low"][p] <= v) and
                  (fit["high"][p] is None or v <= fit["high"][p])
                  for p, v in truth.items() if fit["errors"].get(p)]
        return {"ours": float(np.sqrt(np.mean(np.square(off)))) if off else None,
                "cpu": fit["cpu"], "inside": sum(inside), "of": len(inside)}
    return measure


# Fits have no peer, only a table of their own.
LIKELIHOODS = [Row("pomp-" + name, "pomp", "pomp: bootstrap filter, %d particles" % PARTICLES,
            "%s, 100 rows" % name, "error of the log-likelihood, nats",
            likelihood(name), (1, 20, 40)) for name in MODELS]
FITS = [Row("pomp-%s-fit" % name, "pomp", "", name, "", recovery(name), (1, 10, 40))
        for name in MODELS]
ROWS = LIKELIHOODS + epidemics.ROWS + FITS


def details():
    lines = ["| data | fits | 95 % intervals with the truth | off, in standard errors | CPU s of a fit |",
             "|---" * 5 + "|"]
    for row in FITS:
        if row.found:
            off = row.values("ours")
            lines.append("| %s, 100 rows | %d | %d of %d | %.2f | %.2f |" % (
                row.data, len(row.found), sum(row.values("inside")), sum(row.values("of")),
                float(np.sqrt(np.mean(np.square(off)))), np.mean(row.values("cpu"))))
    return lines + ["", "Epidemics; the reference is the bootstrap filter with %d particles and %d steps a gap:" % (
        epidemics.MANY, epidemics.FINE), "", *epidemics.details()]
