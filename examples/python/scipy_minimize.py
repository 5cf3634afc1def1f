#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A SciPy optimiser with Girsanov's likelihood and gradient, compared with
model.fit()."""
import numpy as np
from scipy.optimize import minimize

import girsanov

WELL = """
state x
param a = 1 > 0, b = 1 > 0, s = 0.5 > 0
dx = (a*x - b*x^3)*dt + s*dW
"""

model = girsanov.Model(WELL)
truth = model.copy().set(a=2, b=1, s=0.8)
data = truth.simulate(np.linspace(0, 15, 151), x0=1, seed=4)


def loss(theta):
    """Minus the log-likelihood and its gradient by theta, which has no
    bounds."""
    model.theta = theta
    found = model.loglik(data, gradient=True, paths=8)
    return -found.loglik, -found.theta_gradient


best = minimize(loss, model.theta, jac=True, method="L-BFGS-B")
model.theta = best.x
print("SciPy:    ", {k: round(v, 3) for k, v in model.params.items()},
      f"log-likelihood {-best.fun:.3f}")

fit = girsanov.Model(WELL).fit(data)
print("model.fit:", {k: round(v, 3) for k, v in fit.params.items()},
      f"log-likelihood {fit.record.loglik:.3f}")

for name, value in model.params.items():
    assert abs(value - fit.params[name]) < 0.3 * fit.stderr[name], name
