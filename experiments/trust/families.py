# SPDX-License-Identifier: MIT
"""Families of random models with exact log-likelihoods. Each draws its numbers,
a step of time and a start from ranges wide enough that some cases are easy, some
hard, and some too hard for the defaults. Functions of a model take its parameters
p first, so that its log-likelihood is known at other values, too."""
import copy
from types import SimpleNamespace

import numpy as np

from exact import LONG, SHORT, grid_loglik, linear_loglik


class Case:
    """Parameters by name, as p.k; fits move them."""

    def at(self, values):
        """The same model with other values of its parameters."""
        other = copy.copy(self)
        other.p = SimpleNamespace(**values)
        return other


class Scalar(Case):
    """A model of one state: its text, drift and noise as functions of x, and the
    map to coordinates of unit noise, y = to(x), x = back(y)."""

    def __init__(self, text, parameters, drift, noise, start, gap, to=None, back=None,
                 moves=False, ends=lambda p: (-np.inf, np.inf)):
        self.text, self.f, self.g = text, drift, noise
        self.p = SimpleNamespace(**parameters)
        self.start, self.gap, self.moves, self.ends = start, gap, moves, ends
        self.map = to or (lambda p, x: x / noise(p, 1.0))
        self.inverse = back or (lambda p, y: y * noise(p, 1.0))

    def noise(self, x):
        return self.g(self.p, x)

    def unit_drift(self, y, t):
        x = self.inverse(self.p, np.asarray(y, float))
        h = 1e-6 * (1 + np.abs(x))
        slope = (self.noise(x + h) - self.noise(x - h)) / (2 * h)
        return self.f(self.p, x, t) / self.noise(x) - 0.5 * slope

    def simulate(self, draw, series, rows, fine=200):
        """Tables of times and states; the truth is the model itself."""
        out, (low, high) = [], self.ends(self.p)
        for _ in range(series):
            y, x = self.map(self.p, self.start(draw)), []
            dt = self.gap / fine
            for row in range(rows):
                x.append(float(self.inverse(self.p, y)))
                for i in range(fine):
                    t = row * self.gap + i * dt
                    y = y + self.unit_drift(y, t) * dt + \
                        np.sqrt(dt) * draw.standard_normal()
                    y = min(max(y, low + 1e-3), high - 1e-3)
            out.append((np.arange(rows) * self.gap, np.array(x)))
        return out

    def loglik(self, data, steps=(SHORT, LONG)):
        """The exact value and a bound of its error."""
        y0, y1, t0, jacobian = [], [], [], 0.0
        for times, x in data:
            x = np.ravel(x)
            y = self.map(self.p, x)
            y0 += list(y[:-1])
            y1 += list(y[1:])
            t0 += list(times[:-1])
            jacobian -= np.log(self.noise(x[1:]) * np.ones(len(x) - 1)).sum()
        value, error = grid_loglik(self.unit_drift, self.moves, y0, y1, t0,
                                   [self.gap] * len(y0), *self.ends(self.p), steps)
        return value + jacobian, error


def scalar(parameters, equation, drift, noise, start, gap, **more):
    text = "state x\nparam " + ", ".join(
        "%s = %.12g" % item for item in parameters.items()) + "\n" + equation + "\n"
    return Scalar(text, parameters, drift, noise, start, gap, **more)


def one(x):
    return np.ones_like(np.asarray(x, float))


def log_uniform(draw, low, high):
    return float(np.exp(draw.uniform(np.log(low), np.log(high))))


# --- One state ---------------------------------------------------------------

def ou(draw):
    k, s = log_uniform(draw, 0.2, 5), log_uniform(draw, 0.2, 2)
    return scalar({"k": k, "s": s}, "dx = -k*x*dt + s*dW", lambda p, x, t: -p.k * x,
                  lambda p, x: p.s * one(x), lambda d: d.normal(0, 1), draw.choice([0.1, 0.5, 2]))


