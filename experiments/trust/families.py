# SPDX-License-Identifier: MIT
"""Families of random models with exact log-likelihoods. Each draws its numbers,
a step of time and a start from ranges wide enough that some cases are easy, some
hard, and some too hard for the defaults."""
import numpy as np

from exact import grid_loglik, linear_loglik


class Scalar:
    """A model of one state: its text, drift and noise as functions of x, and the
    map to coordinates of unit noise, y = to(x), x = back(y)."""

    def __init__(self, text, drift, noise, start, gap, to=None, back=None,
                 moves=False, low=-np.inf, high=np.inf):
        self.text, self.drift, self.noise = text, drift, noise
        self.start, self.gap, self.moves = start, gap, moves
        s = noise(1.0)
        self.to = to or (lambda x: x / s)
        self.back = back or (lambda y: y * s)
        self.low, self.high = low, high

    def unit_drift(self, y, t):
        x = self.back(np.asarray(y, float))
        h = 1e-6 * (1 + np.abs(x))
        slope = (self.noise(x + h) - self.noise(x - h)) / (2 * h)
        return self.drift(x, t) / self.noise(x) - 0.5 * slope

    def simulate(self, draw, series, rows, fine=200):
        """Tables of times and states; the truth is the model itself."""
        out = []
        for _ in range(series):
            y, x = self.to(self.start(draw)), []
            dt = self.gap / fine
            for row in range(rows):
                x.append(float(self.back(y)))
                for i in range(fine):
                    t = row * self.gap + i * dt
                    y = y + self.unit_drift(y, t) * dt + \
                        np.sqrt(dt) * draw.standard_normal()
                    y = min(max(y, self.low + 1e-3), self.high - 1e-3)
            out.append((np.arange(rows) * self.gap, np.array(x)))
        return out

    def loglik(self, data):
        y0, y1, t0, jacobian = [], [], [], 0.0
        for times, x in data:
            y = self.to(x)
            y0 += list(y[:-1])
            y1 += list(y[1:])
            t0 += list(times[:-1])
            jacobian -= np.log(self.noise(x[1:]) * np.ones(len(x) - 1)).sum()
        value, error = grid_loglik(self.unit_drift, self.moves, y0, y1, t0,
                                   [self.gap] * len(y0), self.low, self.high)
        return value + jacobian, error


def scalar(parameters, equation, drift, noise, start, gap, **more):
    text = "state x\nparam " + ", ".join(
        "%s = %.12g" % item for item in parameters.items()) + "\n" + equation + "\n"
    return Scalar(text, drift, noise, start, gap, **more)


def one(x):
    return np.ones_like(np.asarray(x, float))


def log_uniform(draw, low, high):
    return float(np.exp(draw.uniform(np.log(low), np.log(high))))


# --- One state ---------------------------------------------------------------

def ou(draw):
    k, s = log_uniform(draw, 0.2, 5), log_uniform(draw, 0.2, 2)
    return scalar({"k": k, "s": s}, "dx = -k*x*dt + s*dW", lambda x, t: -k * x,
                  lambda x: s * one(x), lambda d: d.normal(0, 1), draw.choice([0.1, 0.5, 2]))


def well(draw):
    a, s = log_uniform(draw, 0.3, 5), log_uniform(draw, 0.3, 1.2)
    return scalar({"a": a, "s": s}, "dx = a*(x - x^3)*dt + s*dW", lambda x, t: a * (x - x ** 3),
                  lambda x: s * one(x), lambda d: d.choice([-1.0, 1.0]), draw.choice([0.1, 0.3, 1]))


def escape(draw):
    k, c, s = draw.uniform(1, 4), draw.uniform(0.1, 1), log_uniform(draw, 0.1, 0.5)
    return scalar({"k": k, "c": c, "s": s}, "dx = (k*x - c*x^3)*dt + s*dW",
                  lambda x, t: k * x - c * x ** 3, lambda x: s * one(x),
                  lambda d: d.normal(0, 0.1), draw.choice([0.25, 0.5, 0.75]))


def escape_timed(draw):
    k, c, s = draw.uniform(1, 4), draw.uniform(0.1, 1), log_uniform(draw, 0.1, 0.5)
    return scalar({"k": k, "c": c, "s": s}, "dx = (k*x - c*x^3 + 1e-12*t)*dt + s*dW",
                  lambda x, t: k * x - c * x ** 3, lambda x: s * one(x),
                  lambda d: d.normal(0, 0.1), draw.choice([0.25, 0.5, 0.75]))


