# SPDX-License-Identifier: MIT
"""Epidemics in the manner of pomp's documentation: a boarding school with daily numbers of
the ill, and a weekly incidence with an incubation time. The reactions are diffusions. A
bootstrap filter moves them by Euler steps, of which it needs many; ours chooses its steps.
What is compared is the variance of the log-likelihood times CPU seconds, which more
particles do not change."""
import time

import numpy as np
from scipy.special import gammaln

from peers import Row, mean, sized, spread

STEPS, RUNS = 64, 8            # of the bootstrap filter
FINE, MANY = 256, 4096         # of the reference
SCHOOL = """state S, I
param beta = 1.5 > 0
param gamma = 0.5 > 0
reaction S + I -> 2 I : beta*S*I/763
reaction I -> 0 : gamma*I
init S ~ normal(760, 0.1)
init I ~ normal(3, 0.1)
obs n ~ poisson(I)
"""
TOWN = """state S, E, I
param beta = 0.75 > 0
param sigma = 0.3 > 0
param gamma = 0.25 > 0
reaction S + I -> E + I : beta*S*I/1e5
reaction E -> I : sigma*E
reaction I -> 0 : gamma*I
init S ~ normal(99960, 1)
init E ~ normal(20, 1)
init I ~ normal(20, 1)
obs n ~ negbin(0.3*integral(sigma*E), 50)
"""


def poisson(n, m):
    return n * np.log(m) - m - gammaln(n + 1)


def negbin(n, m, size=50):
    return (gammaln(n + size) - gammaln(size) - gammaln(n + 1) + n * np.log(m / (m + size))
            + size * np.log(size / (m + size)))


class Epidemic:
    """Text, gap between rows, their number; first means and deviations of the states;
    change: (reactions, states); rates(x): of states (particles, states); what is added up
    between rows, if anything; draw(random, mean) and density(n, mean) of the counts."""

    def __init__(self, text, gap, rows, start, error, change, rates, counted, draw, density):
        self.text, self.gap, self.rows = text, gap, rows
        self.start, self.error, self.change = np.array(start), error, np.array(change)
        self.rates, self.counted = rates, counted
        self.draw, self.density = draw, density

    def first(self, random, n):
        return self.start + self.error * random.standard_normal((n, len(self.start)))

    def move(self, random, x, steps):
        """Over a gap: the states, and the mean of the count at its end."""
        dt, total = self.gap / steps, np.zeros(len(x))
        for _ in range(steps):
            r = self.rates(np.maximum(x, 1e-12))
            if self.counted is not None:
                total += r[:, self.counted] * dt
            x = x + (r * dt + np.sqrt(r * dt) * random.standard_normal(r.shape)) @ self.change
        return x, 0.3 * total if self.counted is not None else x[:, 1]

    def series(self, random):
        """A count for each row; none at time 0 where counts are of a gap."""
        while True:
            x, out = self.first(random, 1), []
            if self.counted is None:
                out.append(self.draw(random, max(x[0, 1], 1e-12)))
            while len(out) < self.rows:
                x, m = self.move(random, x, 400)
                out.append(self.draw(random, max(m[0], 1e-12)))
            if x[0, 0] < 0.9 * self.start[0]:  # otherwise it has died out
                return np.array(out)

    def bootstrap(self, random, counts, n, steps):
        """Log-likelihood by n particles that move by the model and are drawn again."""
        x, total = self.first(random, n), 0.0
        for k, count in enumerate(counts):
            if k or self.counted is not None:
                x, m = self.move(random, x, steps)
            else:
                m = x[:, 1]
            w = self.density(count, np.maximum(m, 1e-12))
            top = w.max()
            w = np.exp(w - top)
            total += top + np.log(w.mean())
            at = np.searchsorted(np.cumsum(w / w.sum()), (np.arange(n) + random.uniform()) / n)
            x = x[np.minimum(at, n - 1)]
        return float(total)