def well(draw):
    a, s = log_uniform(draw, 0.3, 5), log_uniform(draw, 0.3, 1.2)
    return scalar({"a": a, "s": s}, "dx = a*(x - x^3)*dt + s*dW", lambda p, x, t: p.a * (x - x ** 3),
                  lambda p, x: p.s * one(x), lambda d: d.choice([-1.0, 1.0]), draw.choice([0.1, 0.3, 1]))


def escape(draw):
    k, c, s = draw.uniform(1, 4), draw.uniform(0.1, 1), log_uniform(draw, 0.1, 0.5)
    return scalar({"k": k, "c": c, "s": s}, "dx = (k*x - c*x^3)*dt + s*dW",
                  lambda p, x, t: p.k * x - p.c * x ** 3, lambda p, x: p.s * one(x),
                  lambda d: d.normal(0, 0.1), draw.choice([0.25, 0.5, 0.75]))


def escape_timed(draw):
    k, c, s = draw.uniform(1, 4), draw.uniform(0.1, 1), log_uniform(draw, 0.1, 0.5)
    return scalar({"k": k, "c": c, "s": s}, "dx = (k*x - c*x^3 + 1e-12*t)*dt + s*dW",
                  lambda p, x, t: p.k * x - p.c * x ** 3, lambda p, x: p.s * one(x),
                  lambda d: d.normal(0, 0.1), draw.choice([0.25, 0.5, 0.75]))


def sine(draw):
    a, w, s = log_uniform(draw, 0.5, 4), draw.uniform(1, 4), log_uniform(draw, 0.3, 1.5)
    return scalar({"a": a, "w": w, "s": s}, "dx = a*sin(w*x)*dt + s*dW",
                  lambda p, x, t: p.a * np.sin(p.w * x), lambda p, x: p.s * one(x),
                  lambda d: d.normal(0, 1), draw.choice([0.1, 0.5, 1]))


def benes(draw):
    a = log_uniform(draw, 0.3, 3)
    return scalar({"a": a}, "dx = a*tanh(a*x)*dt + dW", lambda p, x, t: p.a * np.tanh(p.a * x), lambda p, x: one(x),
                  lambda d: d.normal(0, 0.5), draw.choice([0.2, 1, 2]))


def cubic(draw):
    k, s = log_uniform(draw, 0.3, 5), log_uniform(draw, 0.3, 2)
    return scalar({"k": k, "s": s}, "dx = -k*x^3*dt + s*dW", lambda p, x, t: -p.k * x ** 3,
                  lambda p, x: p.s * one(x), lambda d: d.normal(0, 1), draw.choice([0.1, 0.5, 1]))


def hyperbolic(draw):
    k, s = log_uniform(draw, 0.5, 5), log_uniform(draw, 0.3, 2)
    return scalar({"k": k, "s": s}, "dx = -k*x/sqrt(1 + x^2)*dt + s*dW",
                  lambda p, x, t: -p.k * x / np.sqrt(1 + x * x), lambda p, x: p.s * one(x),
                  lambda d: d.normal(0, 2), draw.choice([0.2, 1]))


def morse(draw):
    a, s = log_uniform(draw, 0.5, 3), log_uniform(draw, 0.2, 0.8)
    return scalar({"a": a, "s": s}, "dx = a*(exp(-2*x) - exp(-x))*dt + s*dW",
                  lambda p, x, t: p.a * (np.exp(-2 * x) - np.exp(-x)), lambda p, x: p.s * one(x),
                  lambda d: d.uniform(-0.5, 1), draw.choice([0.1, 0.5, 1]))


def triple(draw):
    a, s = log_uniform(draw, 0.3, 2), log_uniform(draw, 0.3, 1)
    return scalar({"a": a, "s": s}, "dx = -a*x*(x^2 - 1)*(x^2 - 4)*dt + s*dW",
                  lambda p, x, t: -p.a * x * (x ** 2 - 1) * (x ** 2 - 4), lambda p, x: p.s * one(x),
                  lambda d: d.choice([-2.0, 0.0, 2.0]), draw.choice([0.05, 0.2, 0.5]))