def sine(draw):
    a, w, s = log_uniform(draw, 0.5, 4), draw.uniform(1, 4), log_uniform(draw, 0.3, 1.5)
    return scalar({"a": a, "w": w, "s": s}, "dx = a*sin(w*x)*dt + s*dW",
                  lambda x, t: a * np.sin(w * x), lambda x: s * one(x),
                  lambda d: d.normal(0, 1), draw.choice([0.1, 0.5, 1]))


def benes(draw):
    a = log_uniform(draw, 0.3, 3)
    return scalar({"a": a}, "dx = a*tanh(a*x)*dt + dW", lambda x, t: a * np.tanh(a * x), one,
                  lambda d: d.normal(0, 0.5), draw.choice([0.2, 1, 2]))


def cubic(draw):
    k, s = log_uniform(draw, 0.3, 5), log_uniform(draw, 0.3, 2)
    return scalar({"k": k, "s": s}, "dx = -k*x^3*dt + s*dW", lambda x, t: -k * x ** 3,
                  lambda x: s * one(x), lambda d: d.normal(0, 1), draw.choice([0.1, 0.5, 1]))


def hyperbolic(draw):
    k, s = log_uniform(draw, 0.5, 5), log_uniform(draw, 0.3, 2)
    return scalar({"k": k, "s": s}, "dx = -k*x/sqrt(1 + x^2)*dt + s*dW",
                  lambda x, t: -k * x / np.sqrt(1 + x * x), lambda x: s * one(x),
                  lambda d: d.normal(0, 2), draw.choice([0.2, 1]))


def morse(draw):
    a, s = log_uniform(draw, 0.5, 3), log_uniform(draw, 0.2, 0.8)
    return scalar({"a": a, "s": s}, "dx = a*(exp(-2*x) - exp(-x))*dt + s*dW",
                  lambda x, t: a * (np.exp(-2 * x) - np.exp(-x)), lambda x: s * one(x),
                  lambda d: d.uniform(-0.5, 1), draw.choice([0.1, 0.5, 1]))


def triple(draw):
    a, s = log_uniform(draw, 0.3, 2), log_uniform(draw, 0.3, 1)
    return scalar({"a": a, "s": s}, "dx = -a*x*(x^2 - 1)*(x^2 - 4)*dt + s*dW",
                  lambda x, t: -a * x * (x ** 2 - 1) * (x ** 2 - 4), lambda x: s * one(x),
                  lambda d: d.choice([-2.0, 0.0, 2.0]), draw.choice([0.05, 0.2, 0.5]))


def kinked(draw):
    a, b, s = draw.uniform(0.5, 4), draw.uniform(0.5, 4), log_uniform(draw, 0.3, 1.5)
    return scalar({"a": a, "b": b, "s": s}, "dx = where(x > 0, -a*x, -b*x)*dt + s*dW",
                  lambda x, t: np.where(x > 0, -a * x, -b * x), lambda x: s * one(x),
                  lambda d: d.normal(0, 1), draw.choice([0.1, 0.5, 1]))


def ratchet(draw):
    a, c, s = draw.uniform(1, 4), draw.uniform(-2, 2), log_uniform(draw, 0.4, 1.5)
    return scalar({"a": a, "c": c, "s": s}, "dx = (c + a*(sin(x) + 0.25*sin(2*x)))*dt + s*dW",
                  lambda x, t: c + a * (np.sin(x) + 0.25 * np.sin(2 * x)), lambda x: s * one(x),
                  lambda d: d.normal(0, 1), draw.choice([0.2, 0.5, 1]))


# --- One state, noise that depends on it --------------------------------------

def gbm(draw):
    m, s = draw.uniform(-1, 1), log_uniform(draw, 0.1, 1)
    return scalar({"m": m, "s": s}, "dx = m*x*dt + s*x*dW", lambda x, t: m * x,
                  lambda x: s * x, lambda d: d.uniform(0.5, 2), draw.choice([0.1, 1]),
                  to=lambda x: np.log(x) / s, back=lambda y: np.exp(s * y))


def logistic(draw):
    r, s = log_uniform(draw, 0.5, 4), log_uniform(draw, 0.1, 0.6)
    return scalar({"r": r, "s": s}, "dx = r*x*(1 - x)*dt + s*x*dW", lambda x, t: r * x * (1 - x),
                  lambda x: s * x, lambda d: d.uniform(0.05, 1.5), draw.choice([0.1, 0.5, 1]),
                  to=lambda x: np.log(x) / s, back=lambda y: np.exp(s * y))


