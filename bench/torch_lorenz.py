#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The opponent of `estimate_bench lorenz`: one gradient of the paper's Lorenz likelihood in PyTorch, a pass for each
observed series so that activations stay small. usage: torch_lorenz.py THREADS; prints the fastest seconds."""
import math
import os
import sys
import time

threads = int(sys.argv[1])
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(threads)
import torch
from torch import nn

torch.set_num_threads(threads)
torch.manual_seed(0)
SERIES, ROWS, K, M = 16, 200, 64, 5
gap = 10.0 / (ROWS - 1)
dt = gap / M
net = nn.Sequential(nn.Linear(3, 32), nn.ReLU(True), nn.Linear(32, 256), nn.ReLU(True),
                    nn.Linear(256, 32), nn.ReLU(True), nn.Linear(32, 3))
data = torch.cumsum(torch.randn(SERIES, ROWS, 3) * 0.5, 1)  # its values do not matter for the time
share = (torch.arange(M) / M).view(1, 1, M, 1)


def loss_of(x):
    move = (x[1:] - x[:-1]).view(1, ROWS - 1, 1, 3)
    noise = torch.randn(K, ROWS - 1, M, 3).mul_(math.sqrt(dt))
    walk = noise.cumsum(2)
    end = walk[:, :, -1:]
    left = (walk - noise) - share * end + x[:-1].view(1, ROWS - 1, 1, 3) + share * move
    step = noise - end / M + move / M
    f = net(left.view(-1, 3)).view_as(left)
    S = (f * (step - 0.5 * dt * f)).sum((1, 2, 3))
    return -torch.logsumexp(S, 0)


def iteration():
    net.zero_grad(set_to_none=True)
    for x in data:
        loss_of(x).backward()


best = math.inf
for _ in range(4):
    begin = time.perf_counter()
    iteration()
    best = min(best, time.perf_counter() - begin)
print(f"{best:.4f}")
