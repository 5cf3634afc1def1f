# SPDX-License-Identifier: MIT
"""Physics of fits against closed forms: how often the intervals of `girsanov physics` have
the truth."""
import math

import numpy as np

from study import sized

OU = """state x
param k = 1 > 0, m = 0, s = 0.7 > 0
dx = k*(m - x)*dt + s*dW
"""
WELL = """state x
param a = 1, b = 1, s = 0.7 > 0
dx = (a*x - b*x^3)*dt + s*dW
"""
TURN = """state x, y
param k = 1 > 0, w = 2, s = 0.8 > 0
dx = (-k*x - w*y)*dt + s*dW1
dy = (w*x - k*y)*dt + s*dW2
"""


def passage(low, high, s, cells=20000):
    """The mean time from one point of the double well to another: the double integral of
    exp(2 (U(y) - U(z)) / s^2) * 2 / s^2 over z < y, low < y < high."""
    y = np.linspace(-4, high, cells)
    U = 2 * (y ** 4 / 4 - y ** 2 / 2) / s ** 2
    below = np.cumsum(np.exp(-U)) * (y[1] - y[0])
    on = y >= low
    return float(np.sum((np.exp(U) * below)[on]) * (y[1] - y[0]) * 2 / s ** 2)


def law(r):
    """Numbers of all systems."""
    n = r["numbers"]
    return {"relaxation time": n["relaxation time 1"], "deviation of x": n["deviation of x"]}


def crossing(r):
    p = r["passages"][0]
    return {"passage time": p["time"], "barrier": p["barrier"], "rate at the stable point": r["points"][2]["rate"][0],
            "deviation of x": r["numbers"]["deviation of x"]}


def turning(r):
    return {**law(r), "entropy production": r["numbers"]["entropy production"],
            "angular velocity": r["points"][0]["turn"][0]}


def moment(s):
    """The deviation of the double well's stationary law."""
    x = np.linspace(-4, 4, 20001)
    p = np.exp(-2 * (x ** 4 / 4 - x ** 2 / 2) / s ** 2)
    return math.sqrt(np.sum(x * x * p) / np.sum(p))


# Name: text, first state, times, what is looked at, and the truth.
CASES = {
    "OU": (OU, "0", "0:80:401", law, {"relaxation time": 1.0, "deviation of x": 0.7 / math.sqrt(2)}),
    "double well": (WELL, "1", "0:80:401", crossing, {
        "passage time": passage(-1, 1, 0.7), "barrier": 0.5 / 0.49, "rate at the stable point": -2.0,
        "deviation of x": moment(0.7)}),
    "rotational flow": (TURN, "1,0", "0:50:251", turning, {
        "relaxation time": 1.0, "deviation of x": 0.8 / math.sqrt(2), "entropy production": 8.0,
        "angular velocity": 2.0}),
}


def physics(study):
    """Seeds that are used nowhere else."""
    for name, (text, start, times, look, truth) in CASES.items():
        inside = {q: [] for q in truth}
        missing, seeds = 0, range(701, 701 + sized(2, 40, 200))
        for seed in seeds:
            model, data = study.file("truth.sde", text), study.folder / "a.csv"
            study.run("simulate", model, "--times", times, "--x0", start, "--seed", seed, "-o", data)
            study.run("fit", model, data, "-o", study.folder / "a.fit", "--threads", 1)
            r = study.json("physics", study.folder / "a.fit", data, "--threads", 1)
            try:
                found = look(r)
            except (KeyError, IndexError):  # a fit without two wells
                missing += 1
                continue
            for q, value in truth.items():
                at = found[q]
                inside[q].append((at["value"], at["low"] <= value <= at["high"]))
        for q, value in truth.items():
            at = [v for v, _ in inside[q]]
            study.say("%-16s %-26s truth %8.4f  mean %8.4f  median %8.4f  intervals with the truth %d/%d" % (
                name, q, value, np.mean(at), np.median(at), sum(hit for _, hit in inside[q]), len(at)))
        if missing:
            study.say("%-16s %d of %d fits have no such quantity" % (name, missing, len(seeds)))