def cir(draw):
    k, m, s = draw.uniform(0.5, 3), draw.uniform(0.5, 2), 0.0
    s = np.sqrt(2 * k * m * draw.uniform(0.1, 0.6))
    return scalar({"k": k, "m": m, "s": s}, "dx = k*(m - x)*dt + s*sqrt(x)*dW",
                  lambda x, t: k * (m - x), lambda x: s * np.sqrt(x), lambda d: d.uniform(0.3, 2),
                  draw.choice([0.1, 0.5, 1]), to=lambda x: 2 * np.sqrt(x) / s,
                  back=lambda y: (s * y / 2) ** 2, low=0.02)


def growing(draw):
    k, s = draw.uniform(0.5, 4), log_uniform(draw, 0.2, 0.8)
    return scalar({"k": k, "s": s}, "dx = -k*x*dt + s*sqrt(1 + x^2)*dW", lambda x, t: -k * x,
                  lambda x: s * np.sqrt(1 + x * x), lambda d: d.normal(0, 1),
                  draw.choice([0.1, 0.5]), to=lambda x: np.arcsinh(x) / s,
                  back=lambda y: np.sinh(s * y))


def jacobi(draw):
    k, s = draw.uniform(1, 4), draw.uniform(0.2, 0.7)
    return scalar({"k": k, "s": s}, "dx = k*(0.5 - x)*dt + s*sqrt(x*(1 - x))*dW",
                  lambda x, t: k * (0.5 - x), lambda x: s * np.sqrt(x * (1 - x)),
                  lambda d: d.uniform(0.2, 0.8), draw.choice([0.1, 0.5, 1]),
                  to=lambda x: 2 * np.arcsin(np.sqrt(x)) / s,
                  back=lambda y: np.sin(np.clip(s * y / 2, 1e-4, np.pi / 2 - 1e-4)) ** 2,
                  low=0.02 / s, high=(np.pi - 0.02) / s)


# --- One state, forced in time -------------------------------------------------

def forced_well(draw):
    a, c, w = log_uniform(draw, 0.5, 2), draw.uniform(0.3, 2), draw.uniform(1, 30)
    s = log_uniform(draw, 0.3, 1)
    return scalar({"a": a, "c": c, "w": w, "s": s}, "dx = (a*(x - x^3) + c*sin(w*t))*dt + s*dW",
                  lambda x, t: a * (x - x ** 3) + c * np.sin(w * t), lambda x: s * one(x),
                  lambda d: d.choice([-1.0, 1.0]), draw.choice([0.2, 0.5, 1]), moves=True)


class Linear:
    """Linear models in any number of states, forced in time."""

    def __init__(self, text, A, b, deviations, gap):
        self.text, self.A, self.b, self.gap = text, A, b, gap
        self.deviations = np.asarray(deviations, float)

    def simulate(self, draw, series, rows, fine=400):
        d, dt = len(self.deviations), self.gap / fine
        out = []
        for _ in range(series):
            x, table = draw.standard_normal(d), []
            for row in range(rows):
                table.append(x)
                for i in range(fine):
                    t = row * self.gap + i * dt
                    time = np.array([t])
                    x = x + (self.A(time)[0] @ x + self.b(time)[0]) * dt + \
                        self.deviations * np.sqrt(dt) * draw.standard_normal(d)
            out.append((np.arange(rows) * self.gap, np.array(table)))
        return out

    def loglik(self, data):
        C = np.diag(self.deviations ** 2)
        return linear_loglik(self.A, self.b, C, data), 1e-6


def constant(value):
    """A matrix or vector for every time of an array."""
    value = np.asarray(value, float)
    return lambda t: np.broadcast_to(value, (len(t), *value.shape))


def forced_ou(draw):
    k, c, s = draw.uniform(0.3, 3), draw.uniform(1, 20), log_uniform(draw, 0.2, 1)
    gap = draw.choice([0.25, 1.0])
    w = draw.choice([draw.uniform(1, 60), 16 * np.pi / gap, 8 * np.pi / gap, 32 * np.pi / gap])
    text = "state x\nparam k = %.12g, c = %.12g, s = %.12g\ndx = (-k*x + c*sin(%.12g*t))*dt + s*dW\n" % (k, c, s, w)
    return Linear(text, constant([[-k]]), lambda t: (c * np.sin(w * t))[:, None], [s], gap)


def pulsed_ou(draw):
    k, m, w, s = draw.uniform(0.5, 3), draw.uniform(0.1, 0.9), draw.uniform(1, 40), log_uniform(draw, 0.2, 1)
    text = ("state x\nparam k = %.12g, m = %.12g, s = %.12g\ndx = -k*(1 + m*sin(%.12g*t))*x*dt + s*dW\n"
            % (k, m, s, w))
    return Linear(text, lambda t: (-k * (1 + m * np.sin(w * t)))[:, None, None],
                  constant([0]), [s], draw.choice([0.2, 1.0]))