def kinked(draw):
    a, b, s = draw.uniform(0.5, 4), draw.uniform(0.5, 4), log_uniform(draw, 0.3, 1.5)
    return scalar({"a": a, "b": b, "s": s}, "dx = where(x > 0, -a*x, -b*x)*dt + s*dW",
                  lambda p, x, t: np.where(x > 0, -p.a * x, -p.b * x), lambda p, x: p.s * one(x),
                  lambda d: d.normal(0, 1), draw.choice([0.1, 0.5, 1]))


def ratchet(draw):
    a, c, s = draw.uniform(1, 4), draw.uniform(-2, 2), log_uniform(draw, 0.4, 1.5)
    return scalar({"a": a, "c": c, "s": s}, "dx = (c + a*(sin(x) + 0.25*sin(2*x)))*dt + s*dW",
                  lambda p, x, t: p.c + p.a * (np.sin(x) + 0.25 * np.sin(2 * x)), lambda p, x: p.s * one(x),
                  lambda d: d.normal(0, 1), draw.choice([0.2, 0.5, 1]))


# --- One state, noise that depends on it --------------------------------------

def gbm(draw):
    m, s = draw.uniform(-1, 1), log_uniform(draw, 0.1, 1)
    return scalar({"m": m, "s": s}, "dx = m*x*dt + s*x*dW", lambda p, x, t: p.m * x,
                  lambda p, x: p.s * x, lambda d: d.uniform(0.5, 2), draw.choice([0.1, 1]),
                  to=lambda p, x: np.log(x) / p.s, back=lambda p, y: np.exp(p.s * y))


def logistic(draw):
    r, s = log_uniform(draw, 0.5, 4), log_uniform(draw, 0.1, 0.6)
    return scalar({"r": r, "s": s}, "dx = r*x*(1 - x)*dt + s*x*dW", lambda p, x, t: p.r * x * (1 - x),
                  lambda p, x: p.s * x, lambda d: d.uniform(0.05, 1.5), draw.choice([0.1, 0.5, 1]),
                  to=lambda p, x: np.log(x) / p.s, back=lambda p, y: np.exp(p.s * y))


def cir(draw):
    k, m, s = draw.uniform(0.5, 3), draw.uniform(0.5, 2), 0.0
    s = np.sqrt(2 * k * m * draw.uniform(0.1, 0.6))
    return scalar({"k": k, "m": m, "s": s}, "dx = k*(m - x)*dt + s*sqrt(x)*dW",
                  lambda p, x, t: p.k * (p.m - x), lambda p, x: p.s * np.sqrt(x), lambda d: d.uniform(0.3, 2),
                  draw.choice([0.1, 0.5, 1]), to=lambda p, x: 2 * np.sqrt(x) / p.s,
                  back=lambda p, y: (p.s * y / 2) ** 2, ends=lambda p: (0.02, np.inf))


def growing(draw):
    k, s = draw.uniform(0.5, 4), log_uniform(draw, 0.2, 0.8)
    return scalar({"k": k, "s": s}, "dx = -k*x*dt + s*sqrt(1 + x^2)*dW", lambda p, x, t: -p.k * x,
                  lambda p, x: p.s * np.sqrt(1 + x * x), lambda d: d.normal(0, 1),
                  draw.choice([0.1, 0.5]), to=lambda p, x: np.arcsinh(x) / p.s,
                  back=lambda p, y: np.sinh(p.s * y))


def jacobi(draw):
    k, s = draw.uniform(1, 4), draw.uniform(0.2, 0.7)
    return scalar({"k": k, "s": s}, "dx = k*(0.5 - x)*dt + s*sqrt(x*(1 - x))*dW",
                  lambda p, x, t: p.k * (0.5 - x), lambda p, x: p.s * np.sqrt(x * (1 - x)),
                  lambda d: d.uniform(0.2, 0.8), draw.choice([0.1, 0.5, 1]),
                  to=lambda p, x: 2 * np.arcsin(np.sqrt(x)) / p.s,
                  back=lambda p, y: np.sin(np.clip(p.s * y / 2, 1e-4, np.pi / 2 - 1e-4)) ** 2,
                  ends=lambda p: (0.02 / p.s, (np.pi - 0.02) / p.s))


# --- One state, forced in time -------------------------------------------------

