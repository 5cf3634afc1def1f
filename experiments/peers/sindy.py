# SPDX-License-Identifier: MIT
"""Regression of increments: SINDy with the best of 31 thresholds, which nobody knows,
against `select`; and Kramers-Moyal's regression of a double well against `fit`."""
import resource
import time

import numpy as np

from catalogue import write_series
from families import one, scalar
from peers import Row, sized
from systems import LORENZ, read, select, simulate, sindy, thin

WELL = "state x\nparam a = 1, b = 1, s = 0.5 > 0\ndx = (a*x - b*x^3)*dt + s*dW\n"
S = 0.7


def terms(every):
    def measure(study, seed):
        data = thin(study, simulate(study, LORENZ, seed, 0.005, sized(400, 2000, 2000)), every)
        t, x = read(data)
        begin = time.process_time()
        theirs = LORENZ.error(sindy(LORENZ, t, x), x)
        peer_cpu = time.process_time() - begin
        begin = sum(children())
        c, _ = select(study, LORENZ, data, "--errors", "none", "--resamples", 1)
        return {"ours": LORENZ.error(c, x), "theirs": theirs, "peer_cpu": peer_cpu,
                "cpu": sum(children()) - begin}
    return measure


def children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime, used.ru_stime


def well(gap):
    case = scalar({"s": S}, WELL, lambda p, x, t: x - x ** 3, lambda p, x: p.s * one(x),
                  lambda d: 1.0, gap)

    def measure(study, seed):
        draw = np.random.default_rng([seed, round(100 * gap)])
        t, x = case.simulate(draw, 1, sized(100, 1 + round(400 / gap), 1 + round(400 / gap)))[0]
        at = np.linspace(-1.5, 1.5, 61)

        def error(a, b):
            return float(np.sum(((a - 1) * at - (b - 1) * at ** 3) ** 2) /
                         np.sum((at - at ** 3) ** 2))

        begin = time.process_time()
        basis = np.stack([x[:-1], -x[:-1] ** 3], axis=1)
        theirs = error(*np.linalg.lstsq(basis, np.diff(x) / gap, rcond=None)[0])
        peer_cpu = time.process_time() - begin
        fit = study.json("fit", study.file("model.sde", WELL),
                         write_series(study.folder / "data.csv", [(t, x)]), "-o",
                         study.folder / "a.fit", "--threads", 1, "--errors", "none")
        return {"ours": error(fit["params"]["a"], fit["params"]["b"]), "cpu": fit["cpu"],
                "theirs": theirs, "peer_cpu": peer_cpu}
    return measure


ROWS = [Row("moyal-%g" % gap, "sindy", "Kramers–Moyal regression",
            "double well over 400 units of time, gap %g" % gap, "squared error of the drift",
            well(gap), (1, 10, 20),
            why="Where gaps are short, both have the error of the data.")
        for gap in (1, 0.5, 0.1)]
ROWS += [Row("sindy-lorenz-%d" % every, "sindy", "SINDy, best of 31 thresholds",
             "Lorenz, 2000 rows, every %s" % what, "squared error of the force",
             terms(every), (1, 5, 20),
             why="SINDy has the threshold that fits the truth best, which nobody knows.")
         for every, what in ((20, "20th"), (5, "5th"))]
