# SPDX-License-Identifier: MIT
"""What the tests share: an Ornstein-Uhlenbeck model, data, the command."""
import json
import os
import pathlib
import subprocess

import numpy as np
import pytest

import girsanov

ROOT = pathlib.Path(__file__).resolve().parents[2]
OU = """state x
param a = 1 > 0, s = 1 > 0
dx = -a*x*dt + s*dW
"""
NET = """state x, y
net f(x, y) -> 2 : 8 silu
param s = 1 > 0
dx = f[1]*dt + s*dW
dy = f[2]*dt + s*dW
"""


@pytest.fixture
def ou():
    return girsanov.Model(OU)


@pytest.fixture
def data(ou):
    return ou.simulate(np.linspace(0, 10, 51), tracks=2, x0="normal", seed=3)


@pytest.fixture
def command():
    """The command's JSON."""
    program = os.environ.get("GIRSANOV", ROOT / "build" / "girsanov")
    if not os.path.exists(program):
        pytest.skip("the command is not built")

    def run(*words):
        done = subprocess.run([program, *map(str, words), "--json"],
                              stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)
    return run


def exact_ou(time, x, a, s):
    """The log-likelihood of a track in closed form."""
    dt = np.diff(time)
    mean = x[:-1] * np.exp(-a * dt)
    var = s * s * -np.expm1(-2 * a * dt) / (2 * a)
    return -0.5 * np.sum((x[1:] - mean) ** 2 / var + np.log(2 * np.pi * var))


def assert_differences(model, data, at, **options):
    """These numbers of the log-likelihood's gradient are its differences."""
    slope = model.loglik(data, gradient=True, **options).theta_gradient
    theta = model.theta
    for i in at:
        h, sides = 1e-5, []
        for sign in (1, -1):
            model.theta = theta + sign * h * (np.arange(len(theta)) == i)
            sides.append(model.loglik(data, **options).loglik)
        assert slope[i] == pytest.approx((sides[0] - sides[1]) / (2 * h),
                                         rel=1e-4, abs=1e-4)
