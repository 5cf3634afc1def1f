#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The opponent of `girsanov learn`: the paper's Lorenz network (3-32-256-32-3) learned in PyTorch from a CSV file with
the columns series, time, x, y, z, as written by `girsanov simulate examples/lorenz.sde`. Three recipes:

paper   Brownian bridges, K = 4 paths a series with M = 5 left-point steps a gap, sigma = 1, all series in every
        iteration (a pass for each), Adam at a constant 1e-3, nothing scaled.
tuned   scaled inputs and outputs, mini-batches of gaps, a linear reference at the chord's middle and the residual at
        its half-way forecast, no sampling, sigma learned, Adam at 3e-3 falling to 0 as a cosine.
slopes  as tuned, by the corrected slopes of `fit`'s first stage, sigma by its moving average, Adam at 5e-3.

Prints one JSON object: the training time until the drift's relative squared error at the observations is below 0.05,
0.02, 0.002, 2e-4 and 5e-5. Imports, reading and looking at the error are not timed. Set the memory tuning of bench/run outside."""
import argparse
import json
import math
import os
import time

LEVELS = "0.05", "0.02", "0.002", "2e-4", "5e-5"
SIZES = 3, 32, 256, 32, 3

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("data", nargs="?", metavar="DATA.csv")
parser.add_argument("--recipe", choices=["paper", "tuned", "slopes"], default="tuned")
parser.add_argument("--act", choices=["relu", "silu"], default="relu")
parser.add_argument("--batch", type=int, default=256, help="gaps in an iteration, not of paper (256)")
parser.add_argument("--iterations", type=int, help="at most (600, the cosine's length; 1500 for slopes, 3000 for paper)")
parser.add_argument("--until", type=float, metavar="ERR", help="stop when reached (never; 0.02 for paper)")
parser.add_argument("--limit", type=float, default=math.inf, metavar="SECONDS", help="of training (none)")
parser.add_argument("--every", type=int, help="iterations between looks at the error (5; 20 for paper)")
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--selftest", action="store_true", help="compare with exact values and exit")
args = parser.parse_args()
if not (args.data or args.selftest):
    parser.error("which data?")
for name, usual in (("iterations", {"paper": 3000, "tuned": 600, "slopes": 1500}), ("until", {"paper": 0.02}),
                    ("every", {"paper": 20, "tuned": 5, "slopes": 5})):
    if getattr(args, name) is None:
        setattr(args, name, usual.get(args.recipe, 0.0))
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(args.threads)  # read by the import
import numpy as np
import torch
from torch import nn

torch.set_num_threads(args.threads)


def lorenz(x):
    x, y, z = x.unbind(-1)
    return torch.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z], -1)


def read(name):
    """The observations [series, row, state] and the time between two of them."""
    table = np.loadtxt(name, delimiter=",", skiprows=1)
    table = table.reshape(len(np.unique(table[:, 0])), -1, 5)
    gaps = np.diff(table[:, :, 1])
    assert np.allclose(gaps, gaps[0, 0]), "the gaps must be equal"
    return torch.tensor(table[:, :, 2:], dtype=torch.float32), float(gaps[0, 0])


def network(act):
    layers = []
    for m, n in zip(SIZES, SIZES[1:]):
        layers += [nn.Linear(m, n), nn.ReLU(True) if act == "relu" else nn.SiLU()]
    return nn.Sequential(*layers[:-1])


def bridge_log_ratio(drift, x, gap, K, M):
    """Log of the density of the series x under the drift over that of a Brownian motion, from K bridges through all of
    its observations: log mean_k exp(sum f.dY - |f|^2 dt/2) with f at the left of each of the M steps a gap."""
    dt = gap / M
    move = (x[1:] - x[:-1])[:, None]
    share = (torch.arange(M, dtype=x.dtype) / M)[:, None]
    noise = torch.randn(K, len(move), M, 3, dtype=x.dtype).mul_(math.sqrt(dt))
    walk = noise.cumsum(2)
    step = noise + (move - walk[:, :, -1:]) / M
    left = walk - noise + x[:-1, None] + share * (move - walk[:, :, -1:])
    f = drift(left.view(-1, 3)).view_as(left)
    S = (f * (step - 0.5 * dt * f)).sum((1, 2, 3))
    return torch.logsumexp(S, 0) - math.log(K)


class Paper:
    K, M = 4, 5

    def __init__(self, data, gap):
        self.data, self.gap = data, gap
        self.drift = network(args.act)
        self.adam = torch.optim.Adam(self.drift.parameters(), lr=1e-3, foreach=True)
        self.evaluations = data[:, 1:].numel() // 3 * self.K * self.M

    def step(self, iteration):
        self.adam.zero_grad(set_to_none=True)
        for x in self.data:
            (bridge_log_ratio(self.drift, x, self.gap, self.K, self.M) / -self.data.numel()).backward()
        self.adam.step()


@torch.no_grad()
def reference(x, after, middle, f, A, gap, terms):
    """The linear reference dY = (f + A (Y - middle)) dt + dW from x: its forecast z half-way through the gap, and the
    w, P and log det L, Q = L L', by which log N(after; Phi x + Gamma (f(z) - A z), Q), where f(z) is the learned
    drift, is log N(w - P f(z); 0, 1) - log det L."""
    n, one, h = len(x), torch.eye(3, dtype=x.dtype), gap / 4
    AA = A.repeat(2, 1, 1).mul_(h)
    series = one.repeat(2 * n, 1, 1)  # of Gamma / h = sum (Ah)^k / (k+1)! and Q / h, Lyapunov's, by Horner's rule
    for k in range(terms, 1, -1):
        series = torch.bmm(AA, series)
        series[n:] += series[n:].mT.clone()
        series.div_(k).add_(one)
    Gamma, Q = series.mul_(h).split(n)
    Phi = one + A @ Gamma
    for _ in range(2):  # double the time: gap/2, gap
        half = Gamma
        Gamma, Q, Phi = Gamma + Phi @ Gamma, Q + Phi @ Q @ Phi.mT, Phi @ Phi
    z = x + (half @ (f + (A @ (x - middle)[:, :, None])[:, :, 0])[:, :, None])[:, :, 0]
    error = (after - z)[:, :, None] - Phi @ (x - z)[:, :, None]  # Gamma A = Phi - 1
    L = torch.linalg.cholesky_ex(Q)[0]
    white = torch.linalg.solve_triangular(L, torch.cat([Gamma, error], 2), upper=False)
    return z, white[:, :, 3], white[:, :, :3], L.diagonal(dim1=1, dim2=2).log().sum(1)


def whitened(drift, tangent, x, after, gap, terms=7):
    """w - P f(z) and log det L; only f(z) carries a gradient. Seven terms are enough for single precision."""
    middle = (x + after) / 2
    z, w, P, logdet = reference(x, after, middle, *tangent(middle), gap, terms)
    return w - (P @ drift(z)[:, :, None])[:, :, 0], logdet


class Tuned:
    def __init__(self, data, gap):
        self.gap = gap
        self.x, self.after = data[:, :-1].reshape(-1, 3), data[:, 1:].reshape(-1, 3)
        slope = (self.after - self.x) / gap
        self.centre, self.width = data.mean((0, 1)), data.std((0, 1))
        self.offset, self.gain = slope.mean(0), slope.std(0)
        self.net = network(args.act)
        self.log_sigma = nn.Parameter((slope.square().mean() * gap).log() / 2)
        self.adam = torch.optim.Adam([{"params": self.net.parameters(), "rate": 3e-3},
                                      {"params": [self.log_sigma], "rate": 3e-2}], foreach=True)
        self.size = min(args.batch, len(self.x))
        self.order = ()
        self.evaluations = self.size * 5  # f with its gradient; f and three tangents of the reference

    def drift(self, x):
        return torch.addcmul(self.offset, self.net((x - self.centre) / self.width), self.gain)

    @torch.no_grad()
    def tangent(self, x):
        """The drift and its Jacobian, forward through the layers: v[0] is the value, v[1 + j] the derivative by x_j."""
        v = torch.empty(4, len(x), 3, dtype=x.dtype)
        v[0] = (x - self.centre) / self.width
        v[1:] = torch.diag(1 / self.width)[:, None]
        for i in range(0, len(self.net), 2):
            v = (v.view(-1, v.shape[2]) @ self.net[i].weight.T).view(4, len(x), -1)
            v[0] += self.net[i].bias
            if i + 1 == len(self.net):
                break
            if args.act == "relu":
                v *= (v[0] > 0).to(v.dtype)
            else:
                s = torch.sigmoid(v[0])
                y = v[0] * s
                v[1:] *= s + y * (1 - s)
                v[0] = y
        v *= self.gain
        return v[0] + self.offset, v[1:].permute(1, 2, 0)

    def begin(self, iteration):
        """Sets the rate; gives the batch."""
        for group in self.adam.param_groups:
            group["lr"] = group["rate"] * 0.5 * (1 + math.cos(math.pi * iteration / args.iterations))
        if len(self.order) < self.size:
            self.order = torch.randperm(len(self.x))
        batch, self.order = self.order[:self.size], self.order[self.size:]
        self.adam.zero_grad(set_to_none=True)
        return batch

    def step(self, iteration):
        batch = self.begin(iteration)
        w, _ = whitened(self.drift, self.tangent, self.x[batch], self.after[batch], self.gap)
        loss = 0.5 * w.square().sum() / self.size * torch.exp(-2 * self.log_sigma) + 3 * self.log_sigma
        loss.backward()
        self.adam.step()


class Slopes(Tuned):
    """The slope of a gap, less what the mean drift of a cubic through its ends differs from the drift at a forecast of
    its middle, is regressed on the drift there."""

    def __init__(self, data, gap):
        super().__init__(data, gap)
        move = self.after - self.x
        self.reach, self.most = 2 * move.abs().amax(0), (move / gap).std(0)
        self.variance = float(self.log_sigma.detach().exp() ** 2)
        self.adam = torch.optim.Adam(self.net.parameters(), foreach=True)
        self.adam.param_groups[0]["rate"] = 5e-3

    @torch.no_grad()
    def targets(self, x, after):
        h, clip = self.gap, lambda v, most: torch.maximum(torch.minimum(v, most), -most)
        f0, f1 = self.drift(torch.cat([x, after])).split(len(x))
        z = x + clip(h / 2 * self.drift(x + clip(h / 4 * f0, self.reach)), self.reach)
        fm = self.drift((x + after) / 2 + clip(h / 8 * (f0 - f1), self.reach))
        return z, (after - x) / h, (f0 + 4 * fm + f1) / 6

    def step(self, iteration):
        batch = self.begin(iteration)
        z, slope, mean = self.targets(self.x[batch], self.after[batch])
        f = self.drift(z)
        off = mean - f.detach()
        off = slope - torch.maximum(torch.minimum(off, self.most), -self.most) - f
        squares = off.square().sum() * self.gap / self.size
        now = float(squares.detach()) / 3
        self.variance = min(0.9 * self.variance + 0.1 * now, 3 * now)
        (0.5 / self.variance * squares).backward()
        self.adam.step()


RECIPES = {"paper": Paper, "tuned": Tuned, "slopes": Slopes}


def learn():
    data, gap = read(args.data)
    truth = lorenz(data)
    torch.manual_seed(args.seed)
    begin = time.perf_counter()
    recipe = RECIPES[args.recipe](data, gap)
    reached = dict.fromkeys(LEVELS)
    seconds, cpu, iteration = time.perf_counter() - begin, 0.0, 0
    while True:
        begin, began = time.perf_counter(), time.process_time()
        recipe.step(iteration)
        seconds, cpu = seconds + time.perf_counter() - begin, cpu + time.process_time() - began
        iteration += 1
        last = iteration >= args.iterations or seconds >= args.limit
        if not last and iteration % args.every:
            continue
        with torch.no_grad():
            err = float((recipe.drift(data) - truth).square().sum() / truth.square().sum())
        now = {"seconds": round(seconds, 4), "cpu": round(cpu, 4), "iterations": iteration,
               "evaluations": iteration * recipe.evaluations}
        for level in LEVELS:
            if err < float(level) and reached[level] is None:
                reached[level] = now
        if last or err < args.until or not math.isfinite(err):
            break
    return {"recipe": args.recipe, "threads": args.threads, "iterations": iteration,
            "evaluations": now["evaluations"], "seconds": now["seconds"],
            "err": err if math.isfinite(err) else None, "reached": reached}


def selftest():
    """In double precision: the density of a linear drift, the tangents, and the bridges with a constant drift."""
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(args.seed)
    gap, sigma, n = 0.05, 0.7, 50
    A, b = torch.randn(3, 3) * 8, torch.randn(3) * 5
    x = torch.randn(n, 3) * 4
    line = lambda x: x @ A.T + b
    block = torch.zeros(7, 7)  # its exponential has Phi, Phi^-T Q and, from the last column, Gamma b
    block[:3, :3], block[:3, 3:6], block[3:6, 3:6], block[:3, 6] = A, sigma**2 * torch.eye(3), -A.T, b
    E = torch.matrix_exp(block * gap)
    exact = torch.distributions.MultivariateNormal(x @ E[:3, :3].T + E[:3, 6], E[:3, 3:6] @ E[:3, :3].T)
    after = exact.sample()
    checks = []
    for terms, bound in (7, 1e-4), (16, 1e-9):  # rounding to single precision costs 1e-3
        w, logdet = whitened(line, lambda x: (line(x), A.expand(n, 3, 3)), x, after, gap, terms)
        ours = -0.5 * w.square().sum(1) / sigma**2 - 3 * math.log(sigma * math.sqrt(2 * math.pi)) - logdet
        checks.append((f"linear drift, {terms} terms", (ours - exact.log_prob(after)).abs().max(), bound))
    E = torch.matrix_exp(block * gap / 2)
    z = reference(x, after, after, line(after), A.expand(n, 3, 3), gap, 16)[0]  # the density does not depend on it
    checks.append(("half-way forecast", (z - x @ E[:3, :3].T - E[:3, 6]).abs().max(), 1e-9))

    tuned = Tuned(torch.randn(4, n, 3) * 8, gap)
    value, J = tuned.tangent(x)
    also = torch.stack([torch.autograd.functional.jacobian(lambda y: tuned.drift(y[None])[0], y) for y in x])
    checks.append(("tangents", max((value - tuned.drift(x)).abs().max(), (J - also).abs().max()), 1e-9))

    brownian = lambda shift: torch.distributions.Normal(x[:-1] + shift * gap, math.sqrt(gap)).log_prob(x[1:]).sum()
    ratio = bridge_log_ratio(lambda y: b.expand_as(y), x, gap, Paper.K, Paper.M)
    checks.append(("bridges, constant drift", (ratio - (brownian(b) - brownian(0))).abs(), 1e-9))
    for name, error, bound in checks:
        print(f"{name}: off by {float(error):.1e}, allowed {bound:.0e}")
    return all(error < bound for _, error, bound in checks)


if args.selftest:
    raise SystemExit(not selftest())
print(json.dumps(learn()))