def burst_ou(draw):
    k, c, s, gap = draw.uniform(0.3, 2), draw.uniform(2, 10), log_uniform(draw, 0.2, 1), 1.0
    v = draw.uniform(0.01, 0.1)
    text = ("state x\nparam k = %.12g, c = %.12g, s = %.12g\n"
            "dx = (-k*x + c*exp(-(mod(t, 1) - 0.37)^2/(2*%.12g^2)))*dt + s*dW\n" % (k, c, s, v))
    return Linear(text, constant([[-k]]),
                  lambda t: (c * np.exp(-(t % 1 - 0.37) ** 2 / (2 * v * v)))[:, None], [s], gap)


def spiral(draw):
    k, w = draw.uniform(0.1, 2), draw.uniform(0.5, 8)
    s, r = log_uniform(draw, 0.2, 1), log_uniform(draw, 0.2, 1)
    text = ("state x, y\nparam k = %.12g, w = %.12g, s = %.12g, r = %.12g\n"
            "dx = (-k*x - w*y)*dt + s*dW\ndy = (w*x - k*y)*dt + r*dW\n" % (k, w, s, r))
    return Linear(text, constant([[-k, -w], [w, -k]]), constant([0, 0]), [s, r], draw.choice([0.1, 0.5, 1]))


def forced_pair(draw):
    k, c, w = draw.uniform(0.3, 2), draw.uniform(1, 10), draw.uniform(1, 60)
    s = log_uniform(draw, 0.2, 1)
    text = ("state x, y\nparam k = %.12g, c = %.12g, s = %.12g\n"
            "dx = (y - k*x)*dt + s*dW\ndy = (-x - k*y + c*cos(%.12g*t))*dt + s*dW\n" % (k, c, s, w))
    return Linear(text, constant([[-k, 1], [-1, -k]]),
                  lambda t: np.stack([0 * t, c * np.cos(w * t)], axis=1), [s, s],
                  draw.choice([0.25, 1.0]))


class Pair:
    """Two states without interaction, turned by an angle: a model of two states
    whose likelihood is that of two models of one."""

    def __init__(self, first, second, angle, noise):
        self.part, self.gap = (first, second), first.gap
        c, s = np.cos(angle), np.sin(angle)
        self.turn = np.array([[c, s], [-s, c]])  # data to parts
        u, v = ("(%.15g*x + %.15g*y)" % tuple(row) for row in self.turn)
        f, g = first.text.format(u=u), second.text.format(u=v)
        self.text = ("state x, y\nconst s = %.12g\nlet f = %s\nlet g = %s\n"
                     "dx = (%.15g*f + %.15g*g)*dt + s*dW\ndy = (%.15g*f + %.15g*g)*dt + s*dW\n"
                     % (noise, f, g, *self.turn[:, 0], *self.turn[:, 1]))

    def simulate(self, draw, series, rows):
        parts = [p.simulate(draw, series, rows) for p in self.part]
        return [(t, np.column_stack([x, y]) @ self.turn)
                for (t, x), (_, y) in zip(*parts)]

    def loglik(self, data):
        both = [p.loglik([(t, (x @ self.turn.T)[:, i]) for t, x in data])
                for i, p in enumerate(self.part)]
        return both[0][0] + both[1][0], both[0][1] + both[1][1]


def turned(draw):
    s, gap = log_uniform(draw, 0.3, 1), draw.choice([0.1, 0.3, 1])
    kinds = [("%.12g*({u} - {u}^3)", lambda a: lambda x, t: a * (x - x ** 3)),
             ("%.12g*sin(2*{u})", lambda a: lambda x, t: a * np.sin(2 * x)),
             ("-%.12g*{u}", lambda a: lambda x, t: -a * x)]
    part = []
    for i in draw.choice(3, 2, replace=False):
        a = log_uniform(draw, 0.5, 4)
        part.append(Scalar(kinds[i][0] % a, kinds[i][1](a), lambda x: s * one(x),
                           lambda d: d.normal(0, 1), gap))
    return Pair(*part, draw.uniform(0, np.pi), s)


FAMILIES = [ou, well, escape, escape_timed, sine, benes, cubic, hyperbolic, morse, triple, kinked,
            ratchet, gbm, logistic, cir, growing, jacobi, forced_well, forced_ou, pulsed_ou, burst_ou,
            spiral, forced_pair, turned]
