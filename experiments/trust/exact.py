# SPDX-License-Identifier: MIT
"""Exact log-likelihoods of one-dimensional diffusions, and of linear ones.

A density is composed of many short steps on a grid, in coordinates of unit
noise. A step has the mean and the variance of the drift's linearisation, of
weak order two, and two lengths of steps are extrapolated. The difference
between the two bounds the error that is left."""
import numpy as np

SHORT, LONG = 64, 128  # steps of a gap


def slopes(f, y, t):
    """f, df/dy, d2f/dy2 and df/dt by central differences."""
    h, e = 1e-4, 1e-6
    mid, up, down = f(y, t), f(y + h, t), f(y - h, t)
    return (mid, (up - down) / (2 * h), (up - 2 * mid + down) / h ** 2,
            (f(y, t + e) - f(y, t - e)) / (2 * e))


def moments(f, y, t, dt):
    """Mean and variance of a step of length dt from y at time t."""
    f0, A, f2, ft = slopes(f, y, t)
    A = np.where(np.abs(A * dt) < 1e-5, 1e-5 / dt, A)
    grow = np.expm1(A * dt)
    mean = y + f0 * grow / A + (0.5 * f2 + ft) * (grow - A * dt) / A ** 2
    return mean, np.expm1(2 * A * dt) / (2 * A)


def step_density(f, y, t, dt, to):
    """The densities from every y to every element of `to`: (y, to)."""
    mean, variance = moments(f, y, t, dt)
    z = (to[None, :] - mean[:, None]) / np.sqrt(variance)[:, None]
    return np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi * variance)[:, None]


def composed(f, moves, y0, y1, t0, length, steps, low, high):
    """Densities of gaps of one length from y0 to y1, arrays of equal size; the
    drift moves in time, and then they have their own start t0."""
    dt = length / steps
    n = int(np.ceil((high - low) / (0.6 * np.sqrt(dt)))) + 2
    grid = np.linspace(low, high, n)
    h = grid[1] - grid[0]
    if not moves:
        row = step_density(f, y0, 0.0, dt, grid)
        kernel = step_density(f, grid, 0.0, dt, grid) * h
        for _ in range(steps - 2):
            row = row @ kernel
        last = step_density(f, grid, 0.0, dt, y1)
        return np.einsum("gn,ng->g", row, last) * h
    out = np.empty(len(y0))
    for g in range(len(y0)):
        row = step_density(f, y0[g:g + 1], t0[g], dt, grid)
        for m in range(1, steps - 1):
            row = row @ (step_density(f, grid, t0[g] + m * dt, dt, grid) * h)
        last = step_density(f, grid, t0[g] + (steps - 1) * dt, dt, y1[g:g + 1])
        out[g] = (row @ last)[0, 0] * h
    return out


def grid_loglik(f, moves, y0, y1, t0, lengths, low=-np.inf, high=np.inf,
                steps=(SHORT, LONG)):
    """Sum of the log densities over gaps in unit coordinates that stay between
    low and high, and an estimate of its error."""
    y0, y1, t0 = map(np.asarray, (y0, y1, t0))
    total = error = 0.0
    for length in np.unique(np.round(lengths, 12)):
        pick = np.abs(np.asarray(lengths) - length) < 1e-11
        margin = 7.0 * np.sqrt(length)
        a = max(low, min(y0[pick].min(), y1[pick].min()) - margin)
        b = min(high, max(y0[pick].max(), y1[pick].max()) + margin)
        coarse, fine = (composed(f, moves, y0[pick], y1[pick], t0[pick], length,
                                 n, a, b) for n in steps)
        both = (4.0 * fine - coarse) / 3.0
        if not np.all(both > 0):
            return np.nan, np.inf
        total += np.log(both).sum()
        error += np.abs(np.log(both) - np.log(fine)).sum()
    return total, error


def linear_loglik(A, b, covariance, data, steps=2000):
    """dx = (A(t) x + b(t)) dt + noise of the covariance, all states observed: the
    Gaussian moments of all gaps of (times, states), by Runge-Kutta steps. A and b
    take an array of times and give (times, d, d) and (times, d)."""
    start = np.concatenate([times[:-1] for times, _ in data])
    h = np.concatenate([np.diff(times) for times, _ in data]) / steps
    m = np.concatenate([x[:-1] for _, x in data])
    end = np.concatenate([x[1:] for _, x in data])
    d = m.shape[1]
    P = np.zeros((len(m), d, d))
    h1, h2 = h[:, None], h[:, None, None]

    def slope(t, m, P):
        AP = A(t) @ P
        return (A(t) @ m[..., None])[..., 0] + b(t), AP + AP.swapaxes(1, 2) + covariance

    for i in range(steps):
        t = start + i * h
        m1, P1 = slope(t, m, P)
        m2, P2 = slope(t + h / 2, m + h1 / 2 * m1, P + h2 / 2 * P1)
        m3, P3 = slope(t + h / 2, m + h1 / 2 * m2, P + h2 / 2 * P2)
        m4, P4 = slope(t + h, m + h1 * m3, P + h2 * P3)
        m = m + h1 / 6 * (m1 + 2 * m2 + 2 * m3 + m4)
        P = P + h2 / 6 * (P1 + 2 * P2 + 2 * P3 + P4)
    r = end - m
    square = (r * np.linalg.solve(P, r[..., None])[..., 0]).sum()
    return -0.5 * (square + np.linalg.slogdet(P)[1].sum() +
                   r.size * np.log(2 * np.pi))


def maximum(f, values, unit, rounds=5, h=0.25):
    """Where f, a function of named values, is largest: how far it is from these,
    in units. By Newton steps from differences; None where that does not end."""
    names = [n for n in unit if unit[n]]
    u, n = np.zeros(len(names)), len(names)

    def at(u):
        moved = {name: values[name] + u[i] * unit[name] for i, name in enumerate(names)}
        return f({**values, **moved})

    for _ in range(rounds):
        E, here = h * np.eye(n), at(u)
        up, down = (np.array([at(u + sign * e) for e in E]) for sign in (1, -1))
        slope, H = (up - down) / (2 * h), np.diag((up - 2 * here + down) / h ** 2)
        for i in range(n):
            for j in range(i):
                H[i, j] = H[j, i] = (at(u + E[i] + E[j]) - up[i] - up[j] + here) / h ** 2
        if not np.all(np.isfinite(H)) or not np.all(np.linalg.eigvalsh(H) < 0):
            return None
        step = -np.linalg.solve(H, slope)
        u = u + step * min(1.0, 2.0 / np.abs(step).max())
        if np.abs(step).max() < 0.03:
            return dict(zip(names, u))
    return None
