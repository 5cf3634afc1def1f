#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Girsanov's likelihood as a PyTorch function with its gradient: theta may be made
by any network, and other terms may be added to the loss. Here each series has
its own rate, with a common prior (random effects)."""
import numpy as np
import torch

import girsanov
from girsanov.torch import loglik

OU = """
state x
param a = 1 > 0, s = 1 > 0
dx = -a*x*dt + s*dW
"""


model = girsanov.Model(OU)
rates = [0.7, 1.0, 1.4]
series = [model.copy().set(a=a, s=0.5).simulate(np.linspace(0, 20, 61), seed=i)
          for i, a in enumerate(rates, 1)]

common = torch.zeros(2, dtype=torch.float64, requires_grad=True)
apart = torch.zeros(len(series), 2, dtype=torch.float64, requires_grad=True)
optimizer = torch.optim.LBFGS([common, apart], max_iter=15,
                              line_search_fn="strong_wolfe")


def closure():
    optimizer.zero_grad()
    loss = 0.5 * (apart / 0.3).square().sum()
    for own, data in zip(apart, series):
        loss = loss - loglik(common + own, model, data, steps=2)
    loss.backward()
    print(f"loss {loss.item():.4f}")
    return loss


optimizer.step(closure)
for own, rate in zip(apart, rates):
    model.theta = (common + own).detach().numpy()
    print(f"a = {model.params['a']:.3f} (true {rate}), "
          f"s = {model.params['s']:.3f} (true 0.5)")
    assert abs(model.params["s"] - 0.5) < 0.15
