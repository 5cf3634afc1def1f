# SPDX-License-Identifier: MIT
"""JAX: its functions in models, the log-likelihood in a loss. Each test runs
with JAX, where it is installed, and with the stand-in of fake_jax.py."""
import importlib
import pickle
import sys

import numpy as np
import pytest

import girsanov
from conftest import assert_differences
from fake_jax import modules

TEXT = """state x
external f(x) -> 1
param s = 1 > 0
dx = f*dt + s*dW
"""
START = {"one": [np.full((1, 6), 0.5), np.linspace(-1, 1, 6)],
         "two": np.linspace(0.5, -0.5, 6)}


@pytest.fixture(params=["JAX", "stand-in"])
def jax(request, monkeypatch):
    if request.param == "JAX":
        pytest.importorskip("jax", reason="JAX is not installed")
    else:
        for name, module in modules().items():
            monkeypatch.setitem(sys.modules, name, module)
    sys.modules.pop("girsanov.jax", None)
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    yield jax
    sys.modules.pop("girsanov.jax", None)


@pytest.fixture
def adapter(jax):
    return importlib.import_module("girsanov.jax")


def layers(params, x):
    """A network with one hidden layer, without names of JAX's."""
    weight, bias = params["one"]
    return ((x @ weight + bias)**2 + 1)**0.5 @ params["two"]


def cubic(params, x):
    return params[0] * x - params[1] * x**3


def test_a_function_is_what_it_was(adapter):
    x = np.linspace(-2, 2, 41)[:, None]
    model = girsanov.Model(TEXT, f=adapter.external(layers, START))
    assert model.field(x).drift[:, 0] == pytest.approx(layers(START, x),
                                                       abs=1e-12)
    back = adapter.to_params(model, "f", START)
    assert np.shape(back["one"][0]) == (1, 6)
    assert layers(back, x) == pytest.approx(layers(START, x), abs=1e-12)
    with pytest.raises(girsanov.InputError, match="18 parameters, but"):
        adapter.to_params(model, "f", np.zeros(2))


@pytest.mark.parametrize("form", ["ito", "stratonovich"])
def test_gradients_are_those_of_differences(adapter, form):
    model = girsanov.Model(TEXT, f=adapter.external(layers, START))
    few = girsanov.Model("state x\ndx = -x*dt + dW").simulate(
        np.linspace(0, 1, 4), seed=1)
    options = dict(steps=2, paths=4, form=form, reference="brownian")
    assert_differences(model, few, range(0, len(model.theta), 3),
                       **options)


def test_a_fit_is_that_of_the_formula(adapter):
    truth = girsanov.Model("state x\nparam a = 1, b = 1, s = 0.5 > 0\n"
                           "dx = (a*x - b*x^3)*dt + s*dW")
    data = truth.simulate(np.linspace(0, 10, 101), seed=4)
    own = girsanov.Model(TEXT, f=adapter.external(cubic, np.ones(2),
                                                  weights=False))
    options = dict(paths=4, steps=1, threads=1)
    fit, exact = own.fit(data, **options), truth.fit(data, **options)
    assert fit.params["f.p"] == pytest.approx(
        [exact.params["a"], exact.params["b"]], rel=1e-3)
    assert fit.stderr["f.p"] == pytest.approx(
        [exact.stderr["a"], exact.stderr["b"]], rel=1e-2)
    again = pickle.loads(pickle.dumps(fit))
    assert again.field([0.5]).drift == fit.field([0.5]).drift


def test_a_function_without_parameters(adapter):
    model = girsanov.Model(TEXT, f=adapter.external(lambda p, x: -x))
    assert model.field([2.0]).drift == -2
    assert sorted(model.params) == ["s"]


def test_arrays_of_single_precision_and_numbers_are_a_start(adapter):
    single = [np.float32(0.5), np.ones(2, np.float32), 2.0]
    model = girsanov.Model(TEXT, f=adapter.external(
        lambda p, x: p[0] * x * p[1][0] - p[1][1] * x**3 / p[2], single))
    assert model.field([2.0]).drift == -3
    again = adapter.to_params(model, "f", single)
    assert [float(np.ravel(a)[0]) for a in again] == [0.5, 1, 2]


def test_single_precision_is_refused(jax, adapter):
    jax.config.update("jax_enable_x64", False)
    try:
        with pytest.raises(girsanov.InputError, match="jax_enable_x64"):
            adapter.external(cubic, np.ones(2))
    finally:
        jax.config.update("jax_enable_x64", True)


def test_the_log_likelihood_is_a_jax_function(jax, adapter, ou, data):
    theta = np.array(ou.theta)
    exact = ou.loglik(data, gradient=True)
    value = adapter.loglik(theta, ou, data)
    assert float(value) == pytest.approx(exact.loglik, rel=1e-14)
    slope = jax.grad(lambda t: adapter.loglik(t, ou, data) + 1)(
        jax.numpy.asarray(theta))
    assert np.asarray(slope) == pytest.approx(exact.theta_gradient, rel=1e-14)
