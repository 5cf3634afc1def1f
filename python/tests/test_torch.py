# SPDX-License-Identifier: MIT
"""PyTorch: modules in models, networks as modules, the log-likelihood in a
loss. Skipped where PyTorch is not installed."""
import copy
import pickle

import numpy as np
import pytest

import girsanov
from conftest import assert_differences

torch = pytest.importorskip("torch")
torch.set_num_threads(1)
import girsanov.torch  # noqa: E402

WELL = "state x\ndx = (x - x^3)*dt + 0.5*dW"
NET = """state x
net f(x) -> 1 : 16 16 {}   # a comment
param s = 1 > 0
dx = f*dt + s*dW
"""
MODULE = """state x
external drift(x) -> 1
param s = 1 > 0
dx = drift*dt + s*dW
"""


@pytest.fixture(scope="module")
def well():
    return girsanov.Model(WELL).simulate(np.linspace(0, 25, 251), tracks=8,
                                         x0="normal", seed=4)


def module(inputs=1, outputs=1, seed=1):
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Linear(inputs, 16), torch.nn.SiLU(),
        torch.nn.Linear(16, 16), torch.nn.SiLU(), torch.nn.Linear(16, outputs))


@pytest.mark.parametrize("activation", ["relu", "tanh", "softplus", "silu"])
def test_a_network_is_a_module_with_its_scales(activation, well):
    fit = girsanov.Model(NET.format(activation)).fit(well, iterations=60,
                                                     wide=True)
    x = np.linspace(-2, 2, 41)[:, None]
    net = fit.to_torch("f")
    assert isinstance(net, torch.nn.Module)
    assert fit.params["f.input_scale"] != 1
    assert net(torch.tensor(x)).detach().numpy() == pytest.approx(
        fit.field(x).drift, abs=1e-6)


def test_networks_with_many_inputs_and_no_hidden_layer():
    model = girsanov.Model("state x, y\nnet g(x, y) -> 2 : \ndx = g[1]*dt + dW\n"
                           "dy = g[2]*dt + dW")
    x = np.random.default_rng(1).normal(size=(20, 2))
    assert model.to_torch("g")(torch.tensor(x)).detach().numpy() == (
        pytest.approx(model.field(x).drift, abs=1e-6))
    with pytest.raises(girsanov.InputError, match="no network 'f'; it has g"):
        model.to_torch("f")


def test_a_module_is_the_function_it_was(well):
    m = module().double()
    model = girsanov.Model(MODULE, drift=m)
    x = np.linspace(-2, 2, 41)[:, None]
    assert model.field(x).drift == pytest.approx(
        m(torch.tensor(x)).detach().numpy(), abs=1e-12)


@pytest.mark.parametrize("form", ["ito", "stratonovich"])
def test_gradients_are_those_of_differences(form):
    model = girsanov.Model(MODULE, drift=module())
    few = girsanov.Model(WELL).simulate(np.linspace(0, 2, 6), seed=1)
    options = dict(steps=4, form=form, reference="brownian")
    assert_differences(model, few, (0, 5, 40, len(model.theta) - 1),
                       **options)


def drift_error(fit):
    """The squared error at the data's density, relative to the drift's."""
    x = np.linspace(-1.4, 1.4, 57)[:, None]
    true = x - x ** 3
    density = np.exp(4 * (x ** 2 / 2 - x ** 4 / 4) / 0.5)
    off = (fit.field(x).drift - true) ** 2
    return float((density * off).sum() / (density * true ** 2).sum())


def test_a_module_learns_the_double_well_as_a_net_does(well):
    net = girsanov.Model(NET.format("silu")).fit(well)
    own = girsanov.Model(MODULE, drift=module()).fit(
        well, iterations=500, rate=0.02, steps=1, paths=4, threads=1)
    errors = drift_error(net), drift_error(own)
    assert errors[0] < 0.15 and errors[1] < 2 * errors[0], errors
    assert own.params["s"] == pytest.approx(0.5, abs=0.03)
    fresh = girsanov.torch.to_module(own, "drift", module(seed=2).double())
    x = np.linspace(-1, 1, 9)[:, None]
    assert fresh(torch.tensor(x)).detach().numpy() == pytest.approx(
        own.field(x).drift, abs=1e-12)
    for other in (own.copy(), copy.deepcopy(own),
                  pickle.loads(pickle.dumps(own))):
        assert (other.field(x).drift == own.field(x).drift).all()


def test_modules_that_are_no_functions_are_refused():
    for layer in (torch.nn.Dropout(0.1), torch.nn.BatchNorm1d(1)):
        with pytest.raises(girsanov.InputError, match="dropout or batch"):
            girsanov.Model(MODULE, drift=torch.nn.Sequential(layer))


def test_the_log_likelihood_is_a_torch_function(well):
    model = girsanov.Model("state x\nparam a = 1 > 0, s = 1 > 0\n"
                           "dx = -a*x*dt + s*dW")
    data = model.data(model.copy().simulate(np.linspace(0, 4, 21), seed=3))
    theta = torch.tensor(model.theta, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda t: girsanov.torch.loglik(t, model, data, steps=4,
                                        reference="brownian"), theta,
        eps=1e-5, atol=1e-3)
    loss = -2 * girsanov.torch.loglik(theta, model, data) + theta.sum()
    loss.backward()
    exact = model.loglik(data, gradient=True).theta_gradient
    assert theta.grad.numpy() == pytest.approx(1 - 2 * exact)
