#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The opponent of `estimate_bench ou`: the paper's Algorithm 1 on a 100-dimensional Ornstein-Uhlenbeck process in
PyTorch, gap by gap so that it stays in the cache. usage: torch_ou.py THREADS; prints the fastest seconds."""
import math
import os
import sys
import time

threads = int(sys.argv[1])
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(threads)
import torch

torch.set_num_threads(threads)
K, M, D, N = 100, 111, 100, 10
times = [10.0 * n / (N - 1) for n in range(N)]
x = [math.sin(math.pi / 10 * t) for t in times]
gap = times[1]
dt = gap / M


def estimate():
    S = torch.zeros(K, dtype=torch.float64)
    log_p = 0.0
    for a, b in zip(x, x[1:]):
        step = torch.randn(K, M, D)
        step.mul_(math.sqrt(dt))
        step.sub_(step.mean(1, keepdim=True) - (b - a) / M)  # a bridge's increments
        left = step.cumsum(1).sub_(step).add_(a)             # its left ends
        S -= (left * (step + 0.5 * dt * left)).sum((1, 2), dtype=torch.float64)
        log_p += D * (-0.5 * (b - a) ** 2 / gap - 0.5 * math.log(2 * math.pi * gap))
    return log_p + torch.logsumexp(S, 0).item() - math.log(K)


best = math.inf
for _ in range(15):
    begin = time.perf_counter()
    estimate()
    best = min(best, time.perf_counter() - begin)
print(f"{best:.5f}")
