# SPDX-License-Identifier: MIT
"""Approximate transition densities of one-dimensional diffusions, as in yuima,
pymle and their sources. All take a Scalar of experiments/trust and the states
before and after gaps of one length, and give a log density for each gap."""
import numpy as np

from exact import moments

DEGREE = 10  # of the polynomials that stand for a function between two states


def normal(x, mean, variance):
    with np.errstate(all="ignore"):
        value = -0.5 * (np.log(2 * np.pi * variance) + (x - mean) ** 2 / variance)
    return np.where(variance > 0, value, -np.inf)


def slopes(f, x):
    """f, f' and f'' by central differences."""
    h = 1e-4 * (1e-3 + np.abs(x))
    mid, up, down = f(x), f(x + h), f(x - h)
    return mid, (up - down) / (2 * h), (up - 2 * mid + down) / h ** 2


def euler(case, x0, x1, dt):
    return normal(x1, x0 + case.f(case.p, x0, 0.0) * dt, case.noise(x0) ** 2 * dt)


def kessler(case, x0, x1, dt):
    """Gaussian, with the moments to second order in dt (Kessler 1997)."""
    x = x0
    f, f1, f2 = slopes(lambda v: case.f(case.p, v, 0.0), x)
    c, c1, c2 = slopes(lambda v: case.noise(v) ** 2, x)
    mean = x + f * dt + (f * f1 + 0.5 * c * f2) * dt ** 2 / 2
    second = (x * x + (2 * f * x + c) * dt +
              (2 * f * (f1 * x + f + 0.5 * c1) +
               c * (f2 * x + 2 * f1 + 0.5 * c2)) * dt ** 2 / 2)
    return normal(x1, mean, second - mean ** 2)


def ozaki(case, x0, x1, dt):
    """Local linearisation in coordinates of unit noise (Ozaki 1992, Shoji and
    Ozaki 1998)."""
    y0, y1 = case.map(case.p, x0), case.map(case.p, x1)
    mean, variance = moments(case.unit_drift, y0, 0.0, dt)
    return normal(y1, mean, variance) - np.log(case.noise(x1))


def drift_slope(case, y):
    h = 1e-4 * (1e-2 + np.abs(y))
    return (case.unit_drift(y + h, 0.0) - case.unit_drift(y - h, 0.0)) / (2 * h)


def times(a, b):
    """Products of polynomials, coefficients along the last axis."""
    out = np.zeros((len(a), a.shape[1] + b.shape[1] - 1))
    for n in range(b.shape[1]):
        out[:, n:n + a.shape[1]] += a * b[:, n:n + 1]
    return out


def ait_sahalia(case, x0, x1, dt, order=2):
    """The Hermite expansion of Ait-Sahalia (2002) in coordinates of unit noise,
    c_j(y) = j d^-j int (w - y0)^(j-1) (lambda c_(j-1) + c_(j-1)''/2) dw. All
    functions are polynomials of u = (w - y0)/span."""
    y0, y1 = case.map(case.p, x0), case.map(case.p, x1)
    d = y1 - y0
    least = 0.3 * np.sqrt(dt)
    span = np.where(np.abs(d) < least, np.where(d < 0, -least, least), d)
    u = 0.5 - 0.5 * np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))
    w = y0[:, None] + span[:, None] * u
    potential = -0.5 * (case.unit_drift(w, 0.0) ** 2 + drift_slope(case, w))
    powers = u[:, None] ** np.arange(DEGREE + 1)
    potential = np.linalg.solve(powers, potential.T).T
    c, total = np.ones((len(d), 1)), np.ones(len(d))
    for j in range(1, order + 1):
        h = times(potential, c)
        for n in range(2, c.shape[1]):
            h[:, n - 2] += 0.5 * n * (n - 1) * c[:, n] / span ** 2
        c = j * h / (np.arange(h.shape[1]) + j)
        at = (c * (d / span)[:, None] ** np.arange(c.shape[1])).sum(axis=1)
        total += at * dt ** j / np.prod(np.arange(1, j + 1))
    node, weight = np.polynomial.legendre.leggauss(16)
    between = y0[:, None] + d[:, None] * (0.5 + 0.5 * node)
    work = (case.unit_drift(between, 0.0) * weight).sum(axis=1) * d / 2
    with np.errstate(all="ignore"):
        value = normal(y1, y0, dt) + work + np.log(total) - np.log(case.noise(x1))
    return np.where(total > 0, value, -np.inf)