def forced_well(draw):
    a, c, w = log_uniform(draw, 0.5, 2), draw.uniform(0.3, 2), draw.uniform(1, 30)
    s = log_uniform(draw, 0.3, 1)
    return scalar({"a": a, "c": c, "w": w, "s": s}, "dx = (a*(x - x^3) + c*sin(w*t))*dt + s*dW",
                  lambda p, x, t: p.a * (x - x ** 3) + p.c * np.sin(p.w * t), lambda p, x: p.s * one(x),
                  lambda d: d.choice([-1.0, 1.0]), draw.choice([0.2, 0.5, 1]), moves=True)


class Linear(Case):
    """Linear models in any number of states, forced in time: dx = (A x + b) dt,
    A and b functions of p and of an array of times, and noise."""

    def __init__(self, text, parameters, A, b, deviations, gap):
        self.text, self.gap, self.deviations = text, gap, deviations
        self.p = SimpleNamespace(**parameters)
        self.matrix, self.force = A, b

    def A(self, t):
        return self.matrix(self.p, t)

    def b(self, t):
        return self.force(self.p, t)

    def simulate(self, draw, series, rows, fine=400):
        noise = np.asarray(self.deviations(self.p), float)
        d, dt = len(noise), self.gap / fine
        out = []
        for _ in range(series):
            x, table = draw.standard_normal(d), []
            for row in range(rows):
                table.append(x)
                for i in range(fine):
                    t = row * self.gap + i * dt
                    time = np.array([t])
                    x = x + (self.A(time)[0] @ x + self.b(time)[0]) * dt + \
                        noise * np.sqrt(dt) * draw.standard_normal(d)
            out.append((np.arange(rows) * self.gap, np.array(table)))
        return out

    def loglik(self, data):
        C = np.diag(np.square(self.deviations(self.p)))
        return linear_loglik(self.A, self.b, C, data), 1e-6


def constant(value):
    """A matrix or vector of p for every time of an array."""
    def of(p, t):
        v = np.asarray(value(p), float)
        return np.broadcast_to(v, (len(t), *v.shape))
    return of


def linear(parameters, equations, A, b, deviations, gap):
    states = "x, y" if len(equations) == 2 else "x"
    text = "state %s\nparam %s\n%s\n" % (
        states, ", ".join("%s = %.12g" % item for item in parameters.items()), "\n".join(equations))
    return Linear(text, parameters, A, b, deviations, gap)


def forced_ou(draw):
    k, c, s = draw.uniform(0.3, 3), draw.uniform(1, 20), log_uniform(draw, 0.2, 1)
    gap = draw.choice([0.25, 1.0])
    w = draw.choice([draw.uniform(1, 60), 16 * np.pi / gap, 8 * np.pi / gap, 32 * np.pi / gap])
    return linear({"k": k, "c": c, "s": s}, ["dx = (-k*x + c*sin(%.12g*t))*dt + s*dW" % w],
                  constant(lambda p: [[-p.k]]), lambda p, t: (p.c * np.sin(w * t))[:, None],
                  lambda p: [p.s], gap)


def pulsed_ou(draw):
    k, m, w, s = draw.uniform(0.5, 3), draw.uniform(0.1, 0.9), draw.uniform(1, 40), log_uniform(draw, 0.2, 1)
    return linear({"k": k, "m": m, "s": s}, ["dx = -k*(1 + m*sin(%.12g*t))*x*dt + s*dW" % w],
                  lambda p, t: (-p.k * (1 + p.m * np.sin(w * t)))[:, None, None],
                  constant(lambda p: [0]), lambda p: [p.s], draw.choice([0.2, 1.0]))


def burst_ou(draw):
    k, c, s, gap = draw.uniform(0.3, 2), draw.uniform(2, 10), log_uniform(draw, 0.2, 1), 1.0
    v = draw.uniform(0.01, 0.1)
    return linear({"k": k, "c": c, "s": s},
                  ["dx = (-k*x + c*exp(-(mod(t, 1) - 0.37)^2/(2*%.12g^2)))*dt + s*dW" % v],
                  constant(lambda p: [[-p.k]]),
                  lambda p, t: (p.c * np.exp(-(t % 1 - 0.37) ** 2 / (2 * v * v)))[:, None],
                  lambda p: [p.s], gap)


