#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A drift that is a module of PyTorch, learned by Girsanov's likelihood; and a
network of Girsanov as a module."""
import numpy as np
import torch

import girsanov
import girsanov.torch

torch.set_num_threads(1)
torch.manual_seed(1)

TRUTH = girsanov.Model("state x\ndx = (x - x^3)*dt + 0.5*dW")
data = TRUTH.simulate(np.linspace(0, 25, 251), tracks=4, x0="normal")
x = np.linspace(-1.2, 1.2, 7)[:, None]

# Known physics, x, and a module for the rest.
module = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Tanh(),
                             torch.nn.Linear(8, 1))
model = girsanov.Model("""
state x
external rest(x) -> 1
param s = 1 > 0
dx = (x + rest)*dt + s*dW
""", rest=module)
# Few points in each call are what costs: short gaps need one step.
fit = model.fit(data, iterations=400, rate=0.02, steps=1, paths=4, threads=1)
girsanov.torch.to_module(fit, "rest", module.double())
print("module:", module(torch.tensor(x)).detach().numpy().ravel().round(2))
print("-x^3:  ", (-x ** 3).ravel().round(2))

# A network of Girsanov, with its scales, as a module.
net = girsanov.Model("state x\nnet f(x) -> 1 : 16\nparam s = 1 > 0\n"
                     "dx = f*dt + s*dW").fit(data)
drift = net.to_torch("f")(torch.tensor(x)).detach().numpy()
assert np.abs(drift - net.field(x).drift).max() < 1e-5

# The log-likelihood in a loss.
theta = torch.tensor(net.theta, requires_grad=True)
loss = -girsanov.torch.loglik(theta, net, data, steps=2)
(loss + 0.01 * theta.square().sum()).backward()
print("slope of the loss:", f"{theta.grad.norm().item():.3g}")
