# SPDX-License-Identifier: MIT
"""Systems whose terms are to be found, and least squares with thresholding."""
import numpy as np


class System:
    """Equations with a noise each, and a library for their drifts. drift: for
    each state its terms with their coefficients; given: equations before
    these that are known; rest: obs and init lines of the model."""

    def __init__(self, drift, terms, start, s, rest="", given=None,
                 noise=("s", "s"), head=""):
        self.names, self.given = list(drift), given or {}
        self.states = [*self.given, *self.names]
        self.library, self.terms = terms
        self.start, self.s = start, s
        self.wanted = np.zeros((len(drift), len(self.terms)))
        for i, row in enumerate(drift.values()):
            for term, value in row.items():
                self.wanted[i, self.terms.index(term)] = value
        sums = [" + ".join("%.17g*%s" % (v, t) for t, v in row.items())
                for row in drift.values()]
        self.truth = self.text("", ["(%s)" % f for f in sums], s,
                               noise[0]) + rest
        self.model = self.text(self.declared() + head, self.functions(), s,
                               noise[1]) + rest

    def text(self, head, functions, s, noise):
        lines = ["d%s = %s" % pair for pair in self.given.items()]
        lines += ["d%s = %s*dt + %s*dW" % (*pair, noise)
                  for pair in zip(self.names, functions)]
        return "state %s\nparam s = %.17g > 0\n%s%s\n" % (
            ", ".join(self.states), s, head, "\n".join(lines))

    def declared(self):
        return "terms f(%s) -> %d : %s\n" % (
            ", ".join(self.states), len(self.names), self.library)

    def functions(self):
        n = len(self.names)
        return ["f"] if n == 1 else ["f[%d]" % (i + 1) for i in range(n)]

    def features(self, x):
        """The terms at the rows x."""
        values = dict(zip(self.states, x.T))
        return np.stack([eval(t.replace("^", "**"), {}, values) + 0 * x[:, 0]
                         for t in self.terms], axis=1)

    def error(self, c, x):
        """Mean square of the force's error, relative to that of the force."""
        phi = self.features(x)
        return (np.sum((phi @ (c - self.wanted).T) ** 2) /
                np.sum((phi @ self.wanted.T) ** 2))

    def mistakes(self, c):
        """Terms too many and too few."""
        return (int(np.sum((c != 0) & (self.wanted == 0))),
                int(np.sum((c == 0) & (self.wanted != 0))))

    def selected(self, found):
        """Coefficients, with their standard errors, of what select says."""
        c, e = np.zeros_like(self.wanted), np.full_like(self.wanted, np.nan)
        for one in found["coefficients"]:
            function, term = one["name"].split(".", 1)
            if function[0] != "f":
                continue
            i = int(function[2]) - 1 if "[" in function else 0
            c[i, self.terms.index(term)] = one["estimate"]
            if one["stderr"] is not None:
                e[i, self.terms.index(term)] = one["stderr"]
        return c, e

    def limits(self, t, x):
        """True coefficients over the least possible standard errors: those of
        an efficient estimator that knows which terms there are."""
        phi, z = self.features(x[:-1]), np.zeros_like(self.wanted)
        gram = phi.T @ (phi * np.diff(t)[:, None]) / self.s ** 2
        for i, row in enumerate(self.wanted):
            on = np.flatnonzero(row)
            if len(on):
                V = np.linalg.inv(gram[np.ix_(on, on)])
                z[i, on] = np.abs(row[on]) / np.sqrt(np.diag(V))
        return z


def poly(degree, *names):
    """The monomials of `poly`, in its order."""
    def powers(left, n):
        if n == 1:
            yield (left,)
            return
        for i in range(left, -1, -1):
            for rest in powers(left - i, n - 1):
                yield (i, *rest)
    terms = []
    for d in range(degree + 1):
        for p in powers(d, len(names)):
            terms.append("*".join(n if i == 1 else "%s^%d" % (n, i)
                                  for n, i in zip(names, p) if i) or "1")
    return "poly %d" % degree, terms


LORENZ = System({"x": {"x": -8, "y": 8}, "y": {"x": 20, "y": -1, "x*z": -1},
                 "z": {"x*y": 1, "z": -2}}, poly(2, "x", "y", "z"), "1,1,20",
                np.sqrt(10))