def spiral(draw):
    k, w = draw.uniform(0.1, 2), draw.uniform(0.5, 8)
    s, r = log_uniform(draw, 0.2, 1), log_uniform(draw, 0.2, 1)
    return linear({"k": k, "w": w, "s": s, "r": r},
                  ["dx = (-k*x - w*y)*dt + s*dW", "dy = (w*x - k*y)*dt + r*dW"],
                  constant(lambda p: [[-p.k, -p.w], [p.w, -p.k]]), constant(lambda p: [0, 0]),
                  lambda p: [p.s, p.r], draw.choice([0.1, 0.5, 1]))


def forced_pair(draw):
    k, c, w = draw.uniform(0.3, 2), draw.uniform(1, 10), draw.uniform(1, 60)
    s = log_uniform(draw, 0.2, 1)
    return linear({"k": k, "c": c, "s": s},
                  ["dx = (y - k*x)*dt + s*dW", "dy = (-x - k*y + c*cos(%.12g*t))*dt + s*dW" % w],
                  constant(lambda p: [[-p.k, 1], [-1, -p.k]]),
                  lambda p, t: np.stack([0 * t, p.c * np.cos(w * t)], axis=1),
                  lambda p: [p.s, p.s], draw.choice([0.25, 1.0]))


class Pair(Case):
    """Two states without interaction, turned by an angle: a model of two states
    whose likelihood is that of two models of one."""

    def __init__(self, parameters, first, second, angle):
        self.part, self.gap = (first, second), first.gap
        self.p = SimpleNamespace(**parameters)
        c, s = np.cos(angle), np.sin(angle)
        self.turn = np.array([[c, s], [-s, c]])  # data to parts
        u, v = ("(%.15g*x + %.15g*y)" % tuple(row) for row in self.turn)
        f, g = first.text.format(u=u), second.text.format(u=v)
        self.text = ("state x, y\nparam %s\nlet f = %s\nlet g = %s\n"
                     "dx = (%.15g*f + %.15g*g)*dt + s*dW\ndy = (%.15g*f + %.15g*g)*dt + s*dW\n"
                     % (", ".join("%s = %.12g" % item for item in parameters.items()), f, g,
                        *self.turn[:, 0], *self.turn[:, 1]))

    def simulate(self, draw, series, rows):
        parts = [p.at(vars(self.p)).simulate(draw, series, rows) for p in self.part]
        return [(t, np.column_stack([x, y]) @ self.turn)
                for (t, x), (_, y) in zip(*parts)]

    def loglik(self, data):
        both = [p.at(vars(self.p)).loglik([(t, (x @ self.turn.T)[:, i]) for t, x in data])
                for i, p in enumerate(self.part)]
        return both[0][0] + both[1][0], both[0][1] + both[1][1]


def turned(draw):
    s, gap = log_uniform(draw, 0.3, 1), draw.choice([0.1, 0.3, 1])
    kinds = [("{a}*({u} - {u}^3)", lambda n: lambda p, x, t: getattr(p, n) * (x - x ** 3)),
             ("{a}*sin(2*{u})", lambda n: lambda p, x, t: getattr(p, n) * np.sin(2 * x)),
             ("-{a}*{u}", lambda n: lambda p, x, t: -getattr(p, n) * x)]
    part, values = [], {"s": s}
    for i, name in zip(draw.choice(3, 2, replace=False), "ab"):
        values[name] = log_uniform(draw, 0.5, 4)
        text = kinds[i][0].replace("{a}", name)
        part.append(Scalar(text, {}, kinds[i][1](name), lambda p, x: p.s * one(x),
                           lambda d: d.normal(0, 1), gap))
    return Pair(values, *part, draw.uniform(0, np.pi))


FAMILIES = [ou, well, escape, escape_timed, sine, benes, cubic, hyperbolic, morse, triple, kinked,
            ratchet, gbm, logistic, cir, growing, jacobi, forced_well, forced_ou, pulsed_ou, burst_ou,
            spiral, forced_pair, turned]
