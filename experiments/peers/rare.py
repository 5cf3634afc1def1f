# SPDX-License-Identifier: MIT
"""The rare, the long and the stiff: default options where a gap is long or an
observation is far out, against a fine grid, and whether `diagnose` says so."""
import time

import numpy as np

from catalogue import write_series
from families import one, scalar
from peers import Row, sized
from verdict import COLUMNS, is_off, verdict

STEPS = (512, 1024)  # of the grid in a gap


def well(lengths, barrier):
    """a (x - x^3) relaxes with the rate 2 a within a well; the barrier a/4 is
    so many times s^2/2. The gap has so many relaxation times."""
    a = 2.0
    return scalar({"a": a, "s": np.sqrt(a / (2 * barrier))},
                  "dx = a*(x - x^3)*dt + s*dW",
                  lambda p, x, t: p.a * (x - x ** 3), lambda p, x: p.s * one(x),
                  lambda d: 1.0, lengths / (2 * a))


def stiff(k):
    """A fast return to a slow curve in a gap of one unit."""
    return scalar({"k": k, "s": 1.0}, "dx = -k*(x - 0.3*sin(x)) *dt + s*dW",
                  lambda p, x, t: -p.k * (x - 0.3 * np.sin(x)),
                  lambda p, x: p.s * one(x), lambda d: 0.0, 1.0)


def quartic(k):
    return scalar({"k": k, "s": 1.0}, "dx = -k*x^3*dt + s*dW",
                  lambda p, x, t: -p.k * x ** 3, lambda p, x: p.s * one(x),
                  lambda d: 0.0, 1.0)


def outliers(case, far):
    """One row of ten is moved out by so many deviations of the data."""
    def change(x):
        x = x.copy()
        x[5::10] += far * np.std(x)
        return x
    return case, change


def crossing(case):
    """The second half of the rows is in the other well."""
    return case, lambda x: np.where(np.arange(len(x)) < len(x) // 2, x, -x)


def as_drawn(case):
    return case, lambda x: x


KINDS = {
    **{"well-%g-%d" % (n, b): (crossing(well(n, b)), "double well, one crossing, barrier %d kT, gap %g relaxation times" % (b, n))
       for b in (2, 5, 10) for n in (1, 3, 10)},
    **{"stiff-%d" % k: (as_drawn(stiff(k)), "stiff: return %d times in a gap" % k)
       for k in (10, 100, 1000)},
    **{"quartic-%d" % k: (as_drawn(quartic(k)), "stiff: -%d x^3, gap 1" % k)
       for k in (10, 100)},
    **{"far-%d" % n: (outliers(well(1, 3), n), "double well, every tenth row moved by %d deviations" % n)
       for n in (3, 6)},
}


def measure(name):
    (case, change), _ = KINDS[name]

    def one_seed(study, seed):
        draw = np.random.default_rng([seed, *name.encode()])
        data = [(t, change(x)) for t, x in case.simulate(
            draw, 1, sized(12, 31, 31), fine=2000 if "stiff" in name else 400)]
        begin = time.process_time()
        exact, doubt = case.loglik(data, STEPS)
        seconds = time.process_time() - begin
        found = study.json("diagnose", study.file("model.sde", case.text),
                           write_series(study.folder / "data.csv", data),
                           "--threads", 1)
        n = len(data[0][0]) - 1
        out = {"ours": abs(found["loglik"] - exact) / n, "cpu": found["cpu"],
               "peer_cpu": seconds,
               "doubt": doubt, "stated": found["stderr"],
               "flagged": not found["reliable"], "loglik": found["loglik"], "exact": exact}
        if doubt < max(0.02, 0.01 * abs(found["loglik"] - exact)):
            out["column"] = verdict(found["reliable"], is_off(found, exact))
        return out
    return one_seed


ROWS = [Row(name, "rare", "Fokker–Planck on a grid", what,
            "error of log p, nats a gap", measure(name), (1, 5, 20),
            published=0.0, same=0.02, source="1024 steps a gap, extrapolated",
            why="A grid is exact, for one or two states; where paths are far in the tails, "
                "some sets are wrong, and `diagnose` flags them.")
        for name, (_, what) in KINDS.items()]


def details():
    """The confusion table of the verdicts, of sets whose reference is known to 0.02
    nats or to a hundredth of the error."""
    lines = ["| data | sets | %s | largest error, nats a gap |" % " | ".join(COLUMNS),
             "|---" * (len(COLUMNS) + 3) + "|"]
    total = np.zeros(4, int)
    for row in ROWS:
        columns = [f["column"] for f in row.found if "column" in f]
        count = np.bincount(columns, minlength=4)
        total += count
        if row.found:
            lines.append("| %s | %d | %s | %.2g |" % (
                row.data, len(columns), " | ".join(map(str, count)), max(row.values("ours"))))
    return lines + ["| all | %d | %s | |" % (total.sum(), " | ".join(map(str, total)))]