def size_50(random, m):
    return random.poisson(random.gamma(50, m / 50))


MODELS = {
    "SIR, a school of 763, 14 days": Epidemic(
        SCHOOL, 1.0, 15, (760, 3), 0.1, [[-1, 1], [0, -1]],
        lambda x: np.stack([1.5 * x[:, 0] * x[:, 1] / 763, 0.5 * x[:, 1]], axis=1), None,
        lambda random, m: random.poisson(m), poisson),
    "SEIR, 20 weeks of incidence": Epidemic(
        TOWN, 7.0, 20, (99960, 20, 20), 1.0, [[-1, 1, 0], [0, -1, 1], [0, 0, -1]],
        lambda x: np.stack([0.75 * x[:, 0] * x[:, 2] / 1e5, 0.3 * x[:, 1], 0.25 * x[:, 2]],
                           axis=1), 1, size_50, negbin)}


def files(study, model, counts):
    first = 0 if model.counted is None else 1
    text = "time,n\n" + "0,\n" * first + "".join(
        "%g,%d\n" % (model.gap * (k + first), n) for k, n in enumerate(counts))
    return study.file("model.sde", model.text), study.file("data.csv", text)


def timed(work):
    begin = time.process_time()
    return work(), time.process_time() - begin


def log_mean(values):
    """Of unbiased estimates whose logarithms are normal: the logarithm of their mean."""
    return mean(values) + spread(values) ** 2 / 2


def noise(name):
    """Variance times CPU seconds of both, and how far the means are from that of a
    bootstrap filter with many particles and short steps."""
    model = MODELS[name]

    def measure(study, seed):
        random, runs = np.random.default_rng([seed, 21]), sized(2, RUNS, 2 * RUNS)
        counts = model.series(random)
        sde, data = files(study, model, counts)
        found = [study.json("loglik", sde, data, "--threads", 1, "--seed", k)
                 for k in range(1, runs + 1)]
        theirs = [timed(lambda: model.bootstrap(random, counts, 1000, STEPS))
                  for _ in range(runs)]
        many = [model.bootstrap(random, counts, MANY, FINE) for _ in range(sized(2, 3, 8))]
        ours, few = [f["loglik"] for f in found], [value for value, _ in theirs]
        cpu, peer_cpu = mean([f["cpu"] for f in found]), mean([c for _, c in theirs])
        return {"ours": spread(ours) ** 2 * cpu, "theirs": spread(few) ** 2 * peer_cpu,
                "cpu": cpu, "peer_cpu": peer_cpu, "sd": spread(ours), "peer_sd": spread(few),
                "apart": log_mean(ours) - log_mean(many), "peer_apart": log_mean(few) - log_mean(many),
                "many_stderr": spread(many) / np.sqrt(len(many))}
    return measure


ROWS = [Row("pomp-" + name.split(",")[0].lower(), "pomp",
            "pomp: bootstrap filter, 1000 particles, %d steps a gap" % STEPS, name,
            "variance of the log-likelihood times CPU s", noise(name), (1, 5, 20),
            why="The bootstrap filter is NumPy with one call for all particles. Ours looks ahead, "
                "which costs more for each particle, and gains little where counts are so noisy.")
        for name in MODELS]


def details():
    lines = ["| data | sets | sd of ours | sd of 1000 particles | ours − reference, mean and worst | "
             "1000 particles − reference, mean and worst | standard error of the reference |", "|---" * 7 + "|"]
    for row in ROWS:
        if row.found:
            lines.append("| %s | %d | %.3g | %.3g | %+.2f, %+.2f | %+.2f, %+.2f | %.2g |" % (
                row.data, len(row.found), mean(row.values("sd")), mean(row.values("peer_sd")),
                *(f(row.values(name)) for name in ("apart", "peer_apart")
                  for f in (mean, lambda values: max(values, key=abs))),
                mean(row.values("many_stderr"))))
    return lines
