#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage: simulate.py OUT.csv [SEED]

The Lorenz system with noise in proportion to each state, 0.1 x dW1, 0.28 y dW2
and 0.3 z dW3, as in torchsde's example: 16 series of 200 rows over [0, 10].
Euler steps of 5e-4."""
import sys

import numpy as np

rng = np.random.default_rng(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
times = np.linspace(0.0, 10.0, 200)
steps = 101
dt = (times[1] - times[0]) / steps
x = rng.standard_normal((3, 16))
rows = [x]
for _ in times[1:]:
    for _ in range(steps):
        drift = np.array([10.0 * (x[1] - x[0]), x[0] * (28.0 - x[2]) - x[1],
                          x[0] * x[1] - 8.0 / 3.0 * x[2]])
        noise = np.array([[0.1], [0.28], [0.3]]) * x
        x = x + drift * dt + noise * rng.standard_normal(x.shape) * dt ** 0.5
    rows.append(x)
with open(sys.argv[1], "w") as out:
    out.write("series,time,x,y,z\n")
    for series in range(16):
        for time, row in zip(times, rows):
            x, y, z = row[:, series]
            out.write(f"{series + 1},{time:.17g},{x:.17g},{y:.17g},{z:.17g}\n")
