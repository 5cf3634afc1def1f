# SPDX-License-Identifier: MIT
"""One-dimensional diffusions of yuima and pymle: the log-likelihood by default
options against Ait-Sahalia's expansion and the approximations of Kessler, Ozaki
and Euler, all held against a fine grid."""
import functools
import math
import statistics
import time

import numpy as np

from densities import ait_sahalia, euler, kessler, ozaki
from families import one, scalar
from peers import Row, mean, number, sized

GAPS = (0.1, 0.5, 2.0)
METHODS = {
    "Aït-Sahalia's expansion, order 2": ait_sahalia,
    "Kessler's approximation": kessler,
    "Ozaki's local linearisation": ozaki,
    "Euler's density": euler,
}


def power(parameters, equation, drift, start, gap):
    """Noise s*x^1.5: y = -2/(s sqrt(x)), which grows with x."""
    return scalar(parameters, equation, drift, lambda p, x: p.s * x ** 1.5,
                  lambda d: start, gap, to=lambda p, x: -2 / (p.s * np.sqrt(x)),
                  back=lambda p, y: 4 / (p.s * np.minimum(y, -1e-3)) ** 2,
                  ends=lambda p: (-np.inf, -0.02))


# Each takes the gap in its own unit of time: one over the rate of return.
def cir(gap):
    return scalar({"k": 0.5, "m": 0.06, "s": 0.15},
                  "dx = k*(m - x)*dt + s*sqrt(x)*dW",
                  lambda p, x, t: p.k * (p.m - x), lambda p, x: p.s * np.sqrt(x),
                  lambda d: 0.06, gap / 0.5, to=lambda p, x: 2 * np.sqrt(x) / p.s,
                  back=lambda p, y: (p.s * y / 2) ** 2,
                  ends=lambda p: (0.02, np.inf))


def ckls(gap):
    return power({"a": 0.0408, "b": 0.5921, "s": 1.2924},
                 "dx = (a - b*x)*dt + s*x^1.5*dW",
                 lambda p, x, t: p.a - p.b * x, 0.07, gap / 0.5921)


def jacobi(gap):
    return scalar({"k": 1.0, "m": 0.4, "s": 0.5},
                  "dx = k*(m - x)*dt + s*sqrt(x*(1 - x))*dW",
                  lambda p, x, t: p.k * (p.m - x),
                  lambda p, x: p.s * np.sqrt(x * (1 - x)), lambda d: 0.4, gap,
                  to=lambda p, x: 2 * np.arcsin(np.sqrt(x)) / p.s,
                  back=lambda p, y: np.sin(np.clip(p.s * y / 2, 1e-4, np.pi / 2 - 1e-4)) ** 2,
                  ends=lambda p: (0.02 / p.s, (np.pi - 0.02) / p.s))


def hyperbolic(gap):
    return scalar({"k": 1.0, "s": 1.0}, "dx = -k*x/sqrt(1 + x^2)*dt + s*dW",
                  lambda p, x, t: -p.k * x / np.sqrt(1 + x * x),
                  lambda p, x: p.s * one(x), lambda d: 0.0, gap)


def pearson(gap):
    return scalar({"k": 1.0, "m": 0.2, "s": 0.7},
                  "dx = k*(m - x)*dt + s*sqrt(1 + x^2)*dW",
                  lambda p, x, t: p.k * (p.m - x),
                  lambda p, x: p.s * np.sqrt(1 + x * x), lambda d: 0.2, gap,
                  to=lambda p, x: np.arcsinh(x) / p.s,
                  back=lambda p, y: np.sinh(p.s * y))


def three_halves(gap):
    return power({"k": 2.0, "m": 1.0, "s": 0.8}, "dx = k*x*(m - x)*dt + s*x^1.5*dW",
                 lambda p, x, t: p.k * x * (p.m - x), 0.8, gap / 2.0)


def nonlinear(gap):
    return power({"a": 0.00107, "b": -0.0517, "c": 0.877, "d": -4.604, "s": 0.8047},
                 "dx = (a/x + b + c*x + d*x^2)*dt + s*x^1.5*dW",
                 lambda p, x, t: p.a / x + p.b + p.c * x + p.d * x * x, 0.08, gap)


MODELS = {"CIR": cir, "CKLS": ckls, "Jacobi": jacobi, "hyperbolic": hyperbolic,
          "Pearson": pearson, "3/2": three_halves, "Aït-Sahalia": nonlinear}


def write_series(path, data):
    lines = ["series,time,x"]
    for i, (t, x) in enumerate(data):
        lines += ["%d,%.12g,%.17g" % (i + 1, *pair) for pair in zip(t, x)]
    path.write_text("\n".join(lines) + "\n")
    return path


@functools.lru_cache(maxsize=None)
def problem(study, name, gap, seed):
    """The model, its series, the exact log-likelihood, ours, and CPU seconds."""
    case = MODELS[name](gap)
    draw = np.random.default_rng([seed, *name.encode()])
    t, x = case.simulate(draw, 1, sized(6, 101, 501))[0]
    exact, doubt = case.loglik([(t, x)])
    found = study.json("loglik", study.file("model.sde", case.text),
                       write_series(study.folder / "data.csv", [(t, x)]),
                       "--threads", 1)
    return case, x, exact, doubt, found


def compare(density, gap):
    def measure(study, seed):
        ours, theirs, cpu, peer_cpu = {}, {}, 0.0, 0.0
        for name in list(MODELS)[:sized(2, 7, 7)]:
            case, x, exact, doubt, found = problem(study, name, gap, seed)
            begin = time.process_time()
            value = density(case, x[:-1], x[1:], case.gap).sum()
            peer_cpu += time.process_time() - begin
            cpu += found["cpu"]
            n = len(x) - 1
            ours[name] = abs(found["loglik"] - exact) / n
            theirs[name] = abs(value - exact) / n if np.isfinite(value) else None
            theirs[name + ", doubt"] = doubt / n
        middle = statistics.median([math.inf if theirs[k] is None else theirs[k]
                                    for k in ours])
        return {"ours": statistics.median(ours.values()), "cpu": cpu,
                "theirs": middle if math.isfinite(middle) else None,
                "peer_cpu": peer_cpu,
                "each": {"ours": ours, "theirs": theirs}}
    return measure


WHY = ("Where gaps are short, a closed form without random numbers is as good; "
       "it needs the drift's integral and coordinates of unit noise, which exist "
       "for one state only.")
ROWS = [Row("%s-%g" % (density.__name__, gap), "catalogue",
            "yuima, pymle: " + peer, "7 one-dimensional diffusions, gap %g / rate" % gap,
            "median error of log p, nats a gap", compare(density, gap), (1, 5, 20),
            why=WHY)
        for gap in GAPS for peer, density in METHODS.items()]


def details():
    """A second table: every model, gap and method."""
    by = {row.name: row for row in ROWS if row.found}
    if len(by) < len(ROWS):
        return []
    lines = ["| model | gap / rate | ours | %s | grid's own doubt |" % " | ".join(METHODS),
             "|---" * (len(METHODS) + 4) + "|"]
    for name in MODELS:
        for gap in GAPS:
            rows = [by["%s-%g" % (f.__name__, gap)] for f in METHODS.values()]

            def over(row, side, key):
                values = [f["each"][side][key] for f in row.found]
                return "failed" if None in values else number(mean(values))
            lines.append("| %s | %g | %s | %s | %s |" % (
                name, gap, over(rows[0], "ours", name),
                " | ".join(over(row, "theirs", name) for row in rows),
                over(rows[0], "theirs", name + ", doubt")))
    return lines
