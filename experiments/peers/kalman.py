# SPDX-License-Identifier: MIT
"""Continuous-discrete state space models, as in ctsmTMB: a linear one against the
exact Kalman filter, and a mildly non-linear one against a grid, beside the extended
Kalman filter that these tools use."""
import time

import numpy as np
from scipy.linalg import expm
from scipy.optimize import minimize

from exact import step_density
from peers import Row, sized

HOUSE = """state x, y
param a = 1 > 0, b = 0.5 > 0, c = 0.7 > 0, s = 0.5 > 0, q = 0.3 > 0, e = 0.1 > 0
dx = (-a*x + b*y)*dt + s*dW1
dy = (b*x - c*y)*dt + q*dW2
init x ~ normal(0, 1)
init y ~ normal(0, 1)
obs u ~ normal(x, e)
"""
VALUES = np.array([1, 0.5, 0.7, 0.5, 0.3, 0.1])
GROWTH = """state l
param r = 1 > 0, s = 0.4 > 0, e = 0.1 > 0
dl = (r*(1 - exp(l)) - s^2/2)*dt + s*dW
init l ~ normal(-1, 0.3)
obs u ~ normal(exp(l), e)
"""


def simulate(study, text, gap, rows, seed):
    """The model's file, the data's file, and the column u."""
    model, data = study.file("model.sde", text), study.folder / "data.csv"
    study.run("simulate", model, "--times", "0:%.12g:%d" % (gap * (rows - 1), rows),
              "--seed", seed, "-o", data)
    with open(data) as f:
        names = f.readline().strip().split(",")
        table = np.genfromtxt(f, delimiter=",")
    at, u = names.index("time"), names.index("u")
    data.write_text("time,u\n" + "".join("%.12g,%.17g\n" % (r[at], r[u]) for r in table))
    return model, data, table[:, u]


def gap_moments(A, Q, dt):
    """exp(A dt) and the covariance of the noise of a gap (Van Loan)."""
    d = len(A)
    M = expm(np.block([[-A, Q], [np.zeros((d, d)), A.T]]) * dt)
    F = M[d:, d:].T
    return F, F @ M[:d, d:]


def filtered(F, Q, H, R, m, P, rows):
    """log p(rows) by the Kalman filter; m, P at the first row. Rows are vectors."""
    total = 0.0
    for k, y in enumerate(rows):
        if k:
            m, P = F @ m, F @ P @ F.T + Q
        S = H @ P @ H.T + R
        r, K = y - H @ m, np.linalg.solve(S, H @ P).T
        total -= 0.5 * (r @ np.linalg.solve(S, r) + np.linalg.slogdet(S)[1] +
                        len(r) * np.log(2 * np.pi))
        m, P = m + K @ r, P - K @ S @ K.T
    return total


def house_loglik(values, u, gap):
    a, b, c, s, q, e = values
    F, Q = gap_moments(np.array([[-a, b], [b, -c]]), np.diag([s * s, q * q]), gap)
    return filtered(F, Q, np.array([[1.0, 0.0]]), np.array([[e * e]]), np.zeros(2),
                    np.eye(2), u[:, None])


def linear(study, seed):
    model, data, u = simulate(study, HOUSE, 0.25, sized(20, 200, 1000), seed)
    found = study.json("loglik", model, data, "--threads", 1)
    begin = time.process_time()
    exact = house_loglik(VALUES, u, 0.25)
    return {"ours": abs(found["loglik"] - exact), "cpu": found["cpu"],
            "peer_cpu": time.process_time() - begin}


def fit_time(study, seed):
    """CPU seconds; the maxima are compared in the record."""
    model, data, u = simulate(study, HOUSE, 0.25, sized(20, 200, 1000), seed)
    fit = study.json("fit", model, data, "-o", study.folder / "a.fit", "--threads", 1)
    begin = time.process_time()
    best = minimize(lambda v: -house_loglik(np.exp(v), u, 0.25), np.log(VALUES))
    cpu = time.process_time() - begin
    return {"ours": fit["cpu"], "cpu": fit["cpu"], "theirs": cpu, "peer_cpu": cpu,
            "apart": fit["loglik"] + best.fun}


def extended(u, gap, r=1.0, s=0.4, e=0.1, steps=50):
    """Log-likelihood by the extended Kalman filter, moments by Heun steps."""
    def slope(m, P):
        f = r * (1 - np.exp(m)) - s * s / 2
        return f, -2 * r * np.exp(m) * P + s * s

    m, P, total, h = -1.0, 0.09, 0.0, gap / steps
    for k, y in enumerate(u):
        for _ in range(steps if k else 0):
            f0, g0 = slope(m, P)
            f1, g1 = slope(m + h * f0, P + h * g0)
            m, P = m + h * (f0 + f1) / 2, P + h * (g0 + g1) / 2
        H = np.exp(m)
        S = H * P * H + e * e
        total -= 0.5 * (np.log(2 * np.pi * S) + (y - H) ** 2 / S)
        m, P = m + P * H / S * (y - H), P - P * H * P * H / S
    return total


def on_grid(u, gap, r=1.0, s=0.4, e=0.1, steps=64):
    """The same by a density on a grid of l/s, which has unit noise."""
    grid = np.linspace(-6 / s, 2.5 / s, 1500)
    h, l = grid[1] - grid[0], s * grid
    move = step_density(lambda y, t: (r * (1 - np.exp(s * y)) - s * s / 2) / s,
                        grid, 0.0, gap / steps, grid) * h
    move = np.linalg.matrix_power(move, steps)
    p, total = np.exp(-0.5 * ((l + 1) / 0.3) ** 2) / np.sqrt(2 * np.pi) / 0.3 * s, 0.0
    for k, y in enumerate(u):
        p = (p @ move if k else p) * np.exp(-0.5 * ((y - np.exp(l)) / e) ** 2)
        total += np.log(p.sum() * h) - 0.5 * np.log(2 * np.pi * e * e)
        p = p / (p.sum() * h)
    return total


def growth(study, seed):
    model, data, u = simulate(study, GROWTH, 0.5, sized(20, 100, 100), seed)
    found = study.json("loglik", model, data, "--threads", 1)
    coarse, exact = (on_grid(u, 0.5, steps=n) for n in (32, 64))
    exact += (exact - coarse) / 3
    begin = time.process_time()
    theirs = abs(extended(u, 0.5) - exact)
    return {"ours": abs(found["loglik"] - exact), "cpu": found["cpu"], "theirs": theirs,
            "peer_cpu": time.process_time() - begin, "stated": found["stderr"]}


ROWS = [
    Row("kalman-linear", "kalman", "ctsmTMB: Kalman filter", "two linear states, one observed with noise",
        "error of the log-likelihood, nats", linear, (1, 5, 20), published=0.0,
        source="SciPy: exact to rounding", same=1e-6),
    Row("kalman-fit", "kalman", "Kalman filter and BFGS in NumPy", "the same, 6 parameters",
        "CPU s of a fit", fit_time, (1, 5, 20)),
    Row("kalman-growth", "kalman", "ctsmTMB: extended Kalman filter", "logistic growth with noise, 100 rows",
        "error of the log-likelihood, nats", growth, (1, 10, 20)),
]