CYCLE = System({"x": {"x": 1, "y": -2, "x^3": -1, "x*y^2": -1},
                "y": {"x": 2, "y": 1, "x^2*y": -1, "y^3": -1}},
               poly(3, "x", "y"), "1,0", np.sqrt(0.2))
OU = System({"x": {"x": -1}}, poly(3, "x"), "0", 1.0)
WEAK = System({"x": {"1": 0.35, "x": -1}}, poly(3, "x"), "0", 1.0)
TORCH = System({"x": {"x": 1, "x^3": -1}}, poly(3, "x"), "1", 1.0,
               noise=("sqrt(1 + 0.3*x)", "s*exp(g)"),
               head="terms g(x) -> 1 : x, x^2, x^3\n")
POSITIONS = System({"v": {"x": -1, "v": 3, "x^2*v": -3}}, poly(3, "x", "v"),
                   "1,1", np.sqrt(0.1), "init v ~ normal(0, 3)\n",
                   {"x": "v*dt"})
NOISY = System({"y": {"x": -1, "y": 1, "x^2*y": -1}}, poly(3, "x", "y"),
               "1,1", 0.3,
               "init x ~ normal(0, 2)\ninit y ~ normal(0, 2)\n"
               "obs u ~ normal(x, 0.1)\nobs v ~ normal(y, 0.1)\n",
               {"x": "y*dt + s*dW"})


# --- Least squares with thresholding ----------------------------------------

def thresholded(phi, slope, threshold):
    """Least squares again and again, without coefficients below a threshold."""
    c = np.linalg.lstsq(phi, slope, rcond=None)[0].T
    for _ in range(20):
        keep = np.abs(c) >= threshold
        new = np.zeros_like(c)
        for i in range(len(c)):
            if keep[i].any():
                new[i, keep[i]] = np.linalg.lstsq(phi[:, keep[i]], slope[:, i],
                                                  rcond=None)[0]
        if np.array_equal(new, c):
            break
        c = new
    return c


def sindy(system, t, x, seen=None):
    """With the threshold that makes the fewest mistakes, which nobody knows.
    seen: what was observed of the states x."""
    seen = x if seen is None else seen
    phi = system.features(seen[:-1])
    slope = (np.diff(seen, axis=0) / np.diff(t)[:, None])[:, -len(
        system.names):]
    tried = [thresholded(phi, slope, h) for h in np.geomspace(0.01, 10, 31)]
    return min(tried, key=lambda c: (sum(system.mistakes(c)),
                                     system.error(c, x)))


# --- Data -------------------------------------------------------------------

def simulate(study, system, seed, gap, rows, lead=5.0):
    """Rows as text, after a lead. A list of times is one argument, of which
    Linux takes 128 KiB: longer series have their lead simulated before them."""
    model, path = study.file("truth.sde", system.truth), study.folder / "all.csv"
    times = ",".join(["0"] + ["%.10g" % (lead + gap * i) for i in range(rows)])

    def lines(seed, *options):
        study.run("simulate", model, "--seed", seed, "-o", path, *options)
        return path.read_text().splitlines()

    if len(times) < 100000:
        found = lines(seed, "--times", times, "--x0", system.start)
        return [found[0]] + found[2:]
    first = lines(10 ** 6 + seed, "--times", "0,%.10g" % lead, "--x0",
                  system.start)[-1]
    states = first.split(",")[2:2 + len(system.states)]
    return lines(seed, "--times", "0:%.10g:%d" % (gap * (rows - 1), rows), "--x0",
                 ",".join(states))


def thin(study, lines, every=1):
    path = study.folder / ("thin-%d.csv" % every)
    path.write_text("\n".join([lines[0]] + lines[1::every]) + "\n")
    return path


def read(path):
    rows = np.genfromtxt(path, delimiter=",", skip_header=1)
    return rows[:, 1], rows[:, 2:]


def select(study, system, data, *options):
    model = study.file("library.sde", system.model)
    found = study.json("select", model, data, "-o", study.folder / "a.fit",
                       "--threads", 1, *options)
    return system.selected(found)
